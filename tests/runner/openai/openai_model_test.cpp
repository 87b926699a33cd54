#include "runner/openai/openai_model.hpp"

#include "tests/runner/provider/model_case.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using ::testing::HasSubstr;

class OpenaiModel : public test::model_case {
protected:
    owned_model answering(std::vector<std::string> bodies, openai_model_settings settings = {}) {
        settings = playing(std::move(bodies), std::move(settings));
        settings.model = "thinker";
        return openai_model(std::move(settings));
    }

    static constexpr const char* thoughtful_call =
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\n\n"
        "data: "
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
        "\"function\","
        "\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"a\\\":1}\"},"
        "\"extra_content\":{\"google\":{\"thought_signature\":\"sig\"}}}]}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
        "data: [DONE]\n\n";
    static constexpr const char* done =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n";
};

// What a model wants back is lost where the provider and its dialect go by different names.
TEST_F(OpenaiModel, GetsItsReasoningAndSignaturesBack) {
    const chat_result answered = chat(answering({thoughtful_call, done}), {user("Hi")});

    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->totals.content, "Done.");
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_THAT(requests[1].body, HasSubstr(R"("reasoning_content":"Hm.")"));
    EXPECT_THAT(requests[1].body, HasSubstr(R"("thought_signature":"sig")"));
    EXPECT_THAT(requests[1].body, HasSubstr(R"("model":"thinker")"));
}

TEST_F(OpenaiModel, IsAskedWithItsParameters) {
    openai_model_settings settings;
    settings.parameters.temperature = 0.5;
    settings.parameters.max_output_tokens = 7;
    settings.dialect.extra_body = {{"top_k", 3}};

    (void)chat(answering({done}, settings), {user("Hi")});

    EXPECT_THAT(requests.at(0).body, HasSubstr(R"("temperature":)"));
    EXPECT_THAT(requests.at(0).body, HasSubstr(R"("top_k":3)"));
    EXPECT_THAT(requests.at(0).body, HasSubstr(R"("model":"thinker")"));
}

} // namespace
} // namespace agui::runner
