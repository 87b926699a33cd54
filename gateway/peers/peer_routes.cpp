#include "gateway/peers/peer_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/peers/entry_source.hpp"
#include "gateway/peers/peer_request.hpp"

#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// 0: there is none.
std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && end == text.data() + text.size() ? number : 0;
}

http_reply nothing() {
    http_reply reply;
    reply.status = 204;
    reply.content_type.clear();
    return reply;
}

// A process that has lost its leases has another number, and the address of one that has ended may
// be another's by now.
bool is_meant(const session::store& store, const http_request& request) {
    const std::int64_t own = store.gateway_number();
    return own != 0 && own == number_in(request.header(peer_to_header));
}

asio::awaitable<handler_reply>
read_log(run_service& runs, peer_streams& streams, const http_request& request, peer_request what) {
    const auto log = co_await runs.find_here(std::move(what.key), what.run_id.value_or(""));
    if (!log || what.after > log->last_sequence()) {
        co_return to_reply(http_errc::not_found, "This gateway does not have these entries.");
    }
    const peer_streams::name own{number_in(request.header(peer_from_header)), what.stream};
    co_return stream_reply{std::make_unique<entry_source>(log, what.after, streams, own)};
}

asio::awaitable<handler_reply>
leave_log(run_service&, peer_streams& streams, const http_request& request, peer_request what) {
    (void)streams.leave({number_in(request.header(peer_from_header)), what.stream});
    co_return nothing();
}

asio::awaitable<handler_reply>
stop(run_service& runs, peer_streams&, const http_request&, peer_request what) {
    http_reply reply;
    const stopped_here met =
        co_await runs.stop_here(std::move(what.key), std::move(what.run_id), what.wish);
    reply.body = write_stopped(met);
    co_return reply;
}

using peer_handler = asio::awaitable<handler_reply> (*)(
    run_service&, peer_streams&, const http_request&, peer_request
);

asio::awaitable<handler_reply> answer(
    peer_handler handler, run_service& runs, const session::store& store, peer_streams& streams,
    http_request& request
) {
    if (!is_meant(store, request)) {
        co_return to_reply(http_errc::wrong_host, "This is another gateway.");
    }
    auto what = read_peer_request(request.body);
    if (!what) {
        co_return to_reply(what.error());
    }
    co_return co_await handler(runs, streams, request, std::move(*what));
}

asio::awaitable<handler_reply> ping(const session::store& store, http_request& request) {
    co_return is_meant(store, request)
        ? nothing()
        : to_reply(http_errc::wrong_host, "This is another gateway.");
}

} // namespace

std::vector<route>
make_peer_routes(run_service& runs, const session::store& store, peer_streams& streams) {
    std::vector<route> table;
    table.push_back(
        {.method = "GET",
         .pattern = peer_ping_path,
         .handler = [&store](http_request& request) { return ping(store, request); },
         .peer = true}
    );
    const auto add = [&](std::string_view path, peer_handler handler) {
        table.push_back(
            {.method = "POST",
             .pattern = path,
             .handler = [&runs, &store, &streams, handler](http_request& request
                        ) { return answer(handler, runs, store, streams, request); },
             .peer = true,
             .json = true,
             .max_body_bytes = peer_request_bytes_max}
        );
    };
    add(peer_log_path, read_log);
    add(peer_leave_path, leave_log);
    add(peer_stop_path, stop);
    return table;
}

} // namespace agui::gateway
