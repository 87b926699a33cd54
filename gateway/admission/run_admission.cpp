#include "gateway/admission/run_admission.hpp"

#include "gateway/admission/input_digest.hpp"
#include "gateway/admission/repeated_run.hpp"
#include "gateway/admission/request_warnings.hpp"
#include "gateway/admission/run_setup.hpp"
#include "gateway/quota/quotas.hpp"
#include "gateway/replay/run_replay.hpp"
#include "gateway/run/ended_record.hpp"
#include "gateway/run/live_run.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/shown_messages.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {

result<void> hold_thread(accepted_run::admitted& request) {
    // Threads up to this size are not counted, so that most are served while the budget is full.
    constexpr std::size_t uncounted_bytes = 64U << 10U;
    // The thread as read, and the run's copy.
    constexpr std::size_t copies_of_thread = 2;
    const std::uint64_t bytes = request.thread ? request.thread->bytes : 0;
    request.thread_memory = memory_share(request.core->services.memory, use_of(bytes));
    if (bytes <= uncounted_bytes || request.thread_memory.grow_to(copies_of_thread * bytes)) {
        return result<void>();
    }
    request.thread.reset();
    return failure{errc::overloaded, "there is not enough memory for this conversation", {}, {}};
}

namespace {

struct repeated_run {
    known_run run;
    bool by_key = false; ///< It was found by its idempotency key, not by its runId.
};

// Returns null if it repeats no waiting request of this process.
std::shared_ptr<waiting_run> find_waiting(const accepted_run::admitted& request) {
    const run_core& core = *request.core;
    const std::string& key = request.what.idempotency_key;
    if (!core.settings.queue) {
        return nullptr;
    }
    if (auto found = core.queue.find(request.conversation, request.what.input.run_id)) {
        return found;
    }
    return key.empty() ? nullptr : core.queue.find_by_key(request.conversation, key);
}

// The gateway number of the other process in which it waits; 0 if there is none.
std::int64_t
elsewhere(const accepted_run::admitted& request, const session::queued_request& waits) {
    const session::store& store = request.core->store_of(request.conversation);
    return waits.gateway == store.gateway_number() ? 0 : waits.gateway;
}

// Makes this process the one in which the request waits, which alone may withdraw, take and find
// it. Returns false if the queued request has changed since it was read.
boost::asio::awaitable<result<bool>>
take_over(const accepted_run::admitted& request, const session::queued_request& own) {
    session::store& store = request.core->store_of(request.conversation);
    if (own.gateway == store.gateway_number()) {
        co_return true;
    }
    co_return co_await store.take_over_queued(own.number, own.gateway);
}

// Looks in the thread's stored queue for this request, or others, left by another process. If this
// request is there, no run takes its messages until it waits (queue_lock).
boost::asio::awaitable<result<void>> look_into_queue(accepted_run::admitted& request) {
    run_registry& registry = request.core->registry;
    const std::string& key = request.what.idempotency_key;
    for (bool found_by_key = false;;) {
        request.queue_lock = co_await registry.lock_key(request.conversation, "queue");
        auto queued = co_await request.core->store_of(request.conversation)
                          .queued(request.conversation.thread);
        if (!queued) {
            co_return queued.error();
        }
        const auto is_meant = [&](const session::queued_request& each) {
            return each.run_id == request.what.input.run_id ||
                   (!key.empty() && each.idempotency_key == key);
        };
        const auto own = std::ranges::find_if(*queued, is_meant);
        if (own == queued->end()) {
            request.others_queued = !queued->empty();
            request.queue_gateway = queued->empty() ? 0 : elsewhere(request, queued->front());
            request.queue_lock.reset();
            co_return result<void>();
        }
        const bool by_key = own->run_id != request.what.input.run_id;
        if (own->input_digest != request.digest || own->agent_id != request.agent->settings.id) {
            co_return used_otherwise(by_key || found_by_key);
        }
        if (const std::int64_t gateway = elsewhere(request, *own);
            request.what.may_be_passed && gateway != 0) {
            co_return failure{
                errc::thread_busy, "the request is queued in another process", {}, {}, gateway
            };
        }
        if (!by_key) {
            const auto taken = co_await take_over(request, *own);
            if (!taken) {
                co_return taken.error();
            }
            if (!*taken) {
                request.queue_lock.reset();
                continue;
            }
            request.queued = std::move(*own);
            co_return result<void>();
        }
        // The request continues under the id with which it was queued, so that stops reach it. It
        // releases one lock before it takes the next, because others may take them in another
        // order.
        found_by_key = true;
        request.queue_lock.reset();
        request.id_lock.reset();
        request.what.input.run_id = own->run_id;
        request.arrival->rename(own->run_id);
        request.id_lock = co_await registry.lock_key(request.conversation, "run " + own->run_id);
    }
}

// The run that a request repeats (P6). If there is none, `request` gets the store's view of its
// thread.
boost::asio::awaitable<result<std::optional<repeated_run>>>
find_repeated(accepted_run::admitted& request) {
    run_core& core = *request.core;
    session::store& store = core.store_of(request.conversation);
    const std::string& run_id = request.what.input.run_id;
    const std::string& key = request.what.idempotency_key;
    // Checked in the order in which a request moves from one place to the next.
    if (const auto waiting = find_waiting(request)) {
        const bool by_other_id = waiting->record.run_id != run_id;
        co_return repeated_run{{waiting->record, waiting->log, run_place::here}, by_other_id};
    }
    if (core.settings.queue) {
        const auto looked = co_await look_into_queue(request);
        if (!looked) {
            co_return looked.error();
        }
        if (request.queued) {
            co_return std::optional<repeated_run>();
        }
    }
    const auto live = core.registry.active(request.conversation);
    bool is_known = live && live->record().run_id == run_id;
    if (!is_known) {
        auto seen = co_await store.look_up(request.conversation.thread, run_id);
        if (!seen) {
            co_return seen.error();
        }
        is_known = seen->run.has_value();
        request.thread = std::move(seen->thread);
        request.is_thread_read = true;
        if (const auto held = hold_thread(request); !held) {
            co_return held.error();
        }
    }
    std::string repeated_id = is_known ? run_id : std::string();
    const bool by_key = !is_known && !key.empty();
    if (by_key) {
        auto named = co_await store.find_run_by_key(request.conversation.thread, key);
        if (!named) {
            co_return named.error();
        }
        repeated_id = named->has_value() ? (*named)->run_id : std::string();
    }
    if (repeated_id.empty()) {
        co_return std::optional<repeated_run>();
    }
    auto known = co_await find_run(core, request.conversation, std::move(repeated_id));
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value()) {
        co_return std::optional<repeated_run>();
    }
    co_return repeated_run{std::move(**known), by_key};
}

// A request that answers the interrupts of the run whose id it repeats is that run's next segment.
bool continues_run(const accepted_run::admitted& request, const repeated_run& repeated) {
    const session::run_record& before = repeated.run.record;
    const std::uint32_t number = session::segment_of(before.run_id).number;
    const bool has_interrupts = before.end_reason == interrupted ||
                                (number > 1 && before.status == session::run_status::failed);
    return !repeated.by_key && has_interrupts && number < session::segments_max &&
           !request.what.input.resume.empty() && before.input_digest != request.digest &&
           before.agent_id == request.agent->settings.id;
}

// The run that the request repeats, after it was given the id of the segment that it is.
boost::asio::awaitable<result<std::optional<repeated_run>>>
find_segment(accepted_run::admitted& request) {
    auto repeated = co_await find_repeated(request);
    while (repeated && repeated->has_value() && continues_run(request, **repeated)) {
        const session::run_segment before = session::segment_of((*repeated)->run.record.run_id);
        const std::string id = session::segment_id(before.run_id, before.number + 1);
        run_registry& registry = request.core->registry;
        // In the order of the segments, so that two requests do not wait for each other.
        request.id_lock = co_await registry.lock_key(request.conversation, "run " + id);
        request.arrival->rename(id);
        request.what.input.run_id = id;
        repeated = co_await find_repeated(request);
    }
    co_return repeated;
}

quotas::run_claim quota_claim_of(const accepted_run::admitted& request) {
    const requested_run& what = request.what;
    quotas::run_claim claim;
    claim.party = {what.principal, what.source.address.counted};
    claim.thread = what.input.thread_id;
    claim.is_minor = what.input.is_for_suggestions;
    claim.keeps_thread = !request.conversation.ephemeral;
    claim.first_call = request.agent->first_call;
    if (const auto& most = what.input.forwarded.max_output_tokens;
        most && request.agent->overridable.contains("max_output_tokens")) {
        claim.first_call.output_tokens = std::min(claim.first_call.output_tokens, *most);
        claim.first_call.micro_cost = 0; // It depends on the model.
    }
    return claim;
}

} // namespace

boost::asio::awaitable<result<accepted_run>>
accept_run(std::shared_ptr<run_core> core, requested_run what) {
    const agent_entry* agent = core->find_agent(what.agent_id);
    if (agent == nullptr) {
        co_return failure{errc::not_found, "there is no agent with this name", {}, {}};
    }
    const std::optional<std::string>& model = what.input.forwarded.model;
    if (what.known_model && model && !can_use_model(*agent, *model)) {
        co_return failure{
            errc::invalid_input, "is not a configured model that requests may choose", "model", {}
        };
    }
    warn_of_ignored_parts(core->services.log, core->told, what.input, *agent);
    if (what.input.is_for_suggestions) {
        what.on_disconnect = disconnect_policy{.what = disconnect_policy::kind::cancel};
    }
    accepted_run accepted;
    accepted.to_begin = std::make_unique<accepted_run::admitted>();
    accepted_run::admitted& request = *accepted.to_begin;
    request.core = core;
    request.executor = co_await boost::asio::this_coro::executor;
    request.what = std::move(what);
    request.agent = agent;
    translator::run_input& input = request.what.input;
    if (agent->legacy_interrupts && input.resume.empty() && input.forwarded.legacy_resume) {
        input.resume.push_back(*std::move(input.forwarded.legacy_resume));
    }
    request.unanswered = session::calls_without_result(input.messages);
    request.conversation = {{request.what.principal, input.thread_id}, input.forwarded.ephemeral};
    // From here on stops reach the request; earlier ones were kept for it.
    request.arrival =
        core->registry.arrive(request.conversation, input.run_id, request.what.received);
    check_failpoint("admission.arrived");
    request.digest = request.what.digest.empty() ? input_digest(input.canonical)
                                                 : std::move(request.what.digest);
    std::string().swap(input.canonical);
    // The idempotency key's lock comes first, then the runId's: a fixed order prevents deadlocks.
    if (!request.what.idempotency_key.empty()) {
        request.idempotency_lock = co_await core->registry.lock_key(
            request.conversation, "key " + request.what.idempotency_key
        );
    }
    request.id_lock = co_await core->registry.lock_key(request.conversation, "run " + input.run_id);
    check_failpoint("admission.turn_taken");
    auto repeated = co_await find_segment(request);
    check_failpoint("admission.looked_up");
    if (!repeated) {
        co_return repeated.error();
    }
    if (repeated->has_value()) {
        const known_run& first = (*repeated)->run;
        if (first.record.input_digest != request.digest ||
            first.record.agent_id != agent->settings.id) {
            co_return used_otherwise((*repeated)->by_key);
        }
        auto log = co_await log_of(*core, request.conversation, first);
        if (!log) {
            co_return log.error();
        }
        co_return accepted_run{std::move(*log), first.record.run_id, nullptr};
    }
    // A repeat is not checked, because its run exists (P6).
    if (const auto allowed = check_client_tools(*agent, input); !allowed) {
        co_return allowed.error();
    }
    auto admitted = core->registry.admit(
        input.is_for_suggestions ? run_registry::importance::minor : run_registry::importance::usual
    );
    if (!admitted) {
        co_return admitted.error();
    }
    request.admission = std::move(*admitted);
    if (core->services.limits != nullptr) {
        auto place = co_await core->services.limits->admit_run(quota_claim_of(request));
        if (!place) {
            co_return place.error();
        }
        request.quota_place = std::move(*place);
    }
    accepted.log = live_run::make_log(
        request.executor, core->store_of(request.conversation), core->settings.relaxed_durability,
        core->services.memory
    );
    accepted.run_id = input.run_id; // For a request in the queue, it is known only here.
    check_failpoint("admission.admitted");
    co_return accepted;
}

} // namespace agui::gateway
