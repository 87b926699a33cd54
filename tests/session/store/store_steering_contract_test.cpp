// The contract of a commit by which an active run takes requests from its thread's queue.
#include "tests/session/store/store_contract.hpp"

#include <stdexcept>

namespace agui::session {
namespace {

using test::run_of;
using test::StoreContract;
using test::thread_1;
using test::user_turn;

run_record steered_run(std::string run_id, std::string taken_by) {
    run_record run = run_of(std::move(run_id));
    run.status = run_status::finished;
    run.end_reason = "steered";
    run.ended_at = 2000;
    run.answered_by = std::move(taken_by);
    return run;
}

class StoreSteering : public StoreContract {
protected:
    std::int64_t wait_in_queue(std::string run_id) {
        queued_request request;
        request.messages.push_back(test::user_message("m_of_" + run_id, "Hello").message);
        request.run_id = std::move(run_id);
        request.agent_id = "default";
        request.queued_at = 1000;
        return get(subject().enqueue(thread_1, request, {.requests = 10, .bytes = 1U << 20U}));
    }

    std::size_t queue_size() { return get(subject().queued(thread_1)).size(); }

    errc commit_failure(const changes& change) {
        const auto stored = run(subject().commit(thread_1, change));
        EXPECT_FALSE(stored);
        return stored ? errc::internal : stored.error().code;
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreSteering, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(StoreSteering, AnActiveRunTakesARequestWithItsMessage) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued = {wait_in_queue("run_2")};
    const std::int64_t other = wait_in_queue("run_3");
    takes.answered = {steered_run("run_2", "run_1")};
    takes.answered[0].idempotency_key = "key";

    done(subject().commit(thread_1, takes));

    EXPECT_EQ(load(thread_1).nodes.size(), 2U);
    const auto left = get(subject().queued(thread_1));
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].number, other);
    const auto taken = get(subject().find_run_by_key(thread_1, "key"));
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->run_id, "run_2");
    EXPECT_EQ(taken->answered_by, "run_1");
    EXPECT_EQ(taken->end_reason, "steered");
    EXPECT_EQ(taken->status, run_status::finished);
    EXPECT_EQ(get(subject().latest_run(thread_1))->run_id, "run_1")
        << "a run that another one answers is not the latest";
    const std::int64_t next = begin(thread_1, "run_4");
    EXPECT_GT(next, taken->number);
    EXPECT_EQ(get(subject().latest_run(thread_1))->run_id, "run_4");
}

TEST_P(StoreSteering, ARequestThatHasLeftTheQueueIsNotTaken) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    const std::int64_t waits = wait_in_queue("run_2");
    const std::int64_t left = wait_in_queue("run_3");
    EXPECT_TRUE(get(subject().withdraw(thread_1, left)));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued = {waits, left};
    takes.answered = {steered_run("run_2", "run_1"), steered_run("run_3", "run_1")};

    EXPECT_EQ(commit_failure(takes), errc::conflict);

    EXPECT_EQ(queue_size(), 1U);
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_2")));
    takes.dequeued = {waits};
    takes.answered.pop_back();
    done(subject().commit(thread_1, takes));
    EXPECT_EQ(queue_size(), 0U);
}

TEST_P(StoreSteering, ARequestWhoseRunIsKnownIsNotTaken) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued = {wait_in_queue("run_2")};
    takes.answered = {steered_run("run_1", "run_1")};

    EXPECT_EQ(commit_failure(takes), errc::run_id_reused);

    EXPECT_EQ(queue_size(), 1U);
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
}

TEST_P(StoreSteering, ATakenRequestHasEnded) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes takes = user_turn("m1", "more", 1);
    takes.dequeued = {wait_in_queue("run_2")};
    run_record active = steered_run("run_2", "run_1");
    active.status = run_status::active;
    for (const run_record& wrong : {active, steered_run("run_2", "")}) {
        takes.answered = {wrong};
        EXPECT_THROW(run(subject().commit(thread_1, takes)), std::logic_error);
    }
    EXPECT_EQ(queue_size(), 1U);
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
}

} // namespace
} // namespace agui::session
