#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/postgres/postgres_fixture.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <memory>
#include <string>
#include <utility>

namespace agui::test {

enum class store_kind {
    memory,
    sqlite,
    sqlite_power, ///< Log entries are synced before they are durable.
    postgres
};

/// The parameters of a suite that every store must pass.
inline auto all_stores() {
    return ::testing::Values(
        store_kind::memory, store_kind::sqlite, store_kind::sqlite_power, store_kind::postgres
    );
}

inline std::string name_of(store_kind kind) {
    switch (kind) {
    case store_kind::memory:
        return "Memory";
    case store_kind::sqlite:
        return "Sqlite";
    case store_kind::sqlite_power:
        return "SqlitePower";
    case store_kind::postgres:
        return "Postgres";
    }
    return "";
}

/// The place where a store keeps its data.
class store_place {
public:
    explicit store_place(store_kind kind) : kind_(kind) {
        if (kind == store_kind::postgres && !postgres_server().empty()) {
            database_.emplace();
        }
    }
    /// Returns null if there is no server for it.
    [[nodiscard]] std::unique_ptr<session::store> make_store() const {
        if (kind_ == store_kind::memory) {
            return session::make_memory_store();
        }
        if (kind_ == store_kind::postgres) {
            return database_ ? session::make_postgres_store(database_->settings()) : nullptr;
        }
        session::sqlite_settings settings;
        settings.path = folder_.file("store.db");
        settings.durability =
            kind_ == store_kind::sqlite ? session::durability::process : session::durability::power;
        return session::make_sqlite_store(settings);
    }

    /// The failed attempts in the place, each as a line `run|at|model|status|request_id|body`. Not
    /// for the store in memory. No store may be open.
    [[nodiscard]] std::string attempts() const {
        if (database_) {
            sql_session session(database_->url());
            return session(
                "SELECT string_agg(concat_ws('|', run, at, convert_from(model, 'UTF8'), status, "
                "convert_from(request_id, 'UTF8'), convert_from(body, 'UTF8')), chr(10) "
                "ORDER BY number) FROM agui.failed_attempts"
            );
        }
        session::database db(folder_.file("store.db"));
        session::statement select(
            db, "SELECT group_concat(run || '|' || at || '|' || model || '|' || status || '|' || "
                "request_id || '|' || body, char(10)) FROM failed_attempts"
        );
        session::statement::rows row = select.query();
        return row.next() ? std::string(row.text(0)) : std::string();
    }

private:
    const store_kind kind_;
    temporary_folder folder_;
    std::optional<postgres_database> database_;
};

/// A test that is run against each store.
class StoreContract : public coroutine_test, public ::testing::WithParamInterface<store_kind> {
protected:
    void SetUp() override {
        if (GetParam() == store_kind::postgres) {
            AGUI_NEEDS_POSTGRES();
        }
    }

    /// The value with which a call of the store completes; a failure fails the test.
    template <class T>
    T get(boost::asio::awaitable<result<T>> call) {
        result<T> outcome = run(std::move(call));
        return std::move(outcome).value();
    }

    /// Returns errc::internal if there is no failure.
    template <class T>
    errc failure_of(boost::asio::awaitable<result<T>> call) {
        const result<T> outcome = run(std::move(call));
        return outcome ? errc::internal : outcome.error().code;
    }

    void done(boost::asio::awaitable<result<void>> call) {
        const result<void> outcome = run(std::move(call));
        EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().detail);
    }

    /// Begins a run as the gateway does, on the thread that it has read.
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

    /// Empty if nobody or the server itself holds the thread.
    std::string active_run(const session::thread_key& key) {
        const auto holder = get(store_->holder(key));
        return holder ? holder->run_id : std::string();
    }

    session::thread_record load(const session::thread_key& key) {
        return get(store_->load(key)).value();
    }

    [[nodiscard]] session::store& subject() { return *store_; }

    /// Continues with the store of another process, which has read nothing yet. A store in memory
    /// ends with its process, so it stays.
    void reopen() {
        if (GetParam() != store_kind::memory) {
            store_.reset(); // One process at a time may open a file of SQLite.
            store_ = place_.make_store();
        }
    }

    /// Closes the store. Returns its store_place::attempts().
    std::string attempts_left() {
        store_.reset();
        return place_.attempts();
    }

private:
    store_place place_{GetParam()};
    std::unique_ptr<session::store> store_ = place_.make_store();
};

} // namespace agui::test
