#include "runner/openai/openai_model.hpp"

#include "runner/chat/chat_loop_with_tools.hpp"
#include "runner/http/scripted_transport.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/model_frames.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OpenaiModel : public test::coroutine_test {
protected:
    /// The bodies of the answers; what is asked goes into `bodies`.
    owned_model answering(std::vector<std::string> answers, openai_model_settings settings = {}) {
        std::vector<scripted_answer> script;
        for (std::string& each : answers) {
            script.emplace_back().body = std::move(each);
        }
        settings.url = "http://127.0.0.1:1/v1";
        settings.model = "thinker";
        settings.client =
            make_scripted_client(std::move(script), [this](const transport_request& asked) {
                bodies.push_back(asked.body);
            });
        return openai_model(std::move(settings));
    }

    chat_result chat(owned_model model, chat_with_tools config = {}) {
        return run(chat_loop_with_tools(
            std::move(model), {user("Hi")}, {tool("look", "Looks.", [] { return "seen"; })},
            std::move(config)
        ));
    }

    static constexpr const char* thoughtful_call =
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\n\n"
        "data: "
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
        "\"function\","
        "\"function\":{\"name\":\"look\",\"arguments\":\"{}\"},"
        "\"extra_content\":{\"google\":{\"thought_signature\":\"sig\"}}}]}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
        "data: [DONE]\n\n";
    static constexpr const char* done =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n";

    std::vector<std::string> bodies;
};

// What a model wants back is lost where the provider and its dialect go by different names.
TEST_F(OpenaiModel, GetsItsReasoningAndSignaturesBack) {
    const chat_result answered = chat(answering({thoughtful_call, done}));

    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.content, "Done.");
    ASSERT_EQ(bodies.size(), 2U);
    EXPECT_THAT(bodies[1], HasSubstr(R"("reasoning_content":"Hm.")"));
    EXPECT_THAT(bodies[1], HasSubstr(R"("thought_signature":"sig")"));
    EXPECT_THAT(bodies[1], HasSubstr(R"("model":"thinker")"));
}

// A conversation may go on in another process, with the same model.
TEST_F(OpenaiModel, GetsThemBackInALaterChatToo) {
    const chat_result first = chat(answering({thoughtful_call, done}));
    ASSERT_TRUE(first);
    std::vector<session::message> messages = first->messages;
    messages.push_back(user("And now?"));

    const auto go_on = [&](openai_model_settings settings) {
        bodies.clear();
        (void)run(chat_loop_with_tools(answering({done}, std::move(settings)), messages, {}, {}));
        return bodies.at(0);
    };
    EXPECT_THAT(go_on({}), HasSubstr(R"("thought_signature":"sig")"));
    EXPECT_THAT(go_on({.url = {}, .model = {}, .name = "another"}), Not(HasSubstr("sig")));
}

TEST_F(OpenaiModel, IsAskedWithItsParameters) {
    openai_model_settings settings;
    settings.parameters.temperature = 0.5;
    settings.parameters.max_output_tokens = 7;
    settings.dialect.extra_body = {{"top_k", 3}};

    (void)chat(answering({done}, settings));

    EXPECT_THAT(bodies.at(0), HasSubstr(R"("temperature":)"));
    EXPECT_THAT(bodies.at(0), HasSubstr(R"("top_k":3)"));
    EXPECT_THAT(bodies.at(0), HasSubstr(R"("model":"thinker")"));
}

TEST_F(OpenaiModel, ItsKeyIsCutOutOfTheServersText) {
    scripted_answer refusal;
    refusal.status = 401;
    refusal.body = R"({"error":{"message":"Incorrect API key: sk-secret"}})";
    refusal.headers = {{"x-request-id", "req-7"}};
    const chat_result failed = chat(openai_model(
        {.url = "http://127.0.0.1:1/v1",
         .model = "m",
         .key = "sk-secret",
         .client = make_scripted_client({refusal})}
    ));

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::model_rejected);
    EXPECT_EQ(failed.error().status, 401);
    EXPECT_EQ(failed.error().request_id, "req-7");
    EXPECT_FALSE(failed.error().detail.empty());
    EXPECT_THAT(failed.error().upstream, HasSubstr("Incorrect API key"));
    EXPECT_THAT(failed.error().text(), HasSubstr("401"));
    EXPECT_THAT(failed.error().text(), Not(HasSubstr("sk-secret")));
}

TEST_F(OpenaiModel, RefusesAUrlThatIsNone) {
    EXPECT_THROW((void)openai_model({.url = "ftp://x", .model = "m"}), std::invalid_argument);
}

} // namespace
} // namespace agui::runner
