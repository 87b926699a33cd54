// Many clients of one run or one thread at once: re-attached ones (P8), repeats (P6), answers (P4),
// shutdown.

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

// Calls `what(i)` for each i below `count`, all at once.
template <class Function>
void at_once(std::size_t count, const Function& what) {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&what, i] { what(i); });
    }
}

// The frames that follow a response head, with the chunk framing removed.
std::string frames_in(std::string_view stream) {
    std::string out;
    for (std::size_t at = stream.find("id: "); at != std::string_view::npos;) {
        const std::size_t end = stream.find("\n\n", at);
        if (end == std::string_view::npos) {
            break;
        }
        out.append(stream.substr(at, end + 2 - at));
        at = stream.find("id: ", end + 2);
    }
    return out;
}

std::size_t count_of(std::string_view text, std::string_view what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos;
         at = text.find(what, at + what.size())) {
        ++count;
    }
    return count;
}

class Crowd : public server_test, public ::testing::WithParamInterface<bool> {
protected:
    Crowd() {
        if (GetParam()) {
            use_sqlite();
        }
        settings.server.threads = 2;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                ++model_calls;
                return answer_of(request);
            };
        };
    }
    // The server ends before the things that its model uses.
    ~Crowd() override { server.reset(); }

    virtual std::optional<runner::scripted_answer> answer_of(const runner::transport_request&) {
        return answer;
    }

    static runner::scripted_answer words(std::size_t count, std::chrono::milliseconds pace) {
        runner::scripted_answer spoken;
        for (std::size_t i = 0; i < count; ++i) {
            spoken.body += text_frame("w" + std::to_string(i));
        }
        spoken.body += end_frames();
        spoken.pace = pace;
        return spoken;
    }

    std::atomic<int> model_calls{0};
};

TEST_P(Crowd, AReaderCutAtAnyEventContinuesWithTheNext) {
    // RUN_STARTED, TEXT_MESSAGE_START, 196 words, TEXT_MESSAGE_END, RUN_FINISHED.
    constexpr std::size_t events = 200;
    answer = words(events - 4, std::chrono::milliseconds(5));
    start();
    raw_client starter(port());
    starter.send(post("/agui", run_body("t", "r")));
    ASSERT_THAT(starter.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));
    std::vector<std::string> stitched(events);

    at_once(events, [&](std::size_t i) {
        const std::string cut = std::to_string(i + 1);
        raw_client first(port());
        first.send(get("/agui/threads/t/runs/r/events"));
        std::string seen = first.read_until("\nid: " + cut + "\n");
        seen += first.read_until("\n\n");
        first.close();
        raw_client second(port());
        second.send(get("/agui/threads/t/runs/r/events?after=" + cut));
        stitched[i] = frames_in(seen) + frames_in(second.read_reply().body);
    });

    const std::string whole = ask(get("/agui/threads/t/runs/r/events")).body;
    ASSERT_EQ(count_of(whole, "\nid: ") + 1, events);
    for (std::size_t i = 0; i < events; ++i) {
        EXPECT_EQ(stitched[i], whole) << "cut after event " << i + 1;
    }
    EXPECT_EQ(model_calls, 1);
}

TEST_P(Crowd, FiftyRepeatsOfARequestAreOneRun) {
    answer = words(20, std::chrono::milliseconds(5));
    start();
    std::vector<raw_reply> replies(50);

    at_once(replies.size(), [&](std::size_t i) {
        replies[i] = ask(post("/agui", run_body("t", "r")));
    });

    EXPECT_EQ(model_calls, 1);
    for (const raw_reply& reply : replies) {
        EXPECT_EQ(reply.status, 200);
        EXPECT_TRUE(reply.complete);
        EXPECT_EQ(reply.body, replies.front().body);
    }
}

TEST_P(Crowd, EveryStreamHasATerminalWhenTheServerStops) {
    settings.server.drain = std::chrono::seconds(1);
    answer = say_and_stall("Hello");
    start();
    std::vector<std::string> streams(100);

    {
        std::atomic<std::size_t> begun{0};
        std::jthread stopper([&] {
            while (begun < streams.size() / 2) {
                std::this_thread::yield();
            }
            server->request_stop();
        });
        at_once(streams.size(), [&](std::size_t i) {
            raw_client client(port());
            client.send(post("/agui", run_body("t" + std::to_string(i), "r")));
            std::string seen = client.read_until("\r\n\r\n");
            ++begun;
            streams[i] = seen + client.read_until("\r\n0\r\n\r\n");
        });
    }
    EXPECT_TRUE(server->wait_bounded(patience));

    std::size_t ended = 0;
    for (const std::string& stream : streams) {
        if (stream.starts_with("HTTP/1.1 200")) {
            ++ended;
            EXPECT_EQ(count_of(stream, R"("code":"shutdown")"), 1U) << stream;
            EXPECT_TRUE(stream.ends_with("\r\n0\r\n\r\n"));
        } else if (!stream.empty()) {
            EXPECT_TRUE(stream.starts_with("HTTP/1.1 503")) << stream;
        }
    }
    EXPECT_GE(ended, streams.size() / 2);
}

class CrowdOfAnswers : public Crowd {
protected:
    std::optional<runner::scripted_answer> answer_of(const runner::transport_request& request
    ) override {
        if (request.body.find(R"("role":"tool")") != std::string::npos) {
            return words(3, std::chrono::milliseconds(20));
        }
        return call_tool("paint");
    }
};

TEST_P(CrowdOfAnswers, TwentyAnswersToOneCallTakeEffectOnce) {
    start();
    ask(post(
        "/agui",
        R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}],)"
        R"("tools":[{"name":"paint","description":"","parameters":{"type":"object"}}]})"
    ));
    ASSERT_EQ(model_calls, 1);
    std::vector<raw_reply> replies(20);

    at_once(replies.size(), [&](std::size_t i) {
        replies[i] = ask(post(
            "/agui", R"({"threadId":"t","runId":"a)" + std::to_string(i) +
                         R"(","messages":[{"role":"tool","toolCallId":"c1","content":"ok"}]})"
        ));
    });

    EXPECT_EQ(model_calls, 2);
    for (const raw_reply& reply : replies) {
        EXPECT_TRUE(reply.status == 200 || reply.status == 409) << reply.body;
    }
    const std::string journal = ask(get("/agui/threads/t/events")).body;
    EXPECT_EQ(count_of(journal, R"("type":"tool.response")"), 1U) << journal;
}

const auto name_of_store = [](const ::testing::TestParamInfo<bool>& of) {
    return of.param ? "Sqlite" : "Memory";
};
INSTANTIATE_TEST_SUITE_P(Stores, Crowd, ::testing::Bool(), name_of_store);
INSTANTIATE_TEST_SUITE_P(Stores, CrowdOfAnswers, ::testing::Bool(), name_of_store);

} // namespace
} // namespace agui::test
