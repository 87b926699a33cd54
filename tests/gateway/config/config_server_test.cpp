// [server] and [auth]: who may come in, and which addresses are used.
#include "tests/gateway/config/config_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::load;
using test::minimal;
using test::problem_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Config, DemandsAuthOffLoopback) {
    const std::string problem = problem_of(minimal, {"server.listen=0.0.0.0:8080"});

    EXPECT_NE(problem.find("auth: is required because"), std::string::npos) << problem;
    EXPECT_TRUE(load(minimal, {"server.listen=[::1]:8080"}));
}

TEST(Config, DemandsHostsWhereEverybodyMayComeInFromElsewhere) {
    const std::string problem =
        problem_of(minimal, {"server.listen=0.0.0.0:8080", "auth.mode=none"});

    EXPECT_NE(problem.find("server: allowed_hosts is required"), std::string::npos) << problem;
    EXPECT_TRUE(load(
        minimal,
        {"server.listen=0.0.0.0:8080", "auth.mode=none", "server.allowed_hosts=[\"app.example\"]"}
    ));
    EXPECT_TRUE(load(minimal, {"auth.mode=none"}));
}

TEST(Config, NamesTheKeysThatCorsAndPagesNeed) {
    EXPECT_FALSE(load(minimal, {"server.cors_credentials=true"}));
    EXPECT_TRUE(load(
        minimal, {"server.cors_origins=[\"https://app.example\"]", "server.cors_credentials=true"}
    ));
    EXPECT_FALSE(load(minimal, {"server.spa=true"}));
    EXPECT_FALSE(load(minimal, {"server.csp=default-src 'self'"}));
    EXPECT_TRUE(load(minimal, {"server.spa=true", "server.static_dir=/", "server.csp="}));
}

TEST(Config, ReadsMemoryAndProxies) {
    const config all = load(
                           minimal, {"server.max_memory_bytes=1073741824",
                                     "server.trusted_proxies=[\"10.0.0.0/8\", \"::1\"]"}
    )
                           .value();
    EXPECT_EQ(effective_memory(all.server), 1U << 30U);
    EXPECT_EQ(all.server.trusted_proxies.size(), 2U);
    EXPECT_FALSE(load(minimal, {"server.trusted_proxies=[\"proxy.example\"]"}));
    EXPECT_FALSE(load(minimal, {"server.max_memory_bytes=1000"}));
    EXPECT_GT(effective_memory(load(minimal)->server), 0U) << "half of what there is";
}

TEST(Config, TheRoutesForCopilotKitHaveAPathOfTheirOwn) {
    EXPECT_EQ(load(minimal)->server.copilotkit_path, "");
    for (const std::string path : {"/copilotkit", "/api/copilotkit", "/agui2"}) {
        const auto read = load(minimal, {"server.copilotkit_path=" + path});
        ASSERT_TRUE(read) << path;
        EXPECT_EQ(read->server.copilotkit_path, path);
    }
    for (const std::string path :
         {"copilotkit", "/copilotkit/", "/", "/a b", "/agui", "/agui/x", "/chat", "/version",
          "/console"}) {
        EXPECT_FALSE(load(minimal, {"server.copilotkit_path=" + path})) << path;
    }
}

TEST(Config, TheRoutesForTheAiSdkHaveAPathOfTheirOwn) {
    EXPECT_EQ(load(minimal)->server.ai_path, "");
    EXPECT_EQ(load(minimal, {"server.ai_path=/api/ai"})->server.ai_path, "/api/ai");
    for (const std::string path : {"ai", "/ai/", "/agui", "/chat"}) {
        EXPECT_FALSE(load(minimal, {"server.ai_path=" + path})) << path;
    }
    EXPECT_FALSE(load(minimal, {"server.ai_path=/x", "server.copilotkit_path=/x"}));
}

TEST(Config, TheControlSocketHasAnAbsolutePath) {
    EXPECT_EQ(load(minimal)->server.control_socket, "");
    EXPECT_TRUE(load(minimal, {"server.control_socket=/" + std::string(106, 'x')}));
    for (const std::string path : {"control", "./control", "/run/"}) {
        EXPECT_FALSE(load(minimal, {"server.control_socket=" + path})) << path;
    }
    EXPECT_FALSE(load(minimal, {"server.control_socket=/" + std::string(107, 'x')}));
}

TEST(Config, WarnsIfThePagesOfCopilotKitFindNoAgent) {
    const std::string other =
        std::string(minimal) + "[[agents]]\nid = \"other\"\nmodels = [\"main\"]\n";
    const std::vector<std::string> routes{"server.copilotkit_path=/c"};
    EXPECT_THAT(warnings_of(load(minimal, routes).value()), IsEmpty());
    EXPECT_THAT(warnings_of(load(other).value()), IsEmpty());
    EXPECT_THAT(
        warnings_of(load(other, routes).value()), ElementsAre(HasSubstr("server.copilotkit_path"))
    );
}

TEST(Config, WarnsOfAConsoleThatEverybodyReaches) {
    const std::string open = std::string(minimal) + "[auth]\nmode = \"none\"\n";
    const std::vector<std::string> console{"server.console=true"};
    EXPECT_FALSE(load(minimal)->server.console);
    EXPECT_THAT(warnings_of(load(minimal, console).value()), IsEmpty()) << "on loopback";
    for (const std::vector<std::string>& reachable : std::vector<std::vector<std::string>>{
             {"server.public_url=https://app.example"},
             {"server.listen=0.0.0.0:8080", "server.allowed_hosts=[\"app.example\"]"}
         }) {
        std::vector<std::string> both = reachable;
        EXPECT_THAT(warnings_of(load(open, both).value()), IsEmpty());
        both.push_back("server.console=true");
        EXPECT_THAT(
            warnings_of(load(open, both).value()), ElementsAre(HasSubstr("server.console"))
        );
    }
}

TEST(Config, OtherGatewaysAskAtTheListenAddress) {
    server_config server;
    EXPECT_EQ(effective_peer_url(server, 4000, "10.0.0.3"), "http://127.0.0.1:4000");
    server.listen = "[fd00::1]:80";
    server.base_path = "/chat";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://[fd00::1]:80/chat");
    server.peer_url = "https://gateway-1.internal";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "https://gateway-1.internal");
}

TEST(Config, OtherGatewaysAskAtTheAddressThatTheDatabaseSeesIfAllAreListenedOn) {
    server_config server;
    server.listen = "0.0.0.0:80";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://10.0.0.3:80");
    EXPECT_EQ(effective_peer_url(server, 80, "fd00::3"), "") << "nobody listens there";
    EXPECT_EQ(effective_peer_url(server, 80, "127.0.0.1"), "");
    EXPECT_EQ(effective_peer_url(server, 80, "::1"), "");
    EXPECT_EQ(effective_peer_url(server, 80, ""), "") << "a Unix socket";
    server.listen = "[::]:80";
    EXPECT_EQ(effective_peer_url(server, 80, "fd00::3"), "http://[fd00::3]:80");
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://10.0.0.3:80");
    EXPECT_EQ(effective_peer_url(server, 80, "fe80::3"), "") << "known on one link only";
}

TEST(Config, RefusesAPeerUrlThatPathsCannotBeAppendedTo) {
    EXPECT_NE(
        problem_of(minimal, {"server.peer_url=10.0.0.3:8080"}).find("peer_url"), std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"server.peer_url=http://a/"}).find("peer_url"), std::string::npos
    );
}

TEST(Config, ServesLoopbackNamesWhileListeningOnLoopback) {
    server_config server;
    EXPECT_EQ(
        effective_hosts(server), (std::vector<std::string>{"localhost", "127.0.0.1", "[::1]"})
    );
    server.listen = "0.0.0.0:80";
    EXPECT_TRUE(effective_hosts(server).empty());
    server.allowed_hosts = {"app.example"};
    EXPECT_EQ(effective_hosts(server), std::vector<std::string>{"app.example"});
}

} // namespace
} // namespace agui::gateway
