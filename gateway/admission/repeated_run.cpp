#include "gateway/admission/repeated_run.hpp"

#include "gateway/replay/followed_run.hpp"
#include "gateway/replay/run_locator.hpp"
#include "session/base/failpoint.hpp"

#include <string>
#include <utility>

namespace agui::gateway {

failure used_otherwise(bool by_key) {
    if (by_key) {
        return {
            errc::run_id_reused, "this key was already used with a different request",
            "Idempotency-Key"
        };
    }
    return {errc::run_id_reused, "this runId was already used with a different request", "runId"};
}

boost::asio::awaitable<result<void>>
read_repeated(const accepted_run::admitted& request, const std::shared_ptr<event_log>& log) {
    run_core& core = *request.core;
    pass_failpoint("begin.repeated");
    std::string run_id = request.what.input.run_id;
    auto known = co_await find_run(core, request.conversation, run_id);
    const bool by_key = known && !known->has_value() && !request.what.idempotency_key.empty();
    if (by_key) {
        auto named =
            co_await core.store_of(request.conversation)
                .find_run_by_key(request.conversation.thread, request.what.idempotency_key);
        if (!named) {
            co_return named.error();
        }
        if (named->has_value()) {
            known = co_await find_run(core, request.conversation, std::move((*named)->run_id));
        }
    }
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value() || !(*known)->record.answered_by.empty()) {
        co_return failure{
            errc::thread_busy, "this request is queued in another process: try again", {}, run_id
        };
    }
    const known_run& first = **known;
    if (first.record.input_digest != request.digest ||
        first.record.agent_id != request.agent->settings.id) {
        co_return used_otherwise(by_key);
    }
    co_return co_await follow_run(core, request.conversation, first.record, first.gateway, log);
}

} // namespace agui::gateway
