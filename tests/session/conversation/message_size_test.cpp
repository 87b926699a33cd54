#include "session/conversation/message_size.hpp"

#include "session/conversation/message_json.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>

namespace agui::session {
namespace {

namespace json = boost::json;

message whole_message() {
    message value;
    value.id = "m1";
    value.role = role::assistant;
    value.content = json::array{
        json::object{{"type", "text"}, {"text", "Look \n\"there\""}},
        json::object{
            {"type", "image"}, {"data", std::string(5000, 'x')}, {"n", 12345}, {"none", nullptr}
        }
    };
    value.name = "Ann";
    value.tool_calls = {{"c1", "paint", R"({"color":"blue"})", {}, {}}};
    value.metadata = json::object{{"a", json::array{1, 2, 3}}};
    return value;
}

TEST(MessageSize, IsAtMostTheStoredSizeAndAlmostAllOfIt) {
    const message value = whole_message();
    const std::size_t written = json::serialize(to_json(value)).size();
    EXPECT_LE(stored_size(value), written);
    EXPECT_GE(stored_size(value), written - 200);

    message empty;
    empty.id = "m";
    EXPECT_LE(stored_size(empty), json::serialize(to_json(empty)).size());
}

TEST(MessageSize, LooksNoFurtherThanAsked) {
    json::array many;
    for (int i = 0; i < 1000; ++i) {
        many.push_back(json::array{std::string(100, 'x')});
    }
    EXPECT_GT(stored_size(many), 100'000U);
    EXPECT_GT(stored_size(many, 1000), 1000U);
    EXPECT_LT(stored_size(many, 1000), 1200U);
}

} // namespace
} // namespace agui::session
