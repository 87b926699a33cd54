#include "runner/anthropic/anthropic_model.hpp"

#include "tests/runner/anthropic/anthropic_answer_case.hpp"
#include "tests/runner/provider/model_case.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using test::block_start;
using test::block_stop;
using test::call_block;
using test::end_events;
using test::event;
using test::message_start;
using test::text_block;
using test::thinking_block;
using ::testing::HasSubstr;
using ::testing::Not;

class AnthropicModel : public test::model_case {
protected:
    owned_model answering(std::vector<std::string> bodies, anthropic_model_settings settings = {}) {
        settings = playing(std::move(bodies), std::move(settings));
        settings.model = "claude-opus-5-5";
        return anthropic_model(std::move(settings));
    }

    const std::string thoughtful_call = message_start() + thinking_block(0, "Hm.", "c2ln") +
                                        call_block(1, "toolu_1", "look", R"({\"a\":1})") +
                                        end_events("tool_use");
    const std::string done = message_start() + text_block(0, "Done.") + end_events("end_turn");
};

TEST_F(AnthropicModel, GetsItsThoughtsBackInPlace) {
    const chat_result answered = chat(answering({thoughtful_call, done}), {user("Hi")});

    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.content, "Done.");
    EXPECT_EQ(answered->totals.usage_total().input_tokens, 218);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_THAT(
        requests[1].body,
        HasSubstr(
            R"({"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},)"
            R"({"type":"tool_use","id":"toolu_1","name":"look","input":{"a":1}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"seen 1")"
        )
    );
}

TEST_F(AnthropicModel, IsAskedWithTheHeadersOfTheDialect) {
    anthropic_model_settings settings;
    settings.dialect.betas = {"a-1", "b-2"};
    settings.dialect.api_version = "2026-10-21";
    (void)chat(answering({done}, settings), {user("Hi")});

    EXPECT_EQ(requests.at(0).target, "/v1/messages");
    using header = std::pair<std::string, std::string>;
    EXPECT_THAT(
        requests.at(0).headers,
        ::testing::ElementsAre(
            header{"Accept", "text/event-stream"}, header{"anthropic-version", "2026-10-21"},
            header{"anthropic-beta", "a-1,b-2,thinking-binding-controls-2026-08-01"}
        )
    );
}

TEST_F(AnthropicModel, GoesOnFromItsPausedAnswer) {
    const std::string paused =
        message_start() + thinking_block(0, "Hm.", "c2ln") + text_block(1, "Let me search.") +
        block_start(2, R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})") +
        block_stop(2) + end_events("pause_turn");
    const std::string found =
        message_start() +
        block_start(0, R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]})") +
        block_stop(0) + text_block(1, "Found.") + end_events("end_turn");
    anthropic_model_settings settings;
    settings.dialect.cache = anthropic_cache::off;
    const chat_result answered = chat(answering({paused, found}, settings), {user("Hi")});

    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.usage_total().input_tokens, 218);
    ASSERT_EQ(requests.size(), 2U);
    const std::string so_far =
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},)"
        R"({"type":"text","text":"Let me search."},)"
        R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})";
    EXPECT_THAT(requests[1].body, ::testing::EndsWith(so_far + "]}]}"));

    std::vector<session::message> messages = answered->messages;
    messages.push_back(user("Thanks"));
    (void)chat(answering({done}, settings), messages);
    EXPECT_THAT(
        requests.at(2).body,
        HasSubstr(
            so_far + R"(,{"type":"web_search_tool_result","tool_use_id":"s","content":[]},)" +
            R"({"type":"text","text":"Found."}]})"
        )
    );
}

TEST_F(AnthropicModel, GetsNothingOfAnAnswerBackThatItRefused) {
    const std::string refused = message_start() + thinking_block(0, "Hm.", "c2ln") +
                                text_block(1, "I could") + end_events("refusal");
    const chat_result failed = chat(answering({refused}), {user("Hi")});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::content_filtered);
    std::vector<session::message> messages = failed.error().so_far.messages;
    messages.push_back(user("Again."));
    requests.clear();

    (void)chat(answering({done}), messages);

    EXPECT_THAT(requests.at(0).body, Not(HasSubstr("c2ln")));
    EXPECT_THAT(requests.at(0).body, Not(HasSubstr("I could")));
}

TEST_F(AnthropicModel, ThatIsOverloadedGivesWayToAnother) {
    scripted_answer overloaded;
    overloaded.status = 529;
    overloaded.body =
        R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})";
    chat_with_tools config;
    config.fallbacks.push_back(answering({done}));
    const auto ask = [&](scripted_answer first) {
        chat_with_tools with = config;
        return chat(
            anthropic_model(
                {.url = "http://127.0.0.1:1",
                 .model = "claude-opus-5-5",
                 .client = make_scripted_client({std::move(first)})}
            ),
            {user("Hi")}, std::move(with)
        );
    };

    const chat_result answered = ask(overloaded);
    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.content, "Done.");

    // The same error may come after the header with status 200.
    config.fallbacks = {answering({done})};
    scripted_answer in_the_stream;
    in_the_stream.body =
        message_start() +
        event("error", R"("error":{"type":"overloaded_error","message":"Overloaded"})");
    EXPECT_TRUE(ask(in_the_stream));
}

TEST_F(AnthropicModel, RefusesWhatItCannotBeAskedWith) {
    anthropic_model_settings settings{.url = "http://127.0.0.1:1", .model = "claude-opus-5-5"};
    settings.parameters.temperature = 0.5;
    EXPECT_THROW((void)anthropic_model(settings), std::invalid_argument);
    settings.dialect.drop = {"temperature"};
    EXPECT_NO_THROW((void)anthropic_model(settings));
}

} // namespace
} // namespace agui::runner
