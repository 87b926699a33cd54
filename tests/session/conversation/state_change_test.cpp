#include "session/conversation/state_change.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::session {
namespace {

json_text document(std::string text) { return json_text(std::move(text)); }

state_change patch(std::string_view text) { return {.patch = boost::json::parse(text)}; }

TEST(StateChange, IsToldAsAPatchOfTheEarlierDocument) {
    const auto made = change_document(
        document(R"({"a":1,"b":[1]})"), patch(R"([{"op":"copy","from":"/a","path":"/b/-"}])")
    );
    ASSERT_TRUE(made);
    EXPECT_EQ(made->state.view(), R"({"a":1,"b":[1,1]})");
    EXPECT_EQ(made->patch, R"([{"op":"add","path":"/b/1","value":1}])");
    EXPECT_TRUE(made->is_changed);
}

TEST(StateChange, AThreadWithoutAStateIsPatchedLikeAnEmptyObjectAndToldAsAWhole) {
    const auto made = change_document({}, patch(R"([{"op":"add","path":"/a","value":1}])"));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->state.view(), R"({"a":1})");
    EXPECT_EQ(made->patch, "") << "clients apply no patch to null";
}

TEST(StateChange, MayReplaceOrRemoveTheDocument) {
    const auto replaced =
        change_document(document(R"({"a":1})"), {.whole = document(R"({"a":2})")});
    ASSERT_TRUE(replaced);
    EXPECT_EQ(replaced->patch, R"([{"op":"replace","path":"/a","value":2}])");
    const auto removed = change_document(document(R"({"a":1})"), {});
    ASSERT_TRUE(removed);
    EXPECT_TRUE(removed->state.is_null());
    EXPECT_EQ(removed->patch, "");
}

TEST(StateChange, OfNothingChangesNothing) {
    const auto same =
        change_document(document(R"({"a":1,"b":2})"), {.whole = document(R"({"b":2,"a":1.0})")});
    ASSERT_TRUE(same);
    EXPECT_FALSE(same->is_changed);
    EXPECT_EQ(same->state.view(), R"({"a":1,"b":2})")
        << "the same text, so that it is not told again";
    EXPECT_FALSE(change_document({}, {})->is_changed);
}

TEST(StateChange, ADocumentIsTheSameInAnyOrder) {
    EXPECT_TRUE(is_same_document(document(R"({"a":1,"b":2})"), document(R"({"b":2.0,"a":1})")));
    EXPECT_FALSE(is_same_document(document(R"({"a":1})"), document(R"({"a":2})")));
    EXPECT_FALSE(is_same_document(document("{}"), {}));
}

TEST(StateChange, IsRefusedWithThePlace) {
    const auto misses = change_document(document("{}"), patch(R"([{"op":"remove","path":"/a"}])"));
    ASSERT_FALSE(misses);
    EXPECT_EQ(misses.error().code, errc::patch_conflict);
    EXPECT_EQ(misses.error().path, "[0].path");

    state_change checked = patch(R"([{"op":"add","path":"/a","value":1}])");
    checked.check = [](const boost::json::value& made) -> result<void> {
        return failure{errc::invalid_input, "wrong", "a" + std::to_string(made.as_object().size())};
    };
    const auto refused = change_document(document("{}"), checked);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().path, "a1");
}

TEST(StateChange, HasALargestDocument) {
    const std::string text = "\"" + std::string(state_bytes_max, 'x') + "\"";
    const auto large = change_document({}, {.whole = document(text)});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, errc::invalid_input);
    EXPECT_EQ(large.error().path, "state");
}

} // namespace
} // namespace agui::session
