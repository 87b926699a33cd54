// A server that goes away, and connections that are lost at the worst moment.
#include "tests/session/postgres/proxied_stores.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <functional>
#include <thread>

namespace agui::session {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

using test::cutting_proxy;
using test::frames_of;
using test::key_of;
using test::no_limits;
using test::recording_observer;
using test::request_of;
using test::run_of;
using test::slice_of;
using test::thread_1;
using test::user_turn;
using ::testing::Contains;
using ::testing::HasSubstr;

class store_behind_proxy : public test::proxied_stores {
protected:
    void SetUp() override {
        proxied_stores::SetUp();
        if (proxy_) {
            store_ = make_postgres_store(settings_through_proxy());
        }
    }
    void TearDown() override { store_.reset(); }

    std::unique_ptr<store> store_;
};

// Each commit is cut off once: before, after or while the server executes it.
class PostgresCuts : public store_behind_proxy,
                     public ::testing::WithParamInterface<cutting_proxy::cut> {};

INSTANTIATE_TEST_SUITE_P(
    Moments, PostgresCuts,
    ::testing::Values(
        cutting_proxy::cut::before, cutting_proxy::cut::midway, cutting_proxy::cut::after
    ),
    [](const auto& of) {
        return of.param == cutting_proxy::cut::before   ? "Before"
               : of.param == cutting_proxy::cut::midway ? "Midway"
                                                        : "After";
    }
);

TEST_P(PostgresCuts, ARunBeginsOnce) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    proxy_->set(GetParam(), 1, "agui.begin_run", "");
    const std::int64_t number = begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));

    EXPECT_EQ(proxy_->cuts(), 1);
    EXPECT_EQ(get(store_->latest_run(thread_1))->number, number);
    EXPECT_EQ(get(store_->load(thread_1))->nodes.size(), 1U);
    EXPECT_EQ(get(store_->holder(thread_1))->run_number, number);
    EXPECT_EQ(sql("SELECT count(*) FROM agui.commit_marks"), "0") << "the lease tells the outcome";
}

TEST_P(PostgresCuts, ARunWithoutALeaseBeginsOnce) {
    proxy_->set(GetParam(), 1, "agui.runs");
    const std::int64_t number = begin(*store_, thread_1, "run_1", nullptr, user_turn("m1", "Hi"));

    EXPECT_EQ(proxy_->cuts(), 1);
    EXPECT_EQ(get(store_->latest_run(thread_1))->number, number);
    EXPECT_EQ(get(store_->load(thread_1))->nodes.size(), 1U);
}

TEST_P(PostgresCuts, ATurnIsCommittedOnce) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));
    const std::uint64_t version = get(store_->load(thread_1))->version;

    proxy_->set(GetParam(), 1, "agui.threads");
    done(store_->commit(thread_1, user_turn("m2", "more", 1), std::nullopt, {held}));

    EXPECT_EQ(proxy_->cuts(), 1);
    EXPECT_EQ(get(store_->load(thread_1))->nodes.size(), 2U);
    EXPECT_EQ(get(store_->load(thread_1))->version, version + 1);
}

TEST_P(PostgresCuts, ARunEndsOnce) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));
    const auto observer = std::make_shared<recording_observer>();
    store_->append_log(slice_of(number, 1, {"a"}), observer, held);
    EXPECT_TRUE(observer->wait_durable(1));
    const std::uint64_t version = get(store_->load(thread_1))->version;

    proxy_->set(GetParam(), 1, "agui.end_run", "");
    changes end = end_of(number, "run_1", 2);
    end.messages = user_turn("m2", "more", 1).messages;
    done(store_->commit(thread_1, end, slice_of(number, 2, {"end"}), {held, true}));

    EXPECT_EQ(proxy_->cuts(), 1);
    EXPECT_EQ(get(store_->load(thread_1))->nodes.size(), 2U);
    EXPECT_EQ(get(store_->load(thread_1))->version, version + 1);
    EXPECT_EQ(
        frames_of(get(store_->read_log(number, 0, 10))), (std::vector<std::string>{"a", "end"})
    );
    EXPECT_FALSE(get(store_->holder(thread_1)));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.commit_marks"), "0") << "the run tells the outcome";
}

TEST_P(PostgresCuts, ARequestIsQueuedOnce) {
    begin(*store_, thread_1, "run_1", nullptr);
    proxy_->set(GetParam(), 1, "agui.queued_requests");
    const std::int64_t number = get(store_->enqueue(thread_1, request_of("run_2"), no_limits));

    EXPECT_EQ(proxy_->cuts(), 1);
    const auto waiting = get(store_->queued(thread_1));
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_EQ(waiting[0].number, number);
}

TEST_P(PostgresCuts, EntriesAreWrittenOnce) {
    const std::int64_t number = begin(*store_, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    proxy_->set(GetParam(), 3, "agui.add_entries", "");
    for (std::uint64_t i = 1; i <= 5; ++i) {
        store_->append_log(slice_of(number, i, {std::to_string(i)}), observer, nullptr);
        EXPECT_TRUE(observer->wait_durable(i));
    }
    EXPECT_EQ(proxy_->cuts(), 3);
    EXPECT_EQ(
        frames_of(get(store_->read_log(number, 0, 10))),
        (std::vector<std::string>{"1", "2", "3", "4", "5"})
    );
}

TEST_P(PostgresCuts, AFailedAttemptIsKeptOnce) {
    failed_attempt attempt;
    attempt.run_number = begin(*store_, thread_1, "run_1", nullptr);
    proxy_->set(GetParam(), 1, "INSERT INTO agui.failed_attempts", "");
    store_->keep_attempt(attempt);
    store_.reset(); // The destructor writes it.
    EXPECT_EQ(sql("SELECT count(*) FROM agui.failed_attempts"), "1");
    EXPECT_EQ(proxy_->cuts(), 1);
}

TEST_P(PostgresCuts, AnOrphanIsClaimedOnce) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    begin(*store_, thread_1, "run_1", held);
    store_->release(held);
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (sql("SELECT count(*) FROM agui.leases WHERE gateway = 0") != "1" &&
           std::chrono::steady_clock::now() < deadline) {
    }
    proxy_->set(GetParam(), 1, "UPDATE agui.leases l SET gateway = $1");

    const auto claimed = get(store_->claim_orphans(10));

    EXPECT_EQ(proxy_->cuts(), 1);
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(sql("SELECT token FROM agui.leases"), std::to_string(claimed[0]->token()));
    EXPECT_EQ(get(store_->orphans(claimed[0])).size(), 1U);
}

TEST_P(PostgresCuts, AThreadIsAcquiredAndReleasedOnce) {
    proxy_->set(GetParam(), 2, "agui.take_lease(", "");
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    EXPECT_TRUE(held->is_held());
    EXPECT_EQ(sql("SELECT count(*) FROM agui.leases"), "1");
    EXPECT_EQ(sql("SELECT token FROM agui.leases"), std::to_string(held->token()));
    store_->release(held);
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (sql("SELECT count(*) FROM agui.leases") != "0" &&
           std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_EQ(sql("SELECT count(*) FROM agui.leases"), "0");
}

TEST_P(PostgresCuts, AreReportedIfTheyNeverEnd) {
    begin(*store_, thread_1, "run_1", nullptr);
    proxy_->set(GetParam(), 1'000'000, "");
    if (GetParam() == cutting_proxy::cut::before) {
        EXPECT_EQ(
            failure_of(store_->enqueue(thread_1, request_of("run_2"), no_limits)),
            errc::store_unavailable
        );
    } else {
        // The store finds out that the server has done it.
        EXPECT_EQ(
            failure_of(store_->enqueue(thread_1, request_of("run_2"), no_limits)), errc::internal
        );
    }
    proxy_->set(cutting_proxy::cut::never, 0);
    EXPECT_LE(get(store_->queued(thread_1)).size(), 1U);
}

// A call is repeated while the first call, whose connection was cut, still waits and holds locks.
class PostgresRepeats : public store_behind_proxy {
protected:
    void repeat(const std::string& function, const std::function<void()>& call) {
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.messages IN SHARE MODE");
        proxy_->set(cutting_proxy::cut::midway, 1, function, "");
        std::thread caller(call);
        EXPECT_TRUE(happens([&] {
            return sql("SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
                       "WHERE NOT l.granted AND a.datname = current_database()") == "2";
        }));
        blocker("COMMIT");
        caller.join();
    }
};

// With another order of locks there would be a deadlock, and the server would roll back one of the
// calls.
TEST_F(PostgresRepeats, ARunThatIsBegunAgainWaitsForTheFirstCall) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    std::int64_t number = 0;

    repeat("agui.begin_run", [&] {
        number = begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));
    });

    EXPECT_EQ(get(store_->latest_run(thread_1))->number, number);
    EXPECT_EQ(sql("SELECT last_value FROM agui.run_numbers"), "1") << "no call was undone";
}

TEST_F(PostgresRepeats, ARunThatIsEndedAgainWaitsForTheFirstCall) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));
    changes end = end_of(number, "run_1", 1);
    end.messages = user_turn("m2", "more", 1).messages;

    repeat("agui.end_run", [&] {
        done(store_->commit(thread_1, end, slice_of(number, 1, {"end"}), {held, true}));
    });

    EXPECT_EQ(get(store_->load(thread_1))->nodes.size(), 2U);
    EXPECT_EQ(frames_of(get(store_->read_log(number, 0, 10))), std::vector<std::string>{"end"});
    EXPECT_FALSE(get(store_->holder(thread_1)));
}

class PostgresFaults : public test::postgres_stores {};

TEST_F(PostgresFaults, CallsSurviveThatAllConnectionsAreLost) {
    const auto store = open();
    std::atomic<int> ended = 0;
    std::atomic<int> failed = 0;
    asio::thread_pool pool(2);
    const auto turns = [](session::store& on, int runner) -> asio::awaitable<int> {
        int completed = 0;
        const thread_key key = key_of("thread_" + std::to_string(runner));
        for (int i = 0; i < 10; ++i) {
            const std::string run_id = "run_" + std::to_string(i);
            const auto begun = co_await on.begin(
                key, run_of(run_id),
                user_turn("m" + std::to_string(i), "x", static_cast<node_index>(i)), std::nullopt,
                nullptr
            );
            if (!begun) {
                co_return completed;
            }
            on.append_log(slice_of(begun->number, 1, {"one"}), nullptr, nullptr);
            const auto committed = co_await on.commit(key, {}, slice_of(begun->number, 2, {"two"}));
            const auto log = co_await on.read_log(begun->number, 0, 10);
            completed += committed && log && log->size() == 2 ? 1 : 0;
        }
        co_return completed;
    };
    for (int i = 0; i < 12; ++i) {
        asio::co_spawn(pool, turns(*store, i), [&](std::exception_ptr error, int completed) {
            failed += error || completed != 10 ? 1 : 0;
            ++ended;
        });
    }
    for (int i = 0; i < 10 && ended < 12; ++i) {
        database_->end_sessions();
    }
    pool.join();

    EXPECT_EQ(failed, 0);
    EXPECT_EQ(sql("SELECT count(*) FROM agui.messages"), "120");
    EXPECT_EQ(sql("SELECT sum(last_sequence - first_sequence + 1) FROM agui.log_rows"), "240");
}

// --- a server that is stopped and started again

class own_server {
public:
    own_server() : url_(command("start")) {
        while (!url_.empty() && url_.back() == '\n') {
            url_.pop_back();
        }
    }
    ~own_server() { command("stop"); }
    own_server(const own_server&) = delete;
    own_server& operator=(const own_server&) = delete;

    [[nodiscard]] const std::string& url() const noexcept { return url_; }
    std::string command(const std::string& what) {
        const std::string line =
            "bash " AGUI_TEST_POSTGRES_SCRIPT " " + what + " " + folder_.path().string();
        std::FILE* const pipe = ::popen(line.c_str(), "r");
        if (pipe == nullptr) {
            throw std::runtime_error("no shell can be started");
        }
        std::string output;
        std::array<char, 256> buffer{};
        while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) {
            output += buffer.data();
        }
        if (::pclose(pipe) != 0) {
            throw std::runtime_error("tests/postgres.sh " + what + " has failed");
        }
        return output;
    }

private:
    test::temporary_folder folder_;
    std::string url_;
};

TEST_F(PostgresFaults, NothingThatWasAcknowledgedIsLostWhenTheServerCrashes) {
    own_server server;
    postgres_settings given = settings();
    given.url = server.url();
    const auto store = make_postgres_store(given);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, user_turn("m1", "Hi"));
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 1, {"a"}), observer, held);
    EXPECT_TRUE(observer->wait_durable(1));

    server.command("restart");

    store->append_log(slice_of(number, 2, {"b"}), observer, held);
    EXPECT_TRUE(observer->wait_durable(2));
    done(store->commit(
        thread_1, end_of(number, "run_1", 3), slice_of(number, 3, {"end"}), {held, true}
    ));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b", "end"})
    );
    EXPECT_EQ(get(store->load(thread_1))->nodes.size(), 1U);
    EXPECT_EQ(store->unavailable(), "");
}

TEST_F(PostgresFaults, ReportsThatTheServerIsDownAndRecovers) {
    own_server server;
    postgres_settings given = settings();
    given.url = server.url();
    given.store_wait = 300ms;
    const auto store = make_postgres_store(given);
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    EXPECT_EQ(store->unavailable(), "");

    server.command("halt");
    EXPECT_EQ(failure_of(store->load(thread_1)), errc::store_unavailable);
    EXPECT_EQ(failure_of(store->commit(thread_1, {})), errc::store_unavailable);
    EXPECT_EQ(store->unavailable(), "the database is unavailable");
    EXPECT_THAT(log_.lines(), Contains(HasSubstr("PGSQL")));
    store->append_log(slice_of(number, 1, {"lost"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_failed());
    EXPECT_EQ(observer->durable(), 0U);

    server.command("resume");
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!run(store->load(thread_1)) && std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_EQ(store->unavailable(), "");
    EXPECT_TRUE(get(store->load(thread_1)));
    EXPECT_TRUE(get(store->read_log(number, 0, 10)).empty());
    // The run's end is stored after the entries that are there.
    done(store->commit(thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"})));
    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
}

} // namespace
} // namespace agui::session
