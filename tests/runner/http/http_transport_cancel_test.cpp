#include "tests/runner/http/http_transport_case.hpp"
#include "tests/support/patience.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, CancellationWhileConnectingEndsTheAttempt) {
    full_listener listener(context());
    http_endpoint endpoint;
    endpoint.base_url = listener.url();
    const auto transport = make(endpoint);
    start(*transport);
    asio::post(context(), [this] {
        asio::post(context(), [this] { stop.emit(asio::cancellation_type::terminal); });
    });

    run(ended.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationBeforeTheFirstByteClosesTheConnection) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        stop.emit(asio::cancellation_type::terminal);
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    start(*transport);

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationInTheBodyClosesTheConnection) {
    event closed(context());
    event begun(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        begun.set();
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    start(*transport);
    run(begun.wait());
    stop.emit(asio::cancellation_type::terminal);

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationBetweenTwoReadsEndsTheNext) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    const auto read_twice = [](http_client& client, asio::cancellation_signal& signal
                            ) -> asio::awaitable<client_answer> {
        co_await asio::this_coro::throw_if_cancelled(false);
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        client_answer answer;
        answer.body = (co_await posted.value()->read()).value();
        signal.emit(asio::cancellation_type::terminal);
        const auto rest = co_await posted.value()->read();
        if (!rest) {
            answer.failure = rest.error().what;
        }
        co_return answer;
    };
    asio::co_spawn(
        context(), read_twice(*transport, stop),
        asio::bind_cancellation_slot(
            stop.slot(),
            [this](std::exception_ptr, client_answer answer) {
                cancelled_answer = std::move(answer);
                ended.set();
            }
        )
    );

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.body, "a");
    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationAtEveryStepIsReportedAsSuch) {
    // Cancels after n handlers of the context, for each n until the request completes before that.
    // The server sends nothing more from then on, so only the cancellation can end an incomplete
    // request.
    bool through = false;
    int cancellations = 0;
    for (int steps = 0; !through && steps < 200; ++steps) {
        SCOPED_TRACE(steps);
        asio::io_context own(1);
        bool emitted = false;
        bool all_sent = false;
        bool asked = false;
        bool closed = false;
        http_test_server server(own, [&](server_connection& peer) -> asio::awaitable<void> {
            asked = !(co_await peer.read_request()).empty();
            if (!asked) {
                co_return;
            }
            if (!emitted) {
                co_await peer.send(chunked_header + chunk("a"));
            }
            if (!emitted) {
                all_sent = true;
                co_await peer.send(chunk("b") + chunk(""));
            }
            co_await peer.wait_for_close();
            closed = true;
        });
        const auto transport = make(server);
        asio::cancellation_signal signal;
        std::optional<client_answer> answer;
        asio::co_spawn(
            own, ask(*transport, simple_request()),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr error, client_answer got) {
                    // The await of read() itself may throw, which ask() does not prevent.
                    if (!error) {
                        answer = std::move(got);
                    } else {
                        answer.emplace().failure = kind::cancelled;
                    }
                }
            )
        );
        for (int i = 0; i < steps && !answer; ++i) {
            own.run_one_for(test::patience);
        }
        through = answer.has_value();
        emitted = true;
        const bool was_sent = all_sent;
        signal.emit(asio::cancellation_type::terminal);
        while (!answer && own.run_one_for(test::patience) > 0) {
        }
        ASSERT_TRUE(answer) << "the request goes on";
        const bool was_cancelled = answer->failure == kind::cancelled;
        cancellations += was_cancelled ? 1 : 0;
        // After the last byte, a cancellation may come too late.
        EXPECT_TRUE(was_cancelled || (was_sent && !answer->failure && answer->body == "ab"));
        while (was_cancelled && asked && !closed && own.run_one_for(test::patience) > 0) {
        }
        EXPECT_TRUE(closed || !was_cancelled || !asked);
    }
    EXPECT_TRUE(through);
    EXPECT_GE(cancellations, 5) << "connecting, sending, waiting, and between the pieces";
}

TEST_F(HttpTransport, DoesNothingForACoroutineThatIsAlreadyCancelled) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    const auto late = [](http_client& client,
                         asio::cancellation_signal& signal) -> asio::awaitable<client_answer> {
        co_await asio::this_coro::throw_if_cancelled(false);
        signal.emit(asio::cancellation_type::terminal);
        co_return co_await ask(client, simple_request());
    };
    asio::co_spawn(
        context(), late(*transport, stop),
        asio::bind_cancellation_slot(
            stop.slot(),
            [this](std::exception_ptr, client_answer answer) {
                cancelled_answer = std::move(answer);
                ended.set();
            }
        )
    );

    run(ended.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
    EXPECT_EQ(server.accepted(), 0);
}

TEST_F(HttpTransport, LeavesNothingBehindThatKeepsTheContextRunning) {
    asio::io_context server_context(1);
    http_test_server server(server_context, [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response("ok"));
        server.close();
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    std::thread thread([&] { server_context.run(); });
    std::string body;
    {
        asio::io_context own(1);
        asio::co_spawn(
            own, ask(*transport, simple_request()),
            [&](std::exception_ptr, client_answer answer) { body = answer.body; }
        );

        own.run(); // It returns although a connection is idle in the pool.
    }
    thread.join(); // It returns because the context has closed the connection.

    EXPECT_EQ(body, "ok");
}

TEST_F(HttpTransport, SurvivesAContextThatIsDestroyedInTheMiddleOfAnAnswer) {
    asio::io_context server_context(1);
    http_test_server server(server_context, [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        server.close();
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    std::thread thread([&] { server_context.run(); });
    {
        asio::io_context own(1);
        bool begun = false;
        const auto read = [](http_client& client, bool& first) -> asio::awaitable<void> {
            const transport_request request = simple_request();
            const auto posted = co_await client.send(request);
            co_await posted.value()->read();
            first = true;
            co_await posted.value()->read();
        };
        asio::co_spawn(own, read(*transport, begun), asio::detached);
        while (!begun && own.run_one_for(test::patience) > 0) {
        }
        EXPECT_TRUE(begun);
    }
    thread.join();
}

} // namespace
} // namespace agui::runner
