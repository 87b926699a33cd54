#include "runner/mcp/mcp_tool_list.hpp"

#include "runner/mcp/mcp_limits.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>

namespace agui::runner {
namespace {

std::optional<mcp_tool_page> read(std::string_view text) {
    return read_mcp_tool_page(boost::json::parse(text).as_object());
}

TEST(McpToolList, ReadsAPage) {
    const auto page = read(
        R"({"tools":[{"name":"a","description":"does a","inputSchema":{"type":"object","x":1}},)"
        R"({"name":"b","title":"B","inputSchema":{"type":"object"}}],"nextCursor":"p2"})"
    );
    ASSERT_TRUE(page);
    ASSERT_EQ(page->tools.size(), 2U);
    EXPECT_EQ(page->tools[0].name, "a");
    EXPECT_EQ(page->tools[0].description, "does a");
    EXPECT_EQ(page->tools[0].schema.at("x"), 1);
    EXPECT_EQ(page->tools[1].description, "B");
    EXPECT_EQ(page->left_out, 0U);
    EXPECT_EQ(page->next_cursor, "p2");
}

TEST(McpToolList, AToolIsDestructiveUnlessItsServerSaysOtherwise) {
    const auto is_destructive = [](const std::string& annotations) {
        return read(R"({"tools":[{"name":"a","annotations":)" + annotations + "}]}")
            ->tools.at(0)
            .destructive;
    };
    for (const std::string none :
         {"null", "{}", "[]", "true", R"({"readOnlyHint":false})", R"({"destructiveHint":true})",
          R"({"readOnlyHint":"true"})", R"({"destructiveHint":0})", R"({"idempotentHint":true})"}) {
        EXPECT_TRUE(is_destructive(none)) << none;
    }
    EXPECT_TRUE(read(R"({"tools":[{"name":"a"}]})")->tools.at(0).destructive);
    EXPECT_FALSE(is_destructive(R"({"readOnlyHint":true})"));
    EXPECT_FALSE(is_destructive(R"({"readOnlyHint":true,"destructiveHint":true})"));
    EXPECT_FALSE(is_destructive(R"({"destructiveHint":false})"));
}

TEST(McpToolList, TheLastPageHasNoCursor) {
    for (const std::string cursor : {"null", "\"\"", "1", "{}"}) {
        EXPECT_EQ(read(R"({"tools":[],"nextCursor":)" + cursor + "}")->next_cursor, "") << cursor;
    }
    EXPECT_EQ(read(R"({"tools":[]})")->next_cursor, "");
}

TEST(McpToolList, ACursorThatIsTooLongEndsTheList) {
    const auto with_cursor = [](std::size_t size) {
        return *read(
            R"({"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":")" +
            std::string(size, 'c') + "\"}"
        );
    };
    EXPECT_EQ(with_cursor(mcp_cursor_bytes_max).next_cursor.size(), mcp_cursor_bytes_max);
    const mcp_tool_page last = with_cursor(mcp_cursor_bytes_max + 1);
    EXPECT_EQ(last.next_cursor, "");
    EXPECT_EQ(last.tools.size(), 1U);
    EXPECT_EQ(last.left_out, 1U);
}

TEST(McpToolList, NullIsAnEmptyList) {
    EXPECT_TRUE(read(R"({"tools":null})")->tools.empty());
    EXPECT_TRUE(read("{}")->tools.empty());
}

TEST(McpToolList, TakesNullForAbsentInATool) {
    const auto page =
        read(R"({"tools":[{"name":"a","title":null,"description":null,"annotations":null,)"
             R"("outputSchema":null,"_meta":null,"inputSchema":{"type":"object"}}],"_meta":null})");
    ASSERT_EQ(page->tools.size(), 1U);
    EXPECT_EQ(page->tools[0].description, "");
}

TEST(McpToolList, RefusesAnAnswerWithoutAList) {
    for (const std::string text : {R"({"tools":{}})", R"({"tools":"a"})"}) {
        EXPECT_FALSE(read(text)) << text;
    }
}

TEST(McpToolList, LeavesOutEntriesWithoutAName) {
    for (const std::string tool :
         {"1", "{}", R"({"name":"","inputSchema":{"type":"object"}})",
          R"({"name":1,"inputSchema":{"type":"object"}})"}) {
        SCOPED_TRACE(tool);
        const auto page =
            read(R"({"tools":[)" + tool + R"(,{"name":"z","inputSchema":{"type":"object"}}]})");
        ASSERT_TRUE(page);
        EXPECT_EQ(page->tools.size(), 1U);
        EXPECT_EQ(page->left_out, 1U);
    }
}

TEST(McpToolList, KeepsAToolWhateverItsSchemaIs) {
    for (const std::string schema :
         {"", R"(,"inputSchema":null)", R"(,"inputSchema":{})", R"(,"inputSchema":true)",
          R"(,"inputSchema":[])", R"(,"inputSchema":{"type":"array"})",
          R"(,"inputSchema":{"type":["object","null"]})",
          R"(,"inputSchema":{"anyOf":[{"type":"object"}]})"}) {
        SCOPED_TRACE(schema);
        const auto page = read(R"({"tools":[{"name":"a")" + schema + "}]}");
        ASSERT_TRUE(page);
        EXPECT_EQ(page->tools.size(), 1U);
        EXPECT_EQ(page->left_out, 0U);
    }
}

TEST(McpToolList, BoundsTheDefinitionOfATool) {
    const auto with_name = [](std::size_t size) {
        return R"({"tools":[{"name":")" + std::string(size, 'n') +
               R"(","inputSchema":{"type":"object"}}]})";
    };
    EXPECT_EQ(read(with_name(mcp_tool_name_bytes_max))->tools.size(), 1U);
    EXPECT_EQ(read(with_name(mcp_tool_name_bytes_max + 1))->tools.size(), 0U);

    const auto with_schema = [](std::size_t size) {
        return R"({"tools":[{"name":"a","inputSchema":{"type":"object","x":")" +
               std::string(size, 'x') + R"("}}]})";
    };
    EXPECT_EQ(read(with_schema(mcp_schema_bytes_max - 64))->tools.size(), 1U);
    EXPECT_EQ(read(with_schema(mcp_schema_bytes_max))->tools.size(), 0U);

    const auto described =
        read(R"({"tools":[{"name":"a","inputSchema":{"type":"object"},"description":"x)" + [] {
            std::string text;
            for (std::size_t i = 0; i < mcp_description_bytes_max; ++i) {
                text += "\xC3\xA9";
            }
            return text;
        }() + R"("}]})");
    const std::string& text = described->tools.at(0).description;
    EXPECT_EQ(text.size(), mcp_description_bytes_max - 1);
    EXPECT_TRUE(text.ends_with("\xC3\xA9"));
}

TEST(McpToolList, BoundsTheNumberOfTools) {
    std::string text = R"({"tools":[)";
    for (std::size_t i = 0; i < mcp_tools_max + 2; ++i) {
        text += (i == 0 ? R"({"name":"t)" : R"(,{"name":"t)") + std::to_string(i) +
                R"(","inputSchema":{"type":"object"}})";
    }
    const auto page = read(text + "]}");
    EXPECT_EQ(page->tools.size(), mcp_tools_max);
    EXPECT_EQ(page->left_out, 2U);
}

TEST(McpToolList, DescriptionsLoseControlAndBidiCharacters) {
    const auto page = read(
        R"({"tools":[{"name":"a","description":"Lists\u001b[8m files.\r\n\t- \u202eall\u2066",)"
        R"("inputSchema":{"type":"object","properties":{"description":{"type":"string",)"
        R"("description":"The \u202epath\u0007","enum":["\u202ex"]},)"
        R"("title":{"anyOf":[{"title":"A\u0085B"},{"const":{"title":"\u0007"}}]}}}},)"
        R"({"name":"b","title":"B\u0000\u2069"}]})"
    );

    ASSERT_EQ(page->tools.size(), 2U);
    EXPECT_EQ(page->tools[0].description, "Lists[8m files.\n\t- all");
    const boost::json::value expected =
        boost::json::parse(R"({"type":"object","properties":{"description":{"type":"string",)"
                           R"("description":"The path","enum":["\u202ex"]},)"
                           R"("title":{"anyOf":[{"title":"AB"},{"const":{"title":"\u0007"}}]}}})");
    EXPECT_TRUE(page->tools[0].schema == expected.as_object())
        << boost::json::serialize(page->tools[0].schema);
    EXPECT_EQ(page->tools[1].description, "B");
}

TEST(McpToolList, InvalidEntriesAreOnlyCounted) {
    std::string entries = "[]";
    for (int i = 1; i < 30'000; ++i) {
        entries += i % 2 == 0 ? ",[]" : ",{}";
    }

    const auto page = read(R"({"tools":[)" + entries + "]}");

    EXPECT_EQ(page->left_out, 30'000U);
    EXPECT_TRUE(page->tools.empty());
}

TEST(McpToolList, CleansAParameterThatIsNamedAsAKeyword) {
    for (const std::string keyword : {"properties", "$defs", "patternProperties", "dependencies"}) {
        for (const std::string name : {"default", "enum", "const", "examples", "title"}) {
            const auto page = read(
                R"({"tools":[{"name":"a","inputSchema":{")" + keyword + R"(":{")" + name +
                R"(":{"description":"\u202eA","items":[{"$comment":"\u200f"}]}}}}]})"
            );
            ASSERT_EQ(page->tools.size(), 1U);
            EXPECT_EQ(
                boost::json::serialize(page->tools[0].schema),
                R"({")" + keyword + R"(":{")" + name +
                    R"(":{"description":"A","items":[{"$comment":""}]}}})"
            );
        }
    }
}

TEST(McpToolList, BoundsTheMembersOfAPageAndOfATool) {
    std::string members = R"("m":0)";
    for (int i = 0; i < 1024; ++i) {
        members += ",\"m" + std::to_string(i) + "\":0";
    }
    EXPECT_FALSE(read(R"({"tools":[],)" + members + "}"));
    const auto page = read(R"({"tools":[{"name":"a",)" + members + R"(},{"name":"b"}]})");
    EXPECT_EQ(page->tools.size(), 1U);
    EXPECT_EQ(page->left_out, 1U);
}

TEST(McpToolList, ANameOfNothingButControlCharactersIsNone) {
    const auto page = read(R"({"tools":[{"name":"\u202e\u0001"},{"name":"a\u202ez"}]})");

    EXPECT_EQ(page->left_out, 1U);
    ASSERT_EQ(page->tools.size(), 1U);
    EXPECT_EQ(page->tools[0].name, "a\xE2\x80\xAEz") << "by which its server knows it";
}

TEST(McpOfferedName, NamesTheServerAndTheToolAsItIs) {
    EXPECT_EQ(mcp_offered_name("files", "write-all"), "mcp__files__write-all");
    EXPECT_EQ(mcp_offered_name("s", "a.b/c d"), "mcp__s__a.b/c d");
}

TEST(McpOfferedName, LosesControlAndBidiCharacters) {
    EXPECT_EQ(mcp_offered_name("s", "a\xE2\x80\xAEz\x1b\n"), "mcp__s__az");
}

TEST(McpServerName, IsUnambiguousInToolNames) {
    for (const std::string name :
         {"a", "files", "A-1_b", "-", "12345678901234567890123456789012"}) {
        EXPECT_TRUE(is_mcp_server_name(name)) << name;
    }
    for (const std::string name :
         {"", "_a", "a_", "a__b", "a.b", "a b", "\xC3\xA9", "123456789012345678901234567890123"}) {
        EXPECT_FALSE(is_mcp_server_name(name)) << name;
    }
}

} // namespace
} // namespace agui::runner
