#include "gateway/routes/messages_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/history/approval.hpp"
#include "session/history/message_page.hpp"
#include "session/history/shown_messages.hpp"
#include "translator/agui/interrupt_json.hpp"
#include "translator/agui/protocol_version.hpp"
#include "translator/agui/snapshot_limit.hpp"
#include "translator/agui/wire_content.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

struct wanted_messages {
    translator::projection form{};
    std::optional<std::uint64_t> branch; ///< The head branch if empty.
    bool is_page = false;
    std::string before; ///< If empty, the page ends with the branch.
    std::size_t limit = 0;
};

result<wanted_messages> read_wanted(std::string_view text) {
    const auto query = parse_query(text);
    if (!query) {
        return query.error();
    }
    wanted_messages wanted;
    std::optional<std::string_view> version("1.1");
    if (const std::string* given = query->find("protocolVersion")) {
        version = given->empty() ? std::nullopt : std::optional<std::string_view>(*given);
    }
    const auto form = translator::choose_projection(version);
    if (!form) {
        return form.error();
    }
    wanted.form = *form;
    if (query->find("branch") != nullptr) {
        if (auto read = read_number(*query, "branch", UINT32_MAX, wanted.branch.emplace()); !read) {
            return read.error();
        }
    }
    const std::string* before = query->find("before");
    wanted.is_page = before != nullptr || query->find("limit") != nullptr;
    if (before != nullptr && before->empty()) {
        return failure{errc::invalid_input, "must be the id of a message", "before", {}};
    }
    wanted.before = before == nullptr ? std::string() : *before;
    const auto limit = read_page_limit(*query);
    if (!limit) {
        return limit.error();
    }
    wanted.limit = *limit;
    return wanted;
}

asio::awaitable<handler_reply> show_messages(
    session::store& store, const part_links& links, const clock& time, heavy_work& heavy,
    std::chrono::seconds approval_life, http_request& request
) {
    const auto wanted = read_wanted(request.query);
    if (!wanted) {
        co_return to_reply(wanted.error());
    }
    const auto named = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!named) {
        co_return to_reply(named.error());
    }
    auto found = co_await store.load(named->key);
    if (!found) {
        co_return to_reply(found.error());
    }
    if (!found->has_value()) {
        found->emplace(); // A thread exists from its first run on, but a client may ask earlier.
    }
    const session::thread_record& thread = **found;
    const std::uint64_t branch = wanted->branch.value_or(thread.head);
    if (branch >= thread.branches.size() && wanted->branch) {
        co_return to_reply(failure{errc::not_found, "the thread has no such branch", "branch"});
    }
    auto writing = [&]() -> result<std::string> {
        std::vector<session::message> messages;
        if (branch < thread.branches.size()) {
            const session::node_index tip = thread.branches[branch].tip;
            messages = session::shown_messages(thread, tip);
            translator::add_interrupts(
                messages, session::open_approvals(thread, tip, approval_life)
            );
        }
        json::object out;
        if (wanted->is_page) {
            const auto has_earlier = session::cut_to_page(messages, wanted->before, wanted->limit);
            if (!has_earlier) {
                return has_earlier.error();
            }
            out["hasEarlier"] = *has_earlier;
        }
        const session::thread_key key = key_for_links(*named, request);
        const translator::part_link link = [&](std::string_view sha256) {
            return links.link(key, sha256, time.now());
        };
        json::array written = translator::wire_messages(messages, wanted->form, link);
        if (wanted->is_page) {
            translator::link_parts(written, link);
        }
        out["messages"] = std::move(written);
        return json::serialize(out);
    };
    auto body = co_await run_heavy(&heavy, as_parsing(thread.bytes), writing);
    if (!body) {
        co_return to_reply(body.error());
    }
    http_reply reply;
    reply.body = std::move(*body);
    co_return reply;
}

} // namespace

http_handler make_messages_route(
    session::store& store, const part_links& links, const clock& time, heavy_work& heavy,
    std::chrono::seconds approval_life
) {
    return [&store, &links, &time, &heavy, approval_life](http_request& request) {
        return show_messages(store, links, time, heavy, approval_life, request);
    };
}

} // namespace agui::gateway
