// What is not known, or lost, of a log: what readers were shown is there nevertheless.
#include "tests/session/postgres/proxied_stores.hpp"

#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::cutting_proxy;
using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::slice_of;
using test::user_turn;

const thread_key thread_1 = key_of("thread_1");

class PostgresLost : public test::proxied_stores {
protected:
    template <class Condition>
    static void wait_until(Condition is_true) {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!is_true() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(1ms);
        }
        EXPECT_TRUE(is_true());
    }
};

// A commit takes entries with it, and nobody can say whether it has taken effect: what is appended
// meanwhile must not be joined to them.
TEST_F(PostgresLost, EntriesThatFollowACommitOfUnknownOutcomeAreNotShown) {
    postgres_settings given = through();
    given.store_wait = 1500ms;
    const auto store = make_postgres_store(given);
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr, user_turn("m1", "Hi"));
    const auto observer = std::make_shared<recording_observer>();
    proxy_->set(cutting_proxy::cut::away, 1, "UPDATE agui.threads");
    std::thread meanwhile;
    {
        // The writer waits with the first entry, so that the commit takes the others.
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.log_rows IN SHARE MODE");
        store->append_log(slice_of(number, 1, {"1"}), observer, nullptr);
        wait_until([&] { return sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0"; });
        store->append_log(slice_of(number, 2, {"2", "3"}), observer, nullptr);
        meanwhile = std::thread([&] {
            std::this_thread::sleep_for(300ms); // The commit waits for the entries.
            blocker("COMMIT");
            wait_until([&] { return proxy_->cuts() == 1; });
            store->append_log(slice_of(number, 4, {"4"}), observer, nullptr);
        });
        EXPECT_EQ(
            failure_of(store->commit(thread_1, user_turn("m2", "more", 1))), errc::store_unavailable
        );
        meanwhile.join();
    }
    EXPECT_EQ(sql("SELECT max(last_sequence) FROM agui.log_rows"), "3") << "it has taken effect";
    proxy_->set(cutting_proxy::cut::never, 0);

    const auto later = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 5, {"5"}), later, nullptr);
    EXPECT_TRUE(later->wait_told(5));
    EXPECT_TRUE(observer->wait_failed());
    EXPECT_EQ(later->durable(), 0U);
    EXPECT_LE(observer->durable(), 3U) << "what is shown is stored";
    wait_until([&] { return store->unavailable().empty(); });
    EXPECT_EQ(get(store->read_log(number, 0, 10)).size(), 3U);

    done(store->commit(thread_1, end_of(number, "run_1", 4), slice_of(number, 4, {"end"})));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))),
        (std::vector<std::string>{"1", "2", "3", "end"})
    );
}

} // namespace
} // namespace agui::session
