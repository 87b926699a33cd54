#include "runner/http/connect_race.hpp"

#include "tests/support/coroutine_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using asio::ip::make_address;
using asio::ip::tcp;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A listener that accepts no connection, because its queue is full.
class black_hole {
public:
    explicit black_hole(asio::io_context& context) : acceptor_(context), filler_(context) {
        acceptor_.open(tcp::v4());
        acceptor_.bind({make_address("127.0.0.1"), 0});
        acceptor_.listen(0);
        filler_.connect(acceptor_.local_endpoint());
    }

    [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

private:
    tcp::acceptor acceptor_;
    tcp::socket filler_;
};

class ConnectRace : public test::coroutine_test {
protected:
    tcp::acceptor listener() { return tcp::acceptor(context(), {make_address("127.0.0.1"), 0}); }

    /// An endpoint where nobody listens.
    tcp::endpoint refused() {
        tcp::acceptor other = listener();
        return other.local_endpoint();
    }

    race_outcome connect(std::vector<tcp::endpoint> to, milliseconds delay = milliseconds(1)) {
        std::optional<race_outcome> outcome;
        const auto keep = [](std::vector<tcp::endpoint> endpoints, milliseconds pause,
                             std::optional<race_outcome>& result) -> asio::awaitable<void> {
            result.emplace(
                co_await connect_first(std::move(endpoints), steady_clock::now() + hours(1), pause)
            );
        };
        run(keep(std::move(to), delay, outcome));
        return *std::move(outcome);
    }
};

TEST_F(ConnectRace, TakesTheFamiliesInTurn) {
    const auto six_a = make_address("2001:db8::a");
    const auto six_b = make_address("2001:db8::b");
    const auto four_a = make_address("192.0.2.1");
    const auto four_b = make_address("192.0.2.2");

    EXPECT_EQ(in_turn({six_a, six_b, four_a, four_b}), (std::vector{six_a, four_a, six_b, four_b}));
    EXPECT_EQ(in_turn({four_a, six_a, six_b}), (std::vector{four_a, six_a, six_b}));
    EXPECT_EQ(in_turn({}), std::vector<asio::ip::address>());
}

TEST_F(ConnectRace, AnAddressThatSwallowsPacketsDoesNotHoldTheNextOneBack) {
    const black_hole dead(context());
    tcp::acceptor alive = listener();

    const race_outcome outcome = connect({dead.endpoint(), alive.local_endpoint()});

    ASSERT_FALSE(outcome.ec);
    EXPECT_EQ(outcome.socket.remote_endpoint(), alive.local_endpoint());
}

TEST_F(ConnectRace, ARefusalBeginsTheNextAttemptAtOnce) {
    tcp::acceptor alive = listener();

    // The wait would otherwise be an hour.
    const race_outcome outcome = connect({refused(), alive.local_endpoint()}, hours(1));

    ASSERT_FALSE(outcome.ec);
    EXPECT_EQ(outcome.socket.remote_endpoint(), alive.local_endpoint());
}

TEST_F(ConnectRace, TriesNoOtherWhereTheFirstAnswers) {
    tcp::acceptor first = listener();
    tcp::acceptor second = listener();
    second.non_blocking(true);

    const race_outcome outcome =
        connect({first.local_endpoint(), second.local_endpoint()}, hours(1));

    ASSERT_FALSE(outcome.ec);
    EXPECT_EQ(outcome.socket.remote_endpoint(), first.local_endpoint());
    boost::system::error_code ec;
    second.accept(ec);
    EXPECT_EQ(ec, asio::error::would_block);
}

TEST_F(ConnectRace, SaysWhyNoneCouldBeReached) {
    EXPECT_EQ(connect({refused(), refused()}).ec, asio::error::connection_refused);
}

TEST_F(ConnectRace, EndsAtItsDeadlineAndLeavesNothingBehind) {
    const black_hole dead(context());
    std::optional<race_outcome> outcome;
    const auto keep = [](tcp::endpoint to,
                         std::optional<race_outcome>& result) -> asio::awaitable<void> {
        result.emplace(co_await connect_first(
            {to, to}, steady_clock::now() + milliseconds(10), milliseconds(1)
        ));
    };

    run(keep(dead.endpoint(), outcome));

    EXPECT_EQ(outcome->ec, asio::error::timed_out);
    context().restart();
    context().run(); // The other attempts are closed.
}

TEST_F(ConnectRace, CancellationClosesEveryAttempt) {
    const black_hole dead(context());
    asio::cancellation_signal stop;
    boost::system::error_code ended;
    const auto ec_of = [](tcp::endpoint to) -> asio::awaitable<boost::system::error_code> {
        const race_outcome outcome =
            co_await connect_first({to, to}, steady_clock::now() + hours(1), milliseconds(0));
        co_return outcome.ec;
    };
    asio::co_spawn(
        context(), ec_of(dead.endpoint()),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr, boost::system::error_code ec) { ended = ec; }
        )
    );
    context().restart();
    context().poll();

    stop.emit(asio::cancellation_type::terminal);
    context().restart();
    context().run();

    EXPECT_EQ(ended, asio::error::operation_aborted);
}

} // namespace
} // namespace agui::runner
