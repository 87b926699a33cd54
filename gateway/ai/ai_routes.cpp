#include "gateway/ai/ai_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/log/ai_stream.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/parse_json.hpp"
#include "translator/input/run_input.hpp"
#include "translator/ui_message/ui_messages.hpp"
#include "translator/ui_message/ui_request.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

using shared_ai = std::shared_ptr<const ai_parts>;

constexpr std::size_t message_depth_max = 1040; // The largest max_json_depth, and some more.
// The body, its values, and the input that is made of them.
constexpr std::size_t copies_of_body = 3;

handler_reply ai_refusal(failure why) {
    why.path = translator::ui_path(why.path);
    return to_reply(why);
}

asio::awaitable<result<translator::ui_request>>
read_chat(const ai_parts& parts, http_request& request) {
    const std::size_t size = request.body.size();
    if (!request.memory.grow_to(request.memory.held() + copies_of_body * size)) {
        co_return failure{errc::overloaded, "there is not enough memory: try again later"};
    }
    const std::string run_id = parts.ids.next("run");
    auto reading = [&] {
        return translator::read_ui_request(
            request.body, run_id, parts.max_json_depth, parts.heavy.budget()
        );
    };
    co_return co_await run_heavy(&parts.heavy, size, reading);
}

asio::awaitable<handler_reply> start_chat(shared_ai parts, http_request& request) {
    auto asked = co_await read_chat(*parts, request);
    if (!asked) {
        co_return to_reply(asked.error());
    }
    // The request becomes one for the gateway's own route, in case another gateway has the thread.
    request.body = std::move(asked->body);
    request.pattern = request.path_parameters.empty() ? "/agui" : "/agui/agents/{agentId}";
    request.path = request.path_parameters.empty()
                       ? "/agui"
                       : "/agui/agents/" + request.path_parameters.front();
    translator::projection own = translator::projection::v1_1;
    auto begun = co_await begin_agui_run(parts->run, request, own);
    if (auto* const why = std::get_if<failure>(&begun)) {
        co_return ai_refusal(std::move(*why));
    }
    if (auto* const reply = std::get_if<http_reply>(&begun)) {
        co_return std::move(*reply);
    }
    ai_stream_request stream;
    auto& run = std::get<begun_anywhere>(begun);
    stream.log = std::move(run.log);
    stream.naming = std::move(run.naming);
    stream.start = std::move(asked->start);
    stream.budget = parts->heavy.budget();
    co_return stream_reply{std::make_unique<ai_stream>(std::move(stream))};
}

http_reply nothing_active() {
    http_reply reply;
    reply.status = 204;
    reply.content_type.clear();
    return reply;
}

asio::awaitable<handler_reply> resume_chat(shared_ai parts, http_request& request) {
    const std::string thread_id = request.path_parameters.back();
    const auto thread = co_await find_named_thread(parts->store, request, thread_id);
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto known = co_await parts->store.summary(thread->key);
    if (!known) {
        co_return to_reply(known.error());
    }
    if (!known->has_value() || (*known)->active_run_id.empty()) {
        co_return nothing_active(); // Without reading the conversation.
    }
    translator::run_input input;
    input.thread_id = thread_id;
    input.run_id = parts->ids.next("run");
    input.projection = translator::projection::v1_1;
    input.forwarded.follow = true;
    auto recorded =
        co_await parts->run.runs.history(thread->key, input, key_for_links(*thread, request));
    if (!recorded) {
        co_return to_reply(recorded.error());
    }
    if (!recorded->live) {
        co_return nothing_active();
    }
    ai_stream_request stream;
    stream.log = std::move(recorded->log);
    stream.live = std::move(recorded->live);
    stream.live_offset = recorded->live_offset;
    stream.naming = naming_for(parts->run.runs, *thread, request);
    stream.start.is_replay = true;
    stream.budget = parts->heavy.budget();
    co_return stream_reply{std::make_unique<ai_stream>(std::move(stream))};
}

/// `body`, the messages of a thread, comes from the gateway's own route. errc::overloaded: the
/// budget has no room for them as values.
result<std::string> ui_messages_body(std::string_view body, memory_budget* budget) {
    const auto read = parse_json(body, {.max_depth = message_depth_max, .budget = budget});
    if (!read) {
        return read.error();
    }
    translator::ui_messages messages;
    for (const json::value& each : read->as_object().at("messages").as_array()) {
        messages.take(each.as_object());
    }
    return json::serialize(json::object{{"messages", std::move(messages).release()}});
}

asio::awaitable<handler_reply> show_chat(shared_ai parts, http_request& request) {
    request.path_parameters = {request.path_parameters.back()};
    request.query.clear();
    auto own = co_await parts->messages(request);
    http_reply reply = std::move(std::get<http_reply>(own));
    if (reply.status != 200) {
        co_return reply;
    }
    auto rewriting = [&reply, &parts] {
        return ui_messages_body(reply.body, parts->heavy.budget());
    };
    auto body = co_await run_heavy(&parts->heavy, reply.body.size(), rewriting);
    if (!body) {
        co_return to_reply(body.error());
    }
    reply.body = std::move(*body);
    co_return reply;
}

} // namespace

std::vector<route> make_ai_routes(const std::string& base, ai_parts given) {
    const auto parts = std::make_shared<const ai_parts>(std::move(given));
    using handler = asio::awaitable<handler_reply> (*)(shared_ai, http_request&);
    const auto with_parts = [&parts](handler what) -> http_handler {
        return [parts, what](http_request& request) {
            return what(parts, request);
        };
    };
    std::vector<route> table;
    for (const std::string& chat : {base + "/chat", base + "/agents/{agentId}/chat"}) {
        table.push_back(
            {.method = "POST",
             .pattern = chat,
             .handler = with_parts(start_chat),
             .access = route_access::needs_for_agent(scope::run),
             .json = true}
        );
        table.push_back(
            {.method = "GET",
             .pattern = chat + "/{id}/stream",
             .handler = with_parts(resume_chat),
             .access = route_access::needs(scope::read)}
        );
        table.push_back(
            {.method = "GET",
             .pattern = chat + "/{id}/messages",
             .handler = with_parts(show_chat),
             .access = route_access::needs(scope::read),
             .large_reply = true}
        );
    }
    return table;
}

} // namespace agui::gateway
