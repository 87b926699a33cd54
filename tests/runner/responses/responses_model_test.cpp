#include "runner/responses/responses_model.hpp"

#include "tests/runner/provider/model_case.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace answer_frames = test::responses;
using ::testing::HasSubstr;

class ResponsesModel : public test::model_case {
protected:
    owned_model answering(std::vector<std::string> bodies) {
        auto settings = playing<responses_model_settings>(std::move(bodies));
        settings.model = "gpt-5.6";
        return responses_model(std::move(settings));
    }

    const std::string thoughtful_call =
        answer_frames::created + answer_frames::reasoning(0, "rs_1", "Hm.") +
        answer_frames::message(1, "Let me look.", R"(,"phase":"commentary")") +
        answer_frames::call(2, "call_1", "look", R"({\"a\":1})") +
        answer_frames::end("completed", "," + answer_frames::usage);
    const std::string done = answer_frames::created + answer_frames::message(0, "Done.") +
                             answer_frames::end("completed", "," + answer_frames::usage);
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

} // namespace
} // namespace agui::runner
