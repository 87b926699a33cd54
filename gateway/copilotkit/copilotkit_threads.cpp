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
#include <charconv>
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

constexpr std::size_t listed_default = 50;
constexpr std::size_t listed_max = 200;
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

std::size_t limit_in(const query_parameters& query) {
    const std::string* const text = query.find("limit");
    std::size_t limit = 0;
    if (text == nullptr ||
        std::from_chars(text->data(), text->data() + text->size(), limit).ec != std::errc{} ||
        limit == 0) {
        return listed_default;
    }
    return std::min(limit, listed_max);
}

asio::awaitable<handler_reply> list_records(session::store& store, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return as_copilotkit_error(to_reply(query.error()));
    }
    session::thread_query wanted;
    wanted.principal = request.principal;
    wanted.limit = limit_in(*query);
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
        co_return as_copilotkit_error(to_reply(page.error()));
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

/// The reply of one of the gateway's own routes for the thread; of a refusal in CopilotKit's form.
asio::awaitable<http_reply>
ask(shared_routes own, own_handler which, std::string_view body, http_request& request) {
    request.body = body;
    request.query.clear();
    auto reply = co_await ((*own).*which)(request);
    co_return as_copilotkit_error(std::move(std::get<http_reply>(reply)));
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
    const auto changed = co_await store.summary({request.principal, thread_id});
    if (!changed || !changed->has_value()) {
        co_return as_copilotkit_error(
            to_reply(changed ? session::no_such_thread() : changed.error())
        );
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

json::object flat_message(const json::object& message) {
    json::object flat;
    for (const std::string_view name : {"id", "role", "content", "toolCallId"}) {
        if (const json::value* const value = message.if_contains(name)) {
            flat[name] = *value;
        }
    }
    const json::value* const calls = message.if_contains("toolCalls");
    if (calls == nullptr) {
        return flat;
    }
    json::array flat_calls;
    for (const json::value& call : calls->as_array()) {
        const json::object& function = call.as_object().at("function").as_object();
        flat_calls.push_back(json::object{
            {"id", call.as_object().at("id")},
            {"name", function.at("name")},
            {"args", function.at("arguments")},
        });
    }
    flat["toolCalls"] = std::move(flat_calls);
    return flat;
}

/// `body`, the messages of a thread, comes from the gateway's own route. errc::overloaded: the
/// budget has no room for them as values.
result<std::string> flat_messages(std::string_view body, memory_budget* budget) {
    const auto read = parse_json(body, {.max_depth = depth_max, .budget = budget});
    if (!read) {
        return read.error();
    }
    json::array messages;
    for (const json::value& each : read->as_object().at("messages").as_array()) {
        messages.push_back(flat_message(each.as_object()));
    }
    return json::serialize(json::object{{"messages", std::move(messages)}});
}

asio::awaitable<handler_reply>
show_flat_messages(heavy_work& heavy, shared_routes own, http_request& request) {
    http_reply reply = co_await ask(std::move(own), &own_thread_routes::messages, {}, request);
    if (is_refusal(reply)) {
        co_return reply;
    }
    auto flatten = [&reply, &heavy] {
        return flat_messages(reply.body, heavy.budget());
    };
    auto flat = co_await run_heavy(&heavy, reply.body.size(), flatten);
    if (!flat) {
        co_return as_copilotkit_error(to_reply(flat.error()));
    }
    reply.body = std::move(*flat);
    co_return reply;
}

asio::awaitable<handler_reply> show_thread_state(shared_routes own, http_request& request) {
    co_return co_await ask(std::move(own), &own_thread_routes::state, {}, request);
}

/// Both snapshots are the bodies of the gateway's own routes, with another beginning.
asio::awaitable<handler_reply> show_snapshots(shared_routes own, http_request& request) {
    constexpr std::string_view state_begin = R"({"state":)";
    http_reply state = co_await ask(own, &own_thread_routes::state, {}, request);
    if (is_refusal(state)) {
        co_return state;
    }
    http_reply messages = co_await ask(own, &own_thread_routes::messages, {}, request);
    if (is_refusal(messages)) {
        co_return messages;
    }
    std::string body = R"({"events":[{"type":"MESSAGES_SNAPSHOT",)";
    body.append(messages.body, 1).append(R"(,{"type":"STATE_SNAPSHOT","snapshot":)");
    body.append(state.body, state_begin.size()).append("]}");
    messages.body = std::move(body);
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
         .handler =
             [&store](http_request& request) {
                 return list_records(store, request);
             }},
        {.method = "PATCH",
         .pattern = one,
         .handler = [&store, shared](http_request& request
                    ) { return change_record(store, shared, request); },
         .json = true,
         .max_body_bytes = change_bytes_max},
        {.method = "DELETE",
         .pattern = one,
         .handler = on_own(remove_record),
         .max_body_bytes = change_bytes_max},
        {.method = "POST",
         .pattern = one + "/archive",
         .handler = on_own(archive_record),
         .json = true,
         .max_body_bytes = change_bytes_max},
        {.method = "GET",
         .pattern = one + "/messages",
         .handler = [&heavy, shared](http_request& request
                    ) { return show_flat_messages(heavy, shared, request); },
         .large_reply = true},
        {.method = "GET",
         .pattern = one + "/events",
         .handler = on_own(show_snapshots),
         .large_reply = true},
        {.method = "GET",
         .pattern = one + "/state",
         .handler = on_own(show_thread_state),
         .large_reply = true},
    };
}

} // namespace agui::gateway
