#pragma once

#include "tests/session/store/store_fixture.hpp"

#include <memory>
#include <string>
#include <utility>

namespace agui::test {

enum class store_kind {
    memory,
    sqlite,
    sqlite_power ///< Log entries are synced before they are durable.
};

/// The parameters of a suite that every store must pass.
inline auto all_stores() {
    return ::testing::Values(store_kind::memory, store_kind::sqlite, store_kind::sqlite_power);
}

inline std::string name_of(store_kind kind) {
    if (kind == store_kind::memory) {
        return "Memory";
    }
    return kind == store_kind::sqlite ? "Sqlite" : "SqlitePower";
}

inline std::unique_ptr<session::store> make_store(store_kind kind, const temporary_folder& folder) {
    if (kind == store_kind::memory) {
        return session::make_memory_store();
    }
    session::sqlite_settings settings;
    settings.path = folder.file("store.db");
    settings.durability =
        kind == store_kind::sqlite ? session::durability::process : session::durability::power;
    return session::make_sqlite_store(settings);
}

/// A test that is run against each store.
class StoreContract : public coroutine_test, public ::testing::WithParamInterface<store_kind> {
protected:
    /// The value that a call of the store completes with; a failure fails the test.
    template <class T>
    T get(boost::asio::awaitable<result<T>> call) {
        result<T> outcome = run(std::move(call));
        return std::move(outcome).value();
    }

    /// errc::internal: it has not failed.
    template <class T>
    errc failure_of(boost::asio::awaitable<result<T>> call) {
        const result<T> outcome = run(std::move(call));
        return outcome ? errc::internal : outcome.error().code;
    }

    void done(boost::asio::awaitable<result<void>> call) {
        const result<void> outcome = run(std::move(call));
        EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().detail);
    }

    /// As the gateway does: on the thread that was looked up.
    std::int64_t
    begin(const session::thread_key& key, std::string run_id, session::changes change = {}) {
        const session::store::view seen = get(store_->look_up(key, run_id));
        EXPECT_FALSE(seen.run);
        const std::uint64_t version = seen.thread ? seen.thread->version : 0;
        return get(store_->begin(key, run_of(std::move(run_id)), std::move(change), version))
            .number;
    }

    session::lease_ptr acquire(const session::thread_key& key, std::string run_id) {
        return get(store_->acquire(key, std::move(run_id)));
    }

    /// Empty: nobody holds the thread, or the server itself.
    std::string active_run(const session::thread_key& key) {
        const auto holder = get(store_->holder(key));
        return holder ? holder->run_id : std::string();
    }

    session::thread_record load(const session::thread_key& key) {
        return get(store_->load(key)).value();
    }

    [[nodiscard]] session::store& subject() { return *store_; }

private:
    temporary_folder folder_;
    std::unique_ptr<session::store> store_ = make_store(GetParam(), folder_);
};

} // namespace agui::test
