#include "translator/agui/snapshot_limit.hpp"

#include "session/history/part_reference.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace agui::translator {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::StartsWith;

json::value photo(std::size_t bytes, char digit) {
    return {
        {"type", "image"},
        {"source",
         {{"type", "data"}, {"value", std::string(bytes, digit)}, {"mimeType", "image/png"}}}
    };
}

json::value user(std::string_view id, json::value content) {
    return {{"id", id}, {"role", "user"}, {"content", std::move(content)}};
}

json::value tool(std::string_view id, std::string_view text) {
    return {{"id", id}, {"role", "tool"}, {"toolCallId", "c"}, {"content", text}};
}

std::string text_at(const json::array& messages, std::size_t index) {
    return std::string(messages.at(index).at("content").as_string());
}

std::string url_at(const json::array& messages, std::size_t index) {
    return std::string(messages.at(index).at("content").at(0).at("source").at("value").as_string());
}

const part_link to_example = [](std::string_view sha256) {
    return "https://app.example/parts/" + std::string(sha256);
};

TEST(SnapshotLimit, ChangesNothingThatFits) {
    json::array messages{user("1", json::array{photo(4000, 'A')}), tool("2", "x")};
    const json::array before = messages;

    limit_messages(messages, json::serialize(messages).size() + 8, to_example);

    EXPECT_EQ(messages, before);
}

TEST(SnapshotLimit, TheOldestPartsBecomeLinksAsFarAsIsNecessary) {
    json::array messages{
        user("1", json::array{photo(4000, 'A')}), user("2", json::array{photo(4000, 'B')}),
        user("3", json::array{photo(4000, 'C')})
    };

    limit_messages(messages, 9000, to_example);

    EXPECT_THAT(url_at(messages, 0), StartsWith("https://app.example/parts/"));
    EXPECT_EQ(messages.at(0).at("content").at(0).at("source").at("type"), "url");
    EXPECT_EQ(messages.at(0).at("content").at(0).at("source").at("mimeType"), "image/png");
    EXPECT_EQ(url_at(messages, 1), std::string(4000, 'B'));
    EXPECT_EQ(url_at(messages, 2), std::string(4000, 'C'));
}

TEST(SnapshotLimit, WithoutLinksATextNamesThePartsLeftOut) {
    json::array messages{user("1", json::array{photo(4000, 'A')})};

    limit_messages(messages, 1000, {});

    const json::value& part = messages.at(0).at("content").at(0);
    EXPECT_EQ(part.at("type"), "text");
    EXPECT_THAT(
        std::string(part.at("text").as_string()), StartsWith("[Left out: image/png, 3000 bytes")
    );
}

TEST(LinkParts, ReplacesAllThatHaveALink) {
    json::array messages{
        user("1", json::array{photo(4000, 'A'), photo(100, 'B')}), tool("2", "x"),
        user("3", json::array{photo(4000, 'C')})
    };

    link_parts(messages, to_example);

    EXPECT_THAT(url_at(messages, 0), StartsWith("https://app.example/parts/"));
    EXPECT_EQ(messages.at(0).at("content").at(1), photo(100, 'B')) << "smaller than a link";
    EXPECT_EQ(text_at(messages, 1), "x");
    EXPECT_THAT(url_at(messages, 2), StartsWith("https://app.example/parts/"));
}

TEST(LinkParts, APartWithoutALinkStays) {
    const json::array before{user("1", json::array{photo(4000, 'A')})};
    for (const part_link& link : {part_link(), part_link([](std::string_view) { return ""; })}) {
        json::array messages = before;
        link_parts(messages, link);
        EXPECT_EQ(messages, before);
    }
}

TEST(SnapshotLimit, ThenTheOldestResultsAreShortenedAndTextsLast) {
    json::array messages{
        user("1", json::string(std::string(90'000, 'u'))), tool("2", std::string(90'000, 'a')),
        tool("3", std::string(90'000, 'b'))
    };

    limit_messages(messages, 250'000, to_example);

    EXPECT_EQ(text_at(messages, 0).size(), 90'000U);
    EXPECT_THAT(text_at(messages, 1), HasSubstr("\n[Shortened: 90000 bytes"));
    EXPECT_EQ(text_at(messages, 2).size(), 90'000U);

    limit_messages(messages, 1500, to_example);

    EXPECT_THAT(text_at(messages, 0), HasSubstr("\n[Shortened: 90000 bytes"));
    EXPECT_THAT(text_at(messages, 2), HasSubstr("\n[Shortened: 90000 bytes"));
}

TEST(SnapshotLimit, ArgumentsStayJson) {
    json::array messages{
        {{"id", "1"},
         {"role", "assistant"},
         {"toolCalls",
          {{{"id", "c"},
            {"type", "function"},
            {"function",
             {{"name", "paint"}, {"arguments", R"({"x":")" + std::string(9000, '"') + "\"}"}}}}}}}
    };

    limit_messages(messages, 2000, to_example);

    const json::value& function = messages.at(0).at("toolCalls").at(0).at("function");
    const json::value arguments = json::parse(function.at("arguments").as_string());
    EXPECT_EQ(function.at("name"), "paint");
    EXPECT_THAT(std::string(arguments.at("shortened").as_string()), HasSubstr("[Shortened: "));
}

TEST(SnapshotLimit, WhateverTheMessagesHoldTheyFit) {
    std::mt19937 random(7); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same messages each time
    const auto below = [&random](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    for (int round = 0; round < 100; ++round) {
        SCOPED_TRACE(round);
        json::array messages;
        const std::size_t count = 1 + below(12);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string text(below(4'000), below(2) == 0 ? 'x' : '\x01');
            json::value made = user(std::to_string(i), json::string(text));
            json::object& message = made.get_object();
            switch (below(6)) {
            case 0:
                message["content"] = json::array{photo(below(4'000), 'Q'), photo(700, 'R')};
                break;
            case 1:
                message["role"] = "tool";
                break;
            case 2:
                message["toolCalls"] = json::parse(
                    R"([{"id":"c","function":{"name":"n","arguments":")" +
                    std::string(below(4'000), 'a') + "\"}}]"
                );
                break;
            case 3:
                message["metadata"] = {{"x", text}};
                break;
            case 4:
                // This message is an activity.
                message["content"] = json::object{{"anything", text}};
                break;
            default:
                break;
            }
            messages.push_back(std::move(made));
        }
        const std::size_t limit = count * 400;

        limit_messages(messages, limit, below(2) == 0 ? to_example : part_link());

        EXPECT_LE(json::serialize(messages).size(), limit + 2);
        ASSERT_EQ(messages.size(), count) << "all messages stay";
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(messages.at(i).at("id").as_string(), std::to_string(i));
        }
    }
}

TEST(SnapshotLimit, IfThereAreTooManyMessagesTheOldestGo) {
    json::array messages;
    for (int i = 0; i < 100; ++i) {
        messages.push_back(user(std::to_string(i), "hello"));
    }

    limit_messages(messages, 1000, to_example);

    EXPECT_LE(json::serialize(messages).size(), 1002U);
    EXPECT_GT(messages.size(), 10U);
    EXPECT_EQ(messages.back().at("id"), "99");
}

TEST(SnapshotLimit, APhotoInAnyFormOfDataUrlBecomesALink) {
    const json::value given{
        {"type", "image"},
        {"source", {{"type", "url"}, {"value", " Data:image/png;BASE64," + std::string(4000, 'A')}}}
    };
    json::array messages{user("1", json::array{given, {{"type", "text"}, {"text", "Look."}}})};

    limit_messages(messages, 1500, to_example);

    EXPECT_THAT(url_at(messages, 0), StartsWith("https://app.example/parts/"));
    EXPECT_EQ(messages.at(0).at("content").at(1).at("text"), "Look.");
}

// Links that a client sends back are recognized as the parts of the thread.
TEST(SnapshotLimit, APartLeftOutIsRecognisedWhenItComesBack) {
    session::thread_record thread;
    thread.key.thread_id = "t";
    session::changes change;
    session::stored_message stored;
    stored.message.id = "1";
    stored.message.content = json::array{photo(4000, 'A')};
    change.messages.push_back(stored);
    stored.message.id = "2";
    stored.message.content = std::string(9000, 'x');
    change.messages.push_back(stored);
    session::apply(thread, change);
    json::array messages{
        user("1", json::array{photo(4000, 'A')}), user("2", json::string(std::string(9000, 'x')))
    };
    const part_link link = [](std::string_view sha256) {
        return "https://app.example" + session::part_path("t", sha256) + "?token=x";
    };

    limit_messages(messages, 1500, link);

    std::vector<session::message> back(2);
    back[0].content = messages.at(0).at("content").as_array();
    back[1].content = text_at(messages, 1);
    std::vector<std::string> warnings;
    memory_share memory;
    EXPECT_TRUE(session::restore_parts(back, thread, {}, 100'000, memory, warnings));
    EXPECT_EQ(back[0].content, session::content(json::array{photo(4000, 'A')}));
    EXPECT_EQ(back[1].content, session::content(std::string(9000, 'x')));
}

} // namespace
} // namespace agui::translator
