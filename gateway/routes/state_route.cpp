#include "gateway/routes/state_route.hpp"

#include "gateway/http/access_rules.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/routes/begin_anywhere.hpp"
#include "session/base/stored_json.hpp"

#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// A thread that moves between gateways this often counts as busy.
constexpr int tries_max = 3;

result<session::state_change> change_of(const http_request& request, json_text body) {
    if (body.view().size() > session::state_bytes_max) {
        return session::state_too_large();
    }
    session::state_change change;
    if (!has_json_type(request, json_patch_type)) {
        change.whole = std::move(body);
        return change;
    }
    auto patch = session::parse_stored(body.view());
    if (!patch) {
        return patch.error();
    }
    change.patch = std::move(*patch);
    return change;
}

asio::awaitable<handler_reply>
change_state(run_service& runs, input_parser& parser, http_request& request) {
    auto body = co_await parser.read_text(std::move(request.body), std::move(request.memory));
    if (!body) {
        co_return to_reply(body.error());
    }
    const auto change = change_of(request, body->text);
    if (!change) {
        co_return to_reply(change.error());
    }
    const auto thread =
        co_await find_named_thread(runs.services().store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    if (quotas* const limits = runs.services().limits; limits != nullptr) {
        const auto has_room = co_await limits->check_bytes(thread->key.principal);
        if (!has_room) {
            co_return to_reply(has_room.error());
        }
    }
    for (int tries = 1;; ++tries) {
        const auto changed = co_await runs.change_state(thread->key, *change);
        if (changed) {
            http_reply reply;
            reply.body.reserve(changed->view().size() + 16);
            reply.body = R"({"state":)";
            reply.body.append(changed->view());
            reply.body.push_back('}');
            co_return reply;
        }
        const failure& why = changed.error();
        const bool is_there = why.code == errc::thread_busy && why.gateway != 0;
        if (request.passed != nullptr) {
            request.passed->is_elsewhere = is_there;
        }
        if (!is_there || request.passed != nullptr || !runs.can_pass() || tries == tries_max) {
            co_return to_reply(why);
        }
        auto answer = co_await runs.pass(
            why.gateway, request_for_other(request, *thread, {}, std::string(body->text.view()))
        );
        if (!answer) {
            co_return to_reply(answer.error());
        }
        if (!answer->is_elsewhere && !answer->is_unreached) {
            co_return reply_of(std::move(*answer));
        }
    }
}

} // namespace

route make_state_route(run_service& runs, input_parser& parser) {
    return {
        .method = "PATCH",
        .pattern = "/agui/threads/{threadId}/state",
        .handler = [&runs,
                    &parser](http_request& request) { return change_state(runs, parser, request); },
        .access = route_access::needs_for_agent_of_thread(scope::run),
        .passable = true,
        .json = true,
        .json_patch = true
    };
}

} // namespace agui::gateway
