#include "gateway/run_registry.hpp"

#include <algorithm>

namespace agui::gateway {

using session::thread_key;

bool run_registry::add(const std::shared_ptr<live_run>& run) {
    const std::lock_guard lock(mutex_);
    by_thread_[run->key()] = run;
    runs_.insert(run);
    return !stopping_;
}

void run_registry::remove(const std::shared_ptr<live_run>& run) {
    const std::lock_guard lock(mutex_);
    const auto found = by_thread_.find(run->key());
    if (found != by_thread_.end() && found->second == run) {
        by_thread_.erase(found);
    }
    runs_.erase(run);
    forget_detached(run.get());
}

std::shared_ptr<live_run> run_registry::active(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_thread_.find(key);
    return found == by_thread_.end() ? nullptr : found->second;
}

std::size_t run_registry::size() const {
    const std::lock_guard lock(mutex_);
    return runs_.size();
}

std::shared_ptr<live_run> run_registry::add_detached(const std::shared_ptr<live_run>& run) {
    const std::lock_guard lock(mutex_);
    forget_detached(run.get());
    detached_places_[run.get()] = detached_.insert(detached_.end(), run);
    while (detached_.size() > limits_.max_detached_runs) {
        const std::shared_ptr<live_run> longest = detached_.front();
        forget_detached(longest.get());
        // One that is read again is no longer detached; it comes back when its last reader leaves.
        if (longest->detached()) {
            return longest;
        }
    }
    return nullptr;
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
    const auto [place, is_new] = kept_.try_emplace(run_name{run.key(), run.record().run_id});
    kept_bytes_ -= place->second.bytes; // Of a run of that name on a thread that was deleted since.
    place->second = std::move(kept);
    if (is_new) {
        kept_in_order_.push_back(place);
    }
    while (!kept_in_order_.empty() && (kept_in_order_.front()->second.until <= now ||
                                       kept_bytes_ > limits_.kept_bytes)) {
        kept_bytes_ -= kept_in_order_.front()->second.bytes;
        kept_.erase(kept_in_order_.front());
        kept_in_order_.pop_front();
    }
}

std::shared_ptr<run_log>
run_registry::find_log(const thread_key& key, const std::string& run_id) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(run_name{key, run_id});
    const bool is_kept =
        found != kept_.end() && found->second.until > std::chrono::steady_clock::now();
    return is_kept ? found->second.log : nullptr;
}

void run_registry::share_log(std::int64_t run_number, const std::shared_ptr<run_log>& log) {
    const std::lock_guard lock(mutex_);
    std::erase_if(shared_logs_, [](const auto& one) { return one.second.expired(); });
    shared_logs_[run_number] = log;
}

std::shared_ptr<run_log> run_registry::find_shared_log(std::int64_t run_number) const {
    const std::lock_guard lock(mutex_);
    const auto found = shared_logs_.find(run_number);
    return found == shared_logs_.end() ? nullptr : found->second.lock();
}

result<std::unique_ptr<run_registry::admission>> run_registry::admit() {
    const std::lock_guard lock(mutex_);
    if (draining_) {
        return failure{errc::draining, "the server is shutting down", {}, {}};
    }
    if (runs_.size() + admissions_ >= limits_.max_runs) {
        return failure{errc::overloaded, "too many runs are active", {}, {}};
    }
    ++admissions_;
    return std::make_unique<admission>(*this);
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

boost::asio::awaitable<std::unique_ptr<run_registry::turn>>
run_registry::take_turn(thread_key key, std::string run_id) {
    run_name name{std::move(key), std::move(run_id)};
    for (;;) {
        std::shared_ptr<completion_event> other;
        {
            const std::lock_guard lock(mutex_);
            auto& place = turns_[name];
            if (!place) {
                place = std::make_shared<completion_event>();
                break;
            }
            other = place;
        }
        co_await other->wait();
    }
    co_return std::make_unique<turn>(*this, std::move(name));
}

void run_registry::end_turn(const run_name& name) {
    std::shared_ptr<completion_event> event;
    {
        const std::lock_guard lock(mutex_);
        const auto found = turns_.find(name);
        event = std::move(found->second);
        turns_.erase(found);
    }
    event->set();
}

void run_registry::begin_drain() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
}

std::vector<std::shared_ptr<live_run>> run_registry::begin_stop() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    stopping_ = true;
    return {runs_.begin(), runs_.end()};
}

bool run_registry::draining() const {
    const std::lock_guard lock(mutex_);
    return draining_;
}

// A run that goes on, null if there is none. With `admitted`: what to wait for before there may be one.
std::shared_ptr<live_run> run_registry::any_run(std::shared_ptr<completion_event>& admitted) {
    const std::lock_guard lock(mutex_);
    if (!runs_.empty()) {
        return *runs_.begin();
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
