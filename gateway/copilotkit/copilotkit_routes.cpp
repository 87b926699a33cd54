#include "gateway/copilotkit/copilotkit_routes.hpp"

#include "gateway/copilotkit/copilotkit_reply.hpp"
#include "gateway/copilotkit/copilotkit_single.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

using shared_parts = std::shared_ptr<const copilotkit_parts>;

constexpr std::size_t stop_bytes_max = 16U << 10U;

http_reply no_such_agent(std::string_view id) {
    return copilotkit_error(
        404, "Agent not found", "Agent '" + std::string(id) + "' does not exist"
    );
}

bool is_agent(const copilotkit_parts& parts, const http_request& request) {
    return parts.agents.contains(request.path_parameters.at(0));
}

/// The request becomes one for the gateway's own route for runs, as which it is passed on if
/// another gateway has the thread.
void become_own_run(http_request& request) {
    request.pattern = "/agui/agents/{agentId}";
    request.path = "/agui/agents/" + request.path_parameters.front();
}

asio::awaitable<handler_reply>
run_agent(shared_parts parts, http_handler copilotkit_parts::* handler, http_request& request) {
    if (!is_agent(*parts, request)) {
        co_return no_such_agent(request.path_parameters.front());
    }
    if (handler != &copilotkit_parts::connect) {
        become_own_run(request);
    }
    co_return co_await ((*parts).*handler)(request);
}

/// The runId that a request to stop names; nullopt if the request is refused with `refusal`.
std::optional<std::string> run_to_stop(std::string_view body, std::string_view& refusal) {
    if (body.empty()) {
        return std::string();
    }
    const auto read = parse_json(body);
    const json::object* const given = read ? read->if_object() : nullptr;
    const json::value* const run = given == nullptr ? nullptr : given->if_contains("runId");
    if (given == nullptr || given->size() > (run == nullptr ? 0U : 1U)) {
        refusal = "Invalid stop request";
        return std::nullopt;
    }
    if (run != nullptr && (!run->is_string() || run->get_string().empty())) {
        refusal = "Invalid runId";
        return std::nullopt;
    }
    return run == nullptr ? std::string() : std::string(run->get_string());
}

asio::awaitable<handler_reply> stop_agent(shared_parts parts, http_request& request) {
    if (!is_agent(*parts, request)) {
        co_return no_such_agent(request.path_parameters.front());
    }
    std::string_view refusal;
    auto run_id = run_to_stop(request.body, refusal);
    if (!run_id) {
        co_return copilotkit_error(400, refusal);
    }
    std::optional<std::string> only;
    if (!run_id->empty()) {
        only = std::move(*run_id);
    }
    request.audited = {
        .what = audit_event::run_stopped,
        .thread = request.path_parameters.at(1),
        .run = only.value_or(""),
        .agent = request.path_parameters.front()
    };
    const auto thread =
        co_await find_named_thread(parts->store, request, request.path_parameters.at(1));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    name_in_audit(*request.audited, *thread);
    const auto stopped = co_await parts->runs.cancel(thread->key, std::move(only));
    if (!stopped) {
        co_return to_reply(stopped.error());
    }
    request.audited->outcome = *stopped ? "stopped" : "not_stopped";
    json::object body{{"stopped", *stopped}};
    if (!*stopped) {
        body["message"] = "No run of this thread is active.";
    }
    co_return copilotkit_reply(body);
}

json::object thread_endpoints() {
    return {{"list", true}, {"inspect", true}, {"mutations", true}, {"realtimeMetadata", false}};
}

/// The reply to GET /info or, with `single`, to the envelope's method `info`.
json::object info_of(const json::object& agents, bool single) {
    json::object info{
        {"version", AGUI_VERSION},
        {"agents", agents},
        {"mode", "sse"},
        {"threadEndpoints", thread_endpoints()},
        {"audioFileTranscriptionEnabled", false},
        {"a2uiEnabled", false},
        {"openGenerativeUIEnabled", false},
        {"telemetryDisabled", true},
    };
    if (single) {
        info["singleRoute"] = {
            {"resourceOperations", true}, {"threadEndpoints", thread_endpoints()}
        };
    } else {
        info["suggestions"] = true;
    }
    return info;
}

asio::awaitable<handler_reply> show_info(std::shared_ptr<const std::string> body) {
    http_reply reply;
    reply.body = *body;
    co_return reply;
}

asio::awaitable<handler_reply> answer_not_found(http_request& /*request*/) {
    co_return copilotkit_error(404, "Not found");
}

http_handler make_info(const json::object& agents, bool single) {
    return [body = std::make_shared<const std::string>(json::serialize(info_of(agents, single))
            )](http_request&) {
        return show_info(body);
    };
}

} // namespace

std::vector<route> make_copilotkit_routes(const std::string& base, copilotkit_parts given) {
    const auto parts = std::make_shared<const copilotkit_parts>(std::move(given));
    const auto on_agent = [&parts](http_handler copilotkit_parts::* which) -> http_handler {
        return [parts, which](http_request& request) {
            return run_agent(parts, which, request);
        };
    };
    const std::string agent = base + "/agent/{agentId}";
    std::vector<route> table =
        make_copilotkit_thread_routes(base, parts->store, parts->heavy, parts->threads);
    table.push_back(
        {.method = "GET",
         .pattern = base + "/info",
         .handler = make_info(parts->agents, false),
         .access = route_access::known()}
    );
    table.push_back(
        {.method = "POST",
         .pattern = agent + "/run",
         .handler = on_agent(&copilotkit_parts::run),
         .access = route_access::needs_for_agent(scope::run),
         .json = true}
    );
    table.push_back(
        {.method = "POST",
         .pattern = agent + "/suggest",
         .handler = on_agent(&copilotkit_parts::suggest),
         .access = route_access::needs_for_agent(scope::run),
         .json = true}
    );
    table.push_back(
        {.method = "POST",
         .pattern = agent + "/connect",
         .handler = on_agent(&copilotkit_parts::connect),
         .access = route_access::needs(scope::read),
         .json = true}
    );
    table.push_back(
        {.method = "POST",
         .pattern = agent + "/stop/{threadId}",
         .handler = [parts](http_request& request) { return stop_agent(parts, request); },
         .access = route_access::needs_for_agent_of_thread(scope::run),
         .json = true,
         .max_body_bytes = stop_bytes_max}
    );
    // The reference server has these two paths only in development or with its platform. Without
    // rows, they would be ids of threads, which serve other methods.
    for (const std::string_view unserved : {"/threads/clear", "/threads/subscribe"}) {
        table.push_back(
            {.method = "POST",
             .pattern = base + std::string(unserved),
             .handler = answer_not_found,
             .access = route_access::known()}
        );
    }
    table.push_back(make_single_route(
        base, table, make_info(parts->agents, true), parts->heavy, parts->max_json_depth
    ));
    // Without this row, a page of server.static_dir would answer for paths that do not exist.
    table.push_back(
        {.method = "GET",
         .pattern = base + "/*",
         .handler = answer_not_found,
         .access = route_access::open()}
    );
    return table;
}

} // namespace agui::gateway
