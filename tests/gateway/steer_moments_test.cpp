// Steering against everything that ends a run, at each moment: each message is taken once, or
// returned and not stored.

#include "tests/gateway/steer_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// How often the message is in a conversation.
int count_of(std::string_view id, const std::string& conversation) {
    int count = 0;
    const std::string all = " " + conversation + " ";
    const std::string one = " " + std::string(id) + " ";
    for (std::size_t at = all.find(one); at != std::string::npos; at = all.find(one, at + 1)) {
        ++count;
    }
    return count;
}

class SteerMoments : public steer_test {
protected:
    /// Moments of a run that goes on with a message, from the model's answer on. An exception may
    /// come at the first ones.
    static constexpr std::string_view failing_moments[] = {
        "loop.model_answered", "run.commit",     "run.committed", "loop.turn_stored", "run.load",
        "loop.messages_taken", "loop.ask_model", "run.event",     "run.finish",       "loop.ending",
        "run.ending",
    };
    static constexpr std::string_view other_moments[] = {
        "run.messages", "run.turn_ended", "run.finish_stored", "run.thread_free", "run.text",
    };

    // A run to which both forms send a message, with `act` at that moment. Then the thread goes on.
    void try_at(std::string_view place, const std::function<void(const std::string&)>& act) {
        SCOPED_TRACE(place);
        const std::string number = std::to_string(++round_);
        const std::string thread = "t" + number;
        const std::size_t calls = model.calls();
        raw_client reader(port());
        reader.send(post("/agui", body_of("r" + number, {}, thread)));
        ASSERT_TRUE(model.wait_for_calls(calls + 1));
        std::string taken;
        raw_reply answer;
        {
            std::atomic<bool> done{false};
            std::atomic<bool> armed{false};
            passed_places places([&](std::string_view passed) {
                if (passed == place && armed && !done.exchange(true)) {
                    act(thread);
                }
            });
            raw_client waiting(port());
            waiting.send(post("/agui", body_of("q" + number, {}, thread)));
            ASSERT_TRUE(places.wait_for("queue.offered"));
            const auto steering = steer("s", {}, thread);
            ASSERT_TRUE(places.wait_for("steer.waits"));
            armed = true;
            for (int i = 0; i < 4; ++i) {
                model.answer({.text = "Answer"});
            }
            answer = steering->read_reply();
            taken = rest_of(waiting);
            EXPECT_THAT(rest_of(reader), HasSubstr("RUN_"));
            EXPECT_TRUE(done) << "it was never passed";
        }
        const raw_reply next = ask(post("/agui", body_of("n" + number, {}, thread)));
        EXPECT_THAT(types_of(next.body).back(), "RUN_FINISHED") << next.body;
        check(answer, taken, thread, "q" + number);
        model.forget_answers();
    }

    void check(
        const raw_reply& answer, const std::string& taken, const std::string& thread,
        const std::string& request
    ) {
        const std::string all = conversation(thread);
        const int stored = count_of("s", all);
        EXPECT_LE(stored, 1) << all;
        if (answer.status == 200) {
            EXPECT_EQ(stored, 1) << all;
        } else if (answer.status == 409) {
            EXPECT_EQ(stored, 0) << all;
        } else {
            EXPECT_THAT(answer.status, AnyOf(500, 503)) << answer.body;
        }
        EXPECT_LE(count_of(request + "-u", all), 1) << all;
        if (taken.find("message.taken") != std::string::npos) {
            EXPECT_EQ(count_of(request + "-u", all), 1) << all;
        }
        const raw_reply repeat = ask(post("/agui/steer", steer_body("s", {}, thread)));
        EXPECT_EQ(repeat.status, stored == 1 ? 200 : 409) << "a repeat says what is stored";
    }

private:
    int round_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, SteerMoments, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& info) { return info.param == store_kind::memory ? "memory" : "sqlite"; }
);

TEST_P(SteerMoments, AStopAtAnyMoment) {
    start();
    std::vector<std::future<int>> stops;
    const auto stop = [&](const std::string& thread) {
        stops.push_back(std::async(std::launch::async, [this, thread] {
            return ask(post("/agui/cancel", R"({"threadId":")" + thread + R"("})")).status;
        }));
    };
    for (const std::string_view place : failing_moments) {
        try_at(place, stop);
    }
    for (const std::string_view place : other_moments) {
        try_at(place, stop);
    }
    for (std::future<int>& each : stops) {
        EXPECT_EQ(each.get(), 200);
    }
}

TEST_P(SteerMoments, AnExceptionAtAnyMoment) {
    start();
    for (const std::string_view place : failing_moments) {
        try_at(place, [](const std::string&) { throw std::runtime_error("here"); });
    }
}

// How the run ends while a message comes.
enum class race_ending { text, hand_off, failure, stop };

class SteerRaces : public SteerMoments {
protected:
    struct outcome {
        raw_reply reply; ///< To the message.
        int stored = 0;  ///< How often it is in the conversation.
        std::string conversation;
    };

    /// Sends the message, as a request for a run or to the active run, and ends the run.
    outcome race(int number, race_ending ending, bool is_request) {
        const std::string name = std::to_string(number);
        const std::string thread = "t" + name;
        const std::size_t calls = model.calls();
        raw_client reader(port());
        reader.send(post("/agui", body_of("r" + name, {}, thread)));
        EXPECT_TRUE(model.wait_for_calls(calls + 1));
        passed_places passed;
        std::promise<void> go;
        const std::shared_future<void> begin = go.get_future().share();
        auto sending = std::async(std::launch::async, [&, begin] {
            begin.wait();
            return is_request ? ask(post("/agui", body_of("q" + name, {}, thread)))
                              : ask(post("/agui/steer", steer_body("s", {}, thread)));
        });
        auto ending_it = std::async(std::launch::async, [&, begin] {
            begin.wait();
            // In every second round of endings the message waits by then; else both come at once.
            if (number / 4 % 2 == 1) {
                EXPECT_TRUE(passed.wait_for(is_request ? "queue.offered" : "steer.waits"));
            }
            end(thread, ending);
        });
        go.set_value();
        ending_it.get();
        outcome met;
        met.reply = sending.get();
        EXPECT_THAT(rest_of(reader), HasSubstr("RUN_"));
        met.conversation = conversation(thread);
        met.stored = count_of(is_request ? "q" + name + "-u" : "s", met.conversation);
        model.forget_answers();
        return met;
    }

private:
    void end(const std::string& thread, race_ending ending) {
        if (ending == race_ending::stop) {
            (void)ask(post("/agui/cancel", R"({"threadId":")" + thread + R"("})"));
        } else {
            model.answer(
                {.text = ending == race_ending::text ? "Answer" : "",
                 .call_id = ending == race_ending::hand_off ? "c" : "",
                 .fails = ending == race_ending::failure}
            );
        }
        model.answer({.text = "Further"}); // For the round or the run that the message begins.
    }
};

INSTANTIATE_TEST_SUITE_P(
    Stores, SteerRaces, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& info) { return info.param == store_kind::memory ? "memory" : "sqlite"; }
);

// With both stores, a thousand races for each form.
TEST_P(SteerRaces, AMessageIsTakenOnceOrReturned) {
    start();
    int taken = 0;
    for (int i = 0; i < 500; ++i) {
        const outcome met = race(i, static_cast<race_ending>(i % 4), false);
        EXPECT_THAT(met.reply.status, AnyOf(200, 409)) << met.reply.body;
        EXPECT_EQ(met.stored, met.reply.status == 200 ? 1 : 0) << met.conversation;
        taken += met.stored;
    }
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 500);
}

TEST_P(SteerRaces, ARequestIsTakenOnceOrRunsOrIsStopped) {
    settings.session.queue_hold = std::chrono::seconds(0);
    start();
    int taken = 0;
    for (int i = 0; i < 500; ++i) {
        const outcome met = race(i, static_cast<race_ending>(i % 4), true);
        const std::string& body = met.reply.body;
        taken += body.find("message.taken") == std::string::npos ? 0 : 1;
        EXPECT_LE(met.stored, 1) << met.conversation;
        if (met.reply.status != 200) {
            EXPECT_EQ(error_code(met.reply), "thread_busy") << "a stop came before it could wait";
            EXPECT_EQ(met.stored, 0) << met.conversation;
        } else if (body.find("run.stopped") == std::string::npos) {
            EXPECT_EQ(met.stored, 1) << met.conversation << body;
        }
    }
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 500);
}

#endif

} // namespace
} // namespace agui::test
