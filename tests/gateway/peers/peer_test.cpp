// Requests to other gateways, which may not answer.

#include "gateway/peers/peer.hpp"

#include "gateway/peers/peer_reader.hpp"
#include "gateway/peers/peer_request.hpp"
#include "session/base/log.hpp"
#include "tests/support/coroutine_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using runner::http_method;
using runner::transport_failure;

// An answer whose body consists of the pieces that the test gives, and then stays open.
class piecewise_answer final : public runner::transport_response {
public:
    piecewise_answer(int status, std::vector<std::string> pieces, std::string type = {})
        : status_(status), pieces_(pieces.begin(), pieces.end()), type_(std::move(type)) {}
    [[nodiscard]] int status() const noexcept override { return status_; }
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept override {
        return name == "content-type" ? type_ : std::string_view();
    }
    asio::awaitable<runner::transport_result<std::string_view>> read() override {
        if (pieces_.empty()) { // Waits until it is cancelled.
            asio::steady_timer never(
                co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
            );
            co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
            co_return transport_failure{transport_failure::kind::cancelled, {}};
        }
        piece_ = std::move(pieces_.front());
        pieces_.pop_front();
        co_return std::string_view(piece_);
    }

private:
    const int status_;
    std::deque<std::string> pieces_;
    const std::string type_;
    std::string piece_;
};

class fake_client final : public runner::http_client {
public:
    using outcome = runner::transport_result<std::unique_ptr<runner::transport_response>>;
    asio::awaitable<outcome> send(const runner::transport_request& request) override {
        sent.push_back(request);
        co_return answer(request);
    }
    std::vector<runner::transport_request> sent;
    std::function<outcome(const runner::transport_request&)> answer =
        [](const runner::transport_request&) -> outcome {
        return std::make_unique<piecewise_answer>(204, std::vector<std::string>{""});
    };
};

fake_client::outcome unreachable(const runner::transport_request&) {
    return transport_failure{transport_failure::kind::connect, "connection refused", true};
}

class Peer : public test::coroutine_test {
protected:
    result<std::unique_ptr<runner::transport_response>> ping() {
        return run(other->send(http_method::get, peer_ping_path, {}, 1s));
    }
    /// The requests that report that the readers have left.
    std::vector<runner::transport_request> leaves() const {
        std::vector<runner::transport_request> found;
        std::ranges::copy_if(client->sent, std::back_inserter(found), [](const auto& each) {
            return each.target == peer_leave_path;
        });
        return found;
    }
    std::unique_ptr<entry_reader> read(std::vector<std::string> pieces, std::uint64_t after = 0) {
        return make_peer_reader(
            context().get_executor(), other,
            std::make_unique<piecewise_answer>(200, std::move(pieces)), after, 7
        );
    }

    const std::shared_ptr<fake_client> client = std::make_shared<fake_client>();
    const std::shared_ptr<peer> other = std::make_shared<peer>(
        2, session::peer_address{5, "http://10.0.0.5", "secret"}, client, null_logger(), 5ms
    );
};

TEST_F(Peer, IsToldTheSenderAndTheReceiver) {
    EXPECT_TRUE(ping());

    using header = std::pair<std::string, std::string>;
    EXPECT_EQ(
        client->sent.at(0).headers,
        (std::vector<header>{{"agui-peer-from", "2"}, {"agui-peer-to", "5"}})
    );
}

// A proxy in front of a stopped gateway answers, too.
TEST_F(Peer, AnAnswerThatNoGatewayGivesIsAFailure) {
    for (const int status : {404, 429, 500, 502, 503}) {
        const auto fresh = std::make_shared<peer>(
            2, session::peer_address{5, "http://10.0.0.5", "secret"}, client, null_logger()
        );
        client->answer = [status](const runner::transport_request&) -> fake_client::outcome {
            return std::make_unique<piecewise_answer>(status, std::vector<std::string>{""});
        };
        EXPECT_FALSE(run(fresh->send(http_method::get, peer_ping_path, {}, 1s))) << status;
        EXPECT_TRUE(fresh->is_down(std::chrono::steady_clock::now())) << status;
    }
}

TEST_F(Peer, CanStillBeAskedIfItRefusesOrFailsOneRequest) {
    for (const int status : {408, 413, 500, 503}) {
        client->answer = [status](const runner::transport_request&) -> fake_client::outcome {
            return std::make_unique<piecewise_answer>(
                status, std::vector<std::string>{""}, "application/json"
            );
        };
        EXPECT_FALSE(ping()) << status;
        EXPECT_FALSE(other->is_down(std::chrono::steady_clock::now())) << status;
    }
}

TEST_F(Peer, SaysWhetherARequestMayHaveBeenCarriedOut) {
    bool is_sent = true;
    const auto ask = [&](peer::in_pause what) {
        EXPECT_FALSE(run(other->send(http_method::post, peer_pass_path, {}, 1s, what, &is_sent)));
        return is_sent;
    };
    client->answer = unreachable;
    EXPECT_FALSE(ask(peer::in_pause::is_sent));
    EXPECT_FALSE(ask(peer::in_pause::is_refused));
    for (const bool unsent : {true, false}) {
        client->answer = [unsent](const runner::transport_request&) -> fake_client::outcome {
            return transport_failure{transport_failure::kind::timeout, "no connection", unsent};
        };
        EXPECT_EQ(ask(peer::in_pause::is_sent), !unsent);
    }
    client->answer = [](const runner::transport_request&) -> fake_client::outcome {
        return std::make_unique<piecewise_answer>(
            500, std::vector<std::string>{""}, "application/json"
        );
    };
    EXPECT_TRUE(ask(peer::in_pause::is_sent));
}

TEST_F(Peer, AfterAFailureOnePingFindsOutWhetherItAnswersAgain) {
    const auto executor = context().get_executor();
    EXPECT_TRUE(other->answers(executor));
    client->answer = unreachable;
    (void)ping();
    EXPECT_FALSE(other->answers(executor)) << "in the pause";
    // answers() reads the real clock. The first pause takes 250 ms at most.
    while (other->is_down(std::chrono::steady_clock::now())) {
        std::this_thread::sleep_for(1ms);
    }
    client->answer = fake_client().answer;
    client->sent.clear();

    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(other->answers(executor));
    }
    context().restart();
    context().run();

    ASSERT_EQ(client->sent.size(), 1U);
    EXPECT_EQ(client->sent[0].target, peer_ping_path);
    EXPECT_TRUE(other->answers(executor));
}

TEST_F(Peer, RequestsThatFailTogetherAreOneFailure) {
    client->answer = unreachable;
    for (int i = 0; i < 5; ++i) {
        (void)run(other->send(http_method::get, peer_ping_path, {}, 1s, peer::in_pause::is_sent));
    }

    EXPECT_FALSE(other->is_down(std::chrono::steady_clock::now() + 260ms));
}

TEST_F(Peer, IsNotAskedDuringThePauseAfterAFailure) {
    client->answer = unreachable;
    EXPECT_EQ(ping().error().code, errc::store_unavailable);
    EXPECT_TRUE(other->is_down(std::chrono::steady_clock::now()));
    EXPECT_EQ(ping().error().code, errc::store_unavailable);
    EXPECT_EQ(client->sent.size(), 1U) << "nobody was asked the second time";
    EXPECT_FALSE(other->is_down(std::chrono::steady_clock::now() + 1s));
}

TEST_F(Peer, IsNotAskedAgainIfAnotherProcessHasItsAddress) {
    for (const int status : {401, 421}) {
        const auto fresh = std::make_shared<peer>(
            2, session::peer_address{5, "http://10.0.0.5", "secret"}, client, null_logger()
        );
        client->answer = [status](const runner::transport_request&) -> fake_client::outcome {
            return std::make_unique<piecewise_answer>(status, std::vector<std::string>{""});
        };
        EXPECT_FALSE(run(fresh->send(http_method::get, peer_ping_path, {}, 1s)));
        EXPECT_TRUE(fresh->is_down(std::chrono::steady_clock::now()));
    }
}

TEST_F(Peer, ItsEntriesAreReadToTheEnd) {
    const auto reader = read({"e 1 2 0\n{", "}", "e 2 2 0\n[]", "ended\n"});

    EXPECT_TRUE(run(reader->read()).entries.empty());
    const run_entries first = run(reader->read());
    ASSERT_EQ(first.entries.size(), 1U);
    EXPECT_EQ(first.entries[0].json, "{}");
    EXPECT_FALSE(first.end);
    EXPECT_EQ(run(reader->read()).entries.at(0).json, "[]");
    EXPECT_EQ(run(reader->read()).end, entries_end::ended);
}

TEST_F(Peer, AStreamThatEndsWithoutAWordIsLost) {
    EXPECT_EQ(run(read({""})->read()).end, entries_end::lost);
    EXPECT_EQ(run(read({"<html>\n"})->read()).end, entries_end::lost);
    EXPECT_EQ(run(read({"e 2 2 0\n{}"})->read()).end, entries_end::lost) << "an entry is missing";
}

// The body continues in the next piece.
TEST_F(Peer, EventsWithoutANumberComeWithTheEnd) {
    const auto reader = read({"e 1 2 0\n{}u 2\n[]", "u 4\nnu", "ll", "ended\n"});

    EXPECT_TRUE(run(reader->read()).unnumbered.empty());
    EXPECT_TRUE(run(reader->read()).unnumbered.empty());
    EXPECT_TRUE(run(reader->read()).unnumbered.empty());
    const run_entries last = run(reader->read());
    EXPECT_EQ(last.end, entries_end::ended);
    EXPECT_EQ(last.unnumbered, (std::vector<std::string>{"[]", "null"}));
}

// The stream continues until the other gateway ends it, but not for long.
TEST_F(Peer, ReadersThatLeaveAreReported) {
    const auto reader = read({"e 1 2 0\n{}"});
    (void)run(reader->read());

    reader->leave(session::leaving::left);

    EXPECT_EQ(run(reader->read()).end, entries_end::left);
    ASSERT_EQ(leaves().size(), 1U);
    EXPECT_EQ(read_peer_request(leaves()[0].body)->stream, 7);
}

TEST_F(Peer, AReaderThatIsCutOffJustCloses) {
    const auto reader = read({});

    reader->leave(session::leaving::cut_off);

    EXPECT_EQ(run(reader->read()).end, entries_end::left);
    EXPECT_TRUE(client->sent.empty());
}

TEST_F(Peer, ReadersThatCannotReportTheirLeavingEndAllTheSame) {
    client->answer = unreachable;
    const auto reader = read({});

    reader->leave(session::leaving::left);

    EXPECT_EQ(run(reader->read()).end, entries_end::left);
}

// The gateway pauses after a failure of another request.
TEST_F(Peer, LeavingIsReportedDuringThePauseToo) {
    client->answer = unreachable;
    (void)ping();
    client->answer = [](const runner::transport_request&) -> fake_client::outcome {
        return std::make_unique<piecewise_answer>(200, std::vector<std::string>{""});
    };
    const auto reader = read({});

    reader->leave(session::leaving::left);

    EXPECT_EQ(run(reader->read()).end, entries_end::left);
    EXPECT_EQ(leaves().size(), 1U);
}

// Simulates a cut network between the two: connections are not refused, but get no answer.
TEST_F(Peer, ItsStreamsAreCutIfItAnswersNoPing) {
    client->answer = unreachable;
    const auto reader = read({});

    EXPECT_EQ(run(reader->read()).end, entries_end::lost);
    EXPECT_GE(client->sent.size(), 3U) << "each ping is sent, whatever failed before";
}

TEST_F(Peer, IsPingedOnlyWhileThereAreStreams) {
    {
        const auto reader = read({"e 1 2 0\n{}"});
        (void)run(reader->read());
    }
    context().restart();
    context().run(); // Nothing is left to run.
    EXPECT_TRUE(client->sent.empty());
}

} // namespace
} // namespace agui::gateway
