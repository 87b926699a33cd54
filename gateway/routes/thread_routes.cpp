#include "gateway/routes/thread_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "gateway/routes/messages_route.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/approval.hpp"
#include "session/history/title.hpp"
#include "session/store/store_failures.hpp"
#include "translator/agui/interrupt_json.hpp"
#include "translator/input/document_reader.hpp"

#include <boost/json/serialize.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t title_bytes_max = 1024;
constexpr std::size_t metadata_bytes_max = 65'536;
// The body of a PATCH: metadata and a title, with escapes for all characters (six bytes for one).
constexpr std::size_t patch_bytes_max = 524'288;
constexpr std::array<std::string_view, 2> patch_values{"title", "archived"};

http_reply json_reply(std::string body) {
    http_reply reply;
    reply.body = std::move(body);
    return reply;
}

std::string text_with(std::string_view member, json::array values) {
    return json::serialize(json::object{{member, std::move(values)}});
}

asio::awaitable<found_thread> thread_of(session::store& store, const http_request& request) {
    return find_named_thread(store, request, request.path_parameters.at(0));
}

result<bool> read_switch(const query_parameters& query, std::string_view name, bool otherwise) {
    const std::string* const given = query.find(name);
    if (given == nullptr) {
        return otherwise;
    }
    if (*given != "true" && *given != "false") {
        return failure{errc::invalid_input, "must be true or false", std::string(name)};
    }
    return *given == "true";
}

// `right` is that of a sender who does not own the thread. Metadata stays text: parsing a page of
// it would take seconds.
std::string text_of(
    const session::thread_summary& thread, std::string_view shown_id,
    std::optional<session::access_right> right
) {
    json::object out{
        {"threadId", shown_id},
        {"agentId", thread.agent_id},
        {"title", thread.title},
        {"archived", thread.archived},
        {"createdAt", thread.created_at},
        {"updatedAt", thread.updated_at},
        {"lastRunAt", thread.last_run_at},
    };
    if (!thread.active_run_id.empty()) {
        out["activeRunId"] = session::client_run_id(thread.active_run_id);
    }
    if (right) {
        out["rights"] = to_string(*right);
    }
    std::string text = json::serialize(out);
    if (!thread.metadata.is_null()) {
        text.back() = ',';
        text.append(R"("metadata":)").append(thread.metadata.view()).push_back('}');
    }
    return text;
}

/// Turns a missing result for the request's thread into a failure.
template <class T>
result<T> known(result<std::optional<T>> found) {
    if (!found) {
        return found.error();
    }
    if (!found->has_value()) {
        return session::no_such_thread();
    }
    return std::move(**found);
}

asio::awaitable<handler_reply> list_threads(session::store& store, http_request& request) {
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
    if (const std::string* agent = query->find("agentId")) {
        wanted.agent_id = *agent;
    }
    const auto archived = read_switch(*query, "archived", false);
    if (!archived) {
        co_return to_reply(archived.error());
    }
    wanted.archived = *archived;
    const auto opened = read_switch(*query, "shared", false);
    if (!opened) {
        co_return to_reply(opened.error());
    }
    wanted.opened = *opened;
    if (const std::string* cursor = query->find("cursor")) {
        wanted.cursor = *cursor;
    }
    auto page = co_await store.list(std::move(wanted));
    if (!page) {
        co_return to_reply(page.error());
    }
    std::string body = R"({"threads":[)";
    for (const session::thread_summary& thread : page->threads) {
        body.append(body.ends_with('[') ? "" : ",");
        body.append(
            *opened ? text_of(thread, thread.shared_id, thread.right)
                    : text_of(thread, thread.key.thread_id, std::nullopt)
        );
    }
    body.push_back(']');
    if (!page->next_cursor.empty()) {
        body.append(R"(,"nextCursor":)").append(json::serialize(page->next_cursor));
    }
    body.push_back('}');
    co_return json_reply(std::move(body));
}

asio::awaitable<handler_reply> show_thread(session::store& store, http_request& request) {
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    auto found = co_await store.summary(named->key);
    if (found && !found->has_value()) {
        found->emplace(); // A client may ask before the first run.
    }
    auto thread = known(std::move(found));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto right = named->is_shared ? std::optional(named->right) : std::nullopt;
    co_return json_reply(text_of(*thread, named->shown_id, right));
}

result<session::changes> read_patch(std::string_view body, std::size_t max_json_depth) {
    const auto wrong = [](std::string_view member, std::string_view rule) {
        return failure{errc::invalid_input, std::string(rule), std::string(member)};
    };
    translator::document_rules rules;
    rules.max_depth = max_json_depth;
    rules.built = patch_values;
    rules.as_text = "metadata";
    auto read = translator::read_document(body, rules);
    if (!read) {
        return read.error();
    }
    if (!read->value.is_object()) {
        return failure{errc::invalid_input, "the body must be an object"};
    }
    if (!read->skipped.empty()) {
        return wrong(
            read->skipped.front(), "cannot be changed: only title, archived and metadata can"
        );
    }
    session::changes change;
    for (const auto& each : read->value.get_object()) {
        const std::string_view member = each.key();
        const json::value& value = each.value();
        if (member == "title") {
            if (!value.is_string() || value.get_string().size() > title_bytes_max) {
                return wrong(member, "must be a string of at most 1024 bytes");
            }
            change.title = session::title_line(value.get_string(), title_bytes_max);
        } else {
            if (!value.is_bool()) {
                return wrong(member, "must be true or false");
            }
            change.archived = value.get_bool();
        }
    }
    if (read->has_text) {
        if (!read->text.is_null() && !read->text.view().starts_with('{')) {
            return wrong("metadata", "must be an object, or null");
        }
        if (read->text.view().size() > metadata_bytes_max) {
            return wrong("metadata", "must be at most 65536 bytes");
        }
        change.metadata = read->text.is_empty_object() ? json_text() : read->text;
    }
    return change;
}

asio::awaitable<handler_reply> change_thread(
    session::store& store, const clock& time, std::size_t max_json_depth, http_request& request
) {
    auto change = read_patch(request.body, max_json_depth);
    if (!change) {
        co_return to_reply(change.error());
    }
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    change->at = time.now();
    const auto done = co_await store.commit(named->key, std::move(*change));
    if (!done) {
        co_return to_reply(done.error());
    }
    co_return co_await show_thread(store, request);
}

asio::awaitable<handler_reply>
delete_thread(session::store& store, const forget_thread_function& forget, http_request& request) {
    request.audited = {
        .what = audit_event::thread_deleted, .thread = request.path_parameters.at(0)
    };
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    name_in_audit(*request.audited, *named);
    // Holds the thread like a run, so that no run begins meanwhile.
    const auto taken = co_await store.acquire(named->key, {});
    if (!taken) {
        co_return to_reply(taken.error());
    }
    const auto removed = co_await remove_held(store, *taken, forget);
    if (!removed) {
        co_return to_reply(removed.error());
    }
    if (!*removed) {
        co_return to_reply(session::no_such_thread());
    }
    http_reply reply;
    reply.status = 204;
    co_return reply;
}

asio::awaitable<handler_reply> show_events(session::store& store, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return to_reply(query.error());
    }
    const auto limit = read_page_limit(*query);
    if (!limit) {
        co_return to_reply(limit.error());
    }
    std::uint64_t after = 0;
    if (auto read = read_number(*query, "after", INT64_MAX, after); !read) {
        co_return to_reply(read.error());
    }
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    const auto known = co_await store.latest_run(named->key);
    if (!known) {
        co_return to_reply(known.error());
    }
    if (!known->has_value()) {
        co_return to_reply(session::no_such_thread()); // Every thread has a run.
    }
    const auto page = co_await store.events(named->key, after, *limit);
    if (!page) {
        co_return to_reply(page.error());
    }
    json::array events;
    for (const session::session_event& event : *page) {
        events.push_back(json::object{
            {"seq", event.sequence},
            {"type", event.type},
            {"runId", session::client_run_id(event.run_id)},
            {"timestamp", event.timestamp},
            {"data", event.data},
        });
    }
    co_return json_reply(text_with("events", std::move(events)));
}

asio::awaitable<handler_reply> show_state(session::store& store, http_request& request) {
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    auto found = co_await store.state(named->key);
    auto state = known(std::move(found));
    if (!state) {
        co_return to_reply(state.error());
    }
    http_reply reply;
    reply.body = R"({"state":)";
    reply.body.append(state->view());
    reply.body.push_back('}');
    co_return reply;
}

json::object to_json(const session::pending_call& pending, unix_ms now) {
    const session::call_record& call = pending.call;
    json::object out{
        {"toolCallId", call.id},
        {"toolCallName", call.name},
        {"runId", session::client_run_id(call.run_id)}
    };
    if (!pending.message_id.empty()) {
        out["messageId"] = pending.message_id;
    }
    if (pending.arguments) {
        out["arguments"] = *pending.arguments;
    }
    if (pending.claimed_until > now) {
        out["claimedUntil"] = pending.claimed_until;
    }
    return out;
}

asio::awaitable<handler_reply> show_pending(
    session::store& store, const clock& time, std::chrono::seconds approval_life,
    http_request& request
) {
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    const unix_ms now = store.shared_time(time.now());
    auto found = co_await store.pending_calls(named->key);
    const auto pending = known(std::move(found));
    if (!pending) {
        co_return to_reply(pending.error());
    }
    json::array calls;
    bool any_asked = false;
    for (const session::pending_call& call : *pending) {
        if (call.call.status == session::call_status::asked) {
            any_asked = true;
        } else {
            calls.push_back(to_json(call, now));
        }
    }
    json::array interrupts;
    if (any_asked) {
        auto loaded = co_await store.load(named->key);
        const auto thread = known(std::move(loaded));
        if (!thread) {
            co_return to_reply(thread.error());
        }
        const session::node_index tip = thread->branches.at(thread->head).tip;
        for (const auto& asked : session::open_approvals(*thread, tip, approval_life)) {
            interrupts.push_back(translator::interrupt_json(asked));
        }
    }
    co_return json_reply(json::serialize(
        json::object{{"toolCalls", std::move(calls)}, {"interrupts", std::move(interrupts)}}
    ));
}

asio::awaitable<handler_reply> show_branches(session::store& store, http_request& request) {
    const auto named = co_await thread_of(store, request);
    if (!named) {
        co_return to_reply(named.error());
    }
    auto found = co_await store.branches(named->key);
    const auto summaries = known(std::move(found));
    if (!summaries) {
        co_return to_reply(summaries.error());
    }
    json::array branches;
    for (const session::branch_summary& branch : *summaries) {
        json::object out{
            {"branch", branches.size()},
            {"head", branch.is_head},
            {"updatedAt", branch.updated_at},
            {"messageCount", branch.message_count},
        };
        if (!branch.last_message_id.empty()) {
            out["lastMessageId"] = branch.last_message_id;
        }
        branches.push_back(std::move(out));
    }
    co_return json_reply(text_with("branches", std::move(branches)));
}

} // namespace

std::vector<route> make_thread_routes(
    session::store& store, const part_links& links, const clock& time, std::size_t max_json_depth,
    heavy_work& heavy, std::chrono::seconds approval_life, forget_thread_function forget
) {
    using handler = asio::awaitable<handler_reply> (*)(session::store&, http_request&);
    const auto on_store = [&store](handler what) -> http_handler {
        return [&store, what](http_request& request) {
            return what(store, request);
        };
    };
    const auto get = [&](std::string pattern, handler what) {
        return route{
            .method = "GET",
            .pattern = std::move(pattern),
            .handler = on_store(what),
            .access = route_access::needs(scope::read)
        };
    };
    return {
        get("/agui/threads", list_threads),
        get("/agui/threads/{threadId}", show_thread),
        {.method = "GET",
         .pattern = "/agui/threads/{threadId}/messages",
         .handler = make_messages_route(store, links, time, heavy, approval_life),
         .access = route_access::needs(scope::read)},
        get("/agui/threads/{threadId}/events", show_events),
        get("/agui/threads/{threadId}/state", show_state),
        {.method = "GET",
         .pattern = "/agui/threads/{threadId}/pending",
         .handler = [&store, &time, approval_life](http_request& request
                    ) { return show_pending(store, time, approval_life, request); },
         .access = route_access::needs(scope::read)},
        get("/agui/threads/{threadId}/branches", show_branches),
        {.method = "PATCH",
         .pattern = "/agui/threads/{threadId}",
         .handler = [&store, &time, max_json_depth](http_request& request
                    ) { return change_thread(store, time, max_json_depth, request); },
         .access = route_access::needs(scope::run).of_owner(),
         .json = true,
         .max_body_bytes = patch_bytes_max},
        {.method = "DELETE",
         .pattern = "/agui/threads/{threadId}",
         .handler = [&store, forget = std::move(forget)](http_request& request
                    ) { return delete_thread(store, forget, request); },
         .access = route_access::needs(scope::delete_)},
    };
}

} // namespace agui::gateway
