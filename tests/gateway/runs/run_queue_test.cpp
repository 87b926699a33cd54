#include "gateway/runs/run_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const conversation_key place{{"", "t"}, false};

session::queued_request row(std::int64_t number, std::string run_id, std::string agent = "a") {
    session::queued_request request;
    request.number = number;
    request.run_id = std::move(run_id);
    request.agent_id = std::move(agent);
    return request;
}

class RunQueue : public ::testing::Test {
protected:
    std::shared_ptr<waiting_run> add(std::string run_id, std::int64_t number, unix_ms at = 1) {
        auto request = std::make_shared<waiting_run>();
        request->place = place;
        request->record.run_id = std::move(run_id);
        request->record.started_at = at;
        request->record.idempotency_key = "key of " + request->record.run_id;
        queue.add(request);
        if (number != 0) {
            queue.set_stored(*request, number);
        }
        return request;
    }

    static std::vector<std::int64_t> numbers_of(const run_queue::taken& taken) {
        std::vector<std::int64_t> numbers;
        for (const session::queued_request& each : taken.requests) {
            numbers.push_back(each.number);
        }
        return numbers;
    }

    run_queue queue;
};

TEST_F(RunQueue, FindsARequestByItsRunAndByItsKey) {
    const auto one = add("r1", 1);

    EXPECT_EQ(queue.find(place, "r1"), one);
    EXPECT_EQ(queue.find_by_key(place, "key of r1"), one);
    EXPECT_EQ(queue.find(place, "r2"), nullptr);
    EXPECT_EQ(queue.find_by_key(place, "key of r2"), nullptr);
    EXPECT_EQ(queue.find({{"", "other"}, false}, "r1"), nullptr);
    EXPECT_EQ(queue.find({{"", "t"}, true}, "r1"), nullptr) << "another conversation: ephemeral";
    queue.remove(one);
    EXPECT_EQ(queue.find(place, "r1"), nullptr);
    queue.remove(one);
}

TEST_F(RunQueue, TheFirstIsTheOneThatWasStoredFirst) {
    const auto late = add("r1", 7);
    const auto early = add("r2", 3);
    const auto not_stored = add("r3", 0);

    EXPECT_TRUE(queue.is_first(*early));
    EXPECT_FALSE(queue.is_first(*late));
    EXPECT_FALSE(queue.is_first(*not_stored));
    EXPECT_TRUE(queue.leave(*early));
    EXPECT_TRUE(queue.is_first(*late)) << "one that leaves begins no run";
    EXPECT_FALSE(queue.is_first(*early));
}

TEST_F(RunQueue, KnowsTheNewestThatWaits) {
    EXPECT_FALSE(queue.is_awaited(place));
    const auto old = add("r1", 1, 10);
    const auto newer = add("r2", 2, 20);
    EXPECT_EQ(queue.newest(place), 20);
    EXPECT_TRUE(queue.leave(*newer));
    EXPECT_EQ(queue.newest(place), 10);
    EXPECT_TRUE(queue.is_awaited(place));

    (void)queue.take(place, "r1", "a", {row(1, "r1")});

    EXPECT_FALSE(queue.is_awaited(place));
}

TEST_F(RunQueue, ARunTakesThoseOfItsAgentThatDoNotLeave) {
    const auto one = add("r1", 1);
    const auto leaving = add("r2", 2);
    const auto of_other = add("r3", 3);
    EXPECT_TRUE(queue.leave(*leaving));

    const auto taken = queue.take(
        place, "r1", "a",
        {row(1, "r1"), row(2, "r2"), row(3, "r3", "b"), row(4, "of no request here")}
    );

    EXPECT_THAT(numbers_of(taken), ElementsAre(1, 4));
    EXPECT_THAT(taken.pass->numbers, ElementsAre(1, 4));
    EXPECT_EQ(queue.pass_of(*one), taken.pass);
    EXPECT_EQ(queue.pass_of(*leaving), nullptr);
    EXPECT_EQ(queue.pass_of(*of_other), nullptr);
    EXPECT_FALSE(queue.leave(*one)) << "a run has it";
}

TEST_F(RunQueue, ARequestBelongsToOnePass) {
    const auto one = add("r1", 1);
    const auto first = queue.take(place, "x", "a", {row(1, "r1")});

    const auto second = queue.take(place, "y", "a", {row(1, "r1")});

    EXPECT_THAT(numbers_of(second), IsEmpty());
    EXPECT_EQ(queue.pass_of(*one), first.pass);
}

TEST_F(RunQueue, APassEndsOnce) {
    const auto taken = queue.take(place, "x", "a", {});
    EXPECT_FALSE(queue.is_over(*taken.pass));

    queue.end_pass(*taken.pass, failure{errc::internal, "it failed", {}, {}});

    EXPECT_TRUE(queue.is_over(*taken.pass));
    EXPECT_EQ(taken.pass->failed->code, errc::internal);
}

} // namespace
} // namespace agui::gateway
