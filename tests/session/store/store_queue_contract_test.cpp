// The contract of a thread's queue: requests that wait for the thread's next run.
#include "tests/session/store/store_contract.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <exception>
#include <set>
#include <stdexcept>

namespace agui::session {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

using test::key_of;
using test::run_of;
using test::StoreContract;
using test::thread_1;
using test::user_turn;

constexpr queue_limits no_limits{.requests = 1000, .bytes = 1U << 30U};

queued_request request_of(std::string run_id, std::string text = "Hello") {
    queued_request request;
    request.messages.push_back(test::user_message("m_of_" + run_id, std::move(text)).message);
    request.run_id = std::move(run_id);
    request.agent_id = "default";
    request.input_digest = "digest";
    request.queued_at = 1000;
    return request;
}

queued_request request_with_key(std::string run_id, std::string idempotency_key) {
    queued_request request = request_of(std::move(run_id));
    request.idempotency_key = std::move(idempotency_key);
    return request;
}

/// The record of a queued request's run that another run answers.
run_record answered_run(std::string run_id, std::string answered_by) {
    run_record run = run_of(std::move(run_id));
    run.status = run_status::finished;
    run.end_reason = "stop";
    run.ended_at = 2000;
    run.answered_by = std::move(answered_by);
    return run;
}

class StoreQueue : public StoreContract {
protected:
    std::int64_t
    enqueue(const thread_key& key, queued_request request, queue_limits limits = no_limits) {
        return get(subject().enqueue(key, std::move(request), limits));
    }

    errc begin_failure(const thread_key& key, const std::string& run_id, const changes& change) {
        const auto begun = run(subject().begin(key, run_of(run_id), change));
        EXPECT_FALSE(begun);
        return begun ? errc::internal : begun.error().code;
    }

    errc enqueue_failure(
        const thread_key& key, queued_request request, queue_limits limits = no_limits
    ) {
        const auto number = run(subject().enqueue(key, std::move(request), limits));
        return number ? errc::internal : number.error().code;
    }

    std::vector<std::string> ids_of(const thread_key& key) {
        std::vector<std::string> ids;
        for (const queued_request& each : get(subject().queued(key))) {
            ids.push_back(each.run_id);
        }
        return ids;
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreQueue, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

using strings = std::vector<std::string>;

TEST_P(StoreQueue, KeepsRequestsInOrderWithAllOfTheirFields) {
    begin(thread_1, "run_1");
    queued_request first = request_with_key("run_2", "key");
    first.parent_run_id = "run_1";
    first.agent_id = "helper";
    first.input_digest = "other";
    first.protocol = "agui/1";
    first.queued_at = 4711;
    message second_message = first.messages[0];
    second_message.id = "m2";
    second_message.content = json::array{
        {{"type", "text"}, {"text", "look: \xc3\xa9 \" \\ \n"}},
        {{"type", "image"}, {"source", {{"type", "url"}, {"value", "https://x/y.png"}}}},
    };
    second_message.metadata = json::object{{"a", {1, nullptr, true}}};
    first.messages.push_back(second_message);
    queued_request second = request_of("run_3");
    second.messages.clear();

    const std::int64_t one = enqueue(thread_1, first);
    const std::int64_t two = enqueue(thread_1, second);

    EXPECT_LT(one, two);
    const auto waiting = get(subject().queued(thread_1));
    ASSERT_EQ(waiting.size(), 2U);
    EXPECT_EQ(waiting[0].number, one);
    EXPECT_EQ(waiting[0].run_id, "run_2");
    EXPECT_EQ(waiting[0].parent_run_id, "run_1");
    EXPECT_EQ(waiting[0].agent_id, "helper");
    EXPECT_EQ(waiting[0].input_digest, "other");
    EXPECT_EQ(waiting[0].idempotency_key, "key");
    EXPECT_EQ(waiting[0].protocol, "agui/1");
    EXPECT_EQ(waiting[0].queued_at, 4711);
    EXPECT_EQ(waiting[0].messages, first.messages);
    EXPECT_EQ(waiting[1].number, two);
    EXPECT_EQ(waiting[1].run_id, "run_3");
    EXPECT_EQ(waiting[1].idempotency_key, "");
    EXPECT_TRUE(waiting[1].messages.empty());
}

TEST_P(StoreQueue, IsEmptyWithoutItsThread) {
    EXPECT_TRUE(get(subject().queued(thread_1)).empty());
    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_1")), errc::not_found);
    EXPECT_FALSE(get(subject().withdraw(thread_1, 1)));
    EXPECT_FALSE(get(subject().load(thread_1)));
}

TEST_P(StoreQueue, IsOfOneThreadOfOnePrincipal) {
    const thread_key others = key_of("thread_1", "bob");
    begin(thread_1, "run_1");
    begin(others, "run_1");
    const std::int64_t number = enqueue(thread_1, request_with_key("run_2", "key"));
    const std::int64_t of_other = enqueue(others, request_with_key("run_2", "key"));

    EXPECT_FALSE(get(subject().withdraw(others, number)));
    EXPECT_FALSE(get(subject().withdraw(thread_1, of_other)));
    changes takes;
    takes.dequeued.push_back(of_other);
    EXPECT_EQ(begin_failure(thread_1, "run_9", takes), errc::conflict);

    EXPECT_EQ(ids_of(thread_1), strings{"run_2"});
    EXPECT_EQ(ids_of(others), strings{"run_2"});
}

TEST_P(StoreQueue, RefusesMoreRequestsThanTheLimit) {
    begin(thread_1, "run_1");
    const queue_limits two{.requests = 2, .bytes = no_limits.bytes};
    const std::int64_t first = enqueue(thread_1, request_of("run_2"), two);
    enqueue(thread_1, request_of("run_3"), two);

    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_4"), two), errc::queue_full);

    EXPECT_EQ(ids_of(thread_1), (strings{"run_2", "run_3"}));
    begin(key_of("thread_2"), "run_1");
    enqueue(key_of("thread_2"), request_of("run_4"), two);
    EXPECT_TRUE(get(subject().withdraw(thread_1, first)));
    enqueue(thread_1, request_of("run_4"), two);
    EXPECT_EQ(ids_of(thread_1), (strings{"run_3", "run_4"}));
}

TEST_P(StoreQueue, RefusesMoreBytesThanTheLimit) {
    begin(thread_1, "run_1");
    const queued_request request = request_of("run_2", std::string(1000, 'x'));
    const std::uint64_t each = bytes_of(request);
    EXPECT_GE(each, 1000U);
    EXPECT_LE(each, 1100U);

    EXPECT_EQ(
        enqueue_failure(thread_1, request, {.requests = 9, .bytes = each - 1}), errc::queue_full
    );
    enqueue(thread_1, request, {.requests = 9, .bytes = each});
    const queued_request next = request_of("run_3", std::string(1000, 'x'));
    EXPECT_EQ(
        enqueue_failure(thread_1, next, {.requests = 9, .bytes = 2 * each - 1}), errc::queue_full
    );
    enqueue(thread_1, next, {.requests = 9, .bytes = 2 * each});

    EXPECT_EQ(ids_of(thread_1), (strings{"run_2", "run_3"}));
}

TEST_P(StoreQueue, RefusesARunIdThatTheThreadOrItsQueueHas) {
    begin(thread_1, "run_1");
    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_1")), errc::run_id_reused);
    const std::int64_t number = enqueue(thread_1, request_of("run_2"));
    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_2")), errc::run_id_reused);
    enqueue(thread_1, request_of("run_3"));
    EXPECT_EQ(ids_of(thread_1), (strings{"run_2", "run_3"})) << "no key is no common key";

    EXPECT_TRUE(get(subject().withdraw(thread_1, number)));
    enqueue(thread_1, request_of("run_2"));
    EXPECT_EQ(ids_of(thread_1), (strings{"run_3", "run_2"}));
}

TEST_P(StoreQueue, RefusesAnIdempotencyKeyThatTheThreadOrItsQueueHas) {
    run_record first = run_of("run_1");
    first.idempotency_key = "key_1";
    get(subject().begin(thread_1, first, {}));

    EXPECT_EQ(enqueue_failure(thread_1, request_with_key("run_2", "key_1")), errc::run_id_reused);
    enqueue(thread_1, request_with_key("run_2", "key_2"));
    EXPECT_EQ(enqueue_failure(thread_1, request_with_key("run_3", "key_2")), errc::run_id_reused);
    enqueue(thread_1, request_with_key("run_3", "key_3"));

    EXPECT_EQ(ids_of(thread_1), (strings{"run_2", "run_3"}));
}

TEST_P(StoreQueue, ReportsAnInvalidRequestBeforeAFullQueue) {
    begin(thread_1, "run_1");
    EXPECT_EQ(
        enqueue_failure(thread_1, request_of("run_1"), {.requests = 0, .bytes = 0}),
        errc::run_id_reused
    );
    EXPECT_EQ(
        enqueue_failure(key_of("unknown"), request_of("run_1"), {.requests = 0, .bytes = 0}),
        errc::not_found
    );
}

TEST_P(StoreQueue, WithdrawsARequestOnce) {
    begin(thread_1, "run_1");
    const std::int64_t first = enqueue(thread_1, request_of("run_2"));
    enqueue(thread_1, request_of("run_3"));

    EXPECT_TRUE(get(subject().withdraw(thread_1, first)));
    EXPECT_FALSE(get(subject().withdraw(thread_1, first)));
    EXPECT_FALSE(get(subject().withdraw(thread_1, first + 1000)));

    EXPECT_EQ(ids_of(thread_1), strings{"run_3"});
}

TEST_P(StoreQueue, ANumberIsNotUsedAgain) {
    begin(thread_1, "run_1");
    std::int64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        const std::int64_t number = enqueue(thread_1, request_of("run_2"));
        EXPECT_GT(number, last);
        last = number;
        EXPECT_TRUE(get(subject().withdraw(thread_1, number)));
    }
}

TEST_P(StoreQueue, IsIndependentOfTheLeaseHolder) {
    const lease_ptr held = acquire(thread_1, "run_1");
    begin(thread_1, "run_1");

    const std::int64_t number = enqueue(thread_1, request_of("run_2"));

    EXPECT_EQ(active_run(thread_1), "run_1");
    EXPECT_TRUE(get(subject().withdraw(thread_1, number)));
    EXPECT_EQ(active_run(thread_1), "run_1");
}

TEST_P(StoreQueue, IsNotPartOfTheThreadYet) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    const std::uint64_t bytes = load(thread_1).bytes;

    enqueue(thread_1, request_with_key("run_2", "key"));

    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
    EXPECT_EQ(load(thread_1).bytes, bytes);
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_2")));
    EXPECT_FALSE(get(subject().find_run_by_key(thread_1, "key")));
    EXPECT_FALSE(get(subject().look_up(thread_1, "run_2")).run);
    EXPECT_EQ(get(subject().latest_run(thread_1))->run_id, "run_1");
}

TEST_P(StoreQueue, ARunTakesRequestsAndAnswersTheirRuns) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.dequeued.push_back(enqueue(thread_1, request_with_key("run_3", "key")));
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_4")));
    enqueue(thread_1, request_of("run_5"));
    takes.answered.push_back(answered_run("run_3", "run_2"));
    takes.answered[0].idempotency_key = "key";
    takes.answered[0].parent_run_id = "run_1";
    takes.answered[0].protocol = "agui/1";
    takes.answered.push_back(answered_run("run_4", "run_2"));

    const std::int64_t number = begin(thread_1, "run_2", takes);

    EXPECT_EQ(ids_of(thread_1), strings{"run_5"});
    EXPECT_EQ(load(thread_1).nodes.size(), 2U);
    const auto first = get(subject().find_run(thread_1, "run_2"));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->number, number);
    EXPECT_EQ(first->status, run_status::active);
    EXPECT_EQ(first->answered_by, "");
    const auto second = get(subject().find_run_by_key(thread_1, "key"));
    ASSERT_TRUE(second);
    EXPECT_EQ(second->run_id, "run_3");
    EXPECT_EQ(second->answered_by, "run_2");
    EXPECT_EQ(second->status, run_status::finished);
    EXPECT_EQ(second->end_reason, "stop");
    EXPECT_EQ(second->ended_at, 2000);
    EXPECT_EQ(second->input_digest, "digest");
    EXPECT_EQ(second->parent_run_id, "run_1");
    EXPECT_EQ(second->protocol, "agui/1");
    const auto third = get(subject().look_up(thread_1, "run_4")).run;
    ASSERT_TRUE(third);
    EXPECT_EQ(third->answered_by, "run_2");
    EXPECT_LT(second->number, third->number);
    EXPECT_LT(third->number, number) << "they are stored before it";
    EXPECT_EQ(get(subject().latest_run(thread_1))->run_id, "run_2");
}

TEST_P(StoreQueue, ARunThatTookRequestsContinuesLikeAnyOther) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_3")));
    takes.answered.push_back(answered_run("run_3", "run_2"));
    const std::int64_t number = begin(thread_1, "run_2", takes);

    changes end = user_turn("m2", "Well.", 2);
    end.run = run_of("run_2");
    end.run->number = number;
    end.run->status = run_status::finished;
    end.run->last_sequence = 2;
    done(subject().commit(thread_1, end, test::slice_of(number, 1, {"a", "b"})));
    const std::int64_t next = begin(thread_1, "run_4");

    EXPECT_GT(next, number);
    EXPECT_EQ(load(thread_1).nodes.size(), 3U);
    EXPECT_EQ(get(subject().find_run(thread_1, "run_2"))->status, run_status::finished);
    EXPECT_EQ(get(subject().latest_run(thread_1))->run_id, "run_4");
    if (subject().keeps_logs()) {
        EXPECT_EQ(get(subject().read_log(number, 0, 9)).size(), 2U);
    }
}

TEST_P(StoreQueue, AnAnsweredRunKeepsTheRunThatAnsweredIt) {
    begin(thread_1, "run_1");
    changes takes;
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_3")));
    takes.answered.push_back(answered_run("run_3", "run_2"));
    begin(thread_1, "run_2", takes);

    changes change;
    change.run = get(subject().find_run(thread_1, "run_3"));
    change.run->status = run_status::failed;
    change.run->answered_by.clear();
    done(subject().commit(thread_1, change));

    const auto changed = get(subject().find_run(thread_1, "run_3"));
    EXPECT_EQ(changed->status, run_status::failed);
    EXPECT_EQ(changed->answered_by, "run_2");
}

TEST_P(StoreQueue, AnAnsweredRunHasNoLogAndIsNotAnOrphan) {
    begin(thread_1, "run_1");
    changes takes;
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_3")));
    takes.answered.push_back(answered_run("run_3", "run_2"));
    begin(thread_1, "run_2", takes);
    const run_record answered = get(subject().find_run(thread_1, "run_3")).value();

    for (const unix_ms since : {0, 1000 * 1000}) { // Before and after old logs are dropped.
        done(subject().drop_logs({.ended_since = since, .max_bytes = 0}));
        const auto log = run(subject().read_log(answered.number, 0, 10));
        ASSERT_FALSE(log);
        EXPECT_EQ(log.error().code, errc::run_expired);
    }
    EXPECT_EQ(get(subject().find_run(thread_1, "run_3"))->answered_by, "run_2");
    for (const test::lost_run& each : test::orphans_of(subject())) {
        EXPECT_NE(each.run.run_id, "run_3");
    }
}

TEST_P(StoreQueue, AnAnsweredRunIdIsTaken) {
    begin(thread_1, "run_1");
    changes takes;
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.dequeued.push_back(enqueue(thread_1, request_with_key("run_3", "key")));
    takes.answered.push_back(answered_run("run_3", "run_2"));
    takes.answered[0].idempotency_key = "key";
    begin(thread_1, "run_2", takes);

    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_3")), errc::run_id_reused);
    EXPECT_EQ(enqueue_failure(thread_1, request_with_key("run_9", "key")), errc::run_id_reused);
    const auto again = run(subject().begin(thread_1, run_of("run_3"), {}));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::run_id_reused);
}

TEST_P(StoreQueue, ARunCannotAnswerAnIdThatTheThreadHas) {
    begin(thread_1, "run_1");
    changes takes = user_turn("m0", "hi");
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    takes.answered.push_back(answered_run("run_1", "run_2"));

    const auto begun = run(subject().begin(thread_1, run_of("run_2"), takes));

    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, errc::run_id_reused);
    EXPECT_EQ(ids_of(thread_1), strings{"run_2"});
    EXPECT_TRUE(load(thread_1).nodes.empty());
    EXPECT_EQ(get(subject().find_run(thread_1, "run_1"))->answered_by, "");
}

TEST_P(StoreQueue, ARunThatTakesAnUnqueuedRequestStoresNothing) {
    begin(thread_1, "run_1");
    const std::int64_t first = enqueue(thread_1, request_of("run_2"));
    const std::int64_t second = enqueue(thread_1, request_of("run_3"));
    EXPECT_TRUE(get(subject().withdraw(thread_1, second)));
    changes takes = user_turn("m0", "hi");
    takes.dequeued = {first, second};
    takes.answered.push_back(answered_run("run_3", "run_2"));

    EXPECT_EQ(begin_failure(thread_1, "run_2", takes), errc::conflict);
    EXPECT_EQ(begin_failure(key_of("thread_2"), "run_2", takes), errc::conflict);

    EXPECT_EQ(ids_of(thread_1), strings{"run_2"});
    EXPECT_TRUE(load(thread_1).nodes.empty());
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_2")));
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_3")));
    EXPECT_FALSE(get(subject().load(key_of("thread_2"))));
    takes.dequeued = {first};
    takes.answered.clear();
    begin(thread_1, "run_2", takes);
    EXPECT_TRUE(ids_of(thread_1).empty());
}

TEST_P(StoreQueue, ARunAnswersOnlyOthersThatHaveEnded) {
    begin(thread_1, "run_1");
    changes takes;
    takes.dequeued.push_back(enqueue(thread_1, request_of("run_2")));
    run_record active = answered_run("run_3", "run_2");
    active.status = run_status::active;
    for (const run_record& wrong :
         {active, answered_run("run_3", ""), answered_run("run_2", "run_2")}) {
        takes.answered = {wrong};
        EXPECT_THROW(run(subject().begin(thread_1, run_of("run_2"), takes)), std::logic_error);
    }
    EXPECT_EQ(ids_of(thread_1), strings{"run_2"});
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_2")));
}

TEST_P(StoreQueue, IsRemovedWithItsThread) {
    begin(thread_1, "run_1");
    begin(key_of("thread_2"), "run_1");
    const std::int64_t number = enqueue(thread_1, request_of("run_2"));
    enqueue(key_of("thread_2"), request_of("run_2"));

    EXPECT_TRUE(get(subject().remove(thread_1)));

    EXPECT_TRUE(ids_of(thread_1).empty());
    EXPECT_FALSE(get(subject().withdraw(thread_1, number)));
    EXPECT_EQ(enqueue_failure(thread_1, request_of("run_3")), errc::not_found);
    EXPECT_EQ(ids_of(key_of("thread_2")), strings{"run_2"});
    begin(thread_1, "run_1");
    EXPECT_TRUE(ids_of(thread_1).empty());
    enqueue(thread_1, request_of("run_2"));
    EXPECT_EQ(ids_of(thread_1), strings{"run_2"});
}

TEST_P(StoreQueue, AcceptsConcurrentRequests) {
    begin(thread_1, "run_1");
    std::atomic<int> queued = 0;
    std::atomic<int> full = 0;
    std::atomic<int> taken = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 200; ++i) {
        // Each id is enqueued twice.
        asio::co_spawn(
            pool,
            subject().enqueue(
                thread_1, request_of("q_" + std::to_string(i / 2)),
                {.requests = 50, .bytes = no_limits.bytes}
            ),
            [&](std::exception_ptr error, const result<std::int64_t>& number) {
                if (error) {
                    return;
                }
                queued += number ? 1 : 0;
                full += !number && number.error().code == errc::queue_full ? 1 : 0;
                taken += !number && number.error().code == errc::run_id_reused ? 1 : 0;
            }
        );
    }
    pool.join();

    EXPECT_EQ(queued, 50);
    EXPECT_EQ(queued + full + taken, 200);
    const auto waiting = get(subject().queued(thread_1));
    ASSERT_EQ(waiting.size(), 50U);
    std::set<std::string> ids;
    std::int64_t last = 0;
    for (const queued_request& each : waiting) {
        EXPECT_GT(each.number, last);
        last = each.number;
        ids.insert(each.run_id);
    }
    EXPECT_EQ(ids.size(), 50U);
}

} // namespace
} // namespace agui::session
