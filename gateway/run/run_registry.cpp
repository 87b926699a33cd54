#include "gateway/run/run_registry.hpp"

#include "session/base/id.hpp"
#include "session/conversation/run_segment.hpp"

#include <algorithm>
#include <exception>

namespace agui::gateway {

using runner::stop_reason;

namespace {

constexpr std::size_t minor_share = 8; ///< Part of max_runs that minor runs may take.

} // namespace

std::optional<stop_reason>
run_registry::add(const std::shared_ptr<live_run>& run, arrival& request) {
    const std::lock_guard lock(mutex_);
    if (const auto [earlier, is_first] = by_conversation_.insert(run); !is_first) {
        auto node = by_conversation_.extract(earlier);
        node.value() = run;
        by_conversation_.insert(std::move(node));
    }
    runs_.emplace(run, request.request_->received);
    request.request_->run = run;
    return request.request_->stop || !stopping_ ? request.request_->stop : stop_reason::shutdown;
}

void run_registry::remove(const std::shared_ptr<live_run>& run) noexcept {
    {
        const std::lock_guard lock(mutex_);
        const auto found = by_conversation_.find(run->conversation());
        if (found != by_conversation_.end() && *found == run) {
            by_conversation_.erase(found);
        }
        runs_.erase(run);
        forget_detached(run.get());
    }
    wake(run->conversation());
}

std::shared_ptr<live_run> run_registry::active(const conversation_key& conversation) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_conversation_.find(conversation);
    return found == by_conversation_.end() ? nullptr : *found;
}

std::size_t run_registry::size() const {
    const std::lock_guard lock(mutex_);
    return runs_.size();
}

std::vector<std::shared_ptr<live_run>> run_registry::active_runs() const {
    const std::lock_guard lock(mutex_);
    return all_runs();
}

std::vector<std::shared_ptr<live_run>> run_registry::all_runs() const {
    std::vector<std::shared_ptr<live_run>> all;
    all.reserve(runs_.size());
    for (const auto& [run, received] : runs_) {
        all.push_back(run);
    }
    return all;
}

std::shared_ptr<live_run> run_registry::add_detached(
    const std::shared_ptr<live_run>& run, const std::vector<detached_limit>& others
) {
    wake(run->conversation());
    const std::lock_guard lock(mutex_);
    forget_detached(run.get());
    detached_places_[run.get()] = detached_.insert(detached_.end(), run);
    while (detached_.size() > limits_.max_detached_runs) {
        const std::shared_ptr<live_run> longest = detached_.front();
        forget_detached(longest.get());
        // A run that has readers again is not detached. It is added again when the last one leaves.
        if (longest->detached()) {
            return longest;
        }
    }
    for (const detached_limit& each : others) {
        if (auto longest = detached_beyond(each, run->sender())) {
            forget_detached(longest.get());
            return longest;
        }
    }
    return nullptr;
}

// The sender's oldest run that the limit counts, if it counts too many.
std::shared_ptr<live_run>
run_registry::detached_beyond(const detached_limit& limit, std::string_view sender) const {
    std::shared_ptr<live_run> longest;
    std::size_t count = 0;
    for (const std::shared_ptr<live_run>& each : detached_) {
        if (each->detached() && limit.counts(*each)) {
            if (longest == nullptr && each->sender() == sender) {
                longest = each;
            }
            ++count;
        }
    }
    return count > limit.max ? longest : nullptr;
}

void run_registry::forget_detached(const live_run* run) {
    const auto found = detached_places_.find(run);
    if (found != detached_places_.end()) {
        detached_.erase(found->second);
        detached_places_.erase(found);
    }
}

void run_registry::keep_log(const live_run& run) {
    const auto now = std::chrono::steady_clock::now();
    kept_log kept{run.log(), run.log()->bytes(), now + limits_.replay};
    const std::lock_guard lock(mutex_);
    kept_bytes_ += kept.bytes;
    const auto [place, is_new] =
        kept_.try_emplace(run_name{run.conversation(), run.record().run_id});
    kept_bytes_ -= place->second.bytes; // The same runId, on a thread that was removed since.
    place->second = std::move(kept);
    if (is_new) {
        kept_in_order_.push_back(place);
    }
    while (!kept_in_order_.empty() &&
           (kept_in_order_.front()->second.until <= now || kept_bytes_ > limits_.kept_bytes)) {
        kept_bytes_ -= kept_in_order_.front()->second.bytes;
        kept_.erase(kept_in_order_.front());
        kept_in_order_.pop_front();
    }
}

std::shared_ptr<event_log>
run_registry::find_log(const conversation_key& conversation, const std::string& run_id) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(run_name{conversation, run_id});
    const bool is_kept =
        found != kept_.end() && found->second.until > std::chrono::steady_clock::now();
    return is_kept ? found->second.log : nullptr;
}

void run_registry::share_log(std::int64_t run_number, const std::shared_ptr<event_log>& log) {
    const std::lock_guard lock(mutex_);
    std::erase_if(shared_logs_, [](const auto& one) { return one.second.expired(); });
    shared_logs_[run_number] = log;
}

std::shared_ptr<event_log> run_registry::find_shared_log(std::int64_t run_number) const {
    const std::lock_guard lock(mutex_);
    const auto found = shared_logs_.find(run_number);
    return found == shared_logs_.end() ? nullptr : found->second.lock();
}

std::unique_ptr<run_registry::arrival> run_registry::arrive(
    conversation_key conversation, std::string run_id,
    std::chrono::steady_clock::time_point received
) {
    auto request = std::make_shared<arriving>();
    request->name = {std::move(conversation), std::move(run_id)};
    request->received = received;
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (early_stops_.take(request->name.first, request->name.second, received, now)) {
        request->stop = stop_reason::cancelled;
    }
    arrivals_.emplace(request->name.first, request);
    return std::make_unique<arrival>(*this, std::move(request));
}

void run_registry::end_arrival(const std::shared_ptr<arriving>& request, bool held_thread) {
    const conversation_key& conversation = request->name.first;
    bool has_run = false;
    {
        const std::lock_guard lock(mutex_);
        const auto [begin, end] = arrivals_.equal_range(conversation);
        arrivals_.erase(std::find_if(begin, end, [&](const auto& one) {
            return one.second == request;
        }));
        has_run = request->run != nullptr;
    }
    request->over.set();
    if (held_thread && !has_run) {
        wake(conversation);
    }
}

void run_registry::arrival::rename(std::string run_id) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(owner_.mutex_);
    auto& [conversation, name] = request_->name;
    name = std::move(run_id);
    if (owner_.early_stops_.take(conversation, name, request_->received, now)) {
        request_->stop = request_->stop.value_or(stop_reason::cancelled);
    }
}

bool run_registry::arrival::stopped() const {
    const std::lock_guard lock(owner_.mutex_);
    return request_->stop.has_value();
}

namespace {

// Clients name all segments of a run by the id of the first.
bool is_named(std::string_view stored_id, std::string_view run_id) noexcept {
    return stored_id == run_id || session::client_run_id(stored_id) == run_id;
}

} // namespace

run_registry::stopping run_registry::stop(
    const conversation_key& conversation, const std::optional<std::string>& run_id,
    std::chrono::steady_clock::time_point asked
) {
    stopping found;
    {
        const std::lock_guard lock(mutex_);
        const auto live = by_conversation_.find(conversation);
        if (live != by_conversation_.end() &&
            (run_id ? is_named((*live)->record().run_id, *run_id) : runs_.at(*live) <= asked)) {
            found.run_ = *live;
            found.run_->stop(stop_reason::cancelled);
        }
        const auto [begin, end] = arrivals_.equal_range(conversation);
        for (auto one = begin; one != end; ++one) {
            arriving& request = *one->second;
            const bool is_meant =
                run_id ? is_named(request.name.second, *run_id) : request.received <= asked;
            if (is_meant && !request.run) {
                request.stop = request.stop.value_or(stop_reason::cancelled);
                found.requests_.push_back(one->second);
            }
        }
        // Requests with invalid ids are refused, so a stop for them need not be kept.
        const std::string name = run_id.value_or(std::string());
        if (!(run_id && found.any()) && is_sound_id(conversation.thread.thread_id) &&
            is_sound_id(name)) {
            early_stops_.add(conversation, name, asked);
        }
    }
    if (!found.requests_.empty()) {
        wake(conversation);
    }
    return found;
}

boost::asio::awaitable<bool> run_registry::stopping::wait() {
    bool stopped = false;
    if (run_) {
        co_await run_->ended().wait();
        stopped = run_->was_stopped();
    }
    for (const std::shared_ptr<arriving>& request : requests_) {
        co_await request->over.wait();
        // Without the lock: these are set before `over` and never changed.
        stopped = stopped || request->ended_by_stop;
        if (const std::shared_ptr<live_run> run = request->run) {
            co_await run->ended().wait();
            stopped = stopped || run->was_stopped();
        }
    }
    co_return stopped;
}

void run_registry::forget_early_stop(
    const conversation_key& conversation, const std::string& run_id
) {
    const std::lock_guard lock(mutex_);
    early_stops_.forget(conversation, run_id);
}

std::vector<std::shared_ptr<change_signal>>
run_registry::watching(const conversation_key& conversation) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<change_signal>> told;
    const auto [begin, end] = watches_.equal_range(conversation);
    for (auto one = begin; one != end; ++one) {
        told.push_back(one->second);
    }
    return told;
}

void run_registry::wake(const conversation_key& conversation) const noexcept {
    try {
        for (const std::shared_ptr<change_signal>& signal : watching(conversation)) {
            signal->notify();
        }
    } catch (const std::exception&) {
        // Without memory, waiters for the thread check again when their wait times out.
        return;
    }
}

std::unique_ptr<run_registry::watch> run_registry::watch_conversation(
    conversation_key conversation, const boost::asio::any_io_executor& executor
) {
    return std::make_unique<watch>(
        *this, std::move(conversation), std::make_shared<change_signal>(executor)
    );
}

run_registry::watch::watch(
    run_registry& owner, conversation_key conversation, std::shared_ptr<change_signal> signal
)
    : owner_(owner), conversation_(std::move(conversation)), signal_(std::move(signal)) {
    const std::lock_guard lock(owner_.mutex_);
    owner_.watches_.emplace(conversation_, signal_);
}

run_registry::watch::~watch() {
    const std::lock_guard lock(owner_.mutex_);
    const auto [begin, end] = owner_.watches_.equal_range(conversation_);
    owner_.watches_.erase(std::find_if(begin, end, [this](const auto& one) {
        return one.second == signal_;
    }));
}

result<std::unique_ptr<run_registry::admission>> run_registry::admit(importance of) {
    const std::lock_guard lock(mutex_);
    if (draining_) {
        return failure{errc::draining, "the server is shutting down", {}, {}};
    }
    if (runs_.size() + admissions_ >= limits_.max_runs) {
        return failure{errc::overloaded, "too many runs are active", {}, {}};
    }
    std::shared_ptr<const void> place;
    if (of == importance::minor) {
        const auto taken = static_cast<std::size_t>(minor_places_.use_count()) - 1;
        if (taken >= std::max<std::size_t>(limits_.max_runs / minor_share, 1)) {
            return failure{errc::overloaded, "too many runs for suggestions are active", {}, {}};
        }
        place = minor_places_;
    }
    ++admissions_;
    return std::make_unique<admission>(*this, std::move(place));
}

void run_registry::end_admission() {
    std::shared_ptr<completion_event> none_left;
    {
        const std::lock_guard lock(mutex_);
        if (--admissions_ == 0) {
            none_left = std::exchange(no_admissions_, nullptr);
        }
    }
    if (none_left) {
        none_left->set();
    }
}

boost::asio::awaitable<std::unique_ptr<run_registry::key_lock>>
run_registry::lock_key(conversation_key conversation, std::string key) {
    key_name name{std::move(conversation), std::move(key)};
    for (;;) {
        std::shared_ptr<completion_event> other;
        {
            const std::lock_guard lock(mutex_);
            auto& holder = key_locks_[name];
            if (!holder) {
                holder = std::make_shared<completion_event>();
                break;
            }
            other = holder;
        }
        co_await other->wait();
    }
    co_return std::make_unique<key_lock>(*this, std::move(name));
}

void run_registry::unlock_key(const key_name& name) {
    std::shared_ptr<completion_event> event;
    {
        const std::lock_guard lock(mutex_);
        const auto found = key_locks_.find(name);
        event = std::move(found->second);
        key_locks_.erase(found);
    }
    event->set();
}

void run_registry::begin_drain() {
    std::vector<std::shared_ptr<change_signal>> waiting;
    {
        const std::lock_guard lock(mutex_);
        draining_ = true;
        for (const auto& [conversation, signal] : watches_) {
            waiting.push_back(signal);
        }
    }
    for (const std::shared_ptr<change_signal>& signal : waiting) {
        signal->notify();
    }
}

std::vector<std::shared_ptr<live_run>> run_registry::begin_stop() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    stopping_ = true;
    return all_runs();
}

bool run_registry::draining() const {
    const std::lock_guard lock(mutex_);
    return draining_;
}

// Returns an active run. If there is none, returns null and sets `admitted` to the event to wait
// for, which stays null if there are no admissions either.
std::shared_ptr<live_run> run_registry::any_run(std::shared_ptr<completion_event>& admitted) {
    const std::lock_guard lock(mutex_);
    if (!runs_.empty()) {
        return runs_.begin()->first;
    }
    if (admissions_ > 0) {
        if (!no_admissions_) {
            no_admissions_ = std::make_shared<completion_event>();
        }
        admitted = no_admissions_;
    }
    return nullptr;
}

boost::asio::awaitable<void> run_registry::wait_until_empty() {
    for (;;) {
        std::shared_ptr<completion_event> admitted;
        const std::shared_ptr<live_run> run = any_run(admitted);
        if (!run && !admitted) {
            co_return;
        }
        co_await (run ? run->ended() : *admitted).wait();
    }
}

} // namespace agui::gateway
