#include "runner/http/http_response_reader.hpp"

#include "session/base/ascii.hpp"

#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::beast::error_code;

// Twice the limit of common servers and proxies. Limits the memory that a bad server can take.
constexpr std::uint32_t header_bytes_max = 64U << 10U;

// A server may send a few of them (100, 103) while it works; an endless series is an error.
constexpr int informational_max = 16;

constexpr int switching_protocols = 101;

/// Keeps the fields of the header, and joins the pieces of the body.
class parser final : public http::basic_parser<false> {
public:
    parser() {
        header_limit(header_bytes_max);
        // A stream's length has no fixed limit. The code that reads the body limits the bytes that
        // it keeps.
        body_limit(boost::none);
    }

    int status = 0;
    std::vector<std::pair<std::string, std::string>> fields;
    char* bytes = nullptr;  ///< Start of the bytes given to read_body().
    std::string_view found; ///< The body in them so far.

private:
    void
    on_request_impl(http::verb, beast::string_view, beast::string_view, int, error_code&) override {
    }

    void on_response_impl(int code, beast::string_view, int, error_code&) override {
        status = code;
    }

    void on_field_impl(http::field, beast::string_view name, beast::string_view value, error_code&)
        override {
        // Trailers arrive here, too, and must not add to the header.
        if (!is_header_done()) {
            fields.emplace_back(to_lower(name), std::string(value));
        }
    }

    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

    std::size_t on_body_impl(beast::string_view body, error_code&) override { return keep(body); }

    void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}

    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
        return keep(body);
    }

    void on_finish_impl(error_code&) override {}

    // Moves each piece to the end of the first, so that a read gives one piece, however many chunks
    // it held. It never overtakes the parser, because the framing between them is left out.
    std::size_t keep(beast::string_view piece) {
        if (found.empty()) {
            found = piece;
            return piece.size();
        }
        char* const end = bytes + (found.data() - bytes) + found.size();
        if (end != piece.data()) {
            std::memmove(end, piece.data(), piece.size());
        }
        found = {found.data(), found.size() + piece.size()};
        return piece.size();
    }
};

constexpr std::string_view status_start = "HTTP/1.";
constexpr std::size_t status_bytes = 12; // HTTP/1.1 200

/// The length of a head including its empty line; npos if it is incomplete.
std::size_t head_bytes(std::string_view bytes) noexcept {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n', end + 1)) {
        const std::string_view next = bytes.substr(end + 1, 2);
        if (next.starts_with('\n')) {
            return end + 2;
        }
        if (next == "\r\n") {
            return end + 3;
        }
    }
    return std::string_view::npos;
}

/// A head in the form of RFC 9112. Some servers end lines with LF alone, which its section 2.2 lets
/// a recipient accept, or leave out the reason with the space before it.
struct plain_head {
    std::string text;
    bool odd = false; ///< The head was changed.
};

/// Nullopt if it has no status line.
std::optional<plain_head> read_head(std::string_view bytes) {
    plain_head head;
    head.text.reserve(bytes.size() + 1);
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        std::string_view line = bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        } else {
            head.odd = true;
        }
        if (head.text.empty()) {
            if (line.size() > status_bytes && line[status_bytes] != ' ') {
                return std::nullopt;
            }
            head.odd = head.odd || line.size() == status_bytes;
            // The reason is not used, and it may hold any text.
            head.text.append(line.substr(0, status_bytes)).append(" \r\n");
        } else {
            head.text.append(line).append("\r\n");
        }
    }
    return head;
}

} // namespace

struct http_response_reader::state {
    std::unique_ptr<parser> current = std::make_unique<parser>();
    int informational = 0;
    bool odd = false;
    std::string error;

    step fail(std::string reason) {
        error = std::move(reason);
        step result;
        result.failed = true;
        return result;
    }
};

http_response_reader::http_response_reader() : state_(std::make_unique<state>()) {}
http_response_reader::~http_response_reader() = default;
http_response_reader::http_response_reader(http_response_reader&& other) noexcept = default;
http_response_reader& http_response_reader::operator=(http_response_reader&& other
) noexcept = default;

http_response_reader::step http_response_reader::read_header(std::string_view bytes) {
    step result;
    while (!header_done() && result.consumed < bytes.size()) {
        const std::string_view rest = bytes.substr(result.consumed);
        if (!rest.starts_with(status_start.substr(0, rest.size()))) {
            return state_->fail("the answer is not HTTP/1.1");
        }
        const std::size_t length = head_bytes(rest.substr(0, header_bytes_max));
        if (length == std::string_view::npos) {
            if (rest.size() > header_bytes_max) {
                return state_->fail("the header is too long");
            }
            break;
        }
        const std::optional<plain_head> head = read_head(rest.substr(0, length));
        if (!head) {
            return state_->fail("the status line is invalid");
        }
        result.consumed += length;
        state_->odd = state_->odd || head->odd;
        parser& current = *state_->current;
        current.eager(false);
        error_code ec;
        for (std::string_view left = head->text; !left.empty() && !current.is_header_done();) {
            left.remove_prefix(current.put({left.data(), left.size()}, ec));
            if (ec) {
                return state_->fail(ec.message());
            }
        }
        if (current.status / 100 == 1) {
            if (current.status == switching_protocols ||
                ++state_->informational > informational_max) {
                return state_->fail("unexpected informational response");
            }
            state_->current = std::make_unique<parser>();
        }
    }
    return result;
}

http_response_reader::step http_response_reader::read_body(std::span<char> bytes) {
    step result;
    parser& current = *state_->current;
    current.eager(true);
    current.bytes = bytes.data();
    current.found = {};
    while (!current.is_done() && result.consumed < bytes.size()) {
        const std::span<char> rest = bytes.subspan(result.consumed);
        error_code ec;
        result.consumed += current.put({rest.data(), rest.size()}, ec);
        if (ec == http::error::need_more) {
            break;
        }
        if (ec) {
            return state_->fail(ec.message());
        }
    }
    result.body = current.found;
    return result;
}

bool http_response_reader::end_of_connection() {
    if (!header_done()) {
        return false;
    }
    error_code ec;
    state_->current->put_eof(ec);
    return !ec;
}

bool http_response_reader::header_done() const noexcept {
    return state_->current->is_header_done();
}

bool http_response_reader::done() const noexcept { return state_->current->is_done(); }

bool http_response_reader::keep_alive() const noexcept {
    return header_done() && !state_->odd && state_->current->keep_alive();
}

int http_response_reader::status() const noexcept { return state_->current->status; }

std::string_view http_response_reader::field(std::string_view name) const noexcept {
    for (const auto& [key, value] : state_->current->fields) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

void http_response_reader::keep_fields(const std::function<bool(std::string_view name)>& is_wanted
) {
    auto& fields = state_->current->fields;
    std::erase_if(fields, [&is_wanted](const auto& each) { return !is_wanted(each.first); });
    fields.shrink_to_fit();
}

const std::string& http_response_reader::error() const noexcept { return state_->error; }

} // namespace agui::runner
