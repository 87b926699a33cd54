#include "gateway/copilotkit/copilotkit_threads.hpp"

#include "gateway/copilotkit/copilotkit_reply.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "session/base/clock.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/parse_json.hpp"
#include "session/store/store_failures.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

using shared_routes = std::shared_ptr<const own_thread_routes>;
using own_handler = http_handler own_thread_routes::*;

constexpr std::size_t change_bytes_max = 65'536;
constexpr std::size_t depth_max = 1040; // Messages have at most 1024, the largest max_json_depth.
// The list of archived threads follows that of the others; its cursors begin with this.
constexpr std::string_view archived_part = "archived.";

json::object record_of(const session::thread_summary& thread) {
    json::object record{
        {"id", thread.key.thread_id},
        {"agentId", thread.agent_id},
        {"name", thread.title.empty() ? json::value() : json::value(thread.title)},
        {"archived", thread.archived},
        {"createdAt", iso_time(thread.created_at)},
        {"updatedAt", iso_time(thread.updated_at)},
    };
    if (thread.last_run_at > 0) {
        record["lastRunAt"] = iso_time(thread.last_run_at);
    }
    return record;
}

asio::awaitable<handler_reply> list_records(session::store& store, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return to_reply(query.error());
    }
    const auto limit = read_page_limit(*query);
    if (!limit) {
        co_return to_reply(limit.error());
    }
    session::thread_query wanted;
    wanted.principal = request.principal();
    wanted.limit = *limit;
    if (const std::string* const agent = query->find("agentId")) {
        wanted.agent_id = *agent;
    }
    if (const std::string* const cursor = query->find("cursor")) {
        wanted.archived = cursor->starts_with(archived_part);
        wanted.cursor = wanted.archived ? cursor->substr(archived_part.size()) : *cursor;
    }
    const std::string* const all = query->find("includeArchived");
    const bool goes_on = all != nullptr && *all == "true" && !wanted.archived;
    const auto page = co_await store.list(wanted);
    if (!page) {
        co_return to_reply(page.error());
    }
    json::array threads;
    for (const session::thread_summary& each : page->threads) {
        threads.push_back(record_of(each));
    }
    json::value next;
    if (!page->next_cursor.empty()) {
        next = (wanted.archived ? std::string(archived_part) : std::string()) + page->next_cursor;
    } else if (goes_on) {
        next = archived_part;
    }
    co_return copilotkit_reply({{"threads", std::move(threads)}, {"nextCursor", std::move(next)}});
}

/// The reply of one of the gateway's own routes for the thread.
asio::awaitable<http_reply>
ask(shared_routes own, own_handler which, std::string_view body, http_request& request) {
    request.body = body;
    request.query.clear();
    auto reply = co_await ((*own).*which)(request);
    co_return std::move(std::get<http_reply>(reply));
}

bool is_refusal(const http_reply& reply) noexcept { return reply.status >= 400; }

asio::awaitable<handler_reply>
change_record(session::store& store, shared_routes own, http_request& request) {
    const auto body = parse_json(request.body);
    const json::object* const given = body ? body->if_object() : nullptr;
    if (given == nullptr) {
        co_return copilotkit_error(400, "Invalid request body", "The body must be a JSON object.");
    }
    json::object change;
    if (const json::value* const name = given->if_contains("name")) {
        change["title"] = name->is_null() ? json::value("") : *name;
    }
    if (const json::value* const archived = given->if_contains("archived")) {
        change["archived"] = *archived;
    }
    const std::string thread_id = request.path_parameters.at(0);
    http_reply reply =
        co_await ask(std::move(own), &own_thread_routes::change, json::serialize(change), request);
    if (is_refusal(reply)) {
        co_return reply;
    }
    // Its owner's alone, as the change has shown.
    const auto changed = co_await store.summary({request.principal(), thread_id});
    if (!changed || !changed->has_value()) {
        co_return to_reply(changed ? session::no_such_thread() : changed.error());
    }
    co_return copilotkit_reply(record_of(**changed));
}

asio::awaitable<handler_reply> archive_record(shared_routes own, http_request& request) {
    const std::string thread_id = request.path_parameters.at(0);
    http_reply reply =
        co_await ask(std::move(own), &own_thread_routes::change, R"({"archived":true})", request);
    if (is_refusal(reply)) {
        co_return reply;
    }
    co_return copilotkit_reply({{"threadId", thread_id}, {"archived", true}});
}

asio::awaitable<handler_reply> remove_record(shared_routes own, http_request& request) {
    const std::string thread_id = request.path_parameters.at(0);
    http_reply reply = co_await ask(std::move(own), &own_thread_routes::remove, {}, request);
    if (is_refusal(reply)) {
        co_return reply;
    }
    co_return copilotkit_reply({{"threadId", thread_id}, {"deleted", true}});
}

json::array flat_calls(const json::array& calls) {
    json::array flat;
    for (const json::value& call : calls) {
        const json::object& function = call.as_object().at("function").as_object();
        flat.push_back(json::object{
            {"id", call.as_object().at("id")},
            {"name", function.at("name")},
            {"args", function.at("arguments")},
        });
    }
    return flat;
}

void append_member(std::string& out, std::string_view name, const json::value& value) {
    out.append(out.ends_with('{') ? "\"" : ",\"").append(name).append("\":");
    out.append(json::serialize(value));
}

void append_flat_message(std::string& out, const json::object& message) {
    out.push_back('{');
    for (const std::string_view name : {"id", "role", "content", "toolCallId"}) {
        if (const json::value* const value = message.if_contains(name)) {
            append_member(out, name, *value);
        }
    }
    if (const json::value* const calls = message.if_contains("toolCalls")) {
        append_member(out, "toolCalls", flat_calls(calls->as_array()));
    }
    out.push_back('}');
}

/// `body`, the messages of a thread, comes from the gateway's own route. The result is at most as
/// long. errc::overloaded: the budget has no room for them as values.
result<std::string> flat_messages(std::string_view body, memory_budget* budget) {
    const auto read = parse_json(body, {.max_depth = depth_max, .budget = budget});
    if (!read) {
        return read.error();
    }
    std::string out;
    out.reserve(body.size());
    out.append(R"({"messages":[)");
    for (const json::value& each : read->as_object().at("messages").as_array()) {
        out.append(out.ends_with('[') ? "" : ",");
        append_flat_message(out, each.as_object());
    }
    out.append("]}");
    return out;
}

/// Counts a reply in the making, the parts that it is made of included. Returns false if there is
/// no memory for it.
bool has_room(http_request& request, std::size_t bytes) {
    return bytes <= uncounted_reply_bytes || request.reply_memory.grow_to(bytes);
}

asio::awaitable<handler_reply>
show_flat_messages(heavy_work& heavy, shared_routes own, http_request& request) {
    http_reply reply = co_await ask(std::move(own), &own_thread_routes::messages, {}, request);
    if (is_refusal(reply)) {
        co_return reply;
    }
    if (!has_room(request, 2 * reply.body.size())) {
        co_return copilotkit_no_room();
    }
    auto flatten = [&reply, &heavy] {
        return flat_messages(reply.body, heavy.budget());
    };
    auto flat = co_await run_heavy(&heavy, reply.body.size(), flatten);
    if (!flat) {
        co_return to_reply(flat.error());
    }
    reply.body = std::move(*flat);
    co_return reply;
}

asio::awaitable<handler_reply> show_thread_state(shared_routes own, http_request& request) {
    co_return co_await ask(std::move(own), &own_thread_routes::state, {}, request);
}

/// Both snapshots are the bodies of the gateway's own routes, with another beginning.
asio::awaitable<handler_reply> show_snapshots(shared_routes own, http_request& request) {
    constexpr std::string_view messages_begin = R"({"events":[{"type":"MESSAGES_SNAPSHOT",)";
    constexpr std::string_view state_begin = R"({"state":)";
    http_reply state = co_await ask(own, &own_thread_routes::state, {}, request);
    if (is_refusal(state)) {
        co_return state;
    }
    http_reply messages = co_await ask(own, &own_thread_routes::messages, {}, request);
    if (is_refusal(messages)) {
        co_return messages;
    }
    std::string& body = messages.body;
    if (!has_room(request, 2 * (body.size() + state.body.size()))) {
        co_return copilotkit_no_room();
    }
    body.replace(0, 1, messages_begin);
    body.append(R"(,{"type":"STATE_SNAPSHOT","snapshot":)");
    body.append(state.body, state_begin.size()).append("]}");
    co_return messages;
}

} // namespace

std::vector<route> make_copilotkit_thread_routes(
    const std::string& base, session::store& store, heavy_work& heavy, own_thread_routes own
) {
    const auto shared = std::make_shared<const own_thread_routes>(std::move(own));
    using handler = asio::awaitable<handler_reply> (*)(shared_routes, http_request&);
    const auto on_own = [&shared](handler what) -> http_handler {
        return [shared, what](http_request& request) {
            return what(shared, request);
        };
    };
    const std::string one = base + "/threads/{threadId}";
    return {
        {.method = "GET",
         .pattern = base + "/threads",
         .handler = [&store](http_request& request) { return list_records(store, request); },
         .access = route_access::needs(scope::read)},
        {.method = "PATCH",
         .pattern = one,
         .handler = [&store, shared](http_request& request
                    ) { return change_record(store, shared, request); },
         .access = route_access::needs(scope::run).of_owner(),
         .json = true,
         .max_body_bytes = change_bytes_max},
        {.method = "DELETE",
         .pattern = one,
         .handler = on_own(remove_record),
         .access = route_access::needs(scope::delete_),
         .max_body_bytes = change_bytes_max},
        {.method = "POST",
         .pattern = one + "/archive",
         .handler = on_own(archive_record),
         .access = route_access::needs(scope::run).of_owner(),
         .json = true,
         .max_body_bytes = change_bytes_max},
        {.method = "GET",
         .pattern = one + "/messages",
         .handler = [&heavy, shared](http_request& request
                    ) { return show_flat_messages(heavy, shared, request); },
         .access = route_access::needs(scope::read),
         .large_reply = true},
        {.method = "GET",
         .pattern = one + "/events",
         .handler = on_own(show_snapshots),
         .access = route_access::needs(scope::read),
         .large_reply = true},
        {.method = "GET",
         .pattern = one + "/state",
         .handler = on_own(show_thread_state),
         .access = route_access::needs(scope::read),
         .large_reply = true},
    };
}

} // namespace agui::gateway
