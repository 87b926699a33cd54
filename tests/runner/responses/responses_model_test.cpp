#include "runner/responses/responses_model.hpp"

#include "runner/anthropic/anthropic_model.hpp"
#include "runner/chat/chat_loop_with_tools.hpp"
#include "runner/http/scripted_transport.hpp"
#include "tests/runner/anthropic/anthropic_answer_case.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"
#include "tests/support/coroutine_test.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace answers = test::responses;
using ::testing::HasSubstr;
using ::testing::Not;

class ResponsesModel : public test::coroutine_test {
protected:
    template <class Settings>
    Settings playing(std::vector<std::string> bodies) {
        std::vector<scripted_answer> script;
        for (std::string& each : bodies) {
            script.emplace_back().body = std::move(each);
        }
        Settings settings;
        settings.url = "http://127.0.0.1:1";
        settings.client =
            make_scripted_client(std::move(script), [this](const transport_request& asked) {
                requests.push_back(asked);
            });
        return settings;
    }

    owned_model answering(std::vector<std::string> bodies) {
        auto settings = playing<responses_model_settings>(std::move(bodies));
        settings.model = "gpt-5.6";
        return responses_model(std::move(settings));
    }

    owned_model claude(std::vector<std::string> bodies) {
        auto settings = playing<anthropic_model_settings>(std::move(bodies));
        settings.model = "claude-opus-5-5";
        return anthropic_model(std::move(settings));
    }

    chat_result chat(owned_model model, std::vector<session::message> messages) {
        return run(chat_loop_with_tools(
            std::move(model), std::move(messages),
            {tool("look", "Looks.", {"a"}, [](int a) { return "seen " + std::to_string(a); })}, {}
        ));
    }

    std::vector<transport_request> requests;
    const std::string thoughtful_call =
        answers::created + answers::reasoning(0, "rs_1", "Hm.") +
        answers::message(1, "Let me look.", R"(,"phase":"commentary")") +
        answers::call(2, "call_1", "look", R"({\"a\":1})") +
        answers::end("completed", "," + answers::usage);
    const std::string done = answers::created + answers::message(0, "Done.") +
                             answers::end("completed", "," + answers::usage);
};

TEST_F(ResponsesModel, GetsItsReasoningAndPhasesBackInPlace) {
    const chat_result answered = chat(answering({thoughtful_call, done}), {user("Hi")});

    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.usage_total().input_tokens, 60);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].target, "/responses");
    EXPECT_THAT(
        requests[1].body,
        HasSubstr(
            R"({"type":"message","role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1",)"
            R"("summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"ENC"},)"
            R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
            R"("text":"Let me look."}],"id":"msg_1","status":"completed","phase":"commentary"},)"
            R"({"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"a\":1}",)"
            R"("id":"fc_call_1","status":"completed"},)"
            R"({"type":"function_call_output","call_id":"call_1","output":"seen 1"}])"
        )
    );
}

// Each model gets its own back, and nothing of the other.
TEST_F(ResponsesModel, TakesTurnsWithClaude) {
    const std::string claudes_call =
        test::message_start() + test::thinking_block(0, "Well.", "c2ln") +
        test::call_block(1, "toolu_1", "look", R"({\"a\":2})") + test::end_events("tool_use");
    const std::string claudes_end =
        test::message_start() + test::text_block(0, "Twice.") + test::end_events("end_turn");
    const chat_result first = chat(answering({thoughtful_call, done}), {user("Hi")});
    ASSERT_TRUE(first);
    std::vector<session::message> messages = first->messages;
    messages.push_back(user("Once more."));
    requests.clear();
    const chat_result second = chat(claude({claudes_call, claudes_end}), messages);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_THAT(requests.at(0).body, Not(HasSubstr("rs_1")));
    EXPECT_THAT(requests.at(1).body, HasSubstr("c2ln"));
    messages = second->messages;
    messages.push_back(user("Back again."));
    requests.clear();

    const chat_result third = chat(answering({done}), messages);
    ASSERT_TRUE(third) << third.error().text();
    const std::string& body = requests.at(0).body;
    EXPECT_THAT(body, HasSubstr(R"("encrypted_content":"ENC")"));
    EXPECT_THAT(body, Not(HasSubstr("c2ln")));
    EXPECT_THAT(
        body, HasSubstr(R"({"type":"function_call","call_id":"toolu_1","name":"look",)"
                        R"("arguments":"{\"a\":2}"},)"
                        R"({"type":"function_call_output","call_id":"toolu_1")")
    );
    messages = third->messages;
    messages.push_back(user("And you?"));
    requests.clear();
    ASSERT_TRUE(chat(claude({claudes_end}), messages));
    EXPECT_THAT(requests.at(0).body, HasSubstr("c2ln"));
    EXPECT_THAT(requests.at(0).body, Not(HasSubstr("phase")));
}

TEST_F(ResponsesModel, WhoseAnswerWasCutGetsNothingOfItBack) {
    const std::string cut = thoughtful_call.substr(0, thoughtful_call.size() - 200);
    const chat_result failed = chat(answering({cut}), {user("Hi")});
    ASSERT_FALSE(failed);
    std::vector<session::message> messages = failed.error().so_far.messages;
    messages.push_back(user("Again."));
    requests.clear();

    (void)chat(answering({done}), messages);

    EXPECT_THAT(requests.at(0).body, Not(HasSubstr("ENC")));
}

TEST_F(ResponsesModel, ItsKeyIsSentAndCutOutOfTheServersText) {
    scripted_answer refusal;
    refusal.status = 401;
    refusal.body = R"({"error":{"message":"Incorrect API key provided: sk-secret"}})";
    refusal.headers = {{"x-request-id", "req_7"}};
    responses_model_settings settings{
        .url = "http://127.0.0.1:1", .model = "m", .key = "sk-secret"
    };
    settings.client = make_scripted_client({refusal});
    const chat_result failed = chat(responses_model(std::move(settings)), {user("Hi")});

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::model_rejected);
    EXPECT_EQ(failed.error().request_id, "req_7");
    EXPECT_THAT(failed.error().text(), Not(HasSubstr("sk-secret")));
    EXPECT_THROW((void)responses_model({.url = "ftp://x", .model = "m"}), std::invalid_argument);
}

} // namespace
} // namespace agui::runner
