// Connections when there is no room: probes always get in, and others replace idle ones.

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// A server with room for three connections besides its reserve.
class Door : public server_test {
protected:
    Door() {
        settings.server.max_connections = 3;
        settings.server.spare_idle = std::chrono::hours(1);
        options.log = &log;
    }
    ~Door() override { server.reset(); }

    /// A connection that has got an answer and is kept open for more.
    [[nodiscard]] std::unique_ptr<raw_client> idle() const {
        auto client = std::make_unique<raw_client>(port());
        client->send(get("/version"));
        EXPECT_EQ(client->read_reply().status, 200);
        return client;
    }
    [[nodiscard]] std::vector<std::unique_ptr<raw_client>> idle(int count) const {
        std::vector<std::unique_ptr<raw_client>> clients;
        for (int i = 0; i < count; ++i) {
            clients.push_back(idle());
        }
        return clients;
    }
    [[nodiscard]] std::size_t lines_with(std::string_view text) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(),
            [text](const std::string& line) { return line.find(text) != std::string::npos; }
        ));
    }

    void listen_everywhere() {
        settings.server.listen = "0.0.0.0:0";
        settings.auth.emplace();
        settings.server.allowed_hosts = {"localhost"};
    }

    memory_logger log;
};

TEST_F(Door, IsOpenToProbesWhileAllConnectionsAreTaken) {
    start();
    const auto others = idle(3);

    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(ask(get("/healthz")).status, 200) << i;
        ASSERT_EQ(ask(get("/readyz")).status, 200) << i;
    }
    raw_client probe(port());
    probe.send(get("/healthz"));
    EXPECT_EQ(probe.read_reply().header("connection"), "close");
    EXPECT_TRUE(probe.closed_by_peer());
    EXPECT_EQ(lines_with("server.max_connections is reached"), 1U);
}

TEST_F(Door, IsClosedToEverythingElseMeanwhile) {
    start();
    auto others = idle(3);

    EXPECT_EQ(ask(get("/version")).status, 503);
    EXPECT_EQ(ask(get("/nothing")).header("connection"), "close");
    const raw_reply refused = ask(post("/agui", run_body("t", "r")));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("retry-after"), "2");
    EXPECT_THAT(refused.body, HasSubstr("overloaded"));
    others.front()->send(get("/version"));
    EXPECT_EQ(others.front()->read_reply().status, 200);
    others.pop_back();
    // The server needs a moment to notice the end of the last connection.
    const auto deadline = std::chrono::steady_clock::now() + patience;
    int status = 503;
    while (status == 503 && std::chrono::steady_clock::now() < deadline) {
        status = ask(post("/agui", run_body("t", "r"))).status;
    }
    EXPECT_EQ(status, 200);
}

// Connections that send nothing, and one that never completes its request.
TEST_F(Door, IsOpenToProbesWhileStrangersHoldTheReserve) {
    start();
    const auto others = idle(3);
    std::vector<std::unique_ptr<raw_client>> strangers;
    for (int i = 0; i < 100; ++i) {
        strangers.push_back(std::make_unique<raw_client>(port()));
        strangers.back()->send(i % 2 == 0 ? "" : "GET /hea");
        if (i % 10 == 9) {
            ASSERT_EQ(ask(get("/healthz")).status, 200) << i;
        }
    }

    EXPECT_TRUE(strangers.front()->closed_by_peer()) << "the oldest has given way";
}

TEST_F(Door, AnIdleConnectionGivesWay) {
    settings.server.spare_idle = milliseconds(0);
    answer = say_and_stall("Hello");
    start();
    raw_client stream(port());
    stream.send(post("/agui", run_body("t", "r")));
    ASSERT_THAT(stream.read_until("Hello"), HasSubstr("Hello"));
    const auto first = idle();
    const auto second = idle();

    const auto third = idle();
    EXPECT_TRUE(first->closed_by_peer());
    second->send(get("/version"));
    EXPECT_EQ(second->read_reply().status, 200);
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).status, 200);
    EXPECT_THAT(stream.read_until("\r\n0\r\n\r\n"), HasSubstr("RUN_FINISHED"));
}

TEST_F(Door, AConnectionThatHasSentNothingIsIdle) {
    settings.server.spare_idle = milliseconds(0);
    start();
    std::vector<std::unique_ptr<raw_client>> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(std::make_unique<raw_client>(port()));
    }

    const auto served = idle();
    EXPECT_TRUE(silent.front()->closed_by_peer());
}

TEST_F(Door, AHalfRequestDoesNotKeepAPlace) {
    settings.server.spare_idle = milliseconds(0);
    start();
    std::vector<std::unique_ptr<raw_client>> half;
    for (int i = 0; i < 20; ++i) {
        half.push_back(std::make_unique<raw_client>(port()));
        half.back()->send("GET /version HTTP/1.1\r\nHost: ");
    }

    const auto served = idle();
    EXPECT_TRUE(half.front()->closed_by_peer());
}

TEST_F(Door, HasItsRoomBackAfterACrowd) {
    settings.server.threads = 2;
    start();
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < 8; ++i) {
            crowd.emplace_back([this] {
                for (int asked = 0; asked < 25; ++asked) {
                    const int status = ask(get("/version")).status;
                    EXPECT_TRUE(status == 200 || status == 503) << status;
                    EXPECT_EQ(ask(get("/healthz")).status, 200);
                }
            });
        }
    }

    std::vector<std::unique_ptr<raw_client>> kept;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (kept.size() < 3 && std::chrono::steady_clock::now() < deadline) {
        auto client = std::make_unique<raw_client>(port());
        client->send(get("/version"));
        if (client->read_reply().status == 200) {
            kept.push_back(std::move(client));
        }
    }
    EXPECT_EQ(kept.size(), 3U);
    EXPECT_EQ(ask(get("/version")).status, 503);
}

// An aborted connection would be reset instead.
TEST_F(Door, ClosesAConnectionThatHasSentNothingWhenTheServerStops) {
    start();
    raw_client silent(port());
    const auto served = idle(); // It is accepted after `silent`.

    server->request_stop();
    server->wait();

    EXPECT_TRUE(silent.closed_by_peer());
    EXPECT_TRUE(served->closed_by_peer());
}

/// An IPv4 address of this machine that is not loopback, or empty.
std::string outer_address() {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return {};
    }
    std::string found;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
            (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        char text[INET_ADDRSTRLEN] = {};
        const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
        found = ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    }
    ::freeifaddrs(all);
    return found;
}

TEST_F(Door, OneAddressHasAShare) {
    const std::string address = outer_address();
    if (address.empty()) {
        GTEST_SKIP() << "this machine has loopback addresses alone, which have no limit";
    }
    listen_everywhere();
    settings.server.max_connections_per_address = 2;
    start();
    const auto ask_from_there = [&](std::string_view bytes) {
        raw_client client(port(), 0, address.c_str());
        client.send(bytes);
        return client.read_reply();
    };
    const raw_client first(port(), 0, address.c_str());
    const raw_client second(port(), 0, address.c_str());

    const raw_reply refused = ask_from_there(get("/version"));
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("server.max_connections_per_address"));
    EXPECT_EQ(ask_from_there(get("/healthz")).status, 200);
    EXPECT_EQ(ask(get("/version")).status, 200) << "from loopback";
    EXPECT_EQ(lines_with("has reached server.max_connections_per_address"), 1U);
}

TEST_F(Door, NoLimitOfOneAddressIsForATrustedProxy) {
    const std::string address = outer_address();
    if (address.empty()) {
        GTEST_SKIP() << "this machine has loopback addresses alone, which have no limit";
    }
    listen_everywhere();
    settings.server.max_connections_per_address = 1;
    settings.server.trusted_proxies = {address};
    start();
    const raw_client first(port(), 0, address.c_str());

    raw_client second(port(), 0, address.c_str());
    second.send(get("/version"));
    EXPECT_EQ(second.read_reply().status, 200);
}

TEST_F(Door, HasNoMoreRoomThanThereAreDescriptors) {
    settings.server.max_connections = std::numeric_limits<std::size_t>::max();
    start();

    EXPECT_EQ(lines_with("server.max_connections was lowered to fit the limit on open files"), 1U);
}

TEST_F(Door, SaysNothingWhereThereAreEnough) {
    start();

    EXPECT_EQ(lines_with("max_connections"), 0U);
}

} // namespace
} // namespace agui::test
