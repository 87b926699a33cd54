#pragma once

#include "session/sqlite/disk_reserve.hpp"
#include "session/sqlite/log_jobs.hpp"
#include "session/sqlite/queue_jobs.hpp"
#include "session/sqlite/run_jobs.hpp"
#include "session/sqlite/sqlite_tables.hpp"
#include "session/sqlite/sqlite_worker.hpp"
#include "session/sqlite/thread_jobs.hpp"
#include "session/store/lease_table.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// The store as callers see it: a call queues a job for the store's thread and awaits it. Log
/// entries are written by the caller's own thread (live_logs). The tables do the work, or
/// thread_jobs, run_jobs, log_jobs and queue_jobs where it takes several of them.
class sqlite_store final : public store {
public:
    /// Opens the file and starts the thread. Throws std::runtime_error or sqlite_error.
    explicit sqlite_store(const sqlite_settings& settings);
    ~sqlite_store() override { sqlite_store::close(); }
    sqlite_store(const sqlite_store&) = delete;
    sqlite_store& operator=(const sqlite_store&) = delete;

    boost::asio::awaitable<result<lease_ptr>> acquire(thread_key key, std::string run_id) override;
    void release(const lease_ptr& held) noexcept override;
    boost::asio::awaitable<result<std::optional<thread_holder>>> holder(thread_key key) override;
    boost::asio::awaitable<result<std::optional<thread_record>>> load(thread_key key) override;
    boost::asio::awaitable<result<std::optional<thread_summary>>> summary(thread_key key) override;
    boost::asio::awaitable<result<std::optional<json_text>>> state(thread_key key) override;
    boost::asio::awaitable<result<std::optional<std::vector<pending_call>>>>
    pending_calls(thread_key key) override;
    boost::asio::awaitable<result<call_claim>>
    claim_call(thread_key key, call_claim claim, unix_ms now) override;
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    replace_title(thread_key key, std::string from, std::string to) override;
    boost::asio::awaitable<result<view>> look_up(thread_key key, std::string run_id) override;
    boost::asio::awaitable<result<begun_run>> begin(
        thread_key key, run_record run, changes change, std::optional<std::uint64_t> seen_version,
        lease_ptr held
    ) override;
    boost::asio::awaitable<result<void>>
    commit(thread_key key, changes change, std::optional<log_slice> log, held_by by) override;

    boost::asio::awaitable<result<std::int64_t>>
    enqueue(thread_key key, queued_request request, queue_limits limits) override;
    boost::asio::awaitable<result<std::vector<queued_request>>> queued(thread_key key) override;
    boost::asio::awaitable<result<bool>> withdraw(thread_key key, std::int64_t number) override;
    void append_log(
        const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
    ) override;
    void append_logs(std::span<const log_append> all) override;
    bool keeps_logs() const noexcept override { return true; }
    boost::asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) override;
    void keep_attempt(failed_attempt attempt) override;
    boost::asio::awaitable<result<void>>
    keep_attachment(thread_key key, attachment what, std::uint64_t bytes_max) override;
    boost::asio::awaitable<result<std::optional<attachment>>>
    find_attachment(thread_key key, std::string sha256) override;
    boost::asio::awaitable<result<bool>>
    set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) override;
    boost::asio::awaitable<result<std::optional<thread_access>>> access_of(thread_key key) override;
    boost::asio::awaitable<result<std::optional<shared_thread>>>
    find_shared(std::string shared_id, std::string principal) override;
    boost::asio::awaitable<result<usage_reservation>>
    reserve_usage(std::vector<usage_claim> claims, usage_amount amount, unix_ms now) override;
    boost::asio::awaitable<result<void>> settle_usage(usage_settlement what) override;
    boost::asio::awaitable<result<usage_reading>>
    read_usage(std::vector<std::string> subjects, unix_ms now) override;
    boost::asio::awaitable<result<std::uint64_t>> bytes_of_principal(std::string principal
    ) override;
    boost::asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) override;
    boost::asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) override;
    boost::asio::awaitable<result<std::optional<run_record>>> latest_run(thread_key key) override;
    boost::asio::awaitable<result<thread_page>> list(thread_query query) override;
    boost::asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) override;
    boost::asio::awaitable<result<bool>> remove(thread_key key) override;
    boost::asio::awaitable<result<std::vector<std::string>>>
    principals(std::optional<std::string> after, std::size_t limit) override;
    boost::asio::awaitable<result<std::vector<run_record>>>
    runs(thread_key key, std::int64_t after, std::size_t limit) override;
    boost::asio::awaitable<result<std::vector<std::string>>> attachment_digests(thread_key key
    ) override;
    boost::asio::awaitable<result<bool>> restore(whole_thread what) override;
    boost::asio::awaitable<result<forgotten_principal>> forget_principal(std::string principal
    ) override;
    boost::asio::awaitable<result<void>> scrub() override;
    boost::asio::awaitable<result<std::vector<orphan>>> orphans(lease_ptr held) override;
    boost::asio::awaitable<result<std::vector<lease_ptr>>> claim_orphans(std::size_t limit
    ) override;
    boost::asio::awaitable<result<void>> drop_logs(log_limits limits) override;
    std::string_view signing_key() const noexcept override { return signing_key_; }
    std::string unavailable() const override;
    void close() override;

private:
    template <class T, class Work>
    boost::asio::awaitable<result<T>> read(Work work);
    template <class T, class Work>
    boost::asio::awaitable<result<T>> write(Work work);
    boost::asio::awaitable<result<view>>
    read_thread(thread_key key, std::optional<std::string> run_id);

    boost::asio::awaitable<result<bool>> mark_removed(thread_key key);
    boost::asio::awaitable<result<void>> erase_removed();
    boost::asio::awaitable<void> restore_reserve();
    void report_append(const log_append& entries, bool is_written);

    lease_table leases_;
    agui::logger& log_;
    sqlite_tables tables_;
    thread_jobs thread_jobs_;
    run_jobs run_jobs_;
    log_jobs log_jobs_;
    queue_jobs queue_jobs_;
    disk_reserve reserve_;
    /// Bytes of the attempts that are being written.
    std::atomic<std::size_t> waiting_attempts_{0};
    const std::string signing_key_;
    const bool syncs_log_;         ///< Log entries are durable once they are synced.
    bool is_closed_ = false;       ///< Used by close() only.
    mutable sqlite_worker worker_; // Last: its thread uses all of the above.
};

} // namespace agui::session
