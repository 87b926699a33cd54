#include "session/store/store.hpp"

#include "session/base/failpoint.hpp"
#include "session/base/id.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/change_check.hpp"
#include "session/store/lease_table.hpp"
#include "session/store/list_cursor.hpp"
#include "session/store/memory_attachments.hpp"
#include "session/store/memory_thread.hpp"
#include "session/store/memory_usage.hpp"
#include "session/store/store_failures.hpp"
#include "session/store/thread_views.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

class memory_store final : public store {
public:
    asio::awaitable<result<lease_ptr>> acquire(thread_key key, std::string run_id) override {
        co_return leases_.acquire(key, run_id);
    }

    void release(const lease_ptr& held) noexcept override { leases_.release(held); }

    std::string_view signing_key() const noexcept override { return signing_key_; }

    asio::awaitable<result<std::optional<thread_holder>>> holder(thread_key key) override {
        co_return leases_.holder(key);
    }

    asio::awaitable<result<std::optional<thread_record>>> load(thread_key key) override {
        co_return part_of(key, [](const thread_record& thread) { return thread; });
    }

    asio::awaitable<result<std::optional<thread_summary>>> summary(thread_key key) override {
        co_return part_of(key, [this](const thread_record& thread) {
            thread_summary found = summary_of(thread);
            found.active_run_id = leases_.run_of(thread.key);
            return found;
        });
    }

    asio::awaitable<result<std::optional<json_text>>> state(thread_key key) override {
        co_return part_of(key, [](const thread_record& thread) { return thread.state; });
    }

    asio::awaitable<result<std::optional<std::vector<pending_call>>>> pending_calls(thread_key key
    ) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::nullopt;
        }
        // Copies, because it visits every call: the thread is not locked meanwhile.
        thread_record thread;
        std::map<std::string, call_claim> claims;
        {
            const std::lock_guard lock(found->mutex);
            if (found->removed) {
                co_return std::nullopt;
            }
            thread = found->thread;
            claims = found->claims;
        }
        co_return with_claims(pending_calls_of(thread), claims);
    }

    asio::awaitable<result<call_claim>>
    claim_call(thread_key key, call_claim claim, unix_ms now) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return no_such_thread();
        }
        const std::lock_guard lock(found->mutex);
        const call_record* const call = found->thread.find_call(claim.call_id);
        if (found->removed || call == nullptr || call->status != call_status::pending) {
            co_return no_such_pending_call();
        }
        call_claim& last = found->claims[claim.call_id];
        if (last.holder == claim.holder || last.until <= now) {
            last = std::move(claim);
        }
        co_return last;
    }

    asio::awaitable<result<bool>>
    replace_title(thread_key key, std::string from, std::string to) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return false;
        }
        const std::lock_guard lock(found->mutex);
        const bool is_meant = !found->removed && found->thread.title == from;
        if (is_meant) {
            found->thread.title = std::move(to);
        }
        co_return is_meant;
    }

    asio::awaitable<result<view>> look_up(thread_key key, std::string run_id) override {
        co_return look_up_now(key, run_id);
    }

    asio::awaitable<result<begun_run>> begin(
        thread_key key, run_record run, changes change, std::optional<std::uint64_t> seen_version,
        lease_ptr held
    ) override {
        co_return begin_now(std::move(key), std::move(run), change, seen_version, held);
    }

    asio::awaitable<result<void>>
    commit(thread_key key, changes change, std::optional<log_slice> log, held_by by) override {
        (void)log; // The writer of the log keeps it: keeps_logs() is false.
        co_return commit_now(key, change, by);
    }

    asio::awaitable<result<std::int64_t>>
    enqueue(thread_key key, queued_request request, queue_limits limits) override {
        co_return enqueue_now(key, std::move(request), limits);
    }

    asio::awaitable<result<std::vector<queued_request>>> queued(thread_key key) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::vector<queued_request>();
        }
        const std::lock_guard lock(found->mutex);
        co_return found->queue;
    }

    asio::awaitable<result<bool>> withdraw(thread_key key, std::int64_t number) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return false;
        }
        const std::lock_guard lock(found->mutex);
        co_return std::erase_if(found->queue, [&](const queued_request& each) {
            return each.number == number;
        }) > 0;
    }

    asio::awaitable<result<void>>
    keep_attachment(thread_key key, attachment what, std::uint64_t bytes_max) override {
        co_return attachments_.keep(key, std::move(what), bytes_max);
    }

    asio::awaitable<result<std::optional<attachment>>>
    find_attachment(thread_key key, std::string sha256) override {
        co_return attachments_.find(key, sha256);
    }

    asio::awaitable<result<bool>>
    set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) override {
        const std::lock_guard lock(mutex_);
        const auto found = threads_.find(key);
        if (found == threads_.end()) {
            co_return false;
        }
        memory_thread& thread = *found->second;
        const std::lock_guard thread_lock(thread.mutex);
        thread_access& access = thread.access;
        access.entries = std::move(entries);
        if (access.shared_id.empty()) {
            access.shared_id = std::move(new_id);
            shared_.emplace(access.shared_id, found->second);
        }
        co_return true;
    }

    asio::awaitable<result<std::optional<thread_access>>> access_of(thread_key key) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::nullopt;
        }
        const std::lock_guard lock(found->mutex);
        co_return found->access;
    }

    asio::awaitable<result<std::optional<shared_thread>>>
    find_shared(std::string shared_id, std::string principal) override {
        const std::lock_guard lock(mutex_);
        const auto found = shared_.find(shared_id);
        if (found == shared_.end()) {
            co_return std::nullopt;
        }
        memory_thread& known = *found->second;
        const std::lock_guard thread_lock(known.mutex);
        const auto right = known.right_of(principal);
        if (!right) {
            co_return std::nullopt;
        }
        co_return shared_thread{known.thread.key, *right};
    }

    asio::awaitable<result<usage_reservation>>
    reserve_usage(std::vector<usage_claim> claims, usage_amount amount, unix_ms now) override {
        co_return usage_.reserve(claims, amount, now);
    }

    asio::awaitable<result<void>> settle_usage(usage_settlement what) override {
        usage_.settle(what);
        co_return result<void>();
    }

    asio::awaitable<result<usage_reading>>
    read_usage(std::vector<std::string> subjects, unix_ms now) override {
        co_return usage_.read(subjects, now);
    }

    asio::awaitable<result<std::uint64_t>> bytes_of_principal(std::string principal) override {
        std::uint64_t bytes = attachments_.bytes_of(principal);
        for (const std::shared_ptr<memory_thread>& each : threads_of(principal)) {
            const std::lock_guard lock(each->mutex);
            bytes += each->thread.bytes;
        }
        co_return bytes;
    }

    void append_log(
        const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
    ) override {
        if (!observer || slice.ends.empty()) {
            return;
        }
        if (held && !held->is_held()) {
            observer->on_failed();
        } else {
            observer->on_durable(slice.first_sequence + slice.ends.size() - 1);
        }
    }

    bool keeps_logs() const noexcept override { return false; }

    asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) override {
        (void)run_number;
        (void)after;
        (void)limit;
        co_return log_is_gone();
    }

    asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::nullopt;
        }
        const std::lock_guard lock(found->mutex);
        const auto run = std::ranges::find(found->runs, run_id, &run_record::run_id);
        co_return run == found->runs.end() ? std::nullopt : std::optional(*run);
    }

    asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::nullopt;
        }
        const std::lock_guard lock(found->mutex);
        const auto run =
            std::ranges::find(found->runs, idempotency_key, &run_record::idempotency_key);
        co_return run == found->runs.end() ? std::nullopt : std::optional(*run);
    }

    asio::awaitable<result<std::optional<run_record>>> latest_run(thread_key key) override {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return std::nullopt;
        }
        const std::lock_guard lock(found->mutex);
        const auto last =
            std::find_if(found->runs.rbegin(), found->runs.rend(), [](const auto& run) {
                return run.answered_by.empty();
            });
        co_return last == found->runs.rend() ? std::nullopt : std::optional(*last);
    }

    asio::awaitable<result<thread_page>> list(thread_query query) override {
        co_return list_now(query);
    }

    asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) override {
        std::vector<session_event> page;
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return page;
        }
        const std::lock_guard lock(found->mutex);
        const std::size_t first = std::min<std::uint64_t>(after, found->events.size());
        const std::size_t count = std::min(limit, found->events.size() - first);
        const auto begin = found->events.begin() + static_cast<std::ptrdiff_t>(first);
        page.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
        co_return page;
    }

    asio::awaitable<result<bool>> remove(thread_key key) override {
        attachments_.erase(key);
        std::shared_ptr<memory_thread> removed;
        {
            const std::lock_guard lock(mutex_);
            const auto found = threads_.find(key);
            if (found == threads_.end()) {
                co_return false;
            }
            removed = std::move(found->second);
            threads_.erase(found);
            const std::lock_guard thread_lock(removed->mutex);
            shared_.erase(removed->access.shared_id);
        }
        const std::lock_guard lock(removed->mutex);
        removed->removed = true;
        co_return true;
    }

    asio::awaitable<result<std::vector<std::string>>>
    principals(std::optional<std::string> after, std::size_t limit) override {
        std::vector<std::string> found;
        const std::lock_guard lock(mutex_);
        auto next = after ? first_after(*after) : threads_.cbegin();
        while (next != threads_.end() && found.size() < limit) {
            found.push_back(next->first.principal);
            next = first_after(found.back());
        }
        co_return found;
    }

    asio::awaitable<result<std::vector<run_record>>>
    runs(thread_key key, std::int64_t after, std::size_t limit) override {
        std::vector<run_record> page;
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            co_return page;
        }
        const std::lock_guard lock(found->mutex);
        for (const run_record& each : found->runs) {
            if (each.number > after && page.size() < limit) {
                page.push_back(each);
            }
        }
        co_return page;
    }

    asio::awaitable<result<std::vector<std::string>>> attachment_digests(thread_key key) override {
        co_return attachments_.digests(key);
    }

    asio::awaitable<result<bool>> restore(whole_thread what) override {
        co_return restore_now(std::move(what));
    }

    asio::awaitable<result<forgotten_principal>> forget_principal(std::string principal) override {
        forgotten_principal gone;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& [shared_id, thread] : shared_) {
                const std::lock_guard thread_lock(thread->mutex);
                gone.rights += std::erase_if(thread->access.entries, [&](const access_entry& each) {
                    return each.principal == principal;
                });
            }
        }
        gone.attachments = attachments_.erase_of(principal);
        co_return gone;
    }

    // Removed data was in memory only.
    asio::awaitable<result<void>> scrub() override { co_return result<void>(); }

    asio::awaitable<result<std::vector<orphan>>> orphans(lease_ptr held) override {
        if (!held->is_held()) {
            co_return lease_is_lost();
        }
        co_return std::vector<orphan>();
    }

    asio::awaitable<result<std::vector<lease_ptr>>> claim_orphans(std::size_t limit) override {
        (void)limit;
        co_return std::vector<lease_ptr>();
    }

    // Nobody could read it.
    void keep_attempt(failed_attempt attempt) override { (void)attempt; }

    asio::awaitable<result<void>> drop_logs(log_limits limits) override {
        attachments_.drop_before(limits.attached_since);
        if (limits.now != 0) {
            usage_.drop_before(limits.now);
        }
        co_return result<void>();
    }

    void close() override {}

private:
    std::shared_ptr<memory_thread> find(const thread_key& key) const {
        const std::lock_guard lock(mutex_);
        const auto found = threads_.find(key);
        return found == threads_.end() ? nullptr : found->second;
    }

    /// The first thread of the principals after that one.
    std::map<thread_key, std::shared_ptr<memory_thread>>::const_iterator
    first_after(const std::string& principal) const AGUI_REQUIRES(mutex_) {
        // The smallest text that is larger.
        return threads_.lower_bound({principal + '\0', {}});
    }

    std::vector<std::shared_ptr<memory_thread>> threads_of(const std::string& principal) const {
        std::vector<std::shared_ptr<memory_thread>> found;
        const std::lock_guard lock(mutex_);
        for (auto it = threads_.lower_bound({principal, {}});
             it != threads_.end() && it->first.principal == principal; ++it) {
            found.push_back(it->second);
        }
        return found;
    }

    // Returns the result of `part`, called with the thread locked.
    template <class Part>
    auto part_of(const thread_key& key, Part part) const
        -> std::optional<decltype(part(std::declval<const thread_record&>()))> {
        const std::shared_ptr<memory_thread> found = find(key);
        if (!found) {
            return std::nullopt;
        }
        const std::lock_guard lock(found->mutex);
        return part(found->thread);
    }

    view look_up_now(const thread_key& key, const std::string& run_id) const {
        view found;
        std::shared_ptr<memory_thread> known;
        {
            const std::lock_guard lock(mutex_);
            const auto at = threads_.find(key);
            known = at == threads_.end() ? nullptr : at->second;
        }
        if (!known) {
            return found;
        }
        const std::lock_guard lock(known->mutex);
        const auto run = std::ranges::find(known->runs, run_id, &run_record::run_id);
        if (run != known->runs.end()) {
            found.run = *run;
        } else {
            found.thread = known->thread;
        }
        pass_failpoint("store.thread_copied"); // Tests check that other threads are not blocked.
        return found;
    }

    // The map stays locked throughout, so that a removal of the thread happens entirely before or
    // after this.
    result<begun_run> begin_now(
        thread_key key, run_record run, const changes& change,
        std::optional<std::uint64_t> seen_version, const lease_ptr& held
    ) {
        const std::lock_guard lock(mutex_);
        if (held && !held->is_held()) {
            return lease_is_lost();
        }
        const auto known = threads_.find(key);
        std::shared_ptr<memory_thread> target;
        if (known != threads_.end()) {
            target = known->second;
        } else {
            target = std::make_shared<memory_thread>();
        }
        const std::lock_guard thread_lock(target->mutex);
        if (seen_version && *seen_version != target->thread.version) {
            return thread_has_changed();
        }
        if (known == threads_.end()) {
            target->number = ++thread_count_;
            target->thread.key = key;
            target->thread.agent_id = run.agent_id;
            target->thread.version = first_version(target->number);
        }
        if (target->has_any({run}) || target->has_any(change.answered)) {
            return run_id_taken();
        }
        check_answered(run, change);
        if (!target->are_queued(change.dequeued)) {
            return thread_has_changed();
        }
        target->store(change, run_count_);
        run.number = ++run_count_;
        const begun_run begun{run.number};
        leases_.set_begun(held, run.number, static_cast<node_index>(target->thread.nodes.size()));
        target->thread.last_run_at = run.started_at;
        target->runs.push_back(std::move(run));
        if (known == threads_.end()) {
            threads_.emplace(std::move(key), target);
        }
        return begun;
    }

    result<bool> restore_now(whole_thread what) {
        check_change({}, what.content);
        if (has_twins(what.runs)) {
            return run_id_taken();
        }
        const std::lock_guard lock(mutex_);
        if (threads_.contains(what.key)) {
            return false;
        }
        const std::string shared_id = what.access.shared_id;
        if (!shared_id.empty() && shared_.contains(shared_id)) {
            return shared_id_taken();
        }
        const auto made = std::make_shared<memory_thread>();
        const std::lock_guard thread_lock(made->mutex);
        made->number = ++thread_count_;
        made->thread.key = what.key;
        made->thread.version = first_version(made->number);
        made->store(what.content, run_count_);
        made->thread.created_at = what.created_at;
        made->thread.last_run_at = what.last_run_at;
        made->runs = std::move(what.runs);
        for (run_record& each : made->runs) {
            each.number = ++run_count_;
        }
        made->access = std::move(what.access);
        for (attachment& each : what.attachments) {
            (void)attachments_.keep(what.key, std::move(each), UINT64_MAX);
        }
        if (!shared_id.empty()) {
            shared_.emplace(shared_id, made);
        }
        threads_.emplace(std::move(what.key), made);
        return true;
    }

    result<std::int64_t>
    enqueue_now(const thread_key& key, queued_request request, queue_limits limits) {
        const std::shared_ptr<memory_thread> target = find(key);
        if (!target) {
            return no_such_thread();
        }
        const std::lock_guard lock(target->mutex);
        if (target->removed) {
            return no_such_thread();
        }
        if (target->has_any_request(request.run_id, request.idempotency_key)) {
            return run_id_taken();
        }
        std::uint64_t bytes = bytes_of(request);
        for (const queued_request& each : target->queue) {
            bytes += bytes_of(each);
        }
        if (target->queue.size() >= limits.requests || bytes > limits.bytes) {
            return queue_is_full();
        }
        request.number = ++queued_count_;
        target->queue.push_back(std::move(request));
        return target->queue.back().number;
    }

    result<void> commit_now(const thread_key& key, const changes& change, const held_by& by) {
        const lease_return returned(leases_, by);
        if (by.held && !by.held->is_held()) {
            return lease_is_lost();
        }
        const std::shared_ptr<memory_thread> target = find(key);
        if (!target) {
            return no_such_thread();
        }
        const std::lock_guard lock(target->mutex);
        if (target->removed) {
            return no_such_thread();
        }
        if (target->has_any(change.answered)) {
            return run_id_taken();
        }
        check_answered(change);
        if (!target->are_queued(change.dequeued)) {
            return thread_has_changed();
        }
        target->store(change, run_count_);
        return {};
    }

    result<thread_page> list_now(const thread_query& query);
    /// The threads that the query may list: more of them than the principal may see.
    std::vector<std::shared_ptr<memory_thread>> candidates_for(const thread_query& query) const;

    mutable mutex mutex_;
    std::map<thread_key, std::shared_ptr<memory_thread>> threads_ AGUI_GUARDED_BY(mutex_);
    /// The threads that were opened to others, by their shared ids.
    std::map<std::string, std::shared_ptr<memory_thread>, std::less<>>
        shared_ AGUI_GUARDED_BY(mutex_);
    std::int64_t thread_count_ AGUI_GUARDED_BY(mutex_) = 0;
    std::atomic<std::int64_t> run_count_{0};
    std::atomic<std::int64_t> queued_count_{0};
    memory_attachments attachments_;
    memory_usage usage_;
    const std::string signing_key_ = random_bytes(signing_key_bytes);
    lease_table leases_;
};

std::vector<std::shared_ptr<memory_thread>> memory_store::candidates_for(const thread_query& query
) const {
    if (!query.opened) {
        return threads_of(query.principal);
    }
    std::vector<std::shared_ptr<memory_thread>> candidates;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, thread] : shared_) {
        candidates.push_back(thread);
    }
    return candidates;
}

result<thread_page> memory_store::list_now(const thread_query& query) {
    const result<list_cursor> after = list_cursor_from_string(query.cursor);
    if (!after) {
        return after.error();
    }
    std::vector<listed_thread> found;
    for (const std::shared_ptr<memory_thread>& candidate : candidates_for(query)) {
        memory_thread& known = *candidate;
        const std::lock_guard lock(known.mutex);
        const list_cursor place{known.thread.updated_at, known.number};
        const bool wanted = !known.removed && known.thread.archived == query.archived &&
                            (!query.agent_id || known.thread.agent_id == *query.agent_id) &&
                            place < *after;
        const auto right = known.right_of(query.principal);
        if (!wanted || (query.opened && !right)) {
            continue;
        }
        thread_summary& listed = found.emplace_back(place, summary_of(known.thread)).summary;
        if (query.opened) {
            listed.shared_id = known.access.shared_id;
            listed.right = *right;
        }
    }
    std::ranges::sort(found, std::ranges::greater(), &listed_thread::place);

    thread_page page = page_of(std::move(found), query);
    for (thread_summary& summary : page.threads) {
        summary.active_run_id = leases_.run_of(summary.key);
    }
    return page;
}

} // namespace

std::unique_ptr<store> make_memory_store() { return std::make_unique<memory_store>(); }

} // namespace agui::session
