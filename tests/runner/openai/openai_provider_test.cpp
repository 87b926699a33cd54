#include "runner/openai/openai_provider.hpp"

#include "runner/http/http_transport.hpp"
#include "runner/http/scripted_transport.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using kind = model_failure::kind;
using test::recording_model_sink;

const std::string text_frame = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const std::string stop_frame =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string usage_frame =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n";
const std::string done_frame = "data: [DONE]\n\n";

class OpenaiProvider : public test::coroutine_test {
protected:
    model_outcome ask(scripted_answer answer) {
        return ask(make_scripted_transport(
            {std::move(answer)}, [this](const transport_request& sent) { requests.push_back(sent); }
        ));
    }

    model_outcome ask(std::shared_ptr<model_transport> transport) {
        const auto provider = make_openai_provider(std::move(transport), settings);
        std::optional<model_outcome> outcome;
        // model_outcome has no default value, which a spawned coroutine's result needs.
        const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                             std::optional<model_outcome>& result) -> asio::awaitable<void> {
            result.emplace(co_await from.ask(what, to));
        };
        run(keep(*provider, request(), sink, outcome));
        return *outcome;
    }

    const model_request& request() {
        request_.parameters.model = "the-model";
        request_.messages = &messages;
        request_.tools = &tools_;
        return request_;
    }

    static scripted_answer answering(std::string body, int status = 200) {
        scripted_answer answer;
        answer.status = status;
        answer.body = std::move(body);
        return answer;
    }

    openai_settings settings;
    recording_model_sink sink;
    std::vector<transport_request> requests;

    std::vector<session::message> messages;

private:
    model_request request_;
    std::vector<tool_definition> tools_;
};

TEST_F(OpenaiProvider, HoldsNoHistoryOnceItIsSent) {
    session::message said;
    said.id = "u1";
    said.content = "a long history";
    messages.push_back(said);

    ASSERT_TRUE(ask(answering(text_frame + stop_frame + done_frame)));

    ASSERT_EQ(requests.size(), 1U);
    EXPECT_NE(requests[0].body.find("a long history"), std::string::npos);
    EXPECT_EQ(messages.capacity(), 0U);
}

TEST_F(OpenaiProvider, AsksAndPassesTheAnswerOn) {
    settings.provider_name = "the-provider";

    const model_outcome outcome =
        ask(answering(text_frame + stop_frame + usage_frame + done_frame));

    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, finish_reason::stop);
    ASSERT_TRUE(outcome->usage);
    EXPECT_EQ(outcome->usage->model, "the-model");
    EXPECT_EQ(outcome->usage->provider, "the-provider");
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests[0].target, "/chat/completions");
    EXPECT_EQ(requests[0].body, write_openai_request(request(), settings));
}

TEST_F(OpenaiProvider, SortsStatusesIntoFailures) {
    const std::vector<std::pair<int, kind>> expected = {
        {400, kind::rejected},    {401, kind::rejected},    {403, kind::rejected},
        {404, kind::rejected},    {408, kind::unavailable}, {413, kind::rejected},
        {422, kind::rejected},    {429, kind::unavailable}, {500, kind::unavailable},
        {502, kind::unavailable}, {529, kind::unavailable}, {301, kind::unavailable},
    };
    for (const auto& [status, what] : expected) {
        SCOPED_TRACE(status);
        const model_outcome outcome = ask(answering("why", status));
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().what, what);
        EXPECT_EQ(outcome.error().status, status);
        EXPECT_EQ(outcome.error().upstream, "why");
    }
    EXPECT_TRUE(sink.lines.empty());
}

TEST_F(OpenaiProvider, KeepsOnlyTheBeginOfAnErrorBody) {
    const model_outcome outcome = ask(answering(std::string(100'000, 'x'), 500));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().upstream.size(), 2048U);
}

TEST_F(OpenaiProvider, ReportsAnErrorStatusWhoseBodyIsLost) {
    scripted_answer answer = answering("a\n\nb\n\n", 503);
    answer.drop_after_frames = 1;

    const model_outcome outcome = ask(answer);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, kind::unavailable);
    EXPECT_EQ(outcome.error().upstream, "a\n\n");
}

TEST_F(OpenaiProvider, TellsALossBeforeTheFirstByteFromALossAfterIt) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.drop_after_frames = 0;
    const model_outcome before = ask(answer);
    answer.drop_after_frames = 1;
    const model_outcome after = ask(answer);
    scripted_answer refused;
    refused.refuse = true;
    const model_outcome never = ask(refused);

    ASSERT_FALSE(before || after || never);
    EXPECT_EQ(before.error().what, kind::unavailable);
    EXPECT_EQ(after.error().what, kind::lost);
    EXPECT_EQ(never.error().what, kind::unavailable);
    EXPECT_EQ(never.error().status, 0);
}

TEST_F(OpenaiProvider, TakesAnAnswerThatIsCutAfterItsFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.drop_after_frames = 2;

    const model_outcome outcome = ask(answer);

    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, finish_reason::stop);
}

TEST_F(OpenaiProvider, TakesAnAnswerThatHangsAfterItsFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame);
    answer.stall_after_frames = 2;
    answer.idle = std::chrono::milliseconds(1);

    EXPECT_TRUE(ask(answer));
}

TEST_F(OpenaiProvider, DoesNotWaitLongForTheEndAfterDone) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 3;
    answer.idle = std::chrono::hours(1);

    EXPECT_TRUE(ask(answer));
}

TEST_F(OpenaiProvider, ReportsATimeout) {
    scripted_answer answer = answering(text_frame + stop_frame);
    answer.stall_after_frames = 1;
    answer.idle = std::chrono::milliseconds(1);

    const model_outcome outcome = ask(answer);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, kind::timeout);
    EXPECT_EQ(outcome.error().status, 200);
}

TEST_F(OpenaiProvider, ReportsABodyThatIsNoAnswer) {
    const model_outcome outcome = ask(answering("<html>It works!</html>"));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, kind::unavailable);
}

TEST_F(OpenaiProvider, ReportsCancellationWhileItStreams) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 1;
    const auto provider = make_openai_provider(make_scripted_transport({answer}), settings);
    asio::cancellation_signal stop;
    std::optional<model_outcome> outcome;
    const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                         std::optional<model_outcome>& result) -> asio::awaitable<void> {
        result.emplace(co_await from.ask(what, to));
    };
    asio::co_spawn(
        context(), keep(*provider, request(), sink, outcome),
        asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {})
    );
    context().restart();
    context().poll();
    stop.emit(asio::cancellation_type::terminal);
    context().restart();
    context().poll();

    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().what, kind::cancelled);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

TEST_F(OpenaiProvider, ReportsCancellationAfterTheFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 2;
    const auto provider = make_openai_provider(make_scripted_transport({answer}), settings);
    asio::cancellation_signal stop;
    std::optional<model_outcome> outcome;
    const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                         std::optional<model_outcome>& result) -> asio::awaitable<void> {
        result.emplace(co_await from.ask(what, to));
    };
    asio::co_spawn(
        context(), keep(*provider, request(), sink, outcome),
        asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {})
    );
    context().restart();
    context().poll();
    stop.emit(asio::cancellation_type::terminal);
    context().restart();
    context().poll();

    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().what, kind::cancelled);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

/// Has no room after each text until it is given some.
class narrow_sink final : public recording_model_sink {
public:
    explicit narrow_sink(asio::io_context& context)
        : room_(context, asio::steady_timer::time_point::max()) {}

    void on_text(std::string_view delta) override {
        recording_model_sink::on_text(delta);
        full_ = true;
    }
    [[nodiscard]] bool has_room() const noexcept override { return !full_; }
    [[nodiscard]] asio::awaitable<void> room() override {
        boost::system::error_code ec;
        while (full_) {
            co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        }
    }

    void give_room() {
        full_ = false;
        room_.cancel();
    }

private:
    asio::steady_timer room_;
    bool full_ = false;
};

class OpenaiProviderWithoutRoom : public OpenaiProvider {
protected:
    void begin(std::shared_ptr<model_transport> transport) {
        provider_ = make_openai_provider(std::move(transport), settings);
        const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                             std::optional<model_outcome>& result) -> asio::awaitable<void> {
            result.emplace(co_await from.ask(what, to));
        };
        asio::co_spawn(
            context(), keep(*provider_, request(), narrow, outcome),
            asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {})
        );
        settle();
    }
    void settle() {
        context().restart();
        context().poll();
    }

    narrow_sink narrow{context()};
    asio::cancellation_signal stop;
    std::optional<model_outcome> outcome;

private:
    std::unique_ptr<model_provider> provider_;
};

TEST_F(OpenaiProviderWithoutRoom, ReadsOnOnlyWhenThereIsRoom) {
    begin(make_scripted_transport({answering(text_frame + text_frame + stop_frame + done_frame)}));

    EXPECT_EQ(narrow.lines, std::vector<std::string>{"text Hi"});
    narrow.give_room();
    settle();
    EXPECT_EQ(narrow.lines, std::vector<std::string>{"text HiHi"});
    EXPECT_FALSE(outcome);
    narrow.give_room();
    settle();
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(*outcome);
}

TEST_F(OpenaiProviderWithoutRoom, CanBeCancelled) {
    begin(make_scripted_transport({answering(text_frame + text_frame + stop_frame + done_frame)}));

    stop.emit(asio::cancellation_type::terminal);
    narrow.give_room(); // What waits looks again, and sees that it is cancelled.
    settle();

    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().what, kind::cancelled);
    EXPECT_EQ(narrow.lines, std::vector<std::string>{"text Hi"});
}

TEST_F(OpenaiProviderWithoutRoom, TheTimeWithoutRoomIsNotTheServers) {
    test::http_test_server server(
        context(),
        [this](test::server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(test::chunked_header + test::chunk(text_frame));
            asio::steady_timer moment(context());
            while (narrow.has_room() && !outcome) { // What comes with the text is read with it.
                moment.expires_after(std::chrono::milliseconds(1));
                co_await moment.async_wait(asio::use_awaitable);
            }
            co_await peer.send(test::chunk(stop_frame + done_frame));
            co_await peer.send(test::chunk(""));
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    endpoint.idle_timeout = std::chrono::milliseconds(200);
    begin(make_http_transport(endpoint).value());

    // Longer than the idle time, however long this machine takes for it.
    asio::steady_timer later(context(), std::chrono::milliseconds(600));
    later.async_wait([this](boost::system::error_code) { narrow.give_room(); });
    context().restart();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!outcome && std::chrono::steady_clock::now() < give_up) {
        context().run_one_until(give_up);
    }

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(*outcome);
}

/// Counts its batches, and throws at the word "throw".
class batch_sink final : public recording_model_sink {
public:
    void begin_batch() override { ++begun; }
    void end_batch() override { ++ended; }
    void on_text(std::string_view delta) override {
        EXPECT_EQ(begun, ended + 1);
        if (delta == "throw") {
            throw std::runtime_error("no room");
        }
        recording_model_sink::on_text(delta);
    }

    int begun = 0;
    int ended = 0;
};

TEST_F(OpenaiProvider, WhatAReadBringsIsABatchAlsoWhereTheSinkThrows) {
    const std::string bad_frame = "data: {\"choices\":[{\"delta\":{\"content\":\"throw\"}}]}\n\n";
    const auto provider = make_openai_provider(
        make_scripted_transport({answering(text_frame + bad_frame + stop_frame + done_frame)}),
        settings
    );
    batch_sink batches;
    const auto ask = [](model_provider& from, const model_request& what,
                        model_sink& to) -> asio::awaitable<void> {
        (void)co_await from.ask(what, to);
    };

    EXPECT_THROW(run(ask(*provider, request(), batches)), std::runtime_error);
    EXPECT_EQ(batches.begun, 2);
    EXPECT_EQ(batches.ended, 2);
}

TEST_F(OpenaiProvider, ReusesTheConnectionAfterDone) {
    test::http_test_server server(
        context(),
        [](test::server_connection& peer) -> asio::awaitable<void> {
            for (;;) {
                const std::string request = co_await peer.read_request();
                if (request.empty()) {
                    co_return;
                }
                co_await peer.send(
                    test::chunked_header + test::chunk(text_frame) + test::chunk(stop_frame) +
                    test::chunk(done_frame)
                );
                co_await peer.send(test::chunk(""));
            }
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    const auto transport = make_http_transport(endpoint).value();

    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(ask(transport));
    }
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(OpenaiProvider, CutsTheKeyOutOfWhatTheServerSays) {
    settings.secrets = {"Bearer sk-12345"};

    const model_outcome status = ask(answering(R"({"error":"bad key sk-12345"})", 401));
    const model_outcome in_band = ask(answering("data: {\"error\":\"bad key sk-12345\"}\n\n"));
    const model_outcome at_the_bound =
        ask(answering(std::string(2048 - 4, 'x') + "sk-12345" + std::string(5000, 'y'), 500));

    const model_outcome unknown =
        ask(answering(R"(data: {"choices":[{"delta":{},"finish_reason":"sk-12345 is spent"}]})"
                      "\n\ndata: [DONE]\n\n"));

    ASSERT_TRUE(unknown);
    EXPECT_EQ(unknown->unknown_reason, "[secret] is spent");
    ASSERT_FALSE(status || in_band || at_the_bound);
    EXPECT_EQ(status.error().upstream, R"({"error":"bad key [secret]"})");
    EXPECT_EQ(in_band.error().upstream, "bad key [secret]");
    EXPECT_EQ(at_the_bound.error().upstream, std::string(2048 - 4, 'x') + "[sec");
}

/// Answers once for each connection, then waits until the client has closed it.
test::http_test_server::script answering_and_holding(std::string body) {
    return [body](test::server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + test::chunk(body));
        co_await peer.wait_for_close();
    };
}

TEST_F(OpenaiProvider, WaitsForTheEndAfterTheFinishReasonOnlySoLong) {
    EXPECT_EQ(settings.end_wait, std::chrono::seconds(2));
    settings.end_wait = std::chrono::milliseconds(1);
    test::http_test_server server(context(), answering_and_holding(text_frame + stop_frame));
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    const auto transport = make_http_transport(endpoint).value();

    EXPECT_TRUE(ask(transport));
    EXPECT_TRUE(ask(transport));

    EXPECT_EQ(server.accepted(), 2); // What the first would still have sent is nobody's answer.
}

TEST_F(OpenaiProvider, TakesUsageAfterTheFinishReasonForTheEnd) {
    settings.end_wait = std::chrono::hours(1);
    test::http_test_server server(
        context(), answering_and_holding(text_frame + stop_frame + usage_frame)
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");

    const model_outcome outcome = ask(make_http_transport(endpoint).value());

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->usage);
}

TEST_F(OpenaiProvider, CommentsDoNotOutliveTheIdleTime) {
    test::http_test_server server(
        context(),
        [](test::server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(test::chunked_header + test::chunk(text_frame));
            asio::steady_timer pause(co_await asio::this_coro::executor);
            while (peer.socket.is_open()) {
                pause.expires_after(std::chrono::milliseconds(1));
                co_await pause.async_wait(asio::use_awaitable);
                const std::string comment = test::chunk(": keep-alive\n\n");
                const auto [ec, sent] = co_await asio::async_write(
                    peer.socket, asio::buffer(comment), asio::as_tuple(asio::use_awaitable)
                );
                if (ec) {
                    co_return;
                }
            }
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    endpoint.idle_timeout = std::chrono::milliseconds(500); // No pause of a busy machine.

    const model_outcome outcome = ask(make_http_transport(endpoint).value());

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, kind::timeout);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

TEST_F(OpenaiProvider, RefusesACompressedAnswer) {
    test::http_test_server server(
        context(),
        [](test::server_connection& peer) -> asio::awaitable<void> {
            const std::string request = co_await peer.read_request();
            EXPECT_NE(request.find("Accept-Encoding: identity\r\n"), std::string::npos);
            co_await peer.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n??"
            );
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");

    const model_outcome outcome = ask(make_http_transport(endpoint).value());

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, kind::unavailable);
    EXPECT_EQ(outcome.error().detail, "the answer is compressed, which was not asked for");
}

} // namespace
} // namespace agui::runner
