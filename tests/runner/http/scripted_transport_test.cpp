#include "runner/http/scripted_transport.hpp"

#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using kind = transport_failure::kind;

/// The status and the pieces as they were read. The last entry names a failure.
asio::awaitable<std::vector<std::string>> read_all(http_client& transport, std::string body) {
    transport_request request;
    request.body = std::move(body);
    const auto name = [](const transport_failure& failure) {
        return failure.what == kind::lost        ? std::string("lost")
               : failure.what == kind::timeout   ? std::string("timeout")
               : failure.what == kind::connect   ? std::string("connect")
               : failure.what == kind::cancelled ? std::string("cancelled")
                                                 : std::string("other");
    };
    std::vector<std::string> log;
    const auto posted = co_await transport.send(request);
    if (!posted) {
        log.push_back(name(posted.error()));
        co_return log;
    }
    log.push_back(std::to_string(posted.value()->status()));
    for (;;) {
        const auto bytes = co_await posted.value()->read();
        if (!bytes) {
            log.push_back(name(bytes.error()));
            co_return log;
        }
        if (bytes->empty()) {
            co_return log;
        }
        log.emplace_back(*bytes);
    }
}

using lines = std::vector<std::string>;

class ScriptedTransport : public test::coroutine_test {
protected:
    lines play(scripted_answer answer) {
        const auto transport = make_scripted_client({std::move(answer)});
        return run(read_all(*transport, "{}"));
    }

    static scripted_answer three_frames() {
        scripted_answer answer;
        answer.body = "data: a\n\ndata: b\r\n\r\ndata: c\n\n";
        return answer;
    }
};

TEST_F(ScriptedTransport, DeliversFrameByFrame) {
    EXPECT_EQ(
        play(three_frames()), (lines{"200", "data: a\n\n", "data: b\r\n\r\n", "data: c\n\n"})
    );
}

TEST_F(ScriptedTransport, DeliversTheBytesAfterTheLastFrame) {
    scripted_answer answer;
    answer.body = "data: a\n\ndata: b\n";
    EXPECT_EQ(play(answer), (lines{"200", "data: a\n\n", "data: b\n"}));
    answer.body = R"({"choices":[]})";
    EXPECT_EQ(play(answer), (lines{"200", R"({"choices":[]})"}));
    answer.body = "";
    EXPECT_EQ(play(answer), lines{"200"});
}

TEST_F(ScriptedTransport, PacesFrames) {
    scripted_answer answer = three_frames();
    answer.pace = milliseconds(1);

    EXPECT_EQ(play(answer).size(), 4U);
}

TEST_F(ScriptedTransport, LosesTheConnectionAfterAFrame) {
    scripted_answer answer = three_frames();
    answer.drop_after_frames = 1;
    EXPECT_EQ(play(answer), (lines{"200", "data: a\n\n", "lost"}));
    answer.drop_after_frames = 0;
    EXPECT_EQ(play(answer), (lines{"200", "lost"}));
    answer.drop_after_frames = 3;
    EXPECT_EQ(play(answer).back(), "lost");
}

TEST_F(ScriptedTransport, StallsUntilTheIdleTimeout) {
    scripted_answer answer = three_frames();
    answer.stall_after_frames = 2;
    answer.idle = milliseconds(2);

    EXPECT_EQ(play(answer), (lines{"200", "data: a\n\n", "data: b\r\n\r\n", "timeout"}));
}

TEST_F(ScriptedTransport, RepeatsAFrame) {
    scripted_answer answer = three_frames();
    answer.repeat_frame = 1;
    EXPECT_EQ(
        play(answer),
        (lines{"200", "data: a\n\n", "data: b\r\n\r\n", "data: b\r\n\r\n", "data: c\n\n"})
    );
    answer.repeat_frame = 7;
    EXPECT_EQ(play(answer).size(), 4U);
}

TEST_F(ScriptedTransport, RefusesTheConnection) {
    scripted_answer answer;
    answer.refuse = true;

    EXPECT_EQ(play(answer), lines{"connect"});
}

TEST_F(ScriptedTransport, GivesEachAnswerOnceAndThen500) {
    std::vector<std::string> seen;
    scripted_answer first;
    first.body = "one";
    scripted_answer second;
    second.status = 429;
    second.body = "two";
    const auto transport =
        make_scripted_client({first, second}, [&seen](const transport_request& request) {
            seen.push_back(request.body);
        });

    EXPECT_EQ(run(read_all(*transport, "a")), (lines{"200", "one"}));
    EXPECT_EQ(run(read_all(*transport, "b")), (lines{"429", "two"}));
    EXPECT_EQ(run(read_all(*transport, "c")), lines{"500"});
    EXPECT_EQ(seen, (lines{"a", "b", "c"}));
}

TEST_F(ScriptedTransport, ChoosesByTheRequest) {
    const auto transport = make_scripted_client([](const transport_request& request) {
        scripted_answer answer;
        answer.body = "you said " + request.body;
        return std::optional(answer);
    });

    EXPECT_EQ(run(read_all(*transport, "x")), (lines{"200", "you said x"}));
}

TEST_F(ScriptedTransport, ReactsToCancellationWhileItWaits) {
    for (const bool stalled : {true, false}) {
        SCOPED_TRACE(stalled);
        scripted_answer answer = three_frames();
        if (stalled) {
            answer.stall_after_frames = 1;
        } else {
            answer.pace = milliseconds(60'000);
        }
        const auto transport = make_scripted_client({answer});
        asio::cancellation_signal stop;
        lines log;
        asio::co_spawn(
            context(), read_all(*transport, "{}"),
            asio::bind_cancellation_slot(
                stop.slot(), [&log](std::exception_ptr, lines result) { log = std::move(result); }
            )
        );
        context().restart();
        context().poll();
        stop.emit(asio::cancellation_type::terminal);
        context().restart();
        context().poll();

        ASSERT_FALSE(log.empty());
        EXPECT_EQ(log.back(), "cancelled");
    }
}

} // namespace
} // namespace agui::runner
