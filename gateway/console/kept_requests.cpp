#include "gateway/console/kept_requests.hpp"

#include "session/conversation/run_segment.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace agui::gateway {
namespace {

std::string_view reason_text(runner::finish_reason reason) noexcept {
    using enum runner::finish_reason;
    switch (reason) {
    case stop:
        return "stop";
    case tool_calls:
        return "tool_calls";
    case length:
        return "length";
    case content_filter:
        return "content_filter";
    case pause:
        return "pause";
    case refusal:
        return "refusal";
    }
    return "stop";
}

std::string_view failure_text(runner::model_failure::kind kind) noexcept {
    using enum runner::model_failure::kind;
    switch (kind) {
    case unavailable:
        return "unavailable";
    case lost:
        return "lost";
    case rejected:
        return "rejected";
    case timeout:
        return "timeout";
    case memory:
        return "no_memory";
    case over_quota:
        return "over_quota";
    case uncounted:
        return "uncounted";
    case cancelled:
        return "cancelled";
    }
    return "unavailable";
}

std::size_t kept_bytes_of(const kept_request& request) noexcept {
    return request.body ? request.body->size() : 0;
}

} // namespace

std::uint64_t kept_requests::sending(
    const runner::model_request& request, std::size_t bytes, std::optional<std::string> body
) {
    kept_request made;
    made.principal = request.principal;
    made.thread_id = request.thread;
    made.run_id = session::client_run_id(request.run);
    made.model = request.provider;
    made.asked = request.parameters.model;
    made.at = time_.now();
    made.bytes = bytes;
    if (body) {
        made.body = std::make_shared<const std::string>(std::move(*body));
    }
    const std::lock_guard lock(mutex_);
    made.number = ++last_;
    bytes_ += kept_bytes_of(made);
    all_.push_back(std::move(made));
    while (all_.size() > requests_max || bytes_ > bytes_max || !memory_.grow_to(bytes_)) {
        drop_oldest();
    }
    memory_.shrink_to(bytes_);
    return last_;
}

template <class Predicate>
void kept_requests::drop(Predicate is_meant) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const kept_request& each) AGUI_REQUIRES(mutex_) {
        const bool goes = is_meant(each);
        bytes_ -= goes ? kept_bytes_of(each) : 0;
        return goes;
    });
    memory_.shrink_to(bytes_);
}

void kept_requests::forget_thread(const session::thread_key& thread) {
    drop([&](const kept_request& each) {
        return each.principal == thread.principal && each.thread_id == thread.thread_id;
    });
}

void kept_requests::forget_principal(std::string_view principal) {
    drop([&](const kept_request& each) { return each.principal == principal; });
}

void kept_requests::drop_oldest() {
    bytes_ -= kept_bytes_of(all_.front());
    all_.pop_front();
}

void kept_requests::ended(std::uint64_t call, const runner::model_outcome& outcome) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(all_, call, &kept_request::number);
    if (found == all_.end()) {
        return;
    }
    found->ended_at = time_.now();
    if (outcome) {
        found->outcome = reason_text(outcome->reason);
        found->usage = outcome->usage;
    } else {
        found->outcome = failure_text(outcome.error().what);
    }
}

std::vector<kept_request> kept_requests::list(std::string_view thread_id) const {
    std::vector<kept_request> found;
    const std::lock_guard lock(mutex_);
    for (auto each = all_.rbegin(); each != all_.rend(); ++each) {
        if (thread_id.empty() || each->thread_id == thread_id) {
            found.push_back(*each);
        }
    }
    return found;
}

std::optional<kept_request> kept_requests::find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(all_, number, &kept_request::number);
    return found == all_.end() ? std::nullopt : std::optional(*found);
}

} // namespace agui::gateway
