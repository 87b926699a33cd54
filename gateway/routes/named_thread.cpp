#include "gateway/routes/named_thread.hpp"

#include "gateway/http/http_error.hpp"
#include "session/history/part_reference.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

// The thread without a look into the store. Another gateway has found a shared one and the right.
named_thread passed_or_own(const http_request& request, std::string id) {
    named_thread thread;
    const passed_request* const passed = request.passed;
    if (passed != nullptr && !passed->shared_id.empty()) {
        thread.key = {passed->principal, passed->thread_id};
        thread.shown_id = passed->shared_id;
        thread.is_shared = true;
        thread.right = passed->right;
        return thread;
    }
    thread.key = {request.principal(), id};
    thread.shown_id = std::move(id);
    return thread;
}

// Any other URL stays as it is, even if it holds the thread's id: what is stored may be shown.
void use_own_link(json::value& part, const named_thread& thread) {
    json::object* const fields = part.if_object();
    json::value* const source = fields == nullptr ? nullptr : fields->if_contains("source");
    json::object* const of = source == nullptr ? nullptr : source->if_object();
    json::value* const value = of == nullptr ? nullptr : of->if_contains("value");
    if (value == nullptr || !value->is_string()) {
        return;
    }
    const std::string sha256(session::linked_digest(value->get_string(), thread.shown_id));
    if (!sha256.empty()) {
        value->get_string() = session::part_path(thread.key.thread_id, sha256);
    }
}

std::optional<thread_refusal>
lacking_right(const http_request& request, const named_thread& thread) {
    if (!thread.is_shared) {
        return std::nullopt;
    }
    const auto needed = request.access ? request.access->right() : std::nullopt;
    if (!needed) {
        return no_right{"Only the owner of the thread may do this."};
    }
    return thread.right < *needed ? std::optional<thread_refusal>(needs_right(*needed))
                                  : std::nullopt;
}

// A run that the sender may not begin is none that it may stop or steer. The gateway that passed
// the request on has checked this.
asio::awaitable<std::optional<thread_refusal>>
lacking_agent(session::store& store, const http_request& request, const named_thread& thread) {
    const auto needed =
        request.access ? request.access->needed_for_agent_of_thread() : std::nullopt;
    if (!needed || request.passed != nullptr ||
        (request.sender && request.sender->scopes.allows(*needed))) {
        co_return std::nullopt;
    }
    const auto run = co_await store.latest_run(thread.key);
    if (!run) {
        co_return thread_refusal(run.error());
    }
    if (!run->has_value()) {
        co_return missing_scope(*needed);
    }
    const std::string& agent = (*run)->agent_id;
    const bool is_allowed = request.sender && request.sender->scopes.allows(*needed, agent);
    co_return is_allowed ? std::nullopt
                         : std::optional<thread_refusal>(missing_scope(*needed, agent));
}

} // namespace

no_right needs_right(session::access_right right) {
    return {
        "The thread is opened to you without the right \"" + std::string(to_string(right)) + "\"."
    };
}

http_reply to_reply(const thread_refusal& why) {
    if (const auto* const lacking = std::get_if<no_right>(&why)) {
        return to_reply(http_errc::forbidden, lacking->why);
    }
    const auto* const refused = std::get_if<auth_error>(&why);
    return refused != nullptr ? to_reply(*refused) : to_reply(std::get<failure>(why));
}

asio::awaitable<found_thread>
find_thread_of(session::store& store, std::string principal, std::string id) {
    named_thread thread;
    thread.key = {std::move(principal), id};
    thread.shown_id = std::move(id);
    if (!session::is_shared_id(thread.shown_id)) {
        co_return thread;
    }
    // Both are always looked for, so that the time tells nothing of a thread that is not opened.
    const auto own = co_await store.summary(thread.key);
    if (!own) {
        co_return thread_refusal(own.error());
    }
    auto shared = co_await store.find_shared(thread.shown_id, thread.key.principal);
    if (!shared) {
        co_return thread_refusal(shared.error());
    }
    if (own->has_value()) {
        co_return thread;
    }
    if (!shared->has_value()) {
        thread.is_closed = true;
        co_return thread;
    }
    thread.key = std::move((*shared)->key);
    thread.is_shared = true;
    thread.right = (*shared)->right;
    co_return thread;
}

asio::awaitable<found_thread>
find_named_thread(session::store& store, const http_request& request, std::string id) {
    found_thread thread = passed_or_own(request, id);
    if (request.passed == nullptr && session::is_shared_id(id)) {
        thread = co_await find_thread_of(store, request.principal(), std::move(id));
    }
    if (!thread) {
        co_return thread;
    }
    if (auto refused = lacking_right(request, *thread)) {
        co_return std::move(*refused);
    }
    if (auto refused = co_await lacking_agent(store, request, *thread)) {
        co_return std::move(*refused);
    }
    co_return thread;
}

session::thread_key key_for_links(const named_thread& thread, const http_request& request) {
    return thread.is_shared ? session::thread_key{request.principal(), thread.shown_id}
                            : thread.key;
}

std::shared_ptr<const thread_naming>
naming_for(const run_service& runs, const named_thread& thread, const http_request& request) {
    if (!thread.is_shared) {
        return nullptr;
    }
    const process_services& services = runs.services();
    thread_naming naming;
    naming.shown_id = thread.shown_id;
    naming.own_path = session::part_path(thread.key.thread_id, {});
    naming.link = [links = services.links, time = &services.time,
                   key = key_for_links(thread, request)](std::string_view sha256) {
        return links == nullptr ? std::string() : links->link(key, sha256, time->now());
    };
    return std::make_shared<const thread_naming>(std::move(naming));
}

void name_in_audit(audit_note& note, const named_thread& thread) {
    note.owner = thread.key.principal;
    note.thread = thread.key.thread_id;
}

void use_own_links(session::message& message, const named_thread& thread) {
    auto* const parts = std::get_if<json::array>(&message.content);
    if (!thread.is_shared || parts == nullptr) {
        return;
    }
    for (json::value& part : *parts) {
        use_own_link(part, thread);
    }
}

void use_own_links(std::vector<session::message>& messages, const named_thread& thread) {
    for (session::message& each : messages) {
        use_own_links(each, thread);
    }
}

} // namespace agui::gateway
