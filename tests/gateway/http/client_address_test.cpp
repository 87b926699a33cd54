#include "gateway/http/client_address.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using gateway::client_of;
using gateway::network;

std::vector<network> networks(const std::vector<std::string_view>& texts) {
    std::vector<network> found;
    for (const std::string_view text : texts) {
        found.push_back(network::parse(text).value());
    }
    return found;
}

std::string client(
    const char* peer, const std::vector<std::string>& forwarded,
    const std::vector<std::string_view>& proxies
) {
    gateway::http_request request;
    for (const std::string& value : forwarded) {
        request.headers.emplace_back("x-forwarded-for", value);
    }
    return client_of(boost::asio::ip::make_address(peer), request, networks(proxies));
}

TEST(Network, ContainsAddressesWithItsFirstBits) {
    const network ten = network::parse("10.0.0.0/9").value();
    EXPECT_TRUE(ten.contains(boost::asio::ip::make_address("10.127.255.255")));
    EXPECT_FALSE(ten.contains(boost::asio::ip::make_address("10.128.0.0")));
    EXPECT_TRUE(ten.contains(boost::asio::ip::make_address("::ffff:10.1.2.3")));
    EXPECT_FALSE(ten.contains(boost::asio::ip::make_address("fd00::1")));
    EXPECT_TRUE(network::parse("fd00::/8")->contains(boost::asio::ip::make_address("fd12::1")));
    EXPECT_TRUE(network::parse("0.0.0.0/0")->contains(boost::asio::ip::make_address("8.8.8.8")));
}

TEST(Network, IsAnAddressOrANetwork) {
    for (const char* text :
         {"", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129"}) {
        EXPECT_FALSE(network::parse(text)) << text;
    }
}

TEST(ClientAddress, IsThePeersWhereNoProxyIsTrusted) {
    EXPECT_EQ(client("192.0.2.1", {"203.0.113.9"}, {}), "192.0.2.1")
        << "anybody can write a header";
    EXPECT_EQ(client("::ffff:192.0.2.1", {}, {}), "192.0.2.1");
    EXPECT_EQ(client("2001:db8:1:2:3:4:5:6", {}, {}), "2001:db8:1::");
    EXPECT_EQ(client("2001:db8:1:ff:3:4:5:6", {}, {}), "2001:db8:1::") << "of the same /56";
    EXPECT_EQ(client("2001:db8:1:100:3:4:5:6", {}, {}), "2001:db8:1:100::");
}

TEST(ClientAddress, IsNobodysOnLoopback) {
    EXPECT_EQ(client("127.0.0.1", {}, {}), "");
    EXPECT_EQ(client("::1", {"203.0.113.9"}, {}), "");
}

TEST(ClientAddress, IsTheLastHopThatIsNotTrusted) {
    EXPECT_EQ(client("10.0.0.1", {"198.51.100.7, 203.0.113.9"}, {"10.0.0.0/8"}), "203.0.113.9");
    EXPECT_EQ(
        client("10.0.0.1", {"198.51.100.7", "203.0.113.9, 10.0.0.2"}, {"10.0.0.0/8"}), "203.0.113.9"
    );
    EXPECT_EQ(client("127.0.0.1", {"203.0.113.9:4711"}, {"127.0.0.1"}), "203.0.113.9");
    EXPECT_EQ(client("127.0.0.1", {"[2001:db8::1]:4711"}, {"127.0.0.1"}), "2001:db8::");
}

TEST(ClientAddress, IsNobodysWhereAProxyDoesNotSay) {
    EXPECT_EQ(client("10.0.0.1", {}, {"10.0.0.0/8"}), "");
    EXPECT_EQ(client("10.0.0.1", {"10.0.0.2"}, {"10.0.0.0/8"}), "");
}

TEST(ClientAddress, IsTheProxysWhoseEntryCannotBeRead) {
    EXPECT_EQ(client("10.0.0.1", {"unknown"}, {"10.0.0.0/8"}), "10.0.0.1");
    EXPECT_EQ(client("10.0.0.1", {"203.0.113.9, "}, {"10.0.0.0/8"}), "10.0.0.1");
    EXPECT_EQ(client("10.0.0.1", {"203.0.113.9", "_hidden"}, {"10.0.0.0/8"}), "10.0.0.1");
    EXPECT_EQ(client("10.0.0.1", {"unknown, 10.0.0.2"}, {"10.0.0.0/8"}), "10.0.0.2")
        << "the one that has written it";
    EXPECT_EQ(client("127.0.0.1", {"unix:"}, {"127.0.0.1"}), "127.0.0.1");
    EXPECT_EQ(client("fd00::1:2:3:4", {"unknown"}, {"fd00::/8"}), "fd00::");
}

TEST(PeerOf, IsEmptyForProxiesAndLoopback) {
    const auto proxies = networks({"10.0.0.0/8"});
    const auto peer = [&proxies](const char* address) {
        return gateway::peer_of(boost::asio::ip::make_address(address), proxies);
    };

    EXPECT_EQ(peer("127.0.0.2"), "");
    EXPECT_EQ(peer("::1"), "");
    EXPECT_EQ(peer("::ffff:127.0.0.1"), "");
    EXPECT_EQ(peer("10.1.2.3"), "");
    EXPECT_EQ(peer("203.0.113.1"), "203.0.113.1");
    EXPECT_EQ(peer("::ffff:203.0.113.1"), "203.0.113.1");
    EXPECT_EQ(peer("2001:db8:1:2:3::4"), "2001:db8:1::");
}

TEST(ClientAddress, IsWholeForRecords) {
    const auto whole = [](const char* peer, const char* forwarded) {
        gateway::http_request request;
        request.headers.emplace_back("x-forwarded-for", forwarded);
        return gateway::address_of(
            boost::asio::ip::make_address(peer), request, networks({"127.0.0.1", "10.0.0.0/8"})
        );
    };
    EXPECT_EQ(whole("127.0.0.1", "2001:db8:1:2:3:4:5:6"), "2001:db8:1:2:3:4:5:6");
    EXPECT_EQ(whole("127.0.0.1", "203.0.113.9, 192.0.2.1, 10.0.0.1"), "192.0.2.1");
    EXPECT_EQ(whole("127.0.0.1", "192.0.2.1, garbage, 10.0.0.1"), "10.0.0.1");
    EXPECT_EQ(whole("10.0.0.1", ""), "10.0.0.1") << "a proxy that names nobody";
    EXPECT_EQ(whole("::ffff:192.0.2.1", "203.0.113.9"), "192.0.2.1") << "no proxy";
}

} // namespace
} // namespace agui::test
