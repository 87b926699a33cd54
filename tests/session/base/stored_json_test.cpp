#include "session/base/stored_json.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace agui::session {
namespace {

TEST(StoredJson, AnObjectIsKeptAsItsText) {
    EXPECT_EQ(stored_object(R"({"b":[1],"a":"\u00e9"})").view(), R"({"b":[1],"a":"\u00e9"})");
}

TEST(StoredJson, AnythingButAnObjectWithMembersIsNone) {
    for (const std::string_view text : {"{}", "null", "[1]", "7", "", R"({"a":1)", R"({"a":1}})"}) {
        EXPECT_TRUE(stored_object(text).is_null()) << text;
    }
}

} // namespace
} // namespace agui::session
