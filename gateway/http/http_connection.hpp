#pragma once

#include "gateway/audit/access_log.hpp"
#include "gateway/audit/auth_failures.hpp"
#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/current_authenticator.hpp"
#include "gateway/http/access_rules.hpp"
#include "gateway/http/address_shares.hpp"
#include "gateway/http/bulkhead.hpp"
#include "gateway/http/client_address.hpp"
#include "gateway/http/connection_places.hpp"
#include "gateway/http/framing_check.hpp"
#include "gateway/http/gather.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/http/http_message.hpp"
#include "gateway/http/memory_queue.hpp"
#include "gateway/http/refused_origins.hpp"
#include "gateway/http/response_head.hpp"
#include "gateway/http/room_log.hpp"
#include "gateway/http/router.hpp"
#include "gateway/http/wrong_tokens.hpp"
#include "gateway/quota/quotas.hpp"
#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {

/// Limits of one connection.
struct connection_limits {
    std::chrono::milliseconds header{10'000}; ///< Time for a whole request head.
    /// Time for a body before min_body_rate applies. Also how long a large body waits for memory
    /// before that.
    std::chrono::milliseconds body{60'000};
    std::chrono::milliseconds body_idle{15'000}; ///< Longest pause within a body.
    /// Bytes per second that must arrive in each `body_idle` once `body` has passed.
    std::size_t min_body_rate = 16'384;
    std::chrono::milliseconds idle{75'000};  ///< Longest pause between two requests.
    std::chrono::milliseconds stall{30'000}; ///< Longest time without progress of a write.
    /// Bytes per second of a plain reply that the peer must read in each `stall`.
    std::size_t min_reply_rate = 8'192;
    /// Time for a whole plain reply, in addition to its size at `reply_rate`.
    std::chrono::milliseconds reply{60'000};
    std::size_t reply_rate = 32'768; ///< Bytes per second.
    /// How long the rest of a request is read before closing.
    std::chrono::milliseconds linger{2'000};
    /// Time without an event until a heartbeat is sent.
    std::chrono::milliseconds heartbeat{15'000};
    std::size_t max_header_bytes = 32'768;
    std::size_t max_body_bytes = 33'554'432;
    std::size_t reader_buffer_bytes = 1'048'576; ///< How many bytes a reader of a run may lag.
    std::chrono::milliseconds lag{10'000}; ///< How long it may lag beyond that without catching up.
    /// Time for a reader that is cut off to read the bytes in flight and a note with the reason.
    std::chrono::milliseconds farewell{10'000};
};

/// Services shared by all connections. The referenced objects must outlive them.
struct connection_services {
    const router& routes;
    access_settings access;
    const current_authenticator& auth; ///< For routes that are not open.
    wrong_tokens& wrong;
    connection_limits limits;
    logger& log;
    memory_budget& memory;      ///< Budget for bodies and plain replies.
    memory_queue& large_bodies; ///< Queue for memory of large bodies.
    address_shares& unfinished; ///< Counts bodies that are still arriving.
    bulkhead& large_replies;    ///< Limits routes with large_reply.
    room_log& no_room;
    refused_origins& refused;
    std::vector<network> trusted_proxies;
    std::string_view peer_secret;      ///< Token of peer routes; empty if there are none.
    quotas* quota = nullptr;           ///< Counts requests; null without [[quotas]].
    audit_log* audit = nullptr;        ///< May be null.
    auth_failures* failures = nullptr; ///< Null without an audit.
    access_log* accesses = nullptr;    ///< May be null.
};

/// One HTTP/1.1 connection: reads requests one after the other, and answers each with a plain reply
/// or a stream. Every member is used on the socket's executor only. The owner calls sweep() a few
/// times a second to check deadlines, so that neither a token nor a write costs a timer.
class http_connection : public std::enable_shared_from_this<http_connection> {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `now` is the owner's coarse time, which it updates before each sweep(). The references must
    /// outlive this object.
    http_connection(
        boost::asio::ip::tcp::socket socket, std::unique_ptr<connection_places::place> place,
        const connection_services& services, const time_point& now
    );

    /// Serves requests until either side closes the connection. Called once.
    [[nodiscard]] boost::asio::awaitable<void> run();

    /// Checks the deadlines: closes the connection, or ends or wakes its current wait.
    void sweep();
    /// Closes the connection: at once if it is idle and no request has arrived, otherwise after the
    /// current reply.
    void finish();
    /// Resets the connection at once, so that the peer cannot mistake a partial reply for the
    /// whole.
    void abort();

private:
    enum class phase { idle, head, queued, body, handling, writing, streaming, lingering };
    struct event_stream;
    /// The unsent rest of a plain reply.
    struct unsent_reply {
        gather buffers;
        file_body* file = nullptr; ///< Sent after the buffers, or null.
        [[nodiscard]] std::uint64_t bytes() const noexcept {
            return buffers.bytes() + (file == nullptr ? 0 : file->size());
        }
    };

    [[nodiscard]] boost::asio::awaitable<bool> take_request();
    [[nodiscard]] boost::asio::awaitable<std::size_t> read_head();
    [[nodiscard]] std::optional<router::found>
    examine(std::string_view block, http_request& request, body_framing& framing);
    [[nodiscard]] boost::asio::awaitable<bool>
    admit(const router::found& match, http_request& request);
    [[nodiscard]] bool
    has_right_origin(const route& target, const authenticator& checker, http_request& request);
    [[nodiscard]] boost::asio::awaitable<bool>
    identify(authenticator& checker, route_access needed, http_request& request);
    [[nodiscard]] presented_head head_of(const http_request& request) const;
    [[nodiscard]] bool is_within_rate_of_address(const http_request& request);
    [[nodiscard]] bool is_within_rate_of(const http_request& request);
    [[nodiscard]] bool count_rates(std::vector<request_rates::state> states);
    void show_rates();
    [[nodiscard]] bool has_right_type(const route& target, const http_request& request);
    [[nodiscard]] bool has_allowed_size(const route& target, const body_framing& framing);
    [[nodiscard]] bool admit_peer(const http_request& request);
    void refuse_sender(const http_request& request, const auth_error& why);
    void audit_failure(const http_request& request, const audit_note& what);
    void audit_request(const http_request& request, const handler_reply& reply);
    void begin_access();
    [[nodiscard]] client_address address_for_records(const http_request& request) const;
    void describe_access(const http_request& request, std::string_view path);
    void end_access();
    [[nodiscard]] boost::asio::awaitable<void> delay_refusal();
    [[nodiscard]] std::string address_of_client(const http_request& request) const;
    void evict();
    [[nodiscard]] bool has_unread() const;
    [[nodiscard]] boost::asio::awaitable<bool>
    read_body(http_request& request, const body_framing& framing, const route& target);
    [[nodiscard]] boost::asio::awaitable<bool>
    wait_for_memory(http_request& request, std::size_t length);
    void on_turn();
    [[nodiscard]] boost::asio::awaitable<bool> ask_for_body(const http_request& request);
    [[nodiscard]] boost::asio::awaitable<bool>
    read_chunked_body(http_request& request, address_shares::share& unfinished);
    [[nodiscard]] boost::asio::awaitable<bool>
    read_plain_body(http_request& request, std::size_t length, address_shares::share& unfinished);
    [[nodiscard]] bool hold(http_request& request, address_shares::share& unfinished);
    [[nodiscard]] bool body_is_late();
    void refuse_too_large();
    void refuse_for_want_of_memory();
    void refuse_for_want_of_share();
    [[nodiscard]] boost::asio::awaitable<handler_reply>
    answer(const route& target, http_request& request);
    [[nodiscard]] boost::asio::awaitable<handler_reply>
    call(const route& target, http_request& request);
    [[nodiscard]] boost::asio::awaitable<std::size_t>
    read_some(std::string& into, std::size_t bytes);

    [[nodiscard]] boost::asio::awaitable<bool> send_reply();
    [[nodiscard]] boost::asio::awaitable<bool> send_stream();
    [[nodiscard]] boost::asio::awaitable<bool> send_stream_head();
    [[nodiscard]] bool write_events(event_stream& stream);
    [[nodiscard]] bool try_write(gather& buffers);
    [[nodiscard]] boost::asio::awaitable<bool> write_rest(gather& buffers);
    [[nodiscard]] boost::asio::awaitable<bool> write_file(file_body& file);
    [[nodiscard]] boost::asio::awaitable<void> linger();
    void beat();
    void look_for_progress();
    void look_for_reply_progress();
    void look_whether_peer_left();
    [[nodiscard]] bool has_peer_left();
    void look_for_lag();
    void cut_off(std::string_view why);
    [[nodiscard]] boost::asio::awaitable<void> send_cut_off();
    void watch_peer();
    void on_peer_readable();
    void peer_left();

    void refuse(http_errc code, std::string_view message);
    void refuse_and_close(http_errc code, std::string_view message);
    void enter(phase next) noexcept;
    void close() noexcept;

    const std::unique_ptr<connection_places::place> place_; ///< Freed after the socket.
    boost::asio::ip::tcp::socket socket_;
    std::optional<boost::asio::ip::address> peer_; ///< nullopt if it had left at the beginning.
    const connection_services& services_;
    const time_point& now_;

    phase phase_ = phase::head;
    bool write_failed_ = false;
    time_point since_;               ///< When the phase began or last made progress.
    std::uint64_t sent_ = 0;         ///< Bytes, since the connection began.
    std::size_t max_body_bytes_ = 0; ///< Limit of the request that is being read.
    std::size_t body_received_ = 0;
    std::size_t body_mark_ = 0; ///< Bytes received at `body_mark_at_`.
    time_point body_mark_at_;
    time_point body_progress_; ///< When the body's last byte so far arrived.
    int unsent_ = 0; ///< Bytes in the kernel's send buffer when the peer last made progress.
    memory_share reply_memory_;           ///< The memory of a plain reply until it has been sent.
    const unsent_reply* plain_ = nullptr; ///< Set while a plain reply is being written.
    time_point reply_since_;              ///< When its writing began.
    std::uint64_t reply_bytes_ = 0;       ///< Its whole size.
    /// Its unread bytes when the peer last made progress.
    std::uint64_t unread_at_progress_ = 0;
    bool timed_out_ = false; ///< sweep() has cancelled the last read.
    bool finishing_ = false;
    enum class wait { none, first_byte, rest_of_head };
    wait waiting_ = wait::first_byte;
    bool evicted_ = false;      ///< Another connection needs the place: only a request keeps it.
    bool without_body_ = false; ///< The method is HEAD.
    /// Form of the request's refusals; null for that of to_reply().
    const refusal_form* form_ = nullptr;
    std::chrono::milliseconds delay_{0}; ///< Delay before the refusal in reply_ is sent.

    /// The rates that the present request was counted in.
    std::vector<request_rates::state> rates_;

    /// A request for the access log, until its answer ends.
    struct access_in_progress {
        access_entry entry;
        time_point since;
        std::uint64_t sent_before = 0; ///< sent_ when it began.
    };
    std::unique_ptr<access_in_progress> access_; ///< Null without an access log.

    std::string in_;        ///< Received but unused bytes.
    time_point in_since_{}; ///< When the first byte of in_ arrived. Exact, unlike now_.
    reply_terms terms_;
    std::variant<std::monostate, http_reply, stream_reply> reply_;
    /// Set while a stream is sent; it lives in the coroutine that sends it.
    event_stream* stream_ = nullptr;
    std::uint64_t watch_ = 0; ///< Number of the current watch_peer() call.
    /// The peer has sent bytes during a stream, which stay unread. The socket then stays readable,
    /// so only sweep() can notice that the peer leaves.
    bool early_ = false;
};

} // namespace agui::gateway
