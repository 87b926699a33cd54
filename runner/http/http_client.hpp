#pragma once

#include "runner/base/answer_memory.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Why a request has no response.
struct transport_failure {
    enum class kind {
        connect,
        tls,
        timeout,
        lost,
        protocol,
        redirect, ///< The server redirected the request to a place where it must not be sent.
        memory,   ///< The memory budget has no room for the answer.
        cancelled,
    };
    kind what = kind::connect;
    std::string detail;  ///< For the log only.
    bool unsent = false; ///< Set if certainly nothing of the request was written to a connection.
};

[[nodiscard]] std::string_view to_string(transport_failure::kind kind) noexcept;

[[noreturn]] void
throw_exception_from_error(const transport_failure& error, const boost::source_location& where);

template <class T>
using transport_result = boost::system::result<T, transport_failure>;

enum class http_method { get, post, put, patch, delete_ };

struct transport_request {
    http_method method = http_method::post;
    std::string target; ///< Appended to the base URL's path, e.g. "/chat/completions".
    /// Sent in addition to Host, Content-Length and Content-Type.
    std::vector<std::pair<std::string, std::string>> headers;
    /// JSON. A GET or DELETE with an empty body is sent without Content-Type and Content-Length.
    std::string body;
};

/// What a reader does with each part of a body: see transport_response::read_parts().
class part_taker {
public:
    /// `part` is as read() gives it. Returns false if no further part is wanted for now.
    [[nodiscard]] virtual bool take(const transport_result<std::string_view>& part) = 0;

protected:
    ~part_taker() = default;
};

/// One answer. Destroying it before its end closes the connection; otherwise the connection returns
/// to the pool. Used by one coroutine.
class transport_response {
public:
    virtual ~transport_response() = default;
    [[nodiscard]] virtual int status() const noexcept = 0;
    /// The value of a header, whose name is in lower case; empty if there is none.
    [[nodiscard]] virtual std::string_view header(std::string_view name) const noexcept = 0;
    /// Frees all headers but those of these names (in lower case) that somebody still wants to
    /// read. A server may send several kilobytes of them, and the answer of a model is read for
    /// minutes.
    virtual void keep_headers(std::span<const std::string_view> names) { (void)names; }
    /// The next bytes of the body, valid until the caller next suspends; an empty view at its end.
    [[nodiscard]] virtual boost::asio::awaitable<transport_result<std::string_view>> read() = 0;
    /// Like read() in a loop, for parts that come as often as tokens: gives each part to `to`,
    /// which must outlive the await, until that takes no more. The last one is the end or a
    /// failure. The caller stays suspended meanwhile; what take() throws is thrown here.
    [[nodiscard]] virtual boost::asio::awaitable<void> read_parts(part_taker& to);
    /// Lets the reads take `time` in all instead of the idle time, until a read is not followed by
    /// was_idle().
    virtual void wait_first(std::chrono::milliseconds time) noexcept { (void)time; }
    /// Tells that the last read brought only a sign of life. The idle time then continues as if
    /// nothing had come.
    virtual void was_idle() noexcept {}

    /// Counts bytes of the body that the reader keeps (answer_memory::keep) against the client's
    /// budget until the response is destroyed. Returns false if there is no room; the reader then
    /// gives up with no_memory().
    [[nodiscard]] bool keep(std::size_t bytes) noexcept { return kept_.keep(bytes); }

protected:
    /// `budget` may be null; otherwise it must outlive the response.
    explicit transport_response(memory_budget* budget = nullptr) noexcept : kept_(budget) {}

private:
    answer_memory kept_;
};

/// The failure to report after keep() returned false.
[[nodiscard]] transport_failure no_memory();

/// An HTTP client for one server, or a script in its place.
class http_client {
public:
    virtual ~http_client() = default;
    /// Sends the request and returns once the answer's header has arrived. `request` must outlive
    /// the await. Cancellation closes the connection and yields `cancelled`.
    [[nodiscard]] virtual boost::asio::awaitable<
        transport_result<std::unique_ptr<transport_response>>>
    send(const transport_request& request) = 0;
};

} // namespace agui::runner
