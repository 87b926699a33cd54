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
        refused,  ///< `problem` says why; further bytes cannot help.
    };
    state what = state::need_more;
    std::size_t size = 0;
    std::string_view problem;
};

/// Looks for the end of a request head and refuses, as early as possible, what proxies and parsers
/// read differently: a bare LF or CR, control characters, a continued (folded) line. `from` is how
/// much of `received` earlier calls have already scanned. Pure.
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
    std::uint64_t length = 0; ///< Not for chunked bodies.
};

struct framing_problem {
    std::string text; ///< For the client: one sentence.
};

/// Parses a complete head as scan_head() delimits it. Refuses anything but HTTP/1.0 and 1.1.
[[nodiscard]] std::variant<request_head, framing_problem> parse_head(std::string_view block);

/// Accepts a head only if its framing is unambiguous (quality bars C2; RFC 9112 sections 3.2, 6.3):
/// Transfer-Encoding is exactly `chunked`, once, on HTTP/1.1 and without Content-Length; one
/// Content-Length of at most 18 digits without a leading zero; exactly one valid Host (HTTP/1.0 may
/// have none); an origin-form target. Pure.
[[nodiscard]] std::variant<body_framing, framing_problem> check_framing(const request_head& head);

/// Percent-decodes a path. False if an escape is malformed or stands for a control character.
[[nodiscard]] bool decode_path(std::string_view encoded, std::string& decoded);

/// Removes the framing of a chunked body (RFC 9112 section 7.1), strictly: CR LF line ends,
/// hexadecimal sizes of at most 8 digits. Chunk extensions and trailers are dropped; their bytes
/// are limited, so that they cannot carry more than the body does.
class chunked_decoder {
public:
    enum class state { need_more, complete, refused, too_large };

    explicit chunked_decoder(std::size_t max_body_bytes) noexcept
        : max_body_bytes_(max_body_bytes) {}

    /// Appends body bytes found in `bytes` to `body` and says how many bytes were used: all of
    /// them, unless the body is complete or refused.
    [[nodiscard]] std::size_t feed(std::string_view bytes, std::string& body);
    [[nodiscard]] state status() const noexcept { return state_; }

private:
    enum class step { size, extension, size_lf, data, data_cr, data_lf, trailer, trailer_lf };

    void refuse() noexcept { state_ = state::refused; }
    void take(char c);
    void take_size(char c);

    static constexpr std::size_t max_extra_bytes =
        4096; ///< For the extensions and trailers of one body.

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
