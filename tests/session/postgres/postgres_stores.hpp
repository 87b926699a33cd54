#pragma once

#include "session/store/store.hpp"
#include "tests/session/postgres/postgres_fixture.hpp"
#include "tests/session/store/store_fixture.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {

/// Stores on one database, each as in a process of its own.
class postgres_stores : public coroutine_test {
protected:
    void SetUp() override {
        AGUI_NEEDS_POSTGRES();
        database_ = std::make_unique<postgres_database>();
    }

    [[nodiscard]] session::postgres_settings settings() {
        session::postgres_settings given = database_->settings();
        given.logger = &log_;
        return given;
    }
    [[nodiscard]] std::unique_ptr<session::store> open() {
        return session::make_postgres_store(settings());
    }

    template <class T>
    T get(boost::asio::awaitable<result<T>> call) {
        result<T> outcome = run(std::move(call));
        return std::move(outcome).value();
    }
    void done(boost::asio::awaitable<result<void>> call) {
        const result<void> outcome = run(std::move(call));
        EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().detail);
    }
    /// Returns errc::internal if there is no failure.
    template <class T>
    errc failure_of(boost::asio::awaitable<result<T>> call) {
        const result<T> outcome = run(std::move(call));
        return outcome ? errc::internal : outcome.error().code;
    }
    std::int64_t begin(
        session::store& on, const session::thread_key& key, std::string run_id,
        const session::lease_ptr& held, session::changes change = {}
    ) {
        return get(on.begin(key, run_of(std::move(run_id)), std::move(change), std::nullopt, held))
            .number;
    }
    static session::changes end_of(std::int64_t number, std::string run_id, std::uint64_t last) {
        session::changes end;
        end.run = run_of(std::move(run_id));
        end.run->number = number;
        end.run->status = session::run_status::finished;
        end.run->ended_at = 2000;
        end.run->last_sequence = last;
        return end;
    }
    /// Acquires a lease soon: other processes see a release, or a store its new number, a moment
    /// later.
    session::lease_ptr
    acquire_soon(session::store& on, const session::thread_key& key, const std::string& run_id) {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        for (;;) {
            auto held = run(on.acquire(key, run_id));
            if (held) {
                return std::move(*held);
            }
            if (std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error("the thread is not free: " + held.error().detail);
            }
        }
    }
    /// Waits up to 20 s until the condition is true.
    template <class Condition>
    static bool happens(Condition is_true) {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (!is_true() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1)); // Nothing wakes a test.
        }
        return is_true();
    }

    std::string sql(const std::string& statements) {
        sql_session session(database_->url());
        return session(statements);
    }

    /// The number, as text, of the only gateway that has registered since the last call.
    std::string new_gateway() {
        std::string number =
            sql("SELECT id FROM agui.gateways WHERE id <> ALL('{" + known_gateways_ + "}')");
        known_gateways_ += (known_gateways_.empty() ? "" : ",") + number;
        return number;
    }

    memory_logger log_;
    std::unique_ptr<postgres_database> database_;

private:
    std::string known_gateways_;
};

/// Waits up to 20 s until the condition is true.
class awaited {
public:
    void set(std::function<void()> change) {
        const std::lock_guard lock(mutex_);
        change();
        changed_.notify_all();
    }
    [[nodiscard]] bool wait(const std::function<bool()>& has_happened) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, has_happened);
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
};

/// Records the requests of other processes.
class recording_peer final : public session::peer_handler {
public:
    void on_stop_request(const session::stop_request& request) noexcept override {
        told.set([&] { stops.push_back(request); });
    }
    void on_reader(const session::thread_key&, const std::string& run_id) noexcept override {
        told.set([&] { read.push_back(run_id); });
    }

    awaited told;
    std::vector<session::stop_request> stops; ///< Guarded as in told.wait().
    std::vector<std::string> read;            ///< Guarded in the same way.
};

} // namespace agui::test
