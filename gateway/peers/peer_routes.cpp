#include "gateway/peers/peer_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/peers/entry_source.hpp"
#include "gateway/peers/peer_request.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// Returns 0 if there is no number.
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

http_reply other_gateway() { return to_reply(http_errc::wrong_host, "This is another gateway."); }

// A process that lost its leases gets another number, and another process may have the address of
// one that has ended.
bool is_for_this_process(const session::store& store, const http_request& request) {
    const std::int64_t own = store.gateway_number();
    return own != 0 && own == number_in(request.header(peer_to_header));
}

asio::awaitable<handler_reply>
read_log(const peer_services& here, const http_request& request, peer_request what) {
    const auto log = co_await here.runs.find_here(
        std::move(what.key), what.run_id.value_or(""), what.run_number
    );
    if (!log || what.after > log->last_sequence()) {
        co_return nothing(); // This gateway does not have these entries.
    }
    const peer_streams::name own{number_in(request.header(peer_from_header)), what.stream};
    co_return stream_reply{std::make_unique<entry_source>(log, what.after, here.streams, own)};
}

asio::awaitable<handler_reply>
leave_log(const peer_services& here, const http_request& request, peer_request what) {
    const std::int64_t from = number_in(request.header(peer_from_header));
    co_return here.streams.leave({from, what.stream}) ? nothing() : http_reply();
}

asio::awaitable<handler_reply>
stop(const peer_services& here, const http_request& request, peer_request what) {
    http_reply reply;
    const stopped_here met = co_await here.runs.stop_here(
        std::move(what.key), std::move(what.run_id), what.wish, request.received - what.age
    );
    reply.body = write_stopped(met);
    co_return reply;
}

using peer_handler =
    asio::awaitable<handler_reply> (*)(const peer_services&, const http_request&, peer_request);

asio::awaitable<handler_reply>
answer(peer_handler handler, std::shared_ptr<const peer_services> here, http_request& request) {
    if (!is_for_this_process(here->store, request)) {
        co_return other_gateway();
    }
    auto what = read_peer_request(request.body);
    if (!what) {
        co_return to_reply(what.error());
    }
    co_return co_await handler(*here, request, std::move(*what));
}

asio::awaitable<handler_reply>
ping(std::shared_ptr<const peer_services> here, http_request& request) {
    co_return is_for_this_process(here->store, request) ? nothing() : other_gateway();
}

client_answer answer_of(handler_reply reply, passed_request passed) {
    client_answer out;
    out.run_id = std::move(passed.begun);
    out.is_elsewhere = passed.is_elsewhere;
    if (auto* plain = std::get_if<http_reply>(&reply)) {
        out.status = plain->status;
        out.headers = std::move(plain->headers);
        out.content_type = std::move(plain->content_type);
        out.body = std::move(plain->body);
    }
    return out;
}

// An older gateway knows no users: it accepts only tokens that open everything, and passes no
// sender.
result<std::shared_ptr<const caller>> sender_of(const client_request& what) {
    if (what.sender.empty() && what.principal.empty() && what.shared_id.empty()) {
        return everybody();
    }
    auto read = read_caller(what.sender);
    if (read && what.shared_id.empty() && (*read)->principal != what.principal) {
        return failure{errc::invalid_input, "must be the principal of its sender", "principal"};
    }
    return read;
}

// Handles a client's request as if it had arrived here.
asio::awaitable<handler_reply>
pass(std::shared_ptr<const peer_services> here, http_request& request) {
    if (!is_for_this_process(here->store, request)) {
        co_return other_gateway();
    }
    auto what = read_passed(std::move(request.body), request.received);
    if (!what) {
        co_return to_reply(what.error());
    }
    const route* const target = here->routes.find(what->method, what->pattern);
    if (target == nullptr || !target->passable) {
        co_return to_reply(http_errc::not_found, "Requests to this route cannot be passed on.");
    }
    auto sender = sender_of(*what);
    if (!sender) {
        co_return to_reply(sender.error());
    }
    if (const auto refused = target->access.refuses(sender->get())) {
        http_reply out;
        out.body = write_answer(answer_of(to_reply(*refused), {}));
        co_return out;
    }
    passed_request passed{std::move(what->thread_id), std::move(what->run_id)};
    passed.principal = std::move(what->principal);
    passed.shared_id = std::move(what->shared_id);
    passed.right = what->right;
    http_request inner;
    inner.method = std::move(what->method);
    inner.path = target->pattern;
    inner.pattern = target->pattern;
    inner.path_parameters = std::move(what->path_parameters);
    inner.headers = std::move(what->headers);
    inner.body = std::move(what->body);
    inner.memory = std::move(request.memory);
    inner.sender = std::move(*sender);
    inner.access = target->access;
    inner.address = std::move(what->address);
    inner.received = what->received;
    inner.passed = &passed;
    auto reply = co_await target->handler(inner);
    http_reply out;
    out.body = write_answer(answer_of(std::move(reply), std::move(passed)));
    co_return out;
}

} // namespace

std::vector<route> make_peer_routes(peer_services services) {
    const auto here = std::make_shared<const peer_services>(services);
    std::vector<route> table;
    table.push_back(
        {.method = "GET",
         .pattern = std::string(peer_ping_path),
         .handler = [here](http_request& request) { return ping(here, request); },
         .access = route_access::peers()}
    );
    table.push_back(
        {.method = "POST",
         .pattern = std::string(peer_pass_path),
         .handler = [here](http_request& request) { return pass(here, request); },
         .access = route_access::peers(),
         .more_body_bytes = passed_head_bytes_max}
    );
    const auto add = [&](std::string_view path, peer_handler handler) {
        table.push_back(
            {.method = "POST",
             .pattern = std::string(path),
             .handler = [here,
                         handler](http_request& request) { return answer(handler, here, request); },
             .access = route_access::peers(),
             .max_body_bytes = peer_request_bytes_max}
        );
    };
    add(peer_log_path, read_log);
    add(peer_leave_path, leave_log);
    add(peer_stop_path, stop);
    return table;
}

} // namespace agui::gateway
