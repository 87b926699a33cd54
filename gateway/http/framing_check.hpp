#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::gateway {

/// Where a request head ends in the bytes received so far.
struct head_scan {
    enum class state {
        need_more,
        complete, ///< `size` bytes, the final empty line included.
        refused,  ///< `problem` says why; more bytes change nothing.
    };
    state what = state::need_more;
    std::size_t size = 0;
    std::string_view problem; ///< One sentence for the client.
};

/// Looks for the end of a request head. Refuses, as early as possible, input that proxies and
/// parsers interpret differently: a bare LF or CR, control characters, a folded (continued) line.
/// `from` is the number of bytes of `received` that earlier calls have scanned.
[[nodiscard]] head_scan scan_head(std::string_view received, std::size_t from) noexcept;

/// A request head, parsed. Header names are in lower case, values without surrounding white space.
struct request_head {
    std::string method;
    std::string target;
    int version = 11; ///< 10 or 11.
    std::vector<std::pair<std::string, std::string>> headers;
};

/// How a request's body ends.
struct body_framing {
    bool chunked = false;
    std::uint64_t length = 0; ///< Unused for chunked bodies.
};

struct framing_problem {
    std::string text; ///< One sentence for the client.
};

/// Parses a complete head, as scan_head() delimits it. Refuses all versions but HTTP/1.0 and 1.1.
[[nodiscard]] std::variant<request_head, framing_problem> parse_head(std::string_view block);

/// Accepts a head only if its framing is unambiguous (RFC 9112 sections 3.2 and 6.3). At most one
/// Transfer-Encoding is allowed, exactly `chunked`, on HTTP/1.1 and without a Content-Length. At
/// most one Content-Length is allowed, with at most 18 digits and no leading zero. There must be
/// exactly one valid Host (HTTP/1.0 may have none), and the target must be a path (origin-form).
[[nodiscard]] std::variant<body_framing, framing_problem> check_framing(const request_head& head);

/// Percent-decodes a path. Returns false for a malformed escape or a control character.
[[nodiscard]] bool decode_path(std::string_view encoded, std::string& decoded);

/// Removes the framing of a chunked body (RFC 9112 section 7.1). It is strict: lines end with CR
/// LF, sizes have at most 8 hexadecimal digits. Chunk extensions and trailers are dropped; 4 KB of
/// them are allowed for the whole body.
class chunked_decoder {
public:
    enum class state { need_more, complete, refused, too_large };

    explicit chunked_decoder(std::size_t max_body_bytes) noexcept
        : max_body_bytes_(max_body_bytes) {}

    /// Appends to `body` the body's bytes in `bytes`. Returns how many of `bytes` were used: all of
    /// them, unless status() is no longer need_more.
    [[nodiscard]] std::size_t feed(std::string_view bytes, std::string& body);
    [[nodiscard]] state status() const noexcept { return state_; }

private:
    enum class step { size, extension, size_lf, data, data_cr, data_lf, trailer, trailer_lf };

    void refuse() noexcept { state_ = state::refused; }
    void take(char c);
    void take_size(char c);

    /// Limit for the extensions and trailers of one body.
    static constexpr std::size_t max_extra_bytes = 4096;

    std::size_t max_body_bytes_;
    std::size_t body_bytes_ = 0;
    std::size_t extra_bytes_ = 0;
    std::uint64_t chunk_left_ = 0;
    int size_digits_ = 0;
    bool line_empty_ = true;
    step step_ = step::size;
    state state_ = state::need_more;
};

} // namespace agui::gateway
