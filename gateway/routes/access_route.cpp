#include "gateway/routes/access_route.hpp"

#include "gateway/auth/authenticator.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/base/parse_json.hpp"
#include "session/store/store_failures.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

using session::access_entry;
using session::access_right;

// All entries with the longest names, each of whose bytes may be escaped.
constexpr std::size_t access_bytes_max = 524'288;

std::string place_of(std::size_t index, std::string_view member = {}) {
    std::string place = "access[" + std::to_string(index) + "]";
    return member.empty() ? place : place.append(".").append(member);
}

failure wrong_entry(std::size_t index, std::string_view member, std::string rule) {
    return {errc::invalid_input, std::move(rule), place_of(index, member)};
}

// The text of a member; `otherwise` if it is missing, nullopt if it is no string.
std::optional<std::string>
text_in_entry(const json::object& entry, std::string_view name, std::string_view otherwise) {
    const json::value* const found = entry.if_contains(name);
    if (found == nullptr) {
        return std::string(otherwise);
    }
    return found->is_string() ? std::optional(std::string(found->get_string())) : std::nullopt;
}

result<access_entry>
read_entry(const json::value& given, std::size_t index, const caller_name& owner) {
    const json::object* const fields = given.if_object();
    if (fields == nullptr) {
        return wrong_entry(index, {}, "must be an object");
    }
    const auto tenant = text_in_entry(*fields, "tenant", owner.tenant);
    if (!tenant || (!tenant->empty() && !is_caller_name(*tenant))) {
        return wrong_entry(index, "tenant", "must be the name of a tenant, or empty");
    }
    const auto user = text_in_entry(*fields, "user", {});
    if (!user || !is_caller_name(*user)) {
        return wrong_entry(index, "user", "must be the name of a user");
    }
    if (caller_name{*tenant, *user} == owner) {
        return wrong_entry(index, "user", "must not be the owner");
    }
    const auto text = text_in_entry(*fields, "rights", {});
    const auto right = session::access_right_from_string(text.value_or(std::string()));
    if (!right) {
        return wrong_entry(index, "rights", R"(must be "read", "write" or "approve")");
    }
    return access_entry{principal_of(*tenant, *user), *right};
}

// The entries sorted by principal.
result<std::vector<access_entry>> read_entries_of(std::string_view body, const std::string& owner) {
    const auto read = parse_json(body);
    if (!read) {
        return failure{errc::invalid_json, "the body is not valid JSON in UTF-8"};
    }
    const json::object* const given = read->if_object();
    const json::value* const list = given == nullptr ? nullptr : given->if_contains("access");
    if (list == nullptr || !list->is_array() || given->size() > 1) {
        return failure{errc::invalid_input, "must be the only member, and an array", "access"};
    }
    const json::array& all = list->get_array();
    if (all.size() > session::access_entries_max) {
        return failure{errc::invalid_input, "must have at most 100 entries", "access"};
    }
    const caller_name of = name_of(owner);
    std::vector<access_entry> entries;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto entry = read_entry(all[i], i, of);
        if (!entry) {
            return entry.error();
        }
        if (std::ranges::find(entries, entry->principal, &access_entry::principal) !=
            entries.end()) {
            return wrong_entry(i, "user", "must not be in the list twice");
        }
        entries.push_back(std::move(*entry));
    }
    std::ranges::sort(entries, {}, &access_entry::principal);
    return entries;
}

// The scope that the sender lacks to give these rights.
std::optional<scope> lacking_for(const std::vector<access_entry>& entries, const scope_set& held) {
    access_right most = access_right::read;
    for (const access_entry& each : entries) {
        most = std::max(most, each.right);
    }
    if (!entries.empty() && !held.allows(scope::read)) {
        return scope::read;
    }
    return most == access_right::approve && !held.allows(scope::approve)
               ? std::optional(scope::approve) // PATCH itself needs scope::run.
               : std::nullopt;
}

asio::awaitable<handler_reply> show_access(session::store& store, http_request& request) {
    const auto thread = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto access = co_await store.access_of(thread->key);
    if (!access || !access->has_value()) {
        co_return to_reply(access ? session::no_such_thread() : access.error());
    }
    json::object out{{"threadId", thread->shown_id}};
    if (!(*access)->shared_id.empty()) {
        out["sharedId"] = (*access)->shared_id;
    }
    json::array list;
    for (const access_entry& each : (*access)->entries) {
        const caller_name who = name_of(each.principal);
        list.push_back(json::object{
            {"tenant", who.tenant}, {"user", who.user}, {"rights", to_string(each.right)}
        });
    }
    out["access"] = std::move(list);
    http_reply reply;
    reply.body = json::serialize(out);
    co_return reply;
}

void log_access_changed(
    agui::logger& log, const session::thread_key& key, const std::vector<access_entry>& entries
) {
    log.log(
        log_level::info, "the access to a thread was changed",
        {{"principal", key.principal},
         {"thread", key.thread_id},
         {"entries", std::to_string(entries.size())}}
    );
}

asio::awaitable<handler_reply>
change_access(session::store& store, agui::logger& log, http_request& request) {
    request.audited = {
        .what = audit_event::access_changed, .thread = request.path_parameters.at(0)
    };
    const auto thread = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    name_in_audit(*request.audited, *thread);
    const auto entries = read_entries_of(request.body, thread->key.principal);
    if (!entries) {
        co_return to_reply(entries.error());
    }
    const scope_set held = request.sender ? request.sender->scopes : scope_set();
    if (const auto lacking = lacking_for(*entries, held)) {
        co_return to_reply(missing_scope(*lacking));
    }
    const auto done = co_await store.set_access(thread->key, *entries, session::make_shared_id());
    if (!done || !*done) {
        co_return to_reply(done ? session::no_such_thread() : done.error());
    }
    log_access_changed(log, thread->key, *entries);
    co_return co_await show_access(store, request);
}

} // namespace

std::vector<route> make_access_routes(session::store& store, agui::logger& log) {
    const std::string pattern = "/agui/threads/{threadId}/access";
    return {
        {.method = "GET",
         .pattern = pattern,
         .handler = [&store](http_request& request) { return show_access(store, request); },
         .access = route_access::needs(scope::read).of_owner()},
        {.method = "PATCH",
         .pattern = pattern,
         .handler = [&store,
                     &log](http_request& request) { return change_access(store, log, request); },
         .access = route_access::needs(scope::run).of_owner(),
         .json = true,
         .max_body_bytes = access_bytes_max},
    };
}

} // namespace agui::gateway
