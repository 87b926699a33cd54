#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace agui::runner {

/// Reads one HTTP/1.1 response (RFC 9112) from bytes cut anywhere; no I/O. Informational responses
/// (1xx) before it are skipped, chunk extensions and trailers ignored. A head may end its lines
/// with LF alone and have a status line without a reason; nothing else is lenient, and such a
/// connection is not used again.
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
        std::size_t body = 0; ///< How many bytes of the body were moved to the start of the bytes.
        bool failed = false;  ///< This is no acceptable HTTP; error() says why.
    };

    /// Steps of the header, until header_done().
    [[nodiscard]] step read_header(std::string_view bytes);

    /// Steps of the body, after the header and until done(). Bytes after the body are not consumed.
    [[nodiscard]] step read_body(std::span<char> bytes);

    /// To be called when the connection has ended. True: this ends the response too, because it
    /// gave no length.
    [[nodiscard]] bool end_of_connection();

    [[nodiscard]] bool header_done() const noexcept;
    [[nodiscard]] bool done() const noexcept;
    /// After the end: true if another request may follow on the connection.
    [[nodiscard]] bool keep_alive() const noexcept;
    [[nodiscard]] int status() const noexcept;
    /// The value of the first field with that name, which is in lower case; empty: there is none.
    [[nodiscard]] std::string_view field(std::string_view name) const noexcept;
    [[nodiscard]] const std::string& error() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
