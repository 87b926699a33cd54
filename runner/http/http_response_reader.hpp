#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace agui::runner {

/// Reads one HTTP/1.1 response (RFC 9112) from bytes cut anywhere, without I/O. Skips informational
/// responses (1xx) before it, and ignores chunk extensions and trailers. A head may end its lines
/// with LF alone and may lack the reason in its status line; the connection is then not used again.
/// Any other deviation is an error.
///
/// The caller keeps the bytes that a step has not consumed, and passes them again with more after
/// them. A step that consumes nothing needs more bytes.
class http_response_reader {
public:
    http_response_reader();
    ~http_response_reader();
    http_response_reader(http_response_reader&& other) noexcept;
    http_response_reader& operator=(http_response_reader&& other) noexcept;

    struct step {
        std::size_t consumed = 0;
        std::string_view body; ///< Joined in place, within the given bytes.
        bool failed = false;   ///< The bytes are not acceptable HTTP; error() says why.
    };

    /// Reads the header, step by step, until header_done().
    [[nodiscard]] step read_header(std::string_view bytes);

    /// Reads the body, after the header and until done(). Bytes after the body are not consumed.
    [[nodiscard]] step read_body(std::span<char> bytes);

    /// Call it when the connection has ended. Returns true if this ends the response, which had no
    /// length.
    [[nodiscard]] bool end_of_connection();

    [[nodiscard]] bool header_done() const noexcept;
    [[nodiscard]] bool done() const noexcept;
    /// Valid after the end: true if another request may follow on the connection.
    [[nodiscard]] bool keep_alive() const noexcept;
    [[nodiscard]] int status() const noexcept;
    /// The value of the first field with that name, which is in lower case; empty if there is none.
    [[nodiscard]] std::string_view field(std::string_view name) const noexcept;
    /// Frees all fields but those for whose name (in lower case) `is_wanted` is true.
    void keep_fields(const std::function<bool(std::string_view name)>& is_wanted);
    [[nodiscard]] const std::string& error() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
