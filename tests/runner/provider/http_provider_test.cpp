#include "runner/provider/http_provider.hpp"

#include "runner/base/utf8.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/http/scripted_transport.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using failure_kind = model_failure::kind;
using test::recording_model_sink;

const std::string text_frame = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const std::string stop_frame =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string usage_frame =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n";
const std::string done_frame = "data: [DONE]\n\n";

class HttpProvider : public test::coroutine_test {
protected:
    model_outcome ask(scripted_answer answer) {
        return ask(make_scripted_client({std::move(answer)}, [this](const transport_request& sent) {
            requests.push_back(sent);
        }));
    }

    model_outcome ask(std::shared_ptr<http_client> transport) {
        const auto provider = make_provider(std::move(transport));
        std::optional<model_outcome> outcome;
        // A spawned coroutine's result needs a default value, which model_outcome does not have.
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

    std::unique_ptr<model_provider> make_provider(std::shared_ptr<http_client> client) {
        return make_http_provider(std::move(client), make_openai_dialect(dialect), settings);
    }

    openai_settings dialect;
    http_provider_settings settings;
    recording_model_sink sink;
    std::vector<transport_request> requests;

    std::vector<session::message> messages;

private:
    model_request request_;
    std::vector<tool_definition> tools_;
};

TEST_F(HttpProvider, HoldsNoHistoryOnceItIsSent) {
    session::message said;
    said.id = "u1";
    said.content = "a long history";
    messages.push_back(said);

    ASSERT_TRUE(ask(answering(text_frame + stop_frame + done_frame)));

    ASSERT_EQ(requests.size(), 1U);
    EXPECT_NE(requests[0].body.find("a long history"), std::string::npos);
    EXPECT_EQ(messages.capacity(), 0U);
}

TEST_F(HttpProvider, AsksAndPassesTheAnswerOn) {
    dialect.provider_name = "the-provider";

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
    EXPECT_EQ(requests[0].body, write_openai_request(request(), dialect));
}

TEST_F(HttpProvider, TellsOnceThatAGoodAnswerBegins) {
    ASSERT_TRUE(ask(answering(text_frame + text_frame + stop_frame + done_frame)));
    EXPECT_EQ(sink.begins, 1);

    sink.begins = 0;
    (void)ask(answering(text_frame, 503));
    (void)ask(answering(": wait\n\n"));
    (void)ask(answering("data: {\"error\":{\"message\":\"overloaded\"}}\n\n"));
    EXPECT_EQ(sink.begins, 0);
}

TEST_F(HttpProvider, SortsStatusesIntoFailures) {
    const std::vector<std::pair<int, failure_kind>> expected = {
        {400, failure_kind::rejected},    {401, failure_kind::rejected},
        {403, failure_kind::rejected},    {404, failure_kind::rejected},
        {408, failure_kind::unavailable}, {413, failure_kind::rejected},
        {422, failure_kind::rejected},    {429, failure_kind::unavailable},
        {500, failure_kind::unavailable}, {502, failure_kind::unavailable},
        {529, failure_kind::unavailable}, {301, failure_kind::unavailable},
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

TEST_F(HttpProvider, KeepsOnlyTheBeginOfAnErrorBody) {
    const model_outcome outcome = ask(answering(std::string(100'000, 'x'), 500));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().upstream.size(), 16384U);
}

TEST_F(HttpProvider, CutsAnErrorBodyBetweenTwoCharacters) {
    std::string body = "x";
    for (int i = 0; i < 10'000; ++i) {
        body += "\u00e4"; // A character of two bytes, so that cuts go through it.
    }

    const model_outcome whole = ask(answering(body, 500));
    const model_outcome invalid = ask(answering(std::string(20'000, '\xFF'), 500));

    ASSERT_FALSE(whole || invalid);
    EXPECT_EQ(whole.error().upstream, body.substr(0, 16383));
    EXPECT_EQ(invalid.error().upstream.size(), 16383U) << "three bytes for each";
    EXPECT_TRUE(is_utf8(invalid.error().upstream));
}

TEST_F(HttpProvider, TellsWhenTheServerMayBeAskedAgain) {
    const std::vector<std::pair<std::string, std::optional<std::chrono::seconds>>> expected = {
        {"7", std::chrono::seconds(7)},
        {"", std::nullopt},
        {"Wed, 21 Oct 2015 07:28:00 GMT", std::chrono::seconds(0)},
    };
    for (const auto& [header, seconds] : expected) {
        SCOPED_TRACE(header);
        scripted_answer busy = answering("busy", 429);
        busy.headers = {{"retry-after", header}};
        const model_outcome outcome = ask(busy);
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().retry_after, seconds);
    }
    scripted_answer exact = answering("busy", 429);
    exact.headers = {{"retry-after", "1"}, {"retry-after-ms", "250"}};
    const model_outcome outcome = ask(exact);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().retry_after, std::chrono::milliseconds(250));
}

TEST_F(HttpProvider, TellsTheServersRequestId) {
    settings.secrets = {"sk-12345"};
    scripted_answer refused = answering("why", 429);
    refused.headers = {{"cf-ray", "ray-1"}, {"x-request-id", "req-1 sk-12345"}};
    scripted_answer in_band = answering("data: {\"error\":\"no\"}\n\n");
    in_band.headers = {{"request-id", std::string(1000, 'r')}};

    const model_outcome first = ask(refused);
    const model_outcome second = ask(in_band);
    const model_outcome without = ask(answering("why", 500));

    ASSERT_FALSE(first || second || without);
    EXPECT_EQ(first.error().request_id, "req-1 [secret]");
    EXPECT_EQ(second.error().request_id, std::string(256, 'r'));
    EXPECT_EQ(without.error().request_id, "");
}

TEST_F(HttpProvider, ReportsAnErrorStatusWhoseBodyIsLost) {
    scripted_answer answer = answering("a\n\nb\n\n", 503);
    answer.drop_after_frames = 1;

    const model_outcome outcome = ask(answer);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, failure_kind::unavailable);
    EXPECT_EQ(outcome.error().upstream, "a\n\n");
}

TEST_F(HttpProvider, TellsALossBeforeTheFirstByteFromALossAfterIt) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.drop_after_frames = 0;
    const model_outcome before = ask(answer);
    answer.drop_after_frames = 1;
    const model_outcome after = ask(answer);
    scripted_answer refused;
    refused.refuse = true;
    const model_outcome never = ask(refused);

    ASSERT_FALSE(before || after || never);
    EXPECT_EQ(before.error().what, failure_kind::unavailable);
    EXPECT_EQ(after.error().what, failure_kind::lost);
    EXPECT_EQ(never.error().what, failure_kind::unavailable);
    EXPECT_EQ(never.error().status, 0);
}

TEST_F(HttpProvider, TakesAnAnswerThatIsCutAfterItsFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.drop_after_frames = 2;

    const model_outcome outcome = ask(answer);

    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, finish_reason::stop);
}

TEST_F(HttpProvider, TakesAnAnswerThatHangsAfterItsFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame);
    answer.stall_after_frames = 2;
    answer.idle = std::chrono::milliseconds(1);

    EXPECT_TRUE(ask(answer));
}

TEST_F(HttpProvider, DoesNotWaitLongForTheEndAfterDone) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 3;
    answer.idle = std::chrono::hours(1);

    EXPECT_TRUE(ask(answer));
}

TEST_F(HttpProvider, ReportsATimeout) {
    scripted_answer answer = answering(text_frame + stop_frame);
    answer.stall_after_frames = 1;
    answer.idle = std::chrono::milliseconds(1);

    const model_outcome outcome = ask(answer);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, failure_kind::timeout);
    EXPECT_EQ(outcome.error().status, 200);
}

TEST_F(HttpProvider, ReportsABodyThatIsNotAnAnswer) {
    const model_outcome outcome = ask(answering("<html>It works!</html>"));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, failure_kind::unavailable);
}

TEST_F(HttpProvider, ReportsCancellationWhileItStreams) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 1;
    const auto provider = make_provider(make_scripted_client({answer}));
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
    EXPECT_EQ(outcome->error().what, failure_kind::cancelled);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

TEST_F(HttpProvider, ReportsCancellationAfterTheFinishReason) {
    scripted_answer answer = answering(text_frame + stop_frame + done_frame);
    answer.stall_after_frames = 2;
    const auto provider = make_provider(make_scripted_client({answer}));
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
    EXPECT_EQ(outcome->error().what, failure_kind::cancelled);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

/// A sink that has no room after each text until the test gives it some.
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

class HttpProviderWithoutRoom : public HttpProvider {
protected:
    void begin(std::shared_ptr<http_client> transport) {
        provider = make_provider(std::move(transport));
        const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                             std::optional<model_outcome>& result) -> asio::awaitable<void> {
            result.emplace(co_await from.ask(what, to));
        };
        asio::co_spawn(
            context(), keep(*provider, request(), narrow, outcome),
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

    std::unique_ptr<model_provider> provider;
};

TEST_F(HttpProviderWithoutRoom, MayBeDestroyedBeforeItsCalls) {
    begin(make_scripted_client({answering(text_frame + text_frame + stop_frame + done_frame)}));

    provider.reset();
    narrow.give_room();
    settle();
    narrow.give_room();
    settle();

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(*outcome);
    EXPECT_EQ(narrow.lines, std::vector<std::string>{"text HiHi"});
}

TEST_F(HttpProviderWithoutRoom, ReadsOnOnlyWhenThereIsRoom) {
    begin(make_scripted_client({answering(text_frame + text_frame + stop_frame + done_frame)}));

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

TEST_F(HttpProviderWithoutRoom, CanBeCancelled) {
    begin(make_scripted_client({answering(text_frame + text_frame + stop_frame + done_frame)}));

    stop.emit(asio::cancellation_type::terminal);
    narrow.give_room(); // The waiting provider checks again, and sees that it is cancelled.
    settle();

    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().what, failure_kind::cancelled);
    EXPECT_EQ(narrow.lines, std::vector<std::string>{"text Hi"});
}

TEST_F(HttpProviderWithoutRoom, TheTimeWithoutRoomIsNotTheServers) {
    test::http_test_server server(
        context(),
        [this](test::server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(test::chunked_header + test::chunk(text_frame));
            asio::steady_timer moment(context());
            while (narrow.has_room() && !outcome) { // They arrive with the text.
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
    begin(make_http_client(endpoint).value());

    // Longer than the idle time, even on a busy machine.
    asio::steady_timer later(context(), std::chrono::milliseconds(600));
    later.async_wait([this](boost::system::error_code) { narrow.give_room(); });
    context().restart();
    const auto give_up = std::chrono::steady_clock::now() + test::patience;
    while (!outcome && std::chrono::steady_clock::now() < give_up) {
        context().run_one_until(give_up);
    }

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(*outcome);
}

/// A sink that counts its batches, and throws at the word "throw".
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

TEST_F(HttpProvider, EachReadIsABatchEvenIfTheSinkThrows) {
    const std::string bad_frame = "data: {\"choices\":[{\"delta\":{\"content\":\"throw\"}}]}\n\n";
    const auto provider = make_provider(
        make_scripted_client({answering(text_frame + bad_frame + stop_frame + done_frame)})
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

TEST_F(HttpProvider, ReusesTheConnectionAfterDone) {
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
    const auto transport = make_http_client(endpoint).value();

    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(ask(transport));
    }
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpProvider, CutsTheKeyOutOfTheServersText) {
    settings.secrets = {"Bearer sk-12345"};

    const model_outcome status = ask(answering(R"({"error":"bad key sk-12345"})", 401));
    const model_outcome in_band = ask(answering("data: {\"error\":\"bad key sk-12345\"}\n\n"));
    const model_outcome at_the_bound =
        ask(answering(std::string(16384 - 4, 'x') + "sk-12345" + std::string(5000, 'y'), 500));

    const model_outcome unknown =
        ask(answering(R"(data: {"choices":[{"delta":{},"finish_reason":"sk-12345 is spent"}]})"
                      "\n\ndata: [DONE]\n\n"));

    ASSERT_TRUE(unknown);
    EXPECT_EQ(unknown->unknown_reason, "[secret] is spent");
    ASSERT_FALSE(status || in_band || at_the_bound);
    EXPECT_EQ(status.error().upstream, R"({"error":"bad key [secret]"})");
    EXPECT_EQ(in_band.error().upstream, "bad key [secret]");
    EXPECT_EQ(at_the_bound.error().upstream, std::string(16384 - 4, 'x') + "[sec");
}

/// Answers once for each connection, then waits until the client has closed it.
test::http_test_server::script answering_and_holding(std::string body) {
    return [body](test::server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + test::chunk(body));
        co_await peer.wait_for_close();
    };
}

TEST_F(HttpProvider, WaitsForTheEndAfterTheFinishReasonOnlySoLong) {
    EXPECT_EQ(settings.end_wait, std::chrono::seconds(2));
    settings.end_wait = std::chrono::milliseconds(1);
    test::http_test_server server(context(), answering_and_holding(text_frame + stop_frame));
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    const auto transport = make_http_client(endpoint).value();

    EXPECT_TRUE(ask(transport));
    EXPECT_TRUE(ask(transport));

    EXPECT_EQ(server.accepted(), 2); // The first one's answer may have a rest.
}

TEST_F(HttpProvider, TakesUsageAfterTheFinishReasonForTheEnd) {
    settings.end_wait = std::chrono::hours(1);
    test::http_test_server server(
        context(), answering_and_holding(text_frame + stop_frame + usage_frame)
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");

    const model_outcome outcome = ask(make_http_client(endpoint).value());

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->usage);
}

TEST_F(HttpProvider, CommentsDoNotOutliveTheIdleTime) {
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
    // Longer than a pause of a busy machine.
    endpoint.idle_timeout = std::chrono::milliseconds(500);

    const model_outcome outcome = ask(make_http_client(endpoint).value());

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, failure_kind::timeout);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
}

/// Sends `begin`, then `sign` each millisecond until `over` or the client has closed; then `end`.
test::http_test_server::script
answering_late(std::string begin, std::string sign, const bool& over, std::string end) {
    return [begin, sign, &over, end](test::server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + begin);
        asio::steady_timer pause(co_await asio::this_coro::executor);
        while (!over) {
            pause.expires_after(std::chrono::milliseconds(1));
            co_await pause.async_wait(asio::use_awaitable);
            if (!sign.empty()) {
                const auto [ec, sent] = co_await asio::async_write(
                    peer.socket, asio::buffer(sign), asio::as_tuple(asio::use_awaitable)
                );
                if (ec) {
                    co_return;
                }
            }
        }
        co_await peer.send(end);
    };
}

/// Ways in which a server is silent: it sends nothing, comments, or empty deltas.
const std::string signs[] = {
    "",
    test::chunk(": keep-alive\n\n"),
    test::chunk("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"),
};

TEST_F(HttpProvider, BeforeTheFirstContentOnlyItsOwnTimeCounts) {
    std::deque<test::http_test_server> servers;
    std::deque<bool> over;
    for (const std::string& sign : signs) {
        SCOPED_TRACE(sign);
        sink.lines.clear();
        const std::string answer =
            test::chunk(text_frame + stop_frame + done_frame) + test::chunk("");
        servers.emplace_back(context(), answering_late("", sign, over.emplace_back(), answer));
        http_endpoint endpoint;
        endpoint.base_url = servers.back().url("/v1");
        endpoint.idle_timeout = std::chrono::milliseconds(5);
        // Longer than the idle time, even on a busy machine.
        asio::steady_timer later(context(), std::chrono::milliseconds(100));
        later.async_wait([&over](boost::system::error_code) { over.back() = true; });

        EXPECT_TRUE(ask(make_http_client(endpoint).value()));
        EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hi"});
    }
}

TEST_F(HttpProvider, TheTimeForTheFirstContentIsBounded) {
    EXPECT_EQ(settings.first_content, std::chrono::seconds(600));
    settings.first_content = std::chrono::milliseconds(20);
    const bool never = false;
    std::deque<test::http_test_server> servers;
    for (const std::string& sign : signs) {
        SCOPED_TRACE(sign);
        servers.emplace_back(context(), answering_late("", sign, never, ""));
        http_endpoint endpoint;
        endpoint.base_url = servers.back().url("/v1");

        const model_outcome outcome = ask(make_http_client(endpoint).value());

        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().what, failure_kind::timeout);
        EXPECT_EQ(
            outcome.error().detail,
            "the model sent no content within the time for its first content"
        );
    }
}

TEST_F(HttpProvider, AfterTheFirstContentTheIdleTimeCounts) {
    settings.first_content = std::chrono::hours(1);
    const bool never = false;
    std::deque<test::http_test_server> servers;
    for (const std::string delta :
         {R"("content":"a")", R"("reasoning":"a")", R"("tool_calls":[{"function":{"name":"f"}}])"
         }) {
        SCOPED_TRACE(delta);
        const std::string frame = "data: {\"choices\":[{\"delta\":{" + delta + "}}]}\n\n";
        servers.emplace_back(context(), answering_late(test::chunk(frame), "", never, ""));
        http_endpoint endpoint;
        endpoint.base_url = servers.back().url("/v1");
        endpoint.idle_timeout = std::chrono::milliseconds(20);

        const model_outcome outcome = ask(make_http_client(endpoint).value());

        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().what, failure_kind::timeout);
        EXPECT_EQ(outcome.error().detail, "nothing arrived within the idle timeout");
    }
}

/// A dialect unlike OpenAI's: a GET, lines of plain text, and "end" at the end.
class line_dialect final : public model_dialect {
public:
    class decoder final : public answer_decoder {
    public:
        explicit decoder(model_sink& sink) : sink_(sink) {}
        bool feed(std::string_view bytes) override {
            kept_.append(bytes);
            for (std::size_t end = 0; (end = kept_.find('\n')) != std::string::npos;) {
                const std::string line = kept_.substr(0, end);
                kept_.erase(0, end + 1);
                ended_ = ended_ || line == "end";
                if (!ended_ && !line.starts_with("#")) {
                    ++chunks_;
                    sink_.on_text(line);
                }
            }
            return !ended_;
        }
        [[nodiscard]] bool begun() const noexcept override { return chunks_ > 0; }
        [[nodiscard]] bool ending() const noexcept override { return ended_; }
        [[nodiscard]] bool complete() const noexcept override { return ended_; }
        [[nodiscard]] bool failed() const noexcept override { return false; }
        [[nodiscard]] bool whole() const noexcept override { return false; }
        [[nodiscard]] std::size_t chunks() const noexcept override { return chunks_; }
        [[nodiscard]] model_outcome finish() override {
            if (ended_) {
                return model_answer{};
            }
            return model_failure{.what = failure_kind::lost, .status = 0, .detail = "no end"};
        }

    private:
        model_sink& sink_;
        std::string kept_;
        std::size_t chunks_ = 0;
        bool ended_ = false;
    };

    [[nodiscard]] transport_request write_request(const model_request& call) const override {
        written_by = std::this_thread::get_id();
        transport_request request;
        request.method = http_method::get;
        request.target = "/say?model=" + call.parameters.model;
        request.headers.emplace_back("X-Dialect", "lines");
        return request;
    }
    [[nodiscard]] std::pair<std::string, std::string> key_header(std::string_view key
    ) const override {
        return {"X-Key", std::string(key)};
    }
    [[nodiscard]] std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters&, model_sink& sink) const override {
        return std::make_unique<decoder>(sink);
    }

    static inline std::thread::id written_by;
};

TEST_F(HttpProvider, ALargeRequestIsWrittenWhereNoIoThreadIsBlocked) {
    heavy_work heavy(nullptr);
    settings.heavy = &heavy;
    test::http_test_server server(
        context(),
        [](test::server_connection& peer) -> asio::awaitable<void> {
            while (!(co_await peer.read_request()).empty()) {
                co_await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nend\n");
            }
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    const auto provider = make_http_provider(
        make_http_client(endpoint).value(), std::make_unique<line_dialect>(), settings
    );
    const auto write = [&](std::uint64_t bytes) {
        std::vector<session::message> messages(1);
        model_request what = request();
        what.messages = &messages;
        what.bytes = bytes;
        run([](model_provider& from, const model_request& asked,
               model_sink& to) -> asio::awaitable<void> {
            EXPECT_TRUE(co_await from.ask(asked, to));
        }(*provider, what, sink));
        EXPECT_TRUE(messages.empty());
        return line_dialect::written_by == std::this_thread::get_id();
    };

    EXPECT_TRUE(write(1U << 20U));
    EXPECT_FALSE(write((1U << 20U) + 4));
}

TEST_F(HttpProvider, SpeaksAnyDialect) {
    std::string asked;
    test::http_test_server server(
        context(),
        [&asked](test::server_connection& peer) -> asio::awaitable<void> {
            asked = co_await peer.read_request();
            co_await peer.send(test::chunked_header + test::chunk("# hello\nHi\nyo"));
            co_await peer.send(test::chunk("u\nend\n") + test::chunk(""));
        }
    );
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    const auto provider = make_http_provider(
        make_http_client(endpoint).value(), std::make_unique<line_dialect>(), settings
    );
    std::optional<model_outcome> outcome;
    const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                         std::optional<model_outcome>& result) -> asio::awaitable<void> {
        result.emplace(co_await from.ask(what, to));
    };
    run(keep(*provider, request(), sink, outcome));

    ASSERT_TRUE(outcome);
    EXPECT_TRUE(*outcome);
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text Hiyou"});
    EXPECT_TRUE(asked.starts_with("GET /v1/say?model=the-model HTTP/1.1\r\n")) << asked;
    EXPECT_NE(asked.find("X-Dialect: lines\r\n"), std::string::npos);
    EXPECT_EQ(asked.find("Content-"), std::string::npos) << "it has no body";
}

TEST_F(HttpProvider, RefusesACompressedAnswer) {
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

    const model_outcome outcome = ask(make_http_client(endpoint).value());

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, failure_kind::unavailable);
    EXPECT_EQ(
        outcome.error().detail, "the answer is compressed, although the request did not ask for it"
    );
}

} // namespace
} // namespace agui::runner
