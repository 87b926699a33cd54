#include "gateway/console/kept_requests.hpp"

#include "session/conversation/run_segment.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;

class KeptRequests : public ::testing::Test {
protected:
    std::uint64_t
    send(std::string body, std::string_view thread = "t", std::string_view principal = "ada") {
        runner::model_request request;
        request.provider = "main";
        request.parameters.model = "the-model";
        request.principal = principal;
        request.thread = thread;
        request.run = "r";
        const std::size_t bytes = body.size();
        return kept.sending(request, bytes, std::move(body));
    }

    [[nodiscard]] std::vector<std::uint64_t> numbers(std::string_view thread = "") const {
        std::vector<std::uint64_t> found;
        for (const kept_request& each : kept.list(thread)) {
            found.push_back(each.number);
        }
        return found;
    }

    manual_clock time{1000};
    memory_budget memory{64U << 20U};
    kept_requests kept{time, &memory};
};

TEST_F(KeptRequests, AreListedNewestFirstAndByThread) {
    send("{}", "a");
    send("{}", "b");
    send("{\"x\":1}", "a");

    EXPECT_THAT(numbers(), ElementsAre(3, 2, 1));
    EXPECT_THAT(numbers("a"), ElementsAre(3, 1));
    EXPECT_THAT(numbers("c"), ElementsAre());
    const auto found = kept.find(3);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found->body, "{\"x\":1}");
    EXPECT_EQ(found->bytes, 7U);
    EXPECT_EQ(found->model, "main");
    EXPECT_EQ(found->asked, "the-model");
    EXPECT_EQ(found->run_id, "r");
    EXPECT_FALSE(kept.find(4));
}

TEST_F(KeptRequests, AreForgottenByThread) {
    send("{}", "a");
    send("{}", "b");
    send("{}", "a", "eve");

    kept.forget_thread({"ada", "a"});

    EXPECT_THAT(numbers(), ElementsAre(3, 2));
    EXPECT_EQ(memory.used(), 4U);
}

TEST_F(KeptRequests, AreForgottenByUser) {
    send("{}", "a");
    send("{}", "", "ada");
    send("{}", "a", "eve");

    kept.forget_principal("ada");

    EXPECT_THAT(numbers(), ElementsAre(3));
    EXPECT_EQ(memory.used(), 2U);
}

TEST_F(KeptRequests, TellHowTheirCallsEnded) {
    const auto answered = send("{}");
    const auto failed = send("{}");
    const auto active = send("{}");
    time.advance(std::chrono::milliseconds(250));
    runner::model_answer answer;
    answer.reason = runner::finish_reason::tool_calls;
    answer.usage.emplace().cached_input_tokens = 7;
    kept.ended(answered, answer);
    runner::model_failure failure{.detail = "the detail", .upstream = "the server's words"};
    failure.what = runner::model_failure::kind::rejected;
    kept.ended(failed, failure);
    kept.ended(99, failure); // A request that was dropped.

    EXPECT_EQ(kept.find(answered)->outcome, "tool_calls");
    EXPECT_EQ(kept.find(answered)->usage->cached_input_tokens, 7);
    EXPECT_EQ(kept.find(answered)->ended_at, 1250);
    EXPECT_EQ(kept.find(failed)->outcome, "rejected");
    EXPECT_EQ(kept.find(active)->outcome, "active");
    EXPECT_FALSE(kept.find(active)->ended_at);
}

TEST_F(KeptRequests, ShowAContinuedRunUnderTheIdThatItsClientKnows) {
    runner::model_request request;
    const std::string stored = session::segment_id("r", 2);
    request.run = stored;
    EXPECT_EQ(kept.find(kept.sending(request, 2, "{}"))->run_id, "r");
}

TEST_F(KeptRequests, AreLimitedInNumber) {
    for (std::size_t i = 0; i < kept_requests::requests_max + 3; ++i) {
        send("{}");
    }
    const std::vector<std::uint64_t> left = numbers();
    EXPECT_EQ(left.size(), kept_requests::requests_max);
    EXPECT_EQ(left.front(), kept_requests::requests_max + 3);
    EXPECT_EQ(left.back(), 4U);
    EXPECT_FALSE(kept.find(3));
}

TEST_F(KeptRequests, AreLimitedInSize) {
    constexpr std::size_t size = kept_requests::body_bytes_max;
    constexpr std::size_t most = kept_requests::bytes_max / size;
    for (std::size_t i = 0; i < most; ++i) {
        send(std::string(size, 'x'));
    }
    EXPECT_EQ(numbers().size(), most);
    EXPECT_EQ(memory.used(), kept_requests::bytes_max);

    send("{}");
    EXPECT_EQ(numbers().size(), most) << "the oldest has given way";
    EXPECT_FALSE(kept.find(1));
    EXPECT_LE(memory.used(), kept_requests::bytes_max);
}

TEST_F(KeptRequests, ABodyThatIsTooLargeDisplacesNoOther) {
    send("{}");
    const auto large = kept.sending({}, 5'000'000, std::nullopt);

    EXPECT_THAT(numbers(), ElementsAre(2, 1));
    EXPECT_EQ(kept.find(large)->body, nullptr);
    EXPECT_EQ(kept.find(large)->bytes, 5'000'000U);
    EXPECT_EQ(memory.used(), 2U);
}

TEST_F(KeptRequests, GiveWayWhereTheBudgetHasNoRoom) {
    memory_budget small(100);
    kept_requests few(time, &small);
    runner::model_request request;
    const auto first = few.sending(request, 60, std::string(60, 'x'));
    const auto second = few.sending(request, 70, std::string(70, 'x'));
    EXPECT_FALSE(few.find(first));
    EXPECT_TRUE(few.find(second));
    EXPECT_EQ(small.used(), 70U);

    const auto third = few.sending(request, 200, std::string(200, 'x'));
    EXPECT_FALSE(few.find(third)) << "larger than all memory";
    EXPECT_EQ(small.used(), 0U);
}

} // namespace
} // namespace agui::gateway
