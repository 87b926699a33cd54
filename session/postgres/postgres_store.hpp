#pragma once

#include "session/postgres/pg_attempts.hpp"
#include "session/postgres/pg_gateway.hpp"
#include "session/postgres/pg_leases.hpp"
#include "session/postgres/pg_logs.hpp"
#include "session/postgres/pg_pool.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/postgres/pg_stops.hpp"
#include "session/postgres/pg_target.hpp"
#include "session/postgres/pg_thread_reader.hpp"
#include "session/postgres/pg_threads.hpp"
#include "session/postgres/pg_upkeep.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace agui::session {

/// The store as callers see it. A call is a coroutine on the store's thread, which has all
/// connections. Long work without them (JSON to and from values) happens on the caller's thread.
class postgres_store final : public store, private pg_gateway::listener {
public:
    /// Connects, migrates the schema and starts. Only the times in `logs` are used. Throws
    /// std::runtime_error.
    explicit postgres_store(const postgres_settings& settings, pg_logs::settings logs = {});
    ~postgres_store() override { postgres_store::close(); }
    postgres_store(const postgres_store&) = delete;
    postgres_store& operator=(const postgres_store&) = delete;

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
    boost::asio::awaitable<result<located_run>>
    locate_run(thread_key key, std::string run_id) override;
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
    boost::asio::awaitable<result<std::vector<left_request>>>
    claim_queued(std::vector<std::int64_t> known, std::size_t limit) override;
    [[nodiscard]] unix_ms shared_time(unix_ms own) const noexcept override {
        return time_.shared(own);
    }
    boost::asio::awaitable<result<bool>>
    take_over_queued(std::int64_t number, std::int64_t from) override;
    boost::asio::awaitable<result<void>> leave_queued(std::int64_t number) override;
    boost::asio::awaitable<result<std::vector<lease_ptr>>> claim_orphans(std::size_t limit
    ) override;

    bool is_shared() const noexcept override { return true; }
    void set_peer_handler(peer_handler* handler) override { stops_.set_handler(handler); }
    boost::asio::awaitable<result<void>> request_stop(stop_request request) override;
    boost::asio::awaitable<result<void>> note_reader(thread_key key, std::string run_id) override;
    std::int64_t gateway_number() const noexcept override { return number_; }
    boost::asio::awaitable<result<void>> announce(std::string url, std::string secret) override;
    boost::asio::awaitable<result<std::optional<peer_address>>> find_gateway(std::int64_t number
    ) override;
    boost::asio::awaitable<result<std::vector<peer_address>>> other_gateways() override;
    std::string local_address() const override { return local_address_; }
    std::string unavailable() const override;
    void use_password(std::string password) override;

    boost::asio::awaitable<result<void>> drop_logs(log_limits limits) override;
    std::string_view signing_key() const noexcept override { return signing_key_; }
    void close() override;

private:
    using rows = std::vector<pg_rows>;

    template <class T>
    boost::asio::awaitable<result<T>>
    on_store(std::function<boost::asio::awaitable<result<T>>()> job);
    template <class T>
    boost::asio::awaitable<result<T>> guarded(std::function<boost::asio::awaitable<result<T>>()> job
    );
    boost::asio::awaitable<result<rows>> read(std::function<pg_batch()> statements);
    boost::asio::awaitable<result<std::optional<run_record>>>
    read_run(std::function<pg_statement()> statement);
    boost::asio::awaitable<result<pg_thread_reading>>
    decode(thread_key key, pg_rows found, message_cache::kept known);
    /// A run is looked for only if its id is given.
    boost::asio::awaitable<result<view>> view_of(thread_key key, std::optional<std::string> run_id);

    // Work that on_store() carries out on the store's thread.
    boost::asio::awaitable<result<rows>> rows_of(std::function<pg_batch()> statements);
    boost::asio::awaitable<result<rows>>
    rows_of_log(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    boost::asio::awaitable<result<std::optional<thread_summary>>> summary_of(thread_key key);
    boost::asio::awaitable<result<located_run>> run_and_holder(thread_key key, std::string run_id);
    boost::asio::awaitable<result<thread_page>> page_of(thread_query query);
    boost::asio::awaitable<result<void>>
    commit_and_release(std::shared_ptr<const pg_threads::committing> what);
    boost::asio::awaitable<result<std::vector<lease_ptr>>> claim_and_settle(std::size_t limit);
    boost::asio::awaitable<result<bool>> remove_and_erase(thread_key key);
    boost::asio::awaitable<result<forgotten_principal>> forget_in_tables(std::string principal);
    boost::asio::awaitable<result<void>> scrub_tables();
    boost::asio::awaitable<result<void>> drop_old_logs(log_limits limits);
    boost::asio::awaitable<result<call_claim>>
    claim_in_table(thread_key key, call_claim claim, unix_ms now);
    boost::asio::awaitable<result<bool>>
    title_in_table(thread_key key, std::string from, std::string to);
    boost::asio::awaitable<result<void>>
    keep_in_table(thread_key key, std::shared_ptr<const attachment> what, std::uint64_t bytes_max);

    boost::asio::awaitable<result<usage_reservation>> reserve_in_table(
        std::shared_ptr<const std::vector<usage_claim>> claims, usage_amount amount, unix_ms now
    );
    boost::asio::awaitable<result<void>>
    settle_in_table(std::shared_ptr<const usage_settlement> what);

    void note_failure(const std::string& reason);
    void note_success();

    void on_lost() override;
    void on_registered(std::int64_t id) override;
    void on_renewed() override;
    void on_not_renewed(const std::string& reason) override { note_failure(reason); }

    boost::asio::awaitable<void> start();
    boost::asio::awaitable<std::string> read_local_address();
    boost::asio::awaitable<void> shut_down();
    void keep_running(boost::asio::awaitable<void> loop);
    boost::asio::awaitable<void> wait_for(const std::function<bool()>& condition);
    void run_thread();

    agui::logger& log_;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    pg_target target_;
    pg_pool pool_;
    pg_clock time_;
    pg_shared shared_;
    pg_shared upkeep_shared_; ///< Waits for each statement as long as the server lets it run.
    pg_gateway gateway_;
    pg_leases leases_;
    pg_stops stops_;
    pg_logs logs_;
    pg_upkeep upkeep_;
    pg_attempts attempts_;
    pg_threads threads_;
    message_cache messages_;
    std::string signing_key_;             ///< Set before the constructor returns.
    std::string local_address_;           ///< The same.
    boost::asio::steady_timer progress_;  ///< Cancelled when a call or a loop has ended.
    std::atomic<std::int64_t> number_{0}; ///< 0 if it is not registered.
    std::atomic<bool> is_closing_{false};
    std::atomic<int> calls_{0}; ///< Calls under way.
    int loops_ = 0; ///< Loops under way. This and has_failed_ belong to the store's thread.
    bool has_failed_ = false; ///< True if the last call that asked the server failed.
    bool is_closed_ = false;  ///< Used by close() only.
    std::thread thread_;      ///< Last: it uses all of the above.
};

} // namespace agui::session
