#include "runner/mcp/mcp_accepted_tools.hpp"
#include "session/base/log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using runner::mcp_accepted_tools;
using runner::mcp_failure;
using runner::mcp_tool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

mcp_tool described(std::string name, std::string description) {
    mcp_tool made;
    made.name = std::move(name);
    made.description = std::move(description);
    return made;
}

std::string digest_of(const std::vector<mcp_tool>& list) {
    runner::mcp_tool_digests digests;
    static_cast<void>(digests.update(list));
    return digests.digest();
}

class McpAcceptedTools : public ::testing::Test {
protected:
    const std::vector<mcp_tool> good{described("a", "adds"), described("b", "borrows")};
    const std::vector<mcp_tool> bad{described("a", "adds and sends"), described("b", "borrows")};
    memory_logger log;

    static void
    take(mcp_accepted_tools& tools, const std::vector<mcp_tool>& list, bool is_repeated = false) {
        tools.report(tools.take(list, is_repeated));
    }
    [[nodiscard]] std::ptrdiff_t errors() const {
        return std::ranges::count_if(log.lines(), [](const std::string& line) {
            return line.starts_with("error");
        });
    }
};

TEST_F(McpAcceptedTools, AreAllOfEachListWithoutADigest) {
    mcp_accepted_tools tools("shop", "", log);
    EXPECT_FALSE(tools.is_pinned());
    take(tools, good);
    const std::string before(tools.digest_of("a"));
    const auto changes = tools.take(bad, false);
    EXPECT_THAT(changes.changed, ElementsAre("a"));
    EXPECT_FALSE(tools.refuses());
    EXPECT_FALSE(tools.check_offered("a", before)) << "nothing is pinned";
    EXPECT_THAT(log.lines(), IsEmpty()) << "report() shows them";
    tools.report(changes);
    EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("warning the tools of an MCP server have")));
}

TEST_F(McpAcceptedTools, OfAnotherListAreRefusedUntilItReturns) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, good);
    const std::string offered(tools.digest_of("a"));
    EXPECT_FALSE(tools.check_offered("a", offered));

    take(tools, bad);
    EXPECT_TRUE(tools.refuses());
    const auto failed = tools.check_offered("b", tools.digest_of("b"));
    ASSERT_TRUE(failed) << "the list as a whole is refused";
    EXPECT_EQ(failed->what, mcp_failure::kind::changed);

    take(tools, good);
    EXPECT_FALSE(tools.refuses());
    EXPECT_FALSE(tools.check_offered("a", offered));
}

TEST_F(McpAcceptedTools, ARefusedListIsReportedOnce) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, bad);
    take(tools, bad, true);
    EXPECT_THAT(
        log.lines(),
        ElementsAre(HasSubstr("error the tools"), HasSubstr("debug the tools of an MCP server"))
    );
}

TEST_F(McpAcceptedTools, AnotherDigestEndsTheToolsOfTheLastListAtOnce) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, good);
    EXPECT_FALSE(tools.accept(digest_of(good))) << "it is the same";
    EXPECT_FALSE(tools.refuses());

    EXPECT_TRUE(tools.accept(digest_of(bad)));
    EXPECT_TRUE(tools.refuses());
    EXPECT_TRUE(tools.check_offered("a", tools.digest_of("a")));
    take(tools, bad);
    EXPECT_FALSE(tools.refuses());
}

TEST_F(McpAcceptedTools, ARefusedListCanBeAcceptedLater) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, bad);
    EXPECT_TRUE(tools.refuses());
    EXPECT_TRUE(tools.accept(digest_of(bad)));
    EXPECT_FALSE(tools.refuses());
    EXPECT_FALSE(tools.check_offered("a", tools.digest_of("a")));

    EXPECT_TRUE(tools.accept(digest_of(good)));
    EXPECT_TRUE(tools.refuses());
    EXPECT_TRUE(tools.accept("")) << "every list is accepted";
    EXPECT_FALSE(tools.refuses());
}

TEST_F(McpAcceptedTools, ARunIsHeldToTheDefinitionThatItsModelHasRead) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, good);
    const std::string read(tools.digest_of("a"));
    EXPECT_TRUE(tools.accept(digest_of(bad)));
    take(tools, bad);

    EXPECT_TRUE(tools.check_offered("a", read)) << "accepted when it was read, but not now";
    EXPECT_FALSE(tools.check_offered("b", tools.digest_of("b"))) << "the same in both lists";
    EXPECT_TRUE(tools.check_offered("gone", "0123"));
}

TEST_F(McpAcceptedTools, AListOfACallerIsReportedOncePerListOfTheServer) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    take(tools, good);
    EXPECT_THAT(tools.compare(good).changed, IsEmpty());
    EXPECT_THAT(tools.compare(good).same, ElementsAre("a", "b"));
    EXPECT_THAT(log.lines(), IsEmpty());

    for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(tools.compare(bad).changed, ElementsAre("a"));
    }
    take(tools, good, true);
    static_cast<void>(tools.compare(bad));
    EXPECT_EQ(errors(), 1);
    take(tools, good); // The server has reported a change.
    static_cast<void>(tools.compare(bad));
    EXPECT_EQ(errors(), 2);
}

TEST_F(McpAcceptedTools, ReportsOfCallersListsAreBounded) {
    mcp_accepted_tools tools("shop", digest_of(good), log);
    std::vector<mcp_tool> many;
    for (int i = 0; i < 100; ++i) {
        many.push_back(described("t" + std::to_string(i), "is"));
    }
    EXPECT_TRUE(tools.accept(""));
    take(tools, many);
    for (mcp_tool& each : many) {
        std::vector<mcp_tool> other{each};
        other.front().description = "is not";
        EXPECT_THAT(tools.compare(other).changed, SizeIs(1));
    }
    EXPECT_EQ(errors(), 32);
}

} // namespace
} // namespace agui::test
