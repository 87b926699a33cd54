#include "tests/runner/http/http_transport_case.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <exception>
#include <stdexcept>

namespace agui::runner {
namespace {

using namespace http_transport_case;

// Takes parts, and does something else with each.
class parts final : public part_taker {
public:
    explicit parts(std::function<bool()> then) : then_(std::move(then)) {}

    bool take(const transport_result<std::string_view>& part) override {
        taken.emplace_back(part ? std::string(*part) : std::string(to_string(part.error().what)));
        return then_();
    }

    std::vector<std::string> taken;

private:
    std::function<bool()> then_;
};

using list = std::vector<std::string>;

// Sends one chunk after the other, each when the client has taken the one before.
class HttpTransportParts : public HttpTransport {
protected:
    asio::awaitable<void> send_one_by_one(server_connection& peer, list chunks) {
        co_await peer.read_request();
        co_await peer.send(chunked_header);
        for (std::size_t at = 0; at < chunks.size(); ++at) {
            while (taken_ < at) {
                co_await asio::post(context(), asio::use_awaitable);
            }
            co_await peer.send(chunks[at]);
        }
        co_await peer.wait_for_close();
        closed_ = true;
    }

    // Lets the server send all that is left, and waits for it to see the client's close.
    asio::awaitable<void> see_close() {
        taken_ = 100;
        co_await until(closed_);
    }

    asio::awaitable<void> until(const bool& condition) {
        while (!condition) {
            co_await asio::post(context(), asio::use_awaitable);
        }
    }

    std::size_t taken_ = 0;
    bool closed_ = false;
};

TEST_F(HttpTransportParts, AreReadUntilNoMoreAreWantedAndLaterFromThere) {
    http_test_server server(context(), [&](server_connection& peer) {
        return send_one_by_one(peer, {chunk("a"), chunk("b"), chunk("c"), chunk("d"), chunk("")});
    });
    const auto transport = make(server);
    list first;
    std::string between;
    list rest;
    const auto read = [&](http_client& client) -> asio::awaitable<void> {
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        transport_response& response = *posted.value();
        parts two([&] {
            ++taken_;
            return two.taken.size() < 2;
        });
        co_await response.read_parts(two);
        first = two.taken;
        between = (co_await response.read()).value();
        ++taken_;
        parts all([&] { return ++taken_ > 0; });
        co_await response.read_parts(all);
        rest = all.taken;
    };

    run(read(*transport));

    EXPECT_EQ(first, (list{"a", "b"}));
    EXPECT_EQ(between, "c");
    EXPECT_EQ(rest, (list{"d", ""})) << "the end comes once, although more was wanted";
}

TEST_F(HttpTransportParts, TheirTakersExceptionReachesTheReader) {
    for (const std::size_t good : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        SCOPED_TRACE(good);
        taken_ = 0;
        closed_ = false;
        http_test_server server(context(), [&](server_connection& peer) {
            return send_one_by_one(peer, {chunk("a"), chunk("b"), chunk("c")});
        });
        const auto transport = make(server);
        const auto read = [&](http_client& client) -> asio::awaitable<std::string> {
            const transport_request request = simple_request();
            const auto posted = co_await client.send(request);
            parts some([&] {
                if (some.taken.size() > good) {
                    throw std::runtime_error("enough after " + std::to_string(good));
                }
                return ++taken_ > 0;
            });
            try {
                co_await posted.value()->read_parts(some);
            } catch (const std::runtime_error& error) {
                co_return error.what();
            }
            co_return "nothing";
        };

        EXPECT_EQ(run(read(*transport)), "enough after " + std::to_string(good));
        run(see_close());
    }
}

// The signal may be emitted by what a part sets off: nothing waits for the socket then. The first
// part comes with the header, before anything has waited.
TEST_F(HttpTransportParts, EndWithAStopThatOneOfThemSetsOff) {
    for (const std::size_t last : {std::size_t{1}, std::size_t{2}}) {
        SCOPED_TRACE(last);
        taken_ = 0;
        closed_ = false;
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(chunked_header + chunk("a"));
            while (taken_ < 1) {
                co_await asio::post(context(), asio::use_awaitable);
            }
            co_await peer.send(chunk("b"));
            co_await peer.wait_for_close();
            closed_ = true;
        });
        const auto transport = make(server);
        asio::cancellation_signal signal;
        list taken;
        const auto read = [&](http_client& client) -> asio::awaitable<void> {
            const transport_request request = simple_request();
            const auto posted = co_await client.send(request);
            parts all([&] {
                taken = all.taken;
                ++taken_;
                if (all.taken.size() == last) {
                    signal.emit(asio::cancellation_type::terminal);
                }
                return true;
            });
            co_await posted.value()->read_parts(all);
        };
        bool ended = false;
        std::exception_ptr thrown;
        asio::co_spawn(
            context(), read(*transport),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr error) {
                    thrown = std::move(error);
                    ended = true;
                }
            )
        );

        run(until(ended));
        run(see_close());

        EXPECT_FALSE(thrown);
        EXPECT_EQ(taken, last == 1 ? (list{"a", "cancelled"}) : (list{"a", "b", "cancelled"}));
    }
}

TEST_F(HttpTransportParts, ComeFromAClientThatOnlyReads) {
    // The default of transport_response, as a fake has it.
    class three final : public transport_response {
    public:
        [[nodiscard]] int status() const noexcept override { return 200; }
        [[nodiscard]] std::string_view header(std::string_view) const noexcept override {
            return {};
        }
        [[nodiscard]] asio::awaitable<transport_result<std::string_view>> read() override {
            static constexpr std::array<std::string_view, 3> bytes{"a", "b", ""};
            co_return bytes.at(at_++);
        }

    private:
        std::size_t at_ = 0;
    };
    three response;
    parts one([] { return false; });
    parts all([] { return true; });

    run(response.read_parts(one));
    run(response.read_parts(all));

    EXPECT_EQ(one.taken, (list{"a"}));
    EXPECT_EQ(all.taken, (list{"b", ""}));
}

} // namespace
} // namespace agui::runner
