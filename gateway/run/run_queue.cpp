#include "gateway/run/run_queue.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

bool waits(const waiting_run& request) { return !request.batch && !request.leaves; }

} // namespace

void run_queue::add(const std::shared_ptr<waiting_run>& request) {
    const std::lock_guard lock(mutex_);
    by_conversation_[request->conversation].push_back(request);
}

void run_queue::set_stored(waiting_run& request, std::int64_t number) {
    const std::lock_guard lock(mutex_);
    request.number = number;
}

void run_queue::remove(const std::shared_ptr<waiting_run>& request) noexcept {
    {
        const std::lock_guard lock(mutex_);
        const auto found = by_conversation_.find(request->conversation);
        if (found == by_conversation_.end() || found->second.remove(request) == 0) {
            return;
        }
        if (found->second.empty()) {
            by_conversation_.erase(found);
        }
    }
    request->over.set();
}

std::vector<std::int64_t> run_queue::numbers() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> all(picked_up_.begin(), picked_up_.end());
    for (const auto& [conversation, waiting] : by_conversation_) {
        for (const std::shared_ptr<waiting_run>& each : waiting) {
            all.push_back(each->number); // 0 (not stored yet) matches no request.
        }
    }
    return all;
}

void run_queue::begin_pick_up(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    picked_up_.insert(number);
}

void run_queue::end_pick_up(std::int64_t number) noexcept {
    const std::lock_guard lock(mutex_);
    picked_up_.erase(number);
}

template <class Which>
std::shared_ptr<waiting_run>
run_queue::find_where(const conversation_key& conversation, Which which) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_conversation_.find(conversation);
    if (found == by_conversation_.end()) {
        return nullptr;
    }
    const auto request =
        std::ranges::find_if(found->second, [&](const auto& one) { return which(one->record); });
    return request == found->second.end() ? nullptr : *request;
}

std::shared_ptr<waiting_run>
run_queue::find(const conversation_key& conversation, const std::string& run_id) const {
    return find_where(conversation, [&](const session::run_record& record) {
        return record.run_id == run_id;
    });
}

std::shared_ptr<waiting_run> run_queue::find_by_key(
    const conversation_key& conversation, const std::string& idempotency_key
) const {
    return find_where(conversation, [&](const session::run_record& record) {
        return record.idempotency_key == idempotency_key;
    });
}

session::run_record record_of(const session::queued_request& request) {
    session::run_record record;
    record.run_id = request.run_id;
    record.parent_run_id = request.parent_run_id;
    record.agent_id = request.agent_id;
    record.input_digest = request.input_digest;
    record.idempotency_key = request.idempotency_key;
    record.protocol = request.protocol;
    record.started_at = request.queued_at;
    return record;
}

bool run_queue::is_awaited(const conversation_key& conversation) const {
    return newest(conversation) != 0;
}

unix_ms run_queue::newest(const conversation_key& conversation) const {
    const std::lock_guard lock(mutex_);
    unix_ms newest = 0;
    if (const auto found = by_conversation_.find(conversation); found != by_conversation_.end()) {
        for (const auto& one : found->second) {
            newest = waits(*one) ? std::max(newest, one->waits_since) : newest;
        }
    }
    return newest;
}

bool run_queue::is_first(const waiting_run& request) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_conversation_.find(request.conversation);
    return found != by_conversation_.end() && waits(request) && request.number != 0 &&
           std::ranges::none_of(found->second, [&](const auto& one) {
               return waits(*one) && one->number != 0 && one->number < request.number;
           });
}

run_queue::taken run_queue::take(
    const conversation_key& conversation, const std::string& run_id, const std::string& agent_id,
    std::vector<session::queued_request> queued
) {
    taken all;
    all.batch = std::make_shared<queue_batch>();
    all.batch->run_id = run_id;
    const std::lock_guard lock(mutex_);
    const auto found = by_conversation_.find(conversation);
    for (session::queued_request& each : queued) {
        if (each.agent_id != agent_id) {
            continue;
        }
        if (found != by_conversation_.end()) {
            const auto request = std::ranges::find_if(found->second, [&](const auto& one) {
                return one->record.run_id == each.run_id;
            });
            if (request != found->second.end()) {
                if (!waits(**request)) {
                    continue;
                }
                (*request)->batch = all.batch;
                (*request)->number = each.number; // Another process may have queued it again.
            }
        }
        all.batch->numbers.push_back(each.number);
        all.requests.push_back(std::move(each));
    }
    return all;
}

void run_queue::put_back(const conversation_key& conversation, const queue_batch& batch) {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_conversation_.find(conversation); found != by_conversation_.end()) {
        for (const auto& one : found->second) {
            if (one->batch.get() == &batch) {
                one->batch.reset();
            }
        }
    }
}

bool run_queue::leave(waiting_run& request) {
    const std::lock_guard lock(mutex_);
    if (request.batch) {
        return false;
    }
    request.leaves = true;
    return true;
}

std::shared_ptr<queue_batch> run_queue::batch_of(const waiting_run& request) const {
    const std::lock_guard lock(mutex_);
    return request.batch;
}

void run_queue::set_over(queue_batch& batch, std::optional<failure> failed) {
    const std::lock_guard lock(mutex_);
    batch.over = true;
    batch.failed = std::move(failed);
}

bool run_queue::is_over(const queue_batch& batch) const {
    const std::lock_guard lock(mutex_);
    return batch.over;
}

} // namespace agui::gateway
