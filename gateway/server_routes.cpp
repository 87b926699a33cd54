#include "gateway/server_impl.hpp"

#include "gateway/ai/ai_routes.hpp"
#include "gateway/capabilities.hpp"
#include "gateway/console/console_routes.hpp"
#include "gateway/copilotkit/copilotkit_reply.hpp"
#include "gateway/copilotkit/copilotkit_routes.hpp"
#include "gateway/http/static_files.hpp"
#include "gateway/peers/peer_routes.hpp"
#include "gateway/routes/access_route.hpp"
#include "gateway/routes/agui_route.hpp"
#include "gateway/routes/cancel_route.hpp"
#include "gateway/routes/capabilities_route.hpp"
#include "gateway/routes/chat_stream_route.hpp"
#include "gateway/routes/claim_route.hpp"
#include "gateway/routes/events_route.hpp"
#include "gateway/routes/health_routes.hpp"
#include "gateway/routes/history_route.hpp"
#include "gateway/routes/part_routes.hpp"
#include "gateway/routes/runs_route.hpp"
#include "gateway/routes/session_route.hpp"
#include "gateway/routes/state_route.hpp"
#include "gateway/routes/steer_route.hpp"
#include "gateway/routes/tanstack_route.hpp"
#include "gateway/routes/thread_routes.hpp"
#include "gateway/routes/usage_route.hpp"
#include "gateway/routes/welcome_route.hpp"
#include "session/base/clock.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace agui::gateway {

namespace {

/// Two ids and room to spare. Small enough to use the memory reserve, so that a stop can always be
/// read.
constexpr std::size_t max_cancel_bytes = 16U << 10U;

http_handler
handler_of(const std::vector<route>& threads, std::string_view method, std::string_view pattern) {
    const auto is_wanted = [&](const route& each) {
        return each.method == method && each.pattern == pattern;
    };
    return std::ranges::find_if(threads, is_wanted)->handler;
}

own_thread_routes own_routes(const std::vector<route>& threads) {
    return {
        handler_of(threads, "PATCH", "/agui/threads/{threadId}"),
        handler_of(threads, "DELETE", "/agui/threads/{threadId}"),
        handler_of(threads, "GET", "/agui/threads/{threadId}/messages"),
        handler_of(threads, "GET", "/agui/threads/{threadId}/state")
    };
}

boost::json::object copilotkit_agents(
    const std::vector<agent_config>& agents,
    const std::map<std::string, boost::json::object, std::less<>>& capabilities
) {
    boost::json::object all;
    for (const agent_config& agent : agents) {
        all[agent.id] = {
            {"name", agent.id},
            {"className", "agui-gateway"},
            {"description", agent.description},
            {"capabilities", capabilities.at(agent.id)}
        };
    }
    return all;
}

} // namespace

std::vector<route> server::impl::make_routes() {
    const http_handler run = make_agui_route(runs, parser, passed_headers(settings.tools));
    const http_handler chat =
        make_chat_stream_route(runs, parser, ids, &memory, passed_headers(settings.tools));
    const std::size_t depth = settings.server.input.max_json_depth;
    const auto tools = options.tools.snapshot();
    std::map<std::string, boost::json::object, std::less<>> capabilities;
    for (const agent_config& agent : settings.agents) {
        capabilities.emplace(agent.id, capabilities_of(settings, agent, *tools));
    }
    const http_handler shown = make_capabilities_route(capabilities, default_agent(settings));
    std::vector<route> table{
        {.method = "POST",
         .pattern = "/agui",
         .handler = run,
         .access = route_access::needs_for_agent(scope::run),
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/agui/agents/{agentId}",
         .handler = run,
         .access = route_access::needs_for_agent(scope::run),
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/chat/stream",
         .handler = chat,
         .access = route_access::needs_for_agent(scope::run),
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/chat/agents/{agentId}/stream",
         .handler = chat,
         .access = route_access::needs_for_agent(scope::run),
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/agui/cancel",
         .handler = make_cancel_route(runs, depth),
         .access = route_access::needs_for_agent_of_thread(scope::run),
         .json = true,
         .max_body_bytes = max_cancel_bytes},
        {.method = "POST",
         .pattern = "/agui/steer",
         .handler = make_steer_route(runs, parser),
         .access = route_access::needs_for_agent_of_thread(scope::run),
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/agui/history",
         .handler = make_history_route(runs, parser),
         .access = route_access::needs(scope::read),
         .json = true},
        {
            .method = "GET",
            .pattern = "/agui/threads/{threadId}/runs/{runId}/events",
            .handler = make_events_route(runs, &memory),
            .access = route_access::needs(scope::read),
        },
        {.method = "GET",
         .pattern = "/agui/capabilities",
         .handler = shown,
         .access = route_access::known()},
        {.method = "GET",
         .pattern = "/agui/agents/{agentId}/capabilities",
         .handler = shown,
         .access = route_access::known()},
        {.method = "GET",
         .pattern = "/healthz",
         .handler = make_health_route(),
         .access = route_access::open(),
         .any_host = true,
         .probe = true},
        {.method = "GET",
         .pattern = "/readyz",
         .handler = make_ready_route(
             {.draining = [this] { return draining.load(); },
              .store_unavailable = [this] { return store->unavailable(); },
              .models =
                  [this] {
                      return circuits_of(providers);
                  }}
         ),
         .access = route_access::open(),
         .any_host = true,
         .guarded_parameter = detail_parameter,
         .probe = true},
        {.method = "GET",
         .pattern = "/version",
         .handler = make_version_route(),
         .access = route_access::known()},
    };
    table.push_back(make_part_route(*store, links, system_clock()));
    table.push_back(make_attachment_route(
        *store, links, system_clock(), parser, limits ? &*limits : nullptr,
        settings.session.max_thread_bytes
    ));
    table.push_back(make_state_route(runs, parser));
    for (route& one : make_session_routes(auth, system_clock())) {
        table.push_back(std::move(one));
    }
    if (limits) {
        table.push_back(make_usage_route(*limits));
    }
    for (route& one : make_claim_routes(*store, system_clock())) {
        table.push_back(std::move(one));
    }
    for (route& one : make_access_routes(*store, log)) {
        table.push_back(std::move(one));
    }
    for (route& one : make_runs_routes(runs)) {
        table.push_back(std::move(one));
    }
    if (std::ranges::any_of(settings.agents, sends_tanstack)) {
        const http_handler reloading =
            make_tanstack_route(runs, *store, heavy, ids, make_events_route(runs, &memory));
        for (const char* const pattern : {"/agui", "/agui/agents/{agentId}"}) {
            table.push_back(
                {.method = "GET",
                 .pattern = pattern,
                 .handler = reloading,
                 .access = route_access::needs(scope::read)}
            );
        }
    }
    std::vector<route> of_threads = make_thread_routes(
        *store, links, system_clock(), depth, heavy, settings.session.history.approval_life,
        make_forget_thread()
    );
    if (const std::string& base = settings.server.copilotkit_path; !base.empty()) {
        copilotkit_parts parts{
            runs,
            *store,
            heavy,
            depth,
            run,
            make_suggestions_route(runs, parser, passed_headers(settings.tools)),
            make_following_route(runs, parser),
            own_routes(of_threads),
            copilotkit_agents(settings.agents, capabilities)
        };
        for (route& one : make_copilotkit_routes(base, std::move(parts))) {
            table.push_back(std::move(one));
        }
    }
    if (const std::string& base = settings.server.ai_path; !base.empty()) {
        ai_parts parts{
            {runs, parser, passed_headers(settings.tools)},
            *store,
            heavy,
            ids,
            depth,
            handler_of(of_threads, "GET", "/agui/threads/{threadId}/messages")
        };
        for (route& one : make_ai_routes(base, std::move(parts))) {
            table.push_back(std::move(one));
        }
    }
    for (route& one : of_threads) {
        one.large_reply = one.method == "GET" &&
                          (one.pattern.ends_with("/messages") || one.pattern.ends_with("/events") ||
                           one.pattern.ends_with("/state"));
        table.push_back(std::move(one));
    }
    if (peers) {
        for (route& one : make_peer_routes({runs, *store, streams, routes})) {
            table.push_back(std::move(one));
        }
    }
    if (asked) {
        for (route& one : make_console_routes(*asked, make_static_route(embedded_console()))) {
            table.push_back(std::move(one));
        }
    }
    // Pages load without a token, but their requests to other routes need one.
    if (!settings.server.static_dir.empty()) {
        table.push_back(
            {.method = "GET",
             .pattern = "/*",
             .handler = make_static_route(
                 settings.server.static_dir,
                 {.csp = settings.server.csp, .spa = settings.server.spa}
             ),
             .access = route_access::open()}
        );
    } else if (options.demo_page) {
        table.push_back(
            {.method = "GET",
             .pattern = "/*",
             .handler = make_static_route(embedded_page()),
             .access = route_access::open()}
        );
    } else {
        table.push_back(make_welcome_route(settings.server.copilotkit_path, settings.server.console)
        );
    }
    return table;
}

control_parts server::impl::make_control_parts() {
    control_parts parts{*store, runs, system_clock(), audit.get(), make_forget_thread(), {}};
    if (asked) {
        parts.forget_principal = [this](std::string_view principal) {
            asked->forget_principal(principal);
        };
    }
    return parts;
}

forget_thread_function server::impl::make_forget_thread() {
    if (!asked) {
        return {};
    }
    return [this](const session::thread_key& thread) {
        asked->forget_thread(thread);
    };
}

std::vector<refusal_form> server::impl::make_refusal_forms() const {
    if (settings.server.copilotkit_path.empty()) {
        return {};
    }
    return {{settings.server.copilotkit_path, as_copilotkit_error}};
}

} // namespace agui::gateway
