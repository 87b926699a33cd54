#pragma once

#include "runner/base/answer_memory.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
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
        redirect, ///< The server sent the request elsewhere, where it must not go.
        memory,   ///< The memory budget has no room for the answer.
        cancelled,
    };
    kind what = kind::connect;
    std::string detail;  ///< For the log only.
    bool unsent = false; ///< Certainly nothing of the request was written to a connection.
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
    /// In addition to Host, Content-Length and Content-Type.
    std::vector<std::pair<std::string, std::string>> headers;
    /// JSON. A GET or DELETE with an empty body has none: no Content-Type and no Content-Length.
    std::string body;
};

/// One answer. If it is destroyed before its end, its connection is closed; otherwise the
/// connection goes back to the pool. Used by one coroutine.
class transport_response {
public:
    virtual ~transport_response() = default;
    [[nodiscard]] virtual int status() const noexcept = 0;
    /// The value of a header, whose name is in lower case; empty: there is none.
    [[nodiscard]] virtual std::string_view header(std::string_view name) const noexcept = 0;
    /// The next bytes of the body, valid until the caller next suspends; an empty view at its end.
    [[nodiscard]] virtual boost::asio::awaitable<transport_result<std::string_view>> read() = 0;
    /// Until a read is not followed by was_idle(), the reads may take `time` in all, in place of
    /// the idle time.
    virtual void wait_first(std::chrono::milliseconds time) noexcept { (void)time; }
    /// To be called if the last read brought only a sign of life: the idle time then goes on as if
    /// nothing had come.
    virtual void was_idle() noexcept {}

    /// To be called by a reader that keeps bytes of the body (answer_memory::keep): they count
    /// against the client's budget until the response is destroyed. False: there is no room, and
    /// the reader gives up with no_memory().
    [[nodiscard]] bool keep(std::size_t bytes) noexcept { return kept_.keep(bytes); }

protected:
    /// `budget` may be null; otherwise it must outlive the response.
    explicit transport_response(memory_budget* budget = nullptr) noexcept : kept_(budget) {}

private:
    answer_memory kept_;
};

/// The failure after transport_response::keep().
[[nodiscard]] transport_failure no_memory();

/// An HTTP client for one server: a real one, or a script.
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
