#include "gateway/routes/runs_route.hpp"

#include "gateway/auth/caller.hpp"
#include "gateway/http/http_error.hpp"
#include "session/base/base64url.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t handle_parts = 3;

// Names a run among those of all principals and gateways. Made only for callers who may see all of
// them, so it need not hide what it names.
std::string handle_of(const session::thread_key& thread, std::string_view run_id) {
    return encode_base64url(json::serialize(json::array{thread.principal, thread.thread_id, run_id})
    );
}

struct handled_run {
    session::thread_key thread;
    std::string run_id;
};

std::optional<handled_run> run_of_handle(std::string_view handle) {
    const auto text = decode_base64url(handle);
    const auto read = text ? parse_json(*text) : result<json::value>(failure{});
    const json::array* const parts = read ? read->if_array() : nullptr;
    if (parts == nullptr || parts->size() != handle_parts ||
        !std::ranges::all_of(*parts, [](const json::value& each) { return each.is_string(); })) {
        return std::nullopt;
    }
    const auto text_at = [parts](std::size_t index) {
        return std::string((*parts)[index].get_string());
    };
    return handled_run{{text_at(0), text_at(1)}, text_at(2)};
}

json::object shown(const run_service::active_run& run) {
    const caller_name owner = name_of(run.thread.principal);
    json::object out{
        {"handle", handle_of(run.thread, run.run_id)},
        {"tenant", owner.tenant},
        {"user", owner.user},
        {"threadId", run.thread.thread_id},
        {"runId", run.run_id},
        {"agentId", run.agent_id},
        {"startedAt", run.started_at},
        {"readers", run.readers},
    };
    if (run.ephemeral) {
        out["ephemeral"] = true;
    }
    return out;
}

asio::awaitable<handler_reply> list_runs(const run_service& runs) {
    json::array all;
    for (const run_service::active_run& each : runs.active_runs()) {
        all.push_back(shown(each));
    }
    http_reply reply;
    reply.body = json::serialize(json::object{{"runs", std::move(all)}});
    co_return reply;
}

asio::awaitable<handler_reply> end_run(run_service& runs, http_request& request) {
    auto run = run_of_handle(request.path_parameters.at(0));
    if (!run) {
        co_return to_reply(failure{errc::not_found, "there is no such run"});
    }
    request.audited = {
        .what = audit_event::run_stopped,
        .owner = run->thread.principal,
        .thread = run->thread.thread_id,
        .run = run->run_id
    };
    const auto ended = co_await runs.cancel(std::move(run->thread), std::move(run->run_id));
    if (!ended) {
        co_return to_reply(ended.error());
    }
    request.audited->outcome = *ended ? "stopped" : "not_stopped";
    http_reply reply;
    reply.body = *ended ? R"({"cancelled":true})" : R"({"cancelled":false})";
    co_return reply;
}

} // namespace

std::vector<route> make_runs_routes(run_service& runs) {
    return {
        {.method = "GET",
         .pattern = "/agui/runs",
         .handler = [&runs](http_request&) { return list_runs(runs); },
         .access = route_access::needs(scope::admin)},
        {.method = "DELETE",
         .pattern = "/agui/runs/{handle}",
         .handler = [&runs](http_request& request) { return end_run(runs, request); },
         .access = route_access::needs(scope::admin)},
    };
}

} // namespace agui::gateway
