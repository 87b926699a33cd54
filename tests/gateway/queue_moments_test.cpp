// What goes wrong, or is stopped, at each moment of a request in a queue.

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

#ifdef AGUI_FAILPOINTS

// What goes wrong, and where, while two requests wait and the first begins the run of both.
class QueueMoments : public queue_test {
protected:
    static constexpr std::string_view places[] = {
        "queue.store",       "queue.stored", "queue.waits",    "queue.read",
        "queue.taken",       "begin.loaded", "begin.planned",  "begin.stored",
        "launch.registered", "run.start",    "queue.answered", "admission.thread_taken",
        "admission.settled", "run.finish",   "run.ending",
    };

    // With `act` at the place: whatever it does, every stream ends, and the thread goes on.
    void try_at(
        std::string_view place, const std::function<void()>& act,
        const std::function<void()>& settle = [] {}
    ) {
        SCOPED_TRACE(place);
        const std::string thread = next_thread();
        const std::string number = std::to_string(++round_);
        const std::size_t calls = model.calls();
        raw_client first(port());
        first.send(post("/agui", body_of("r" + number, {}, thread)));
        ASSERT_TRUE(model.wait_for_calls(calls + 1));
        std::vector<std::unique_ptr<raw_client>> clients;
        std::vector<std::string> heads;
        std::atomic<bool> done{false};
        {
            const failpoint_hook hook([&](std::string_view passed) {
                if (passed == place && !done.exchange(true)) {
                    act();
                }
            });
            for (const char* name : {"p", "q"}) {
                clients.push_back(std::make_unique<raw_client>(port()));
                clients.back()->send(
                    post("/agui", body_of(name + number, {}, thread), "Connection: close\r\n")
                );
                // Both wait, or are refused, before the first run ends.
                heads.push_back(clients.back()->read_until("\r\n\r\n"));
            }
            for (int i = 0; i < 4; ++i) {
                model.answer({.text = "Answer"});
            }
            EXPECT_THAT(rest_of(first), HasSubstr("RUN_")) << "of the first run";
            for (std::size_t i = 0; i < clients.size(); ++i) {
                const std::string rest = clients[i]->read_until("nothing, until it is closed");
                EXPECT_TRUE(clients[i]->closed_by_peer());
                if (heads[i].starts_with("HTTP/1.1 200")) {
                    EXPECT_THAT(
                        types_of(rest).back(), ::testing::AnyOf("RUN_FINISHED", "RUN_ERROR")
                    );
                }
            }
        }
        EXPECT_TRUE(done) << "it was never passed";
        settle();
        const raw_reply next = ask(post("/agui", body_of("n" + number, {}, thread)));
        EXPECT_EQ(next.status, 200);
        EXPECT_THAT(types_of(next.body), ::testing::Contains("TEXT_MESSAGE_CONTENT")) << next.body;
        model.forget_answers();
    }

    [[nodiscard]] std::string next_thread() const { return "t" + std::to_string(round_ + 1); }

private:
    int round_ = 0;
};

TEST_P(QueueMoments, AMessageWaitsAlsoForTheFirstRunOfItsThread) {
    settings.session.busy_wait = std::chrono::seconds(20);
    start();
    std::promise<void> begins;
    std::promise<void> tried;
    std::atomic<int> begun{0};
    std::atomic<int> tries{0};
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "begin.planned" && begun++ == 0) {
            begins.set_value();
            tried.get_future().wait_for(patience);
        } else if (place == "queue.store" && tries++ == 0) {
            tried.set_value();
        }
    });
    raw_client second(port());
    second.send(get("/healthz")); // Nothing is accepted while the first run stands still.
    EXPECT_EQ(second.read_reply().status, 200);
    raw_client first(port());
    first.send(post("/agui", body_of("r")));
    ASSERT_EQ(begins.get_future().wait_for(patience), std::future_status::ready);

    second.send(post("/agui", body_of("q")));

    EXPECT_THAT(second.read_until("RUN_STARTED"), HasSubstr("HTTP/1.1 200"));
    EXPECT_GT(tries, 0);
    model.answer({.text = "One"});
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(first), HasSubstr("One"));
    EXPECT_THAT(rest_of(second), HasSubstr("Two"));
}

TEST_P(QueueMoments, AHandOffAtTheLastMomentHoldsTheQueueToo) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));
    raw_client other(port());
    other.send(get("/healthz")); // It is accepted before the server stands still.
    EXPECT_EQ(other.read_reply().status, 200);
    std::string again = body_of("again");
    again.replace(again.find("again-u"), 7, "r-u"); // Nothing new: the answer once more.
    std::atomic<bool> done{false};
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "queue.begins" && !done.exchange(true)) {
                other.send(post("/agui", again));
                EXPECT_THAT(other.read_until("pendingToolCallIds"), HasSubstr("paint-1"));
            }
        });
        model.answer({.text = "One"});
        model.answer({.text = "Look", .call_id = "paint-1"});
        EXPECT_THAT(rest_of(*first), HasSubstr("One"));
        ASSERT_TRUE(model.wait_for_calls(2));
    }

    const auto answered = open(answer_body("a", "paint-1"));

    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "tool: done");
    model.answer({.text = "Seen"});
    ASSERT_TRUE(model.wait_for_calls(4));
    EXPECT_EQ(model.request(3).back(), "user: q");
}

TEST_P(QueueMoments, AnErrorAnywhereLeavesNobodyWaiting) {
    start();
    for (const std::string_view place : places) {
        if (!place.starts_with("run.") && place != "queue.waits") {
            try_at(place, [] { throw std::runtime_error("a fault of the test"); });
        }
    }
}

TEST_P(QueueMoments, AStopAnywhereEndsAll) {
    start();
    for (const std::string_view place : places) {
        std::future<raw_reply> stopped;
        const std::string body = R"({"threadId":")" + next_thread() + R"("})";
        try_at(
            place,
            [&] {
                stopped = std::async(std::launch::async, [this, body] {
                    return ask(post("/agui/cancel", body));
                });
            },
            [&] { EXPECT_EQ(stopped.get().status, 200); }
        );
    }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, QueueMoments, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& each) { return each.param == store_kind::memory ? "memory" : "sqlite"; }
);

#endif

} // namespace
} // namespace agui::test
