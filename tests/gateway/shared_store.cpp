#include "tests/gateway/shared_store.hpp"

#include "session/base/change_signal.hpp"
#include "session/store/store_failures.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace agui::test {

namespace asio = boost::asio;
using session::changes;
using session::lease_ptr;
using session::store;
using session::thread_key;

// The state that all doors share.
class shared_store::hub {
public:
    explicit hub(std::unique_ptr<store> opened) : inner(std::move(opened)) {}

    const std::unique_ptr<store> inner;

    mutable std::mutex mutex;
    std::vector<std::weak_ptr<door>> doors;
    /// Also held while the handlers are called.
    std::mutex handler_mutex;
    /// One for each door; guarded by handler_mutex.
    std::vector<session::peer_handler*> handlers;
    std::map<std::size_t, std::size_t> lost_stops;           ///< By door; guarded by handler_mutex.
    std::map<std::int64_t, session::peer_address> addresses; ///< By the number of the process.

    /// The thread of each queued request and the process in which it waits, by the request's
    /// number.
    std::map<std::int64_t, std::pair<thread_key, std::int64_t>> queued;

    // Assigns requests whose process has gone to the process `gateway`.
    [[nodiscard]] std::vector<std::pair<std::int64_t, thread_key>>
    take_left(std::int64_t gateway, const std::vector<std::int64_t>& known, std::size_t limit);
    // The number of the process that holds a thread.
    [[nodiscard]] std::int64_t holder_of(const thread_key& key);
};

/// Passes on the reports to another observer once it is released.
class late_observer final : public session::log_observer {
public:
    explicit late_observer(std::shared_ptr<log_observer> to) : to_(std::move(to)) {}

    void on_durable(std::uint64_t sequence) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            heard_ = sequence;
            if (is_held_) {
                return;
            }
        }
        to_->on_durable(sequence);
    }
    void on_failed() noexcept override { to_->on_failed(); }
    void let_go() {
        std::uint64_t heard = 0;
        {
            const std::lock_guard lock(mutex_);
            is_held_ = false;
            heard = heard_;
        }
        if (heard > 0) {
            to_->on_durable(heard);
        }
    }

private:
    const std::shared_ptr<log_observer> to_;
    std::mutex mutex_;
    std::uint64_t heard_ = 0;
    bool is_held_ = true;
};

class shared_store::door final : public store {
public:
    door(std::shared_ptr<hub> of, std::size_t number)
        : hub_(std::move(of)), number_(number), term_(std::make_shared<session::lease_term>()) {
        term_->set_end(std::chrono::nanoseconds::max());
    }

    std::string_view signing_key() const noexcept override { return hub_->inner->signing_key(); }

    // A process gets another number each time that its leases end.
    std::int64_t gateway_number() const noexcept override { return gateway_; }
    asio::awaitable<result<void>> announce(std::string url, std::string secret) override {
        url_ = std::move(url);
        secret_ = std::move(secret);
        keep_address();
        co_return result<void>();
    }
    asio::awaitable<result<std::optional<session::peer_address>>> find_gateway(std::int64_t number
    ) override {
        const std::lock_guard lock(hub_->mutex);
        const auto found = hub_->addresses.find(number);
        if (found == hub_->addresses.end() || found->second.url.empty()) {
            co_return std::nullopt;
        }
        co_return found->second;
    }
    asio::awaitable<result<std::vector<session::peer_address>>> other_gateways() override {
        std::vector<session::peer_address> others;
        const std::lock_guard lock(hub_->mutex);
        for (const auto& [number, address] : hub_->addresses) {
            if (number != gateway_) {
                others.push_back(address);
            }
        }
        co_return others;
    }
    void hide_address() {
        url_.clear();
        keep_address();
    }
    [[nodiscard]] std::size_t log_reads() const { return log_reads_; }

    void end_leases() {
        term_->set_end(std::chrono::nanoseconds(0));
        {
            const std::lock_guard lock(hub_->mutex);
            hub_->addresses.erase(gateway_);
        }
        gateway_ += 100;
        keep_address();
        std::map<lease_ptr, held> ended;
        {
            const std::lock_guard lock(mutex_);
            ended.swap(held_);
            term_ = std::make_shared<session::lease_term>();
            term_->set_end(std::chrono::nanoseconds::max());
        }
        for (const auto& [mine, what] : ended) {
            store_->release(what.inner);
        }
    }

    bool is_shared() const noexcept override { return true; }

    std::string unavailable() const override {
        const std::lock_guard lock(mutex_);
        return unavailable_;
    }
    void set_unavailable(std::string reason) {
        const std::lock_guard lock(mutex_);
        unavailable_ = std::move(reason);
    }

    asio::awaitable<result<lease_ptr>> acquire(thread_key key, std::string run_id) override {
        auto inner = co_await store_->acquire(key, std::move(run_id));
        if (!inner) {
            failure refused = inner.error();
            refused.gateway = holds(key) ? 0 : hub_->holder_of(key);
            co_return refused;
        }
        co_return wrap(*inner);
    }

    void release(const lease_ptr& mine) noexcept override {
        const held what = take(mine);
        if (what.inner) {
            (void)mine->set_released();
            store_->release(what.inner);
        }
    }

    asio::awaitable<result<std::optional<session::thread_holder>>> holder(thread_key key) override {
        auto found = co_await store_->holder(key);
        if (found && found->has_value()) {
            (*found)->is_here = holds(key);
            (*found)->gateway = (*found)->is_here ? 0 : hub_->holder_of(key);
        }
        co_return found;
    }
    [[nodiscard]] bool holds(const thread_key& key) const {
        const std::lock_guard lock(mutex_);
        return std::ranges::any_of(held_, [&](const auto& one) { return one.first->key() == key; });
    }

    asio::awaitable<result<session::begun_run>> begin(
        thread_key key, session::run_record run, changes change,
        std::optional<std::uint64_t> seen_version, lease_ptr mine
    ) override {
        const lease_ptr inner = inner_of(mine);
        if (!inner) {
            co_return session::lease_is_lost();
        }
        auto begun = co_await store_->begin(
            std::move(key), std::move(run), std::move(change), seen_version, inner
        );
        co_return begun;
    }

    asio::awaitable<result<void>> commit(
        thread_key key, changes change, std::optional<session::log_slice> log, session::held_by by
    ) override {
        if (by.held) {
            const lease_ptr inner = inner_of(by.held);
            if (!inner) {
                co_return session::lease_is_lost();
            }
            if (by.releases) {
                (void)by.held->set_released();
                (void)take(by.held);
            }
            by.held = inner;
        }
        auto done = co_await store_->commit(std::move(key), std::move(change), std::move(log), by);
        co_return done;
    }

    void append_log(
        const session::log_slice& slice, const std::shared_ptr<session::log_observer>& observer,
        const lease_ptr& mine
    ) override {
        if (mine && !mine->is_held()) {
            observer->on_failed();
            return;
        }
        store_->append_log(slice, heard_by(observer), nullptr);
    }
    void hold_answers() {
        const std::lock_guard lock(mutex_);
        holds_answers_ = true;
    }
    void let_answers_go() {
        std::vector<std::shared_ptr<late_observer>> late;
        {
            const std::lock_guard lock(mutex_);
            holds_answers_ = false;
            late.swap(late_);
        }
        for (const auto& each : late) {
            each->let_go();
        }
    }

    asio::awaitable<result<std::vector<orphan>>> orphans(lease_ptr mine) override {
        const lease_ptr inner = inner_of(mine);
        if (!inner) {
            co_return session::lease_is_lost();
        }
        co_return co_await store_->orphans(inner);
    }

    asio::awaitable<result<std::vector<lease_ptr>>> claim_orphans(std::size_t limit) override {
        auto claimed = co_await store_->claim_orphans(limit);
        if (claimed) {
            for (lease_ptr& each : *claimed) {
                each = wrap(each);
            }
        }
        co_return claimed;
    }

    void set_peer_handler(session::peer_handler* handler) override {
        const std::lock_guard lock(hub_->handler_mutex);
        hub_->handlers.at(number_ - 1) = handler;
    }

    asio::awaitable<result<void>> request_stop(session::stop_request request) override {
        if (!unavailable().empty()) {
            co_return failure{errc::store_unavailable, unavailable()};
        }
        const std::lock_guard lock(hub_->handler_mutex);
        for (std::size_t i = 0; i < hub_->handlers.size(); ++i) {
            if (hub_->lost_stops[i + 1] > 0) {
                --hub_->lost_stops[i + 1];
            } else if (i + 1 != number_ && hub_->handlers[i] != nullptr) {
                hub_->handlers[i]->on_stop_request(request);
            }
        }
        co_return result<void>();
    }

    asio::awaitable<result<void>> note_reader(thread_key key, std::string run_id) override {
        const std::lock_guard lock(hub_->handler_mutex);
        for (std::size_t i = 0; i < hub_->handlers.size(); ++i) {
            if (i + 1 != number_ && hub_->handlers[i] != nullptr) {
                hub_->handlers[i]->on_reader(key, run_id);
            }
        }
        co_return result<void>();
    }

    // The other calls are the same for every door.

    asio::awaitable<result<std::optional<session::thread_record>>> load(thread_key key) override {
        return store_->load(std::move(key));
    }
    asio::awaitable<result<std::optional<session::thread_summary>>> summary(thread_key key
    ) override {
        return store_->summary(std::move(key));
    }
    asio::awaitable<result<std::optional<json_text>>> state(thread_key key) override {
        return store_->state(std::move(key));
    }
    asio::awaitable<result<std::optional<std::vector<session::pending_call>>>>
    pending_calls(thread_key key) override {
        return store_->pending_calls(std::move(key));
    }
    asio::awaitable<result<view>> look_up(thread_key key, std::string run_id) override {
        return store_->look_up(std::move(key), std::move(run_id));
    }
    asio::awaitable<result<std::int64_t>> enqueue(
        thread_key key, session::queued_request request, session::queue_limits limits
    ) override {
        auto number = co_await store_->enqueue(key, std::move(request), limits);
        if (number) {
            const std::lock_guard lock(hub_->mutex);
            hub_->queued[*number] = {std::move(key), gateway_};
        }
        co_return number;
    }
    asio::awaitable<result<std::vector<session::queued_request>>> queued(thread_key key) override {
        auto requests = co_await store_->queued(std::move(key));
        for (std::size_t i = 0; requests && i < requests->size(); ++i) {
            const std::lock_guard lock(hub_->mutex);
            const auto found = hub_->queued.find((*requests)[i].number);
            (*requests)[i].gateway = found == hub_->queued.end() ? 0 : found->second.second;
        }
        co_return requests;
    }
    asio::awaitable<result<std::vector<session::left_request>>>
    claim_queued(std::vector<std::int64_t> known, std::size_t limit) override {
        std::vector<session::left_request> claimed;
        for (const auto& [number, key] : hub_->take_left(gateway_, known, limit)) {
            auto requests = co_await store_->queued(key);
            for (std::size_t i = 0; requests && i < requests->size(); ++i) {
                if ((*requests)[i].number == number) {
                    claimed.push_back({key, std::move((*requests)[i])});
                }
            }
        }
        co_return claimed;
    }
    asio::awaitable<result<bool>>
    take_over_queued(std::int64_t number, std::int64_t from) override {
        const std::lock_guard lock(hub_->mutex);
        const auto found = hub_->queued.find(number);
        if (found == hub_->queued.end() || found->second.second != from) {
            co_return false;
        }
        found->second.second = gateway_;
        co_return true;
    }
    asio::awaitable<result<void>> leave_queued(std::int64_t number) override {
        const std::lock_guard lock(hub_->mutex);
        if (const auto found = hub_->queued.find(number); found != hub_->queued.end()) {
            found->second.second = 0;
        }
        co_return result<void>();
    }
    asio::awaitable<result<bool>> withdraw(thread_key key, std::int64_t number) override {
        if (refuses_withdrawals_) {
            co_return failure{errc::store_unavailable, "the server does not answer"};
        }
        co_return co_await store_->withdraw(std::move(key), number);
    }
    void refuse_withdrawals(bool yes) { refuses_withdrawals_ = yes; }
    asio::awaitable<result<session::call_claim>>
    claim_call(thread_key key, session::call_claim claim, unix_ms now) override {
        return store_->claim_call(std::move(key), std::move(claim), now);
    }
    asio::awaitable<result<bool>>
    replace_title(thread_key key, std::string from, std::string to) override {
        return store_->replace_title(std::move(key), std::move(from), std::move(to));
    }
    asio::awaitable<result<void>>
    keep_attachment(thread_key key, session::attachment what, std::uint64_t bytes_max) override {
        return store_->keep_attachment(std::move(key), std::move(what), bytes_max);
    }
    asio::awaitable<result<std::optional<session::attachment>>>
    find_attachment(thread_key key, std::string sha256) override {
        return store_->find_attachment(std::move(key), std::move(sha256));
    }
    asio::awaitable<result<bool>> set_access(
        thread_key key, std::vector<session::access_entry> entries, std::string new_id
    ) override {
        return store_->set_access(std::move(key), std::move(entries), std::move(new_id));
    }
    asio::awaitable<result<std::optional<session::thread_access>>> access_of(thread_key key
    ) override {
        return store_->access_of(std::move(key));
    }
    asio::awaitable<result<std::optional<session::shared_thread>>>
    find_shared(std::string shared_id, std::string principal) override {
        return store_->find_shared(std::move(shared_id), std::move(principal));
    }
    asio::awaitable<result<session::usage_reservation>> reserve_usage(
        std::vector<session::usage_claim> claims, session::usage_amount amount, unix_ms now
    ) override {
        return store_->reserve_usage(std::move(claims), amount, now);
    }
    asio::awaitable<result<void>> settle_usage(session::usage_settlement what) override {
        return store_->settle_usage(std::move(what));
    }
    asio::awaitable<result<session::usage_reading>>
    read_usage(std::vector<std::string> subjects, unix_ms now) override {
        return store_->read_usage(std::move(subjects), now);
    }
    asio::awaitable<result<std::uint64_t>> bytes_of_principal(std::string principal) override {
        return store_->bytes_of_principal(std::move(principal));
    }
    asio::awaitable<result<std::vector<std::string>>>
    principals(std::optional<std::string> after, std::size_t limit) override {
        return store_->principals(std::move(after), limit);
    }
    asio::awaitable<result<std::vector<session::run_record>>>
    runs(thread_key key, std::int64_t after, std::size_t limit) override {
        return store_->runs(std::move(key), after, limit);
    }
    asio::awaitable<result<std::vector<std::string>>> attachment_digests(thread_key key) override {
        return store_->attachment_digests(std::move(key));
    }
    asio::awaitable<result<bool>> restore(session::whole_thread what) override {
        return store_->restore(std::move(what));
    }
    asio::awaitable<result<session::forgotten_principal>> forget_principal(std::string principal
    ) override {
        return store_->forget_principal(std::move(principal));
    }
    asio::awaitable<result<void>> scrub() override { return store_->scrub(); }
    bool keeps_logs() const noexcept override { return store_->keeps_logs(); }
    asio::awaitable<result<std::vector<session::log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) override {
        ++log_reads_;
        if (!unavailable().empty()) {
            ++refused_reads_;
            co_return failure{errc::store_unavailable, unavailable()};
        }
        auto page = co_await store_->read_log(run_number, after, limit);
        if (logs_are_lost_) { // The logs may have been lost while this one was read.
            co_return session::log_is_gone();
        }
        for (std::size_t i = 0; page && logs_are_damaged_ && i < page->size(); ++i) {
            (*page)[i].variants = "{";
        }
        co_return page;
    }
    void lose_logs() { logs_are_lost_ = true; }
    void damage_logs() { logs_are_damaged_ = true; }
    [[nodiscard]] std::size_t refused_reads() const { return refused_reads_; }
    void keep_attempt(session::failed_attempt attempt) override {
        store_->keep_attempt(std::move(attempt));
    }
    asio::awaitable<result<std::optional<session::run_record>>>
    find_run(thread_key key, std::string run_id) override {
        if (refuses_lookups_) {
            ++refused_reads_;
            co_return failure{errc::store_unavailable, "the server does not answer"};
        }
        if (is_to_wait(run_id)) {
            asio::steady_timer timer(co_await asio::this_coro::executor);
            for (int i = 0; i < 10'000 && !lookup_may_go_; ++i) {
                timer.expires_after(std::chrono::milliseconds(1));
                co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
            }
            holds_a_lookup_ = false;
        }
        co_return co_await store_->find_run(std::move(key), std::move(run_id));
    }
    void hold_lookup(std::string run_id) {
        const std::lock_guard lock(mutex_);
        held_lookup_ = std::move(run_id);
    }
    void refuse_lookups(bool yes) { refuses_lookups_ = yes; }
    void let_lookup_go() { lookup_may_go_ = true; }
    [[nodiscard]] bool holds_a_lookup() const { return holds_a_lookup_; }
    asio::awaitable<result<std::optional<session::run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) override {
        return store_->find_run_by_key(std::move(key), std::move(idempotency_key));
    }
    asio::awaitable<result<std::optional<session::run_record>>> latest_run(thread_key key
    ) override {
        return store_->latest_run(std::move(key));
    }
    asio::awaitable<result<session::thread_page>> list(session::thread_query query) override {
        return store_->list(std::move(query));
    }
    asio::awaitable<result<std::vector<session::session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) override {
        return store_->events(std::move(key), after, limit);
    }
    asio::awaitable<result<bool>> remove(thread_key key) override {
        return store_->remove(std::move(key));
    }
    asio::awaitable<result<void>> drop_logs(log_limits limits) override {
        return store_->drop_logs(limits);
    }
    void close() override {} // The other doors may still use the store.

private:
    std::shared_ptr<session::log_observer>
    heard_by(const std::shared_ptr<session::log_observer>& observer) {
        const std::lock_guard lock(mutex_);
        if (!holds_answers_) {
            return observer;
        }
        return late_.emplace_back(std::make_shared<late_observer>(observer));
    }
    bool holds_answers_ = false;
    std::vector<std::shared_ptr<late_observer>> late_;

    bool is_to_wait(const std::string& run_id) {
        const std::lock_guard lock(mutex_);
        if (held_lookup_.empty() || run_id != held_lookup_) {
            return false;
        }
        held_lookup_.clear();
        holds_a_lookup_ = true;
        return true;
    }

    struct held {
        lease_ptr inner;
    };

    void keep_address() {
        const std::lock_guard lock(hub_->mutex);
        hub_->addresses[gateway_] = {gateway_, url_, secret_};
    }

    lease_ptr wrap(const lease_ptr& inner) {
        const std::lock_guard lock(mutex_);
        auto mine = std::make_shared<session::lease>(
            inner->key(), inner->run_id(), inner->token(), term_, true
        );
        held_[mine] = {inner};
        return mine;
    }
    // Returns null if the lease is not held any more.
    lease_ptr inner_of(const lease_ptr& mine) {
        const std::lock_guard lock(mutex_);
        const auto found = held_.find(mine);
        return found == held_.end() ? nullptr : found->second.inner;
    }
    held take(const lease_ptr& mine) {
        const std::lock_guard lock(mutex_);
        const auto found = held_.find(mine);
        held what;
        if (found != held_.end()) {
            what = found->second;
            held_.erase(found);
        }
        return what;
    }

    const std::shared_ptr<hub> hub_;
    store* const store_ = hub_->inner.get();
    const std::size_t number_;
    mutable std::mutex mutex_;
    std::string unavailable_;
    std::atomic<std::int64_t> gateway_{static_cast<std::int64_t>(number_)};
    std::string url_;
    std::string secret_;
    std::atomic<std::size_t> log_reads_{0};
    std::atomic<std::size_t> refused_reads_{0};
    std::atomic<bool> logs_are_lost_{false};
    std::atomic<bool> logs_are_damaged_{false};
    std::string held_lookup_; ///< A runId, empty if there is none; guarded by the mutex.
    std::atomic<bool> refuses_lookups_{false};
    std::atomic<bool> refuses_withdrawals_{false};
    std::atomic<bool> holds_a_lookup_{false};
    std::atomic<bool> lookup_may_go_{false};
    std::shared_ptr<session::lease_term> term_;
    std::map<lease_ptr, held> held_;
};

std::vector<std::pair<std::int64_t, thread_key>> shared_store::hub::take_left(
    std::int64_t gateway, const std::vector<std::int64_t>& known, std::size_t limit
) {
    std::vector<std::pair<std::int64_t, thread_key>> left;
    const std::lock_guard lock(mutex);
    for (auto& [number, what] : queued) {
        const bool is_gone = std::ranges::none_of(doors, [&](const std::weak_ptr<door>& each) {
            const auto open = each.lock();
            return open && open->gateway_number() == what.second;
        });
        const bool is_lost = what.second == gateway && !std::ranges::count(known, number);
        if ((is_gone || is_lost) && left.size() < limit) {
            what.second = gateway;
            left.emplace_back(number, what.first);
        }
    }
    return left;
}

std::int64_t shared_store::hub::holder_of(const thread_key& key) {
    std::vector<std::shared_ptr<door>> all;
    {
        const std::lock_guard lock(mutex);
        for (const std::weak_ptr<door>& each : doors) {
            if (auto open = each.lock()) {
                all.push_back(std::move(open));
            }
        }
    }
    const auto holder = std::ranges::find_if(all, [&](const auto& one) { return one->holds(key); });
    return holder == all.end() ? 0 : (*holder)->gateway_number();
}

shared_store::shared_store(std::unique_ptr<store> inner)
    : hub_(std::make_shared<hub>(std::move(inner))) {}

shared_store::~shared_store() { hub_->inner->close(); }

std::shared_ptr<store> shared_store::open_door() {
    const std::scoped_lock lock(hub_->mutex, hub_->handler_mutex);
    hub_->handlers.push_back(nullptr);
    auto opened = std::make_shared<door>(hub_, hub_->handlers.size());
    hub_->doors.push_back(opened);
    hub_->addresses[opened->gateway_number()].number = opened->gateway_number();
    return opened;
}

std::shared_ptr<shared_store::door> shared_store::find(std::size_t number) const {
    const std::lock_guard lock(hub_->mutex);
    return hub_->doors.at(number - 1).lock();
}

void shared_store::end_leases(std::size_t number) { find(number)->end_leases(); }

void shared_store::hide_address(std::size_t number) { find(number)->hide_address(); }

std::size_t shared_store::log_reads(std::size_t number) const { return find(number)->log_reads(); }

void shared_store::set_unavailable(std::size_t number, std::string reason) {
    find(number)->set_unavailable(std::move(reason));
}

void shared_store::lose_stops(std::size_t door, std::size_t count) {
    const std::lock_guard lock(hub_->handler_mutex);
    hub_->lost_stops[door] = count;
}

void shared_store::lose_logs(std::size_t number) { find(number)->lose_logs(); }

void shared_store::hold_answers(std::size_t number) { find(number)->hold_answers(); }

void shared_store::let_answers_go(std::size_t number) { find(number)->let_answers_go(); }

void shared_store::damage_logs(std::size_t number) { find(number)->damage_logs(); }

void shared_store::hold_lookup(std::size_t number, std::string run_id) {
    find(number)->hold_lookup(std::move(run_id));
}

void shared_store::refuse_lookups(std::size_t number, bool yes) {
    find(number)->refuse_lookups(yes);
}

void shared_store::refuse_withdrawals(std::size_t number, bool yes) {
    find(number)->refuse_withdrawals(yes);
}

bool shared_store::holds_a_lookup(std::size_t number) const {
    return find(number)->holds_a_lookup();
}

void shared_store::let_lookup_go(std::size_t number) { find(number)->let_lookup_go(); }

std::size_t shared_store::refused_reads(std::size_t number) const {
    return find(number)->refused_reads();
}

} // namespace agui::test
