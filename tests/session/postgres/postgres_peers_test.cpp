// Several processes on one database: holders of threads, fences and takeovers.
#include "tests/session/postgres/postgres_stores.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <set>

namespace agui::session {
namespace {

namespace asio = boost::asio;

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::recording_peer;
using test::run_of;
using test::slice_of;
using test::thread_1;
using test::user_turn;

class PostgresPeers : public test::postgres_stores {
protected:
    void SetUp() override {
        postgres_stores::SetUp();
        if (database_) {
            first_ = open();
            first_number_ = new_gateway();
            second_ = open();
            second_number_ = new_gateway();
        }
    }

    /// Expires the first gateway's leases, as if it had not renewed them.
    void expire_first() {
        sql("UPDATE agui.gateways SET expires = now() - interval '1 s' WHERE id = " + first_number_
        );
    }

    std::unique_ptr<store> first_;
    std::unique_ptr<store> second_;
    std::string first_number_;
    std::string second_number_;
};

TEST_F(PostgresPeers, EachIsFoundByItsNumberOnceItHasSaidWhere) {
    const std::int64_t first = first_->gateway_number();
    EXPECT_NE(first, 0);
    EXPECT_NE(first, second_->gateway_number());
    EXPECT_FALSE(get(second_->find_gateway(first)));

    done(first_->announce("http://10.0.0.1:8080", "secret 1"));

    const auto found = get(second_->find_gateway(first));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->number, first);
    EXPECT_EQ(found->url, "http://10.0.0.1:8080");
    EXPECT_EQ(found->secret, "secret 1");
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    EXPECT_EQ(get(second_->holder(thread_1)).value().gateway, first);
    EXPECT_EQ(get(first_->holder(thread_1)).value().gateway, 0);
}

TEST_F(PostgresPeers, OthersAreThoseThatRenewTheirLeases) {
    done(first_->announce("http://10.0.0.1:8080", "secret 1"));
    const auto others = get(second_->other_gateways());
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(others[0].number, first_->gateway_number());
    EXPECT_EQ(others[0].url, "http://10.0.0.1:8080");
    EXPECT_EQ(get(first_->other_gateways()).at(0).url, "");

    const std::int64_t first = first_->gateway_number();
    expire_first();

    EXPECT_TRUE(get(second_->other_gateways()).empty());
    EXPECT_FALSE(get(second_->find_gateway(first)));
}

// Its new number has the same address.
TEST_F(PostgresPeers, AnAddressIsKnownUnderTheNextNumberToo) {
    done(first_->announce("http://10.0.0.1:8080", "secret 1"));
    const std::int64_t before = first_->gateway_number();
    sql("UPDATE agui.gateways SET fenced = true WHERE id = " + std::to_string(before));

    const lease_ptr held = acquire_soon(*first_, thread_1, "run_1");

    const std::int64_t now = first_->gateway_number();
    EXPECT_NE(now, before);
    EXPECT_FALSE(get(second_->find_gateway(before)));
    ASSERT_TRUE(get(second_->find_gateway(now)));
    EXPECT_EQ(get(second_->find_gateway(now))->secret, "secret 1");
}

TEST_F(PostgresPeers, RequestsQueuedAtADeadGatewayAreClaimedOnce) {
    begin(*first_, thread_1, "run_1", get(first_->acquire(thread_1, "run_1")));
    const auto enqueue = [&](store& at, std::string run_id) {
        queued_request request;
        request.run_id = std::move(run_id);
        request.agent_id = "default";
        request.queued_at = 1000;
        request.messages.push_back(test::user_message("m_2", "Hello").message);
        return get(at.enqueue(thread_1, request, {.requests = 9, .bytes = 1'000'000}));
    };
    const std::int64_t number = enqueue(*first_, "run_2");
    const std::int64_t own = enqueue(*second_, "run_3");
    EXPECT_EQ(get(second_->queued(thread_1)).at(0).gateway, first_->gateway_number());
    EXPECT_TRUE(get(second_->claim_queued({own}, 9)).empty());

    expire_first();
    const auto held = get(second_->claim_orphans(9));
    const auto claimed = get(second_->claim_queued({own}, 9));

    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0].key, thread_1);
    EXPECT_EQ(claimed[0].request.number, number);
    EXPECT_EQ(claimed[0].request.run_id, "run_2");
    EXPECT_EQ(claimed[0].request.queued_at, 1000);
    EXPECT_EQ(claimed[0].request.messages.size(), 1U);
    EXPECT_EQ(get(second_->queued(thread_1)).at(0).gateway, second_->gateway_number());
    EXPECT_TRUE(get(second_->claim_queued({number, own}, 9)).empty());
    EXPECT_EQ(get(second_->claim_queued({own}, 9)).at(0).request.number, number)
        << "it has not learned of its own claim";
}

TEST_F(PostgresPeers, RequestsQueuedAtAnEndingGatewayAreLeftToTheOthers) {
    begin(*first_, thread_1, "run_1", get(first_->acquire(thread_1, "run_1")));
    queued_request request;
    request.run_id = "run_2";
    request.messages.push_back(test::user_message("m_2", "Hello").message);
    get(first_->enqueue(thread_1, request, {.requests = 9, .bytes = 1'000'000}));

    first_.reset();

    EXPECT_EQ(get(second_->claim_queued({}, 9)).size(), 1U);
}

TEST_F(PostgresPeers, ALeftRequestIsClaimedByAnother) {
    begin(*first_, thread_1, "run_1", get(first_->acquire(thread_1, "run_1")));
    queued_request request;
    request.run_id = "run_2";
    request.messages.push_back(test::user_message("m_2", "Hello").message);
    const std::int64_t number =
        get(first_->enqueue(thread_1, request, {.requests = 9, .bytes = 1'000'000}));

    done(second_->leave_queued(number));
    EXPECT_TRUE(get(second_->claim_queued({}, 9)).empty()) << "it is not its own";
    done(first_->leave_queued(number));

    EXPECT_EQ(get(second_->claim_queued({}, 9)).size(), 1U);
}

TEST_F(PostgresPeers, ARepeatedQueuedRequestIsTakenOverByOneGateway) {
    begin(*first_, thread_1, "run_1", get(first_->acquire(thread_1, "run_1")));
    queued_request request;
    request.run_id = "run_2";
    request.messages.push_back(test::user_message("m_2", "Hello").message);
    const std::int64_t number =
        get(first_->enqueue(thread_1, request, {.requests = 9, .bytes = 1'000'000}));
    EXPECT_FALSE(get(second_->take_over_queued(number, 0))) << "the first has it";
    done(first_->leave_queued(number));

    EXPECT_TRUE(get(second_->take_over_queued(number, 0)));

    EXPECT_FALSE(get(first_->take_over_queued(number, 0)));
    EXPECT_EQ(get(first_->queued(thread_1)).at(0).gateway, second_->gateway_number());
    EXPECT_FALSE(get(second_->take_over_queued(number + 1, 0))) << "there is none";
}

TEST_F(PostgresPeers, AThreadIsHeldByOneOfThem) {
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first_, thread_1, "run_1", held, user_turn("m1", "Hi"));

    const auto refused = run(second_->acquire(thread_1, "run_2"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::thread_busy);
    EXPECT_EQ(refused.error().active_run_id, "run_1");
    const auto holder = get(second_->holder(thread_1)).value();
    EXPECT_EQ(holder.run_id, "run_1");
    EXPECT_EQ(holder.run_number, number);
    EXPECT_EQ(holder.first_own_message, 1U);
    EXPECT_FALSE(holder.is_here);
    const located_run located = get(second_->locate_run(thread_1, "run_1"));
    EXPECT_EQ(located.run.value().number, number);
    EXPECT_EQ(located.holder.value().gateway, first_->gateway_number());
    EXPECT_EQ(located.holder->first_own_message, 1U);
    EXPECT_EQ(get(second_->summary(thread_1))->active_run_id, "run_1");
    EXPECT_EQ(get(second_->list(test::query_of(""))).threads.at(0).active_run_id, "run_1");

    first_->release(held);
    const lease_ptr next = acquire_soon(*second_, thread_1, "run_2");
    EXPECT_GT(next->token(), held->token());
    EXPECT_EQ(failure_of(first_->acquire(thread_1, "run_3")), errc::thread_busy);
    EXPECT_TRUE(next->is_held());
}

TEST_F(PostgresPeers, ACommitThatReleasesFreesTheThreadForAllAtOnce) {
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first_, thread_1, "run_1", held);

    done(first_->commit(thread_1, end_of(number, "run_1", 0), std::nullopt, {held, true}));

    EXPECT_FALSE(get(second_->holder(thread_1)));
    EXPECT_TRUE(get(second_->acquire(thread_1, "run_2"))->is_held());
    EXPECT_FALSE(held->is_held());
    EXPECT_FALSE(held->is_lost());
}

// A message that supersedes learns from the refusal which process to ask for a stop.
TEST_F(PostgresPeers, ACallThatStillAsksForAThreadDoesNotHideItsHolder) {
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    test::sql_session blocker(database_->url());
    blocker("BEGIN; LOCK TABLE agui.leases IN ACCESS EXCLUSIVE MODE");
    asio::thread_pool pool(1);
    auto asking = asio::co_spawn(pool, second_->acquire(thread_1, "run_2"), asio::use_future);
    EXPECT_TRUE(happens([&] {
        return sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0";
    }));

    const auto meanwhile = run(second_->acquire(thread_1, "run_3"));
    blocker("COMMIT");
    const auto asked = asking.get();

    ASSERT_FALSE(meanwhile);
    EXPECT_EQ(meanwhile.error().code, errc::thread_busy);
    EXPECT_EQ(meanwhile.error().active_run_id, "") << "run_2 does not hold it";
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().active_run_id, "run_1");
    EXPECT_EQ(asked.error().gateway, first_->gateway_number());
    EXPECT_TRUE(held->is_held());
}

// The search for lost runs must not take a thread from a run that is just ending.
TEST_F(PostgresPeers, ARunThatEndsIsNobodysOrphan) {
    std::atomic<bool> is_over{false};
    std::atomic<int> claimed{0};
    asio::thread_pool pool(2);
    const auto look = [&](store& on) -> asio::awaitable<void> {
        while (!is_over) {
            const auto found = co_await on.claim_orphans(10);
            claimed += found ? static_cast<int>(found->size()) : 0;
        }
    };
    asio::co_spawn(pool, look(*first_), asio::detached);
    asio::co_spawn(pool, look(*second_), asio::detached);
    for (int i = 0; i < 40; ++i) {
        const std::string run_id = "run_" + std::to_string(i);
        const auto held = run(first_->acquire(thread_1, run_id));
        EXPECT_TRUE(held) << run_id;
        if (!held) {
            break;
        }
        const std::int64_t number = begin(*first_, thread_1, run_id, *held);
        done(first_->commit(thread_1, end_of(number, run_id, 0), std::nullopt, {*held, true}));
    }
    is_over = true;
    pool.join();

    EXPECT_EQ(claimed, 0);
}

TEST_F(PostgresPeers, AClaimThatFailsHoldsNoThread) {
    for (const char* const id : {"thread_1", "thread_2"}) {
        const lease_ptr held = get(first_->acquire(key_of(id), "run_1"));
        begin(*first_, key_of(id), "run_1", held);
    }
    expire_first();
    sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION USING ERRCODE = '57014'; END$$; "
        "CREATE TRIGGER refuse BEFORE UPDATE ON agui.leases FOR EACH ROW "
        "WHEN (NEW.thread_id = 'thread_2') EXECUTE FUNCTION refuse()");
    EXPECT_EQ(failure_of(second_->claim_orphans(10)), errc::store_unavailable);
    EXPECT_FALSE(get(second_->holder(thread_1)));

    sql("DROP TRIGGER refuse ON agui.leases");
    EXPECT_EQ(get(second_->claim_orphans(10)).size(), 2U);
}

TEST_F(PostgresPeers, IfManyAcquireOneWins) {
    std::atomic<int> winners = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 40; ++i) {
        store& each = i % 2 == 0 ? *first_ : *second_;
        asio::co_spawn(
            pool, each.acquire(thread_1, "run_" + std::to_string(i)),
            [&](std::exception_ptr error, const result<lease_ptr>& outcome) {
                winners += !error && outcome ? 1 : 0;
            }
        );
    }
    pool.join();
    EXPECT_EQ(winners, 1);
}

TEST_F(PostgresPeers, OneThatDoesNotRenewLosesItsThreads) {
    const lease_ptr lost = get(first_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first_, thread_1, "run_1", lost, user_turn("m1", "Hi"));
    bool was_told = false;
    test::awaited told;
    lost->on_lost([&] { told.set([&] { was_told = true; }); });
    expire_first();
    EXPECT_FALSE(get(second_->holder(thread_1))) << "it counts no longer";
    EXPECT_TRUE(lost->is_held()) << "it does not know yet";

    const lease_ptr taken = get(second_->acquire(thread_1, "run_2"));

    EXPECT_GT(taken->token(), lost->token());
    const auto late = user_turn("m2", "late", 1);
    EXPECT_EQ(
        failure_of(first_->commit(thread_1, late, slice_of(number, 1, {"late"}), {lost, true})),
        errc::lease_lost
    );
    EXPECT_TRUE(told.wait([&] { return was_told; }));
    EXPECT_TRUE(lost->is_lost());
    EXPECT_EQ(
        failure_of(first_->begin(thread_1, test::run_of("run_3"), {}, std::nullopt, lost)),
        errc::lease_lost
    );
    EXPECT_EQ(get(second_->load(thread_1))->nodes.size(), 1U);
    EXPECT_TRUE(get(second_->read_log(number, 0, 10)).empty());
    EXPECT_TRUE(taken->is_held());
    // It continues under another number.
    EXPECT_TRUE(acquire_soon(*first_, key_of("thread_2"), "run_1")->is_held());
    EXPECT_EQ(failure_of(first_->acquire(thread_1, "run_4")), errc::thread_busy);
}

TEST_F(PostgresPeers, EntriesOfOneThatIsFencedAreNotWritten) {
    const lease_ptr lost = get(first_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first_, thread_1, "run_1", lost);
    const auto observer = std::make_shared<recording_observer>();
    first_->append_log(slice_of(number, 1, {"in time"}), observer, lost);
    EXPECT_TRUE(observer->wait_durable(1));
    expire_first();
    const lease_ptr taken = get(second_->acquire(thread_1, ""));

    first_->append_log(slice_of(number, 2, {"late"}), observer, lost);

    EXPECT_TRUE(observer->wait_failed());
    EXPECT_EQ(observer->durable(), 1U);
    const auto orphans = get(second_->orphans(taken));
    ASSERT_EQ(orphans.size(), 1U);
    EXPECT_EQ(orphans[0].last_sequence, 1U);
    done(second_->commit(
        thread_1, end_of(number, "run_1", 2), slice_of(number, 2, {"lost"}), {taken, true}
    ));
    EXPECT_EQ(
        frames_of(get(second_->read_log(number, 0, 10))),
        (std::vector<std::string>{"in time", "lost"})
    );
}

TEST_F(PostgresPeers, ALeaseEndsByItselfWhenItCannotBeRenewed) {
    postgres_settings brief = settings();
    brief.lease = std::chrono::milliseconds(1500);
    const auto third = make_postgres_store(brief);
    const lease_ptr held = get(third->acquire(thread_1, "run_1"));
    begin(*third, thread_1, "run_1", held);
    test::awaited told;
    bool was_told = false;
    held->on_lost([&] { told.set([&] { was_told = true; }); });
    {
        test::sql_session blocker(database_->url());
        blocker("BEGIN; SELECT FROM agui.gateways WHERE id = " + new_gateway() + " FOR UPDATE");

        EXPECT_TRUE(told.wait([&] { return was_told; }));

        EXPECT_FALSE(held->is_held());
        EXPECT_FALSE(third->unavailable().empty());
        EXPECT_EQ(
            failure_of(third->commit(thread_1, user_turn("m1", "late"), std::nullopt, {held})),
            errc::lease_lost
        );
    }
    EXPECT_TRUE(acquire_soon(*third, key_of("thread_2"), "run_2")->is_held());
    EXPECT_EQ(third->unavailable(), "");
}

TEST_F(PostgresPeers, LeasesThatAreRenewedLast) {
    postgres_settings brief = settings();
    brief.lease = std::chrono::milliseconds(9000); // Even a busy machine has 3 s for each renewal.
    const auto third = make_postgres_store(brief);
    const lease_ptr held = get(third->acquire(thread_1, "run_1"));
    const auto expires = [&, number = new_gateway()] {
        return sql("SELECT expires FROM agui.gateways WHERE id = " + number);
    };
    std::set<std::string> seen;
    const auto deadline = std::chrono::steady_clock::now() + test::patience;
    while (seen.size() < 3 && std::chrono::steady_clock::now() < deadline) {
        seen.insert(expires());
    }
    EXPECT_EQ(seen.size(), 3U);
    EXPECT_TRUE(held->is_held());
    EXPECT_EQ(failure_of(second_->acquire(thread_1, "run_2")), errc::thread_busy);
}

TEST_F(PostgresPeers, EachOrphanIsClaimedByOneOfThem) {
    const auto third = open();
    for (int i = 0; i < 20; ++i) {
        const thread_key key = key_of("thread_" + std::to_string(i), "somebody");
        const lease_ptr held = get(first_->acquire(key, "run_1"));
        begin(*first_, key, "run_1", held);
    }
    EXPECT_TRUE(get(second_->claim_orphans(100)).empty()) << "they go on";
    expire_first();

    std::mutex mutex;
    std::multiset<std::string> claimed;
    std::vector<lease_ptr> leases;
    asio::thread_pool pool(4);
    for (int i = 0; i < 8; ++i) {
        store& each = i % 2 == 0 ? *second_ : *third;
        asio::co_spawn(
            pool, each.claim_orphans(7),
            [&](std::exception_ptr error, const result<std::vector<lease_ptr>>& got) {
                EXPECT_FALSE(error);
                const std::lock_guard lock(mutex);
                for (const lease_ptr& held : got.value()) {
                    claimed.insert(held->key().thread_id);
                    leases.push_back(held);
                    EXPECT_EQ(held->run_id(), "");
                    EXPECT_TRUE(held->is_held());
                }
            }
        );
    }
    pool.join();
    for (const lease_ptr& held : get(second_->claim_orphans(100))) {
        claimed.insert(held->key().thread_id);
        leases.push_back(held);
    }

    EXPECT_EQ(claimed.size(), 20U);
    EXPECT_EQ(std::set(claimed.begin(), claimed.end()).size(), 20U);
    EXPECT_TRUE(get(third->claim_orphans(100)).empty());
    EXPECT_EQ(sql("SELECT count(*) FROM agui.gateways WHERE fenced"), "0")
        << "what is fenced and holds nothing is removed";
}

TEST_F(PostgresPeers, ALookForLostRunsReadsNoRuns) {
    EXPECT_TRUE(get(second_->claim_orphans(10)).empty()) << "but for the first one";
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    begin(*first_, thread_1, "run_1", held);
    test::sql_session blocker(database_->url());
    blocker("BEGIN; LOCK TABLE agui.runs, agui.threads IN ACCESS EXCLUSIVE MODE");

    const auto claimed = run(second_->claim_orphans(10));

    ASSERT_TRUE(claimed) << claimed.error().detail;
    EXPECT_TRUE(claimed->empty());
}

TEST_F(PostgresPeers, ARunThatIsReleasedWithoutItsEndIsFound) {
    EXPECT_TRUE(get(second_->claim_orphans(10)).empty());
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    begin(*first_, thread_1, "run_1", held);
    first_->release(held);

    std::vector<lease_ptr> claimed;
    const auto deadline = std::chrono::steady_clock::now() + test::patience;
    while (claimed.empty() && std::chrono::steady_clock::now() < deadline) {
        claimed = get(second_->claim_orphans(10));
    }

    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_GT(claimed[0]->token(), held->token());
    EXPECT_EQ(get(second_->orphans(claimed[0])).size(), 1U);
    EXPECT_EQ(failure_of(first_->acquire(thread_1, "run_2")), errc::thread_busy);
}

class PostgresFailover : public PostgresPeers {
protected:
    void SetUp() override {
        PostgresPeers::SetUp();
        if (database_) {
            postgres_settings given = settings();
            given.lease = std::chrono::seconds(6); // The leases are renewed each third of that.
            store_ = make_postgres_store(given);
            EXPECT_TRUE(get(store_->claim_orphans(10)).empty());
        }
    }

    /// Simulates that a standby took the server's place, by changing the timeline.
    void fail_over() {
        sql("CREATE OR REPLACE FUNCTION agui.timeline() RETURNS bigint LANGUAGE sql AS "
            "'SELECT 1000::bigint'");
    }

    std::unique_ptr<store> store_;
};

// A standby that was behind has the run as active, and the lease of a gateway that has released it.
TEST_F(PostgresFailover, ARunWhoseEndTheStandbyLackedIsFoundAlthoughItsGatewayLives) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store_, thread_1, "run_1", held);
    sql("CREATE TABLE behind AS SELECT * FROM agui.leases");
    done(store_->commit(
        thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"}), {held, true}
    ));
    sql("UPDATE agui.runs SET status = 'active'; INSERT INTO agui.leases SELECT * FROM behind");
    fail_over();

    std::vector<lease_ptr> claimed;
    EXPECT_TRUE(happens([&] {
        if (claimed.empty()) {
            claimed = get(store_->claim_orphans(10));
        }
        return !claimed.empty();
    }));

    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(get(store_->orphans(claimed[0])).size(), 1U);
}

// Clients may have seen more of the run, with numbers that its end will have.
TEST_F(PostgresFailover, TheStoreRemembersHowMuchOfALostRunIsCertain) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store_, thread_1, "run_1", held);
    store_->append_log(slice_of(number, 1, {"a", "b"}), nullptr, held);
    ASSERT_EQ(get(store_->read_log(number, 0, 10)).size(), 2U);
    store_->release(held);
    const lease_ptr again = get(store_->acquire(thread_1, "run_2"));
    EXPECT_EQ(get(store_->orphans(again)).at(0).run.sound_until, std::nullopt);

    fail_over();
    const store::orphan lost = get(store_->orphans(again)).at(0);
    EXPECT_EQ(lost.run.sound_until, 2U);

    changes end = end_of(number, "run_1", 3);
    end.run->sound_until = lost.run.sound_until;
    done(store_->commit(thread_1, end, slice_of(number, 3, {"end"}), {again, true}));
    EXPECT_EQ(get(store_->find_run(thread_1, "run_1"))->sound_until, 2U);

    // Simulates a later failover to a server that has even more of the log.
    sql("UPDATE agui.runs SET status = 'active'");
    const lease_ptr last = get(store_->acquire(thread_1, "run_3"));
    end.run->sound_until = get(store_->orphans(last)).at(0).run.sound_until;
    done(store_->commit(thread_1, end, slice_of(number, 4, {"end"}), {last, true}));
    EXPECT_EQ(get(store_->find_run(thread_1, "run_1"))->sound_until, 2U);
}

// The standby may have had as many other changes of the thread.
TEST_F(PostgresFailover, AThreadThatWasReadBeforeItHasAnotherVersion) {
    const lease_ptr first = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store_, thread_1, "run_1", first, user_turn("m_1", "Hi"));
    done(store_->commit(
        thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"}), {first, true}
    ));
    const std::uint64_t before = get(store_->look_up(thread_1, "run_2")).thread.value().version;
    const lease_ptr held = get(store_->acquire(thread_1, "run_2"));
    const lease_ptr other = get(store_->acquire(key_of("thread_2"), "run_3"));

    fail_over();

    const changes next = user_turn("m_2", "And?", 1);
    EXPECT_EQ(
        failure_of(store_->begin(thread_1, run_of("run_2"), next, before, held)), errc::conflict
    );
    EXPECT_EQ( // This transaction does not begin with a call of begin_run().
        failure_of(store_->begin(thread_1, run_of("run_2"), next, before)), errc::conflict
    );
    const std::uint64_t now = get(store_->look_up(thread_1, "run_2")).thread.value().version;
    EXPECT_NE(now, before);
    get(store_->begin(thread_1, run_of("run_2"), next, now, held));
    get(store_->begin(key_of("thread_2"), run_of("run_3"), user_turn("m_3", "Hi"), 0, other));
}

TEST_F(PostgresFailover, ALeaseThatTheStandbyLackedIsLost) {
    const lease_ptr kept = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr lost = get(store_->acquire(key_of("thread_2"), "run_2"));
    const lease_ptr former = get(store_->acquire(key_of("thread_3"), "run_3"));
    sql("DELETE FROM agui.leases WHERE thread_id = 'thread_2'");
    sql("UPDATE agui.leases SET token = token - 1 WHERE thread_id = 'thread_3'");
    fail_over();

    EXPECT_TRUE(happens([&] {
        (void)get(store_->claim_orphans(10));
        return lost->is_lost() && former->is_lost();
    }));

    EXPECT_TRUE(kept->is_held());
    EXPECT_TRUE(happens([&] { return sql("SELECT count(*) FROM agui.leases") == "1"; }));
}

TEST_F(PostgresPeers, ARunWithoutAnyLeaseIsFoundAtTheStart) {
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    begin(*first_, thread_1, "run_1", held);
    sql("DELETE FROM agui.leases");

    const auto third = open();

    EXPECT_EQ(get(third->claim_orphans(10)).size(), 1U);
}

TEST_F(PostgresPeers, AThreadThatIsClaimedIsHeld) {
    const lease_ptr lost = get(first_->acquire(thread_1, "run_1"));
    begin(*first_, thread_1, "run_1", lost);
    expire_first();

    const auto claimed = get(second_->claim_orphans(10));

    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_TRUE(claimed[0]->is_held());
    EXPECT_TRUE(claimed[0]->found_orphans());
    EXPECT_GT(claimed[0]->token(), lost->token());
    EXPECT_EQ(failure_of(second_->acquire(thread_1, "run_2")), errc::thread_busy);
    second_->release(claimed[0]);
    const lease_ptr next = acquire_soon(*second_, thread_1, "run_2");
    EXPECT_GT(next->token(), claimed[0]->token());
    EXPECT_TRUE(next->found_orphans());
}

TEST_F(PostgresPeers, OneThatIsClosedLeavesNothingBehind) {
    const lease_ptr held = get(first_->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first_, thread_1, "run_1", held);
    first_->append_log(slice_of(number, 1, {"a", "b"}), nullptr, held);

    first_->close();

    EXPECT_FALSE(get(second_->holder(thread_1)));
    const auto claimed = get(second_->claim_orphans(10));
    ASSERT_EQ(claimed.size(), 1U);
    const auto orphans = get(second_->orphans(claimed[0]));
    ASSERT_EQ(orphans.size(), 1U);
    EXPECT_EQ(orphans[0].run.number, number);
    EXPECT_EQ(orphans[0].last_sequence, 2U) << "what was appended is written first";
    EXPECT_EQ(sql("SELECT count(*) FROM agui.gateways"), "1");
    EXPECT_EQ(failure_of(first_->load(thread_1)), errc::store_unavailable);
}

// --- stops for gateways that cannot be asked

class PostgresStops : public PostgresPeers {
protected:
    void SetUp() override {
        PostgresPeers::SetUp();
        if (first_) {
            first_->set_peer_handler(&at_first_);
            second_->set_peer_handler(&at_second_);
        }
    }
    void TearDown() override {
        first_.reset();
        second_.reset();
    }

    recording_peer at_first_;
    recording_peer at_second_;
};

TEST_F(PostgresStops, ReachEveryOtherProcessOnce) {
    const thread_key odd{std::string("prin\xff\0cipal", 11), std::string(9000, 'x')};
    done(second_->request_stop({odd, "run \x01"}));
    EXPECT_TRUE(at_first_.told.wait([&] { return at_first_.stops.size() == 1; }));
    done(second_->request_stop({thread_1, std::nullopt}));

    EXPECT_TRUE(at_first_.told.wait([&] { return at_first_.stops.size() == 2; }));
    EXPECT_EQ(at_first_.stops[0].key, odd);
    EXPECT_EQ(at_first_.stops[0].run_id, "run \x01");
    EXPECT_EQ(at_first_.stops[1].key, thread_1);
    EXPECT_FALSE(at_first_.stops[1].run_id);
    EXPECT_TRUE(at_second_.stops.empty());
}

TEST_F(PostgresStops, TellTheirAge) {
    done(second_->request_stop({thread_1, std::nullopt, std::chrono::seconds(5)}));
    EXPECT_TRUE(at_first_.told.wait([&] { return at_first_.stops.size() == 1; }));
    EXPECT_GE(at_first_.stops[0].age, std::chrono::seconds(5));
}

TEST_F(PostgresStops, ReadersAreToldOfInTheSameWay) {
    done(second_->note_reader(thread_1, "run_1"));
    EXPECT_TRUE(at_first_.told.wait([&] { return at_first_.read.size() == 1; }));
    EXPECT_EQ(at_first_.read[0], "run_1");
    EXPECT_TRUE(at_first_.stops.empty());
}

TEST_F(PostgresStops, ReachAProcessWhoseConnectionsWereLost) {
    database_->end_sessions();

    done(second_->request_stop({thread_1, "run_1"}));

    EXPECT_TRUE(at_first_.told.wait([&] { return at_first_.stops.size() == 1; }));
}

TEST_F(PostgresStops, AreKeptForTenSeconds) {
    done(second_->request_stop({thread_1, "run_1", std::chrono::seconds(11)}));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.stops"), "1");

    done(second_->request_stop({thread_1, "run_2"}));

    EXPECT_EQ(sql("SELECT string_agg(run_id::text, ' ') FROM agui.stops"), "\\x72756e5f32");
    EXPECT_TRUE(at_first_.told.wait([&] { return !at_first_.stops.empty(); }));
    EXPECT_EQ(at_first_.stops[0].run_id, "run_2");
}

} // namespace
} // namespace agui::session
