#include "gateway/routes/cancel_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/routes/named_thread.hpp"
#include "translator/input/run_input.hpp"

#include <boost/json/object.hpp>

#include <optional>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

http_reply invalid(std::string detail, std::string path) {
    return to_reply(failure{errc::invalid_input, std::move(detail), std::move(path)});
}

asio::awaitable<handler_reply>
cancel_run(run_service& runs, std::size_t max_json_depth, http_request& request) {
    const auto body = translator::parse_body(request.body, max_json_depth);
    if (!body) {
        co_return to_reply(body.error());
    }
    const boost::json::object* fields = body->if_object();
    if (fields == nullptr) {
        co_return invalid("The body must be an object with a threadId.", {});
    }
    const boost::json::value* thread = fields->if_contains("threadId");
    if (thread == nullptr || !thread->is_string() || thread->get_string().empty()) {
        co_return invalid("threadId must be a non-empty string.", "threadId");
    }
    std::optional<std::string> run_id;
    const boost::json::value* run = fields->if_contains("runId");
    if (run != nullptr && !run->is_null()) {
        if (!run->is_string() || run->get_string().empty()) {
            co_return invalid("runId must be a non-empty string.", "runId");
        }
        run_id = std::string(run->get_string());
    }
    request.audited = {
        .what = audit_event::run_stopped,
        .thread = std::string(thread->get_string()),
        .run = run_id.value_or("")
    };
    const auto named = co_await find_named_thread(
        runs.services().store, request, std::string(thread->get_string())
    );
    if (!named) {
        co_return to_reply(named.error());
    }
    name_in_audit(*request.audited, *named);
    const auto cancelled = co_await runs.cancel(named->key, std::move(run_id));
    if (!cancelled) {
        co_return to_reply(cancelled.error());
    }
    request.audited->outcome = *cancelled ? "stopped" : "not_stopped";
    http_reply reply;
    reply.body = *cancelled ? R"({"cancelled":true})" : R"({"cancelled":false})";
    co_return reply;
}

} // namespace

http_handler make_cancel_route(run_service& runs, std::size_t max_json_depth) {
    return [&runs, max_json_depth](http_request& request) {
        return cancel_run(runs, max_json_depth, request);
    };
}

} // namespace agui::gateway
