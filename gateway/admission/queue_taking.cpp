#include "gateway/admission/queue_taking.hpp"

#include "gateway/run/run_queue.hpp"
#include "gateway/run/run_registry.hpp"
#include "session/base/failpoint.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

queue_taking::queue_taking(accepted_run::admitted& request)
    : request_(request), core_(*request.core), store_(core_.store_of(request.conversation)) {}

boost::asio::awaitable<result<void>> queue_taking::take() {
    if (!request_.waiting && !may_take_abandoned()) {
        co_return result<void>();
    }
    // Held until the run is active, because the taken messages leave the queue only then.
    queue_lock_ = co_await core_.registry.lock_key(request_.conversation, "queue");
    own_messages_ = request_.waiting ? 0 : request_.what.input.messages.size();
    co_return co_await take_messages();
}

// May be repeated: until the run is stored, other processes may withdraw taken messages.
boost::asio::awaitable<result<void>> queue_taking::take_messages() {
    translator::run_input& input = request_.what.input;
    input.messages.erase(
        input.messages.begin() + static_cast<std::ptrdiff_t>(own_messages_), input.messages.end()
    );
    if (request_.batch) {
        core_.queue.put_back(request_.conversation, *request_.batch);
        request_.batch.reset();
    }
    auto queued = co_await store_.queued(request_.conversation.thread);
    if (!queued) {
        co_return queued.error();
    }
    check_failpoint("queue.read");
    const auto is_own = [&](const session::queued_request& each) {
        return each.run_id == input.run_id;
    };
    if (request_.waiting && std::ranges::none_of(*queued, is_own)) {
        co_return failure{
            errc::not_found, "the message was withdrawn, or its thread was deleted", {}, {}
        };
    }
    if (const auto left_out = co_await leave_out_begun(*queued); !left_out) {
        co_return left_out.error();
    }
    run_queue::taken taken = core_.queue.take(
        request_.conversation, input.run_id, request_.agent->settings.id, std::move(*queued)
    );
    request_.batch = std::move(taken.batch);
    taken_ = std::move(taken.requests);
    check_failpoint("queue.taken");
    std::set<std::string, std::less<>> ids;
    for (session::queued_request& each : taken_) {
        for (session::message& message : each.messages) {
            // A client may have sent the same message in two requests.
            if (ids.insert(message.id).second) {
                input.messages.push_back(std::move(message));
            }
        }
    }
    co_return result<void>();
}

// Leaves out requests that have become a run in another process while this process, or one that was
// killed since, queued them.
boost::asio::awaitable<result<void>>
queue_taking::leave_out_begun(std::vector<session::queued_request>& queued) {
    if (!store_.is_shared()) {
        co_return result<void>();
    }
    for (auto each = queued.begin(); each != queued.end();) {
        if (each->run_id == request_.what.input.run_id) {
            ++each;
            continue;
        }
        const auto begun = co_await store_.find_run(request_.conversation.thread, each->run_id);
        if (!begun) {
            co_return begun.error();
        }
        if (!begun->has_value()) {
            ++each;
            continue;
        }
        const auto removed = co_await store_.withdraw(request_.conversation.thread, each->number);
        if (!removed) {
            co_return removed.error();
        }
        each = queued.erase(each);
    }
    co_return result<void>();
}

boost::asio::awaitable<result<void>> queue_taking::take_again() {
    if (!queue_lock_) {
        co_return result<void>();
    }
    co_return co_await take_messages();
}

bool queue_taking::may_take_abandoned() const {
    const std::vector<session::message>& messages = request_.what.input.messages;
    if (!request_.others_queued || core_.queue.is_awaited(request_.conversation) ||
        messages.empty() || messages.back().role != session::role::tool || !request_.thread) {
        return false;
    }
    std::set<std::string_view> answered;
    for (const session::message& each : messages) {
        if (each.role == session::role::user) {
            // In a request with history, the place of the new messages is not certain.
            return false;
        }
        answered.insert(each.tool_call_id);
    }
    return std::ranges::all_of(request_.thread->calls, [&](const session::call_record& call) {
        return call.status != session::call_status::pending || answered.contains(call.id);
    });
}

void queue_taking::add_to(session::changes& change, unix_ms now) const {
    for (const session::queued_request& each : taken_) {
        change.dequeued.push_back(each.number);
        if (each.run_id == request_.what.input.run_id) {
            continue;
        }
        session::run_record record = record_of(each);
        record.status = session::run_status::finished;
        record.end_reason = "answered";
        record.answered_by = request_.what.input.run_id;
        record.ended_at = now;
        change.answered.push_back(std::move(record));
    }
}

} // namespace agui::gateway
