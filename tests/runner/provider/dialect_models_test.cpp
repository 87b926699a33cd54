// What holds for a model of every dialect.
#include "runner/anthropic/anthropic_model.hpp"
#include "runner/openai/openai_model.hpp"
#include "runner/responses/responses_model.hpp"
#include "tests/runner/anthropic/anthropic_answer_case.hpp"
#include "tests/runner/provider/model_case.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"
#include "tests/support/model_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct no_settings {};
using asked_model = served_model_settings<no_settings>;

struct model_dialect_case {
    const char* name;
    std::string model;
    owned_model (*make)(asked_model settings);
    std::string call;   ///< An answer with opaque data that calls `look`.
    std::string opaque; ///< A part of that data.
    std::string done;   ///< An answer with text.
    /// Bytes at the end of `call` without which it is cut.
    std::size_t end_bytes;
    std::string request_id_header;
    bool signs_calls = false; ///< The data belongs to the call, not to the whole answer.
    bool binds_tools = false; ///< The server takes its data only with an equal list of tools.
};

void PrintTo(const model_dialect_case& value, std::ostream* out) { *out << value.name; }

template <class Settings>
Settings settings_of(asked_model given) {
    Settings made;
    made.url = std::move(given.url);
    made.model = std::move(given.model);
    made.key = std::move(given.key);
    made.name = std::move(given.name);
    made.client = std::move(given.client);
    return made;
}

const std::vector<model_dialect_case>& dialects() {
    namespace answers = test::responses;
    static const std::vector<model_dialect_case> all = {
        {"Chat", "thinker",
         [](asked_model given) {
             return openai_model(settings_of<openai_model_settings>(std::move(given)));
         },
         test::model_frame(
             R"({"choices":[{"delta":{"reasoning_content":"Well.","tool_calls":[{"index":0,)"
             R"("id":"functions.look:0","function":{"name":"look","arguments":"{\"a\":1}"},)"
             R"("extra_content":{"google":{"thought_signature":"Y2hhdA+/"}}}]}}]})"
         ) + test::end_frames("tool_calls"),
         "Y2hhdA+/", test::text_frame("Done.") + test::end_frames(),
         test::end_frames("tool_calls").size(), "x-request-id", true},
        {"Messages", "claude-opus-5-5",
         [](asked_model given) {
             return anthropic_model(settings_of<anthropic_model_settings>(std::move(given)));
         },
         test::message_start() + test::thinking_block(0, "Hm.", "c2ln+/=") +
             test::call_block(1, "toolu_1", "look", R"({\"a\":1})") + test::end_events("tool_use"),
         "c2ln+/=",
         test::message_start() + test::text_block(0, "Done.") + test::end_events("end_turn"), 300,
         "request-id", false, true},
        {"Responses", "gpt-5.6",
         [](asked_model given) {
             return responses_model(settings_of<responses_model_settings>(std::move(given)));
         },
         answers::created + answers::reasoning(0, "rs_1", "Hm.") +
             answers::message(1, "Let me look.", R"(,"phase":"commentary")") +
             answers::call(2, "call_1", "look", R"({\"a\":1})") +
             answers::end("completed", "," + answers::usage),
         "ENC",
         answers::created + answers::message(0, "Done.") +
             answers::end("completed", "," + answers::usage),
         200, "x-request-id"},
    };
    return all;
}

class DialectModels : public test::model_case,
                      public ::testing::WithParamInterface<model_dialect_case> {
protected:
    /// Asks a model of the dialect, whose server gives these answers, with one message more.
    /// Returns the messages, also of an answer that failed.
    std::vector<session::message>
    ask(const model_dialect_case& dialect, std::vector<session::message> messages,
        std::vector<std::string> bodies, const std::string& name = {}) {
        auto settings = playing<asked_model>(std::move(bodies));
        settings.model = dialect.model;
        settings.name = name;
        requests.clear();
        messages.push_back(user("Hi"));
        const chat_result answered = chat(dialect.make(std::move(settings)), std::move(messages));
        return answered ? answered->messages : answered.error().so_far.messages;
    }

    [[nodiscard]] std::string last_body() const {
        return requests.empty() ? "" : requests.back().body;
    }
};

TEST_P(DialectModels, GetItsDataBackInALaterChatToo) {
    const std::vector<session::message> first =
        ask(GetParam(), {}, {GetParam().call, GetParam().done});

    EXPECT_THAT(last_body(), HasSubstr(GetParam().opaque));
    (void)ask(GetParam(), first, {GetParam().done});
    EXPECT_THAT(last_body(), HasSubstr(GetParam().opaque));
    (void)ask(GetParam(), first, {GetParam().done}, "another");
    EXPECT_THAT(last_body(), HasSubstr("seen 1"));
    EXPECT_THAT(last_body(), Not(HasSubstr(GetParam().opaque)));
}

TEST_P(DialectModels, GetItsDataBackWithMoreToolsUnlessItsServerBindsThem) {
    const std::vector<session::message> first =
        ask(GetParam(), {}, {GetParam().call, GetParam().done});
    const auto paint = [](int) {
        return std::string("done");
    };
    more_tools.push_back(tool("paint", "Paints.", {"color"}, paint));
    (void)ask(GetParam(), first, {GetParam().done});

    EXPECT_THAT(last_body(), HasSubstr("paint"));
    if (GetParam().binds_tools) {
        EXPECT_THAT(last_body(), Not(HasSubstr(GetParam().opaque)));
    } else {
        EXPECT_THAT(last_body(), HasSubstr(GetParam().opaque));
    }
}

// The data stays stored while another model is asked, which gets none of it.
TEST_P(DialectModels, TakeTurnsWithEachOther) {
    for (const model_dialect_case& other : dialects()) {
        if (other.model == GetParam().model) {
            continue;
        }
        SCOPED_TRACE(other.name);
        std::vector<session::message> messages =
            ask(GetParam(), {}, {GetParam().call, GetParam().done});
        messages = ask(other, std::move(messages), {other.call, other.done});
        EXPECT_THAT(last_body(), HasSubstr(other.opaque));
        EXPECT_THAT(last_body(), Not(HasSubstr(GetParam().opaque)));
        EXPECT_THAT(requests.at(0).body, Not(HasSubstr("commentary")));

        messages = ask(GetParam(), std::move(messages), {GetParam().done});
        EXPECT_THAT(last_body(), HasSubstr(GetParam().opaque));
        EXPECT_THAT(last_body(), Not(HasSubstr(other.opaque)));
    }
}

TEST_P(DialectModels, GetNothingOfACutAnswerBackButTheSignatureOfAWholeCall) {
    const std::string cut =
        GetParam().call.substr(0, GetParam().call.size() - GetParam().end_bytes);
    const std::vector<session::message> first = ask(GetParam(), {}, {cut});

    (void)ask(GetParam(), first, {GetParam().done});

    EXPECT_THAT(last_body(), HasSubstr("Hi"));
    EXPECT_EQ(last_body().find(GetParam().opaque) != std::string::npos, GetParam().signs_calls);
}

TEST_P(DialectModels, CutTheirKeyOutOfTheServersText) {
    scripted_answer refusal;
    refusal.status = 401;
    refusal.body = R"({"error":{"message":"Incorrect API key provided: sk-secret"}})";
    refusal.headers = {{GetParam().request_id_header, "req_7"}};
    asked_model settings{
        .url = "http://127.0.0.1:1",
        .model = GetParam().model,
        .key = "sk-secret",
        .client = make_scripted_client({refusal})
    };
    const chat_result failed = chat(GetParam().make(std::move(settings)), {user("Hi")});

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::model_rejected);
    EXPECT_EQ(failed.error().status, 401);
    EXPECT_EQ(failed.error().request_id, "req_7");
    EXPECT_THAT(failed.error().upstream, HasSubstr("Incorrect API key"));
    EXPECT_THAT(failed.error().text(), HasSubstr("401"));
    EXPECT_THAT(failed.error().text(), Not(HasSubstr("sk-secret")));
}

TEST_P(DialectModels, RefuseAUrlThatIsNone) {
    EXPECT_THROW((void)GetParam().make({.url = "ftp://x", .model = "m"}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(
    All, DialectModels, ::testing::ValuesIn(dialects()),
    [](const auto& param) { return std::string(param.param.name); }
);

} // namespace
} // namespace agui::runner
