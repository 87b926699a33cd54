#include "session/sqlite/sqlite_store.hpp"

#include "session/sqlite/sqlite_schema.hpp"
#include "session/sqlite/store_submit.hpp"
#include "session/store/store_failures.hpp"

#include "session/base/failpoint.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Limit of the bytes that wait while the disk is stalled and model servers fail.
constexpr std::size_t waiting_attempts_max = 4U << 20U;

void warn_of_lost_attempt(agui::logger& log, std::string_view reason) {
    log.log(log_level::warning, "a failed model call could not be recorded", {{"reason", reason}});
}

// A job without a waiting caller.
class attempt_job final : public store_job {
public:
    attempt_job(
        sqlite_attempts& table, failed_attempt attempt, std::atomic<std::size_t>& waiting,
        agui::logger& log
    )
        : table_(table), attempt_(std::move(attempt)), waiting_(waiting), log_(log) {}

    void execute() override { table_.add(attempt_); }
    bool succeeded() const noexcept override { return reason_.empty(); }
    void fail(failure reason) override { reason_ = std::move(reason.detail); }
    void complete() noexcept override {
        waiting_ -= approximate_memory(attempt_);
        if (!reason_.empty()) {
            warn_of_lost_attempt(log_, reason_);
        }
    }

private:
    sqlite_attempts& table_;
    failed_attempt attempt_;
    std::atomic<std::size_t>& waiting_;
    agui::logger& log_;
    std::string reason_;
};

} // namespace

sqlite_store::sqlite_store(const sqlite_settings& settings)
    : log_(settings.logger == nullptr ? null_logger() : *settings.logger),
      tables_(settings, log_),
      thread_jobs_(tables_),
      run_jobs_(tables_, leases_),
      log_jobs_(tables_, log_),
      queue_jobs_(tables_, log_),
      reserve_(file_beside(settings, "-reserve"), log_),
      signing_key_(read_signing_key(*tables_.db)),
      syncs_log_(settings.durability == durability::power),
      worker_(tables_, log_, {.group_window = settings.group_window}) {}

// An unready gateway gets no requests that would show that there is room again, so test it here.
std::string sqlite_store::unavailable() const {
    if (worker_.can_write()) {
        return {};
    }
    worker_.try_write();
    return "the store is not writable";
}

void sqlite_store::close() {
    if (!std::exchange(is_closed_, true)) {
        worker_.close();
        tables_.close();
    }
}

template <class T, class Work>
asio::awaitable<result<T>> sqlite_store::read(Work work) {
    return submit<T>(worker_, access::read, std::move(work), [](const result<T>&) {});
}

template <class T, class Work>
asio::awaitable<result<T>> sqlite_store::write(Work work) {
    return submit<T>(worker_, access::write, std::move(work), [](const result<T>&) {});
}

asio::awaitable<result<store::view>>
sqlite_store::read_thread(thread_key key, std::optional<std::string> run_id) {
    auto what = std::make_unique<thread_jobs::view_read>();
    what->key = std::move(key);
    what->run_id = std::move(run_id);
    return submit_slices<view>(worker_, [this, what = std::move(what)] {
        return thread_jobs_.read_slice(*what);
    });
}

asio::awaitable<result<lease_ptr>> sqlite_store::acquire(thread_key key, std::string run_id) {
    co_return leases_.acquire(key, run_id);
}

void sqlite_store::release(const lease_ptr& held) noexcept { leases_.release(held); }

asio::awaitable<result<std::optional<thread_holder>>> sqlite_store::holder(thread_key key) {
    co_return leases_.holder(key);
}

asio::awaitable<result<std::optional<thread_record>>> sqlite_store::load(thread_key key) {
    auto found = co_await read_thread(std::move(key), std::nullopt);
    if (!found) {
        co_return found.error();
    }
    co_return std::move(found->thread);
}

asio::awaitable<result<std::optional<thread_summary>>> sqlite_store::summary(thread_key key) {
    auto found = co_await read<std::optional<thread_summary>>([this, key = std::move(key)] {
        return tables_.reader.summary(key);
    });
    if (found && found->has_value()) {
        (*found)->active_run_id = leases_.run_of((*found)->key);
    }
    co_return found;
}

asio::awaitable<result<std::optional<json_text>>> sqlite_store::state(thread_key key) {
    return read<std::optional<json_text>>([this, key = std::move(key)] {
        return tables_.reader.state(key);
    });
}

asio::awaitable<result<std::optional<std::vector<pending_call>>>>
sqlite_store::pending_calls(thread_key key) {
    auto what = std::make_unique<thread_jobs::pending_calls_read>();
    what->key = std::move(key);
    return submit_slices<std::optional<std::vector<pending_call>>>(
        worker_, [this, what = std::move(what)] { return thread_jobs_.read_slice(*what); }
    );
}

asio::awaitable<result<call_claim>>
sqlite_store::claim_call(thread_key key, call_claim claim, unix_ms now) {
    return write<call_claim>(
        [this, key = std::move(key), claim = std::move(claim), now]() -> result<call_claim> {
            const auto at = tables_.threads.find(key);
            if (!at) {
                return no_such_thread();
            }
            auto claimed = tables_.threads.claim_call(at->thread, claim, now);
            return claimed ? result<call_claim>(std::move(*claimed)) : no_such_pending_call();
        }
    );
}

asio::awaitable<result<bool>>
sqlite_store::replace_title(thread_key key, std::string from, std::string to) {
    return write<bool>(
        [this, key = std::move(key), from = std::move(from), to = std::move(to)]() -> result<bool> {
            const auto at = tables_.threads.find(key);
            return at && tables_.threads.replace_title(at->thread, from, to);
        }
    );
}

asio::awaitable<result<store::view>> sqlite_store::look_up(thread_key key, std::string run_id) {
    return read_thread(std::move(key), std::move(run_id));
}

asio::awaitable<result<begun_run>> sqlite_store::begin(
    thread_key key, run_record run, changes change, std::optional<std::uint64_t> seen_version,
    lease_ptr held
) {
    return write<begun_run>([this, key = std::move(key), run = std::move(run),
                             what = stored_change(std::move(change)), seen_version,
                             held = std::move(held)] {
        return run_jobs_.begin(key, run, what, seen_version, held);
    });
}

asio::awaitable<result<void>>
sqlite_store::commit(thread_key key, changes change, std::optional<log_slice> log, held_by by) {
    auto work = [this, key = std::move(key), what = stored_change(std::move(change)),
                 log = std::move(log), held = by.held] {
        return run_jobs_.commit(key, what, log, held);
    };
    auto settle = [this, by = std::move(by)](const result<void>&) {
        const lease_return returned(leases_, by);
    };
    return submit<void>(worker_, access::write, std::move(work), std::move(settle));
}

void sqlite_store::append_log(
    const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
) {
    const log_append one{&slice, observer, held};
    append_logs(std::span(&one, 1));
}

void sqlite_store::append_logs(std::span<const log_append> all) {
    boost::container::small_vector<live_logs::appending, 32> entries;
    for (const log_append& each : all) {
        const bool may_write = !each.held || each.held->is_held();
        if (may_write && !each.slice->ends.empty()) {
            entries.push_back({.slice = each.slice});
        }
    }
    tables_.live.append(entries);
    const bool is_due = std::ranges::any_of(entries, [](const live_logs::appending& each) {
        return each.result == live_logs::outcome::written_and_due;
    });
    if (is_due || tables_.files.take_new_need()) {
        worker_.look_for_upkeep();
    }
    const auto* outcome = entries.data();
    for (const log_append& each : all) {
        if (each.slice->ends.empty()) {
            continue;
        }
        const bool was_tried =
            outcome != entries.data() + entries.size() && outcome->slice == each.slice;
        const bool is_written = was_tried && outcome->result != live_logs::outcome::refused;
        outcome += was_tried ? 1 : 0;
        report_append(each, is_written);
    }
}

void sqlite_store::report_append(const log_append& entries, bool is_written) {
    const std::uint64_t last = last_sequence(*entries.slice);
    if (is_written && syncs_log_) {
        worker_.sync(last, entries.observer);
    } else if (entries.observer && is_written) {
        entries.observer->on_durable(last);
    } else if (entries.observer) {
        entries.observer->on_failed();
    }
}

asio::awaitable<result<std::int64_t>>
sqlite_store::enqueue(thread_key key, queued_request request, queue_limits limits) {
    return write<std::int64_t>([this, key = std::move(key), limits,
                                next = stored_request(std::move(request))] {
        return queue_jobs_.enqueue(key, next, limits);
    });
}

asio::awaitable<result<std::vector<queued_request>>> sqlite_store::queued(thread_key key) {
    using found_rows = std::vector<sqlite_queue::row>;
    auto rows =
        co_await read<found_rows>([this, key = std::move(key)] { return queue_jobs_.queued(key); });
    if (!rows) {
        co_return rows.error();
    }
    // On the caller's thread, because parsing takes long.
    co_return queue_jobs_.read(std::move(*rows));
}

asio::awaitable<result<bool>> sqlite_store::withdraw(thread_key key, std::int64_t number) {
    return write<bool>([this, key = std::move(key), number] {
        return queue_jobs_.withdraw(key, number);
    });
}

asio::awaitable<result<void>>
sqlite_store::keep_attachment(thread_key key, attachment what, std::uint64_t bytes_max) {
    return write<void>(
        [this, key = std::move(key), what = std::move(what), bytes_max]() -> result<void> {
            sqlite_attachments& kept = tables_.attachments;
            if (kept.bytes_of_others(key, what.sha256) + what.bytes.size() > bytes_max) {
                return attachments_too_large(bytes_max);
            }
            kept.keep(key, what);
            return {};
        }
    );
}

asio::awaitable<result<std::optional<attachment>>>
sqlite_store::find_attachment(thread_key key, std::string sha256) {
    return read<std::optional<attachment>>([this, key = std::move(key),
                                            sha256 = std::move(sha256)] {
        return tables_.attachments.find(key, sha256);
    });
}

asio::awaitable<result<bool>>
sqlite_store::set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) {
    return write<bool>(
        [this, key = std::move(key), entries = std::move(entries),
         new_id = std::move(new_id)]() -> result<bool> {
            const auto at = tables_.threads.find(key);
            if (at) {
                tables_.access.set(at->thread, entries, new_id);
            }
            return at.has_value();
        }
    );
}

asio::awaitable<result<std::optional<thread_access>>> sqlite_store::access_of(thread_key key) {
    return read<std::optional<thread_access>>([this, key = std::move(key)] {
        const auto at = tables_.threads.find(key);
        return at ? std::optional(tables_.access.of(at->thread)) : std::nullopt;
    });
}

asio::awaitable<result<std::optional<shared_thread>>>
sqlite_store::find_shared(std::string shared_id, std::string principal) {
    return read<std::optional<shared_thread>>([this, shared_id = std::move(shared_id),
                                               principal = std::move(principal)] {
        return tables_.access.find(shared_id, principal);
    });
}

asio::awaitable<result<usage_reservation>>
sqlite_store::reserve_usage(std::vector<usage_claim> claims, usage_amount amount, unix_ms now) {
    if (const auto reserved = tables_.usage.try_reserve(claims, amount, now)) {
        co_return *reserved;
    }
    co_return co_await write<usage_reservation>([this, claims = std::move(claims), amount, now] {
        return tables_.usage.reserve(claims, amount, now);
    });
}

asio::awaitable<result<void>> sqlite_store::settle_usage(usage_settlement what) {
    if (tables_.usage.try_settle(what)) {
        co_return result<void>();
    }
    co_return co_await write<void>([this, what = std::move(what)]() -> result<void> {
        tables_.usage.settle(what);
        return {};
    });
}

asio::awaitable<result<usage_reading>>
sqlite_store::read_usage(std::vector<std::string> subjects, unix_ms now) {
    if (auto found = tables_.usage.try_read(subjects, now)) {
        co_return std::move(*found);
    }
    co_return co_await read<usage_reading>([this, subjects = std::move(subjects), now] {
        return tables_.usage.read(subjects, now);
    });
}

asio::awaitable<result<std::uint64_t>> sqlite_store::bytes_of_principal(std::string principal) {
    return read<std::uint64_t>([this, principal = std::move(principal)] {
        return tables_.usage.bytes_of_principal(principal);
    });
}

asio::awaitable<result<std::vector<log_entry>>>
sqlite_store::read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    return read<std::vector<log_entry>>([this, run_number, after, limit] {
        return log_jobs_.read(run_number, after, limit);
    });
}

void sqlite_store::keep_attempt(failed_attempt attempt) {
    const std::size_t bytes = approximate_memory(attempt);
    if (waiting_attempts_.fetch_add(bytes) + bytes > waiting_attempts_max) {
        waiting_attempts_ -= bytes;
        warn_of_lost_attempt(log_, "too many are waiting to be written");
        return;
    }
    worker_.write(
        std::make_unique<attempt_job>(tables_.attempts, std::move(attempt), waiting_attempts_, log_)
    );
}

asio::awaitable<result<std::optional<run_record>>>
sqlite_store::find_run(thread_key key, std::string run_id) {
    return read<std::optional<run_record>>([this, key = std::move(key),
                                            run_id = std::move(run_id)] {
        return run_jobs_.find(key, run_id);
    });
}

asio::awaitable<result<std::optional<run_record>>>
sqlite_store::find_run_by_key(thread_key key, std::string idempotency_key) {
    return read<std::optional<run_record>>([this, key = std::move(key),
                                            idempotency_key = std::move(idempotency_key)] {
        return tables_.runs.find_by_key(key, idempotency_key);
    });
}

asio::awaitable<result<std::optional<run_record>>> sqlite_store::latest_run(thread_key key) {
    return read<std::optional<run_record>>([this, key = std::move(key)] {
        return tables_.runs.latest(key);
    });
}

asio::awaitable<result<thread_page>> sqlite_store::list(thread_query query) {
    auto page = co_await read<thread_page>([this, query = std::move(query)] {
        return tables_.reader.list(query);
    });
    if (page) {
        for (thread_summary& summary : page->threads) {
            summary.active_run_id = leases_.run_of(summary.key);
        }
    }
    co_return page;
}

asio::awaitable<result<std::vector<session_event>>>
sqlite_store::events(thread_key key, std::uint64_t after, std::size_t limit) {
    return read<std::vector<session_event>>([this, key = std::move(key), after, limit] {
        return tables_.reader.events(key, after, limit);
    });
}

asio::awaitable<result<bool>> sqlite_store::remove(thread_key key) {
    auto removed = co_await mark_removed(key);
    if (!removed && removed.error().code == errc::store_unavailable && reserve_.release()) {
        removed = co_await mark_removed(key);
    }
    if (removed && *removed) {
        // The thread is already invisible; drop_logs() retries failed deletions.
        (void)co_await erase_removed();
    }
    co_await restore_reserve(); // Reserves space for the next removal.
    co_return removed;
}

asio::awaitable<result<bool>> sqlite_store::mark_removed(thread_key key) {
    return write<bool>([this, key = std::move(key)] { return thread_jobs_.remove(key); });
}

asio::awaitable<void> sqlite_store::restore_reserve() {
    if (!reserve_.restore()) {
        // The write-ahead log can be emptied: its contents move into the file.
        (void)co_await read<bool>([this] {
            tables_.db->execute("PRAGMA wal_checkpoint(TRUNCATE)");
            return true;
        });
        reserve_.restore();
    }
}

asio::awaitable<result<void>> sqlite_store::erase_removed() {
    for (;;) {
        const auto more = co_await write<bool>([this] { return tables_.removal.erase_some(); });
        if (!more) {
            co_return more.error();
        }
        if (!*more) {
            co_return result<void>();
        }
        pass_failpoint("store.removal_step");
    }
}

asio::awaitable<result<std::vector<std::string>>>
sqlite_store::principals(std::optional<std::string> after, std::size_t limit) {
    return read<std::vector<std::string>>([this, after = std::move(after), limit] {
        return tables_.threads.principals(after, limit);
    });
}

asio::awaitable<result<std::vector<run_record>>>
sqlite_store::runs(thread_key key, std::int64_t after, std::size_t limit) {
    return read<std::vector<run_record>>([this, key = std::move(key), after, limit] {
        return tables_.runs.page(key, after, limit);
    });
}

asio::awaitable<result<std::vector<std::string>>> sqlite_store::attachment_digests(thread_key key) {
    return read<std::vector<std::string>>([this, key = std::move(key)] {
        return tables_.attachments.digests(key);
    });
}

asio::awaitable<result<bool>> sqlite_store::restore(whole_thread what) {
    if (has_twins(what.runs)) {
        co_return run_id_taken();
    }
    auto content = stored_change(what.content);
    co_return co_await write<bool>([this, what = std::move(what), content = std::move(content)] {
        return thread_jobs_.restore(what, content);
    });
}

asio::awaitable<result<forgotten_principal>> sqlite_store::forget_principal(std::string principal) {
    return write<forgotten_principal>([this, principal = std::move(principal)] {
        return thread_jobs_.forget(principal);
    });
}

// Between two batches, outside of a transaction.
asio::awaitable<result<void>> sqlite_store::scrub() {
    const auto erased = co_await erase_removed();
    if (!erased) {
        co_return erased.error();
    }
    const auto late = co_await write<bool>([this] {
        tables_.removal.erase_late_attempts();
        return true;
    });
    if (!late) {
        co_return late.error();
    }
    co_return co_await read<void>([this]() -> result<void> {
        if (!tables_.log.leave_journal()) {
            return failure{errc::store_unavailable, "the journal could not be renewed"};
        }
        scrub_file(*tables_.db);
        return {};
    });
}

asio::awaitable<result<std::vector<store::orphan>>> sqlite_store::orphans(lease_ptr held) {
    return read<std::vector<orphan>>([this, held = std::move(held)] {
        return run_jobs_.orphans(*held);
    });
}

asio::awaitable<result<std::vector<lease_ptr>>> sqlite_store::claim_orphans(std::size_t limit) {
    return read<std::vector<lease_ptr>>([this, limit] { return run_jobs_.claim_orphans(limit); });
}

asio::awaitable<result<void>> sqlite_store::drop_logs(log_limits limits) {
    const auto erased = co_await erase_removed();
    if (!erased) {
        co_return erased.error();
    }
    co_await restore_reserve();
    bool is_first = true;
    for (;;) {
        const auto more = co_await write<bool>([this, limits, is_first] {
            bool dropped = tables_.attachments.erase_some(limits.attached_since);
            if (limits.now != 0) {
                dropped = tables_.usage.erase_some(limits.now) || dropped;
            }
            dropped = (is_first ? tables_.usage.store_idle() : tables_.usage.store_more_idle()) ||
                      dropped;
            return log_jobs_.drop_some(limits) || dropped;
        });
        is_first = false;
        if (!more) {
            co_return more.error();
        }
        if (!*more) {
            co_return result<void>();
        }
    }
}

} // namespace agui::session
