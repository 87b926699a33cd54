#include "runner/tools/tool_question.hpp"

#include "runner/tools/check_budget.hpp"
#include "runner/tools/webhook_answer.hpp"
#include "session/base/parse_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::runner {
namespace {

const boost::json::object unit_schema{
    {"type", "object"},
    {"properties", {{"unit", {{"enum", {"C", "F"}}}}}},
    {"required", boost::json::array{"unit"}},
};

session::input_question good() { return {"Which unit?", unit_schema, {}}; }

TEST(ToolQuestion, CannotBeAskedWithoutItsPartsOrWithPartsThatNobodyCanShow) {
    EXPECT_EQ(question_problem(good()), "");
    session::input_question changed = good();
    changed.message.clear();
    EXPECT_NE(question_problem(changed), "");
    changed = good();
    changed.schema.clear();
    EXPECT_NE(question_problem(changed), "");
    changed = good();
    changed.schema["type"] = "no type";
    EXPECT_NE(question_problem(changed), "");
    changed = good();
    changed.message = "\xff";
    EXPECT_NE(question_problem(changed), "");
    changed = good();
    changed.metadata["text"] = std::string(session::question_bytes_max, 'x');
    EXPECT_NE(question_problem(changed), "");
    changed = good();
    boost::json::value deep = 1;
    for (int i = 0; i < 100; ++i) {
        deep = boost::json::array{deep};
    }
    changed.metadata["deep"] = deep;
    EXPECT_NE(question_problem(changed), "");
}

TEST(ToolQuestion, IsAnsweredByValuesThatFitItsSchema) {
    check_budget budget;
    const auto fits = [&budget](const boost::json::object& schema, std::string_view answer) {
        return fits_question(schema, parse_json(answer).value(), budget);
    };
    EXPECT_TRUE(fits(unit_schema, R"({"unit":"C"})"));
    EXPECT_TRUE(fits(unit_schema, R"({"unit":"F","more":1})"));
    for (const std::string_view wrong :
         {"null", "{}", R"({"unit":"K"})", R"({"unit":null})", "1"}) {
        EXPECT_FALSE(fits(unit_schema, wrong)) << wrong;
    }
    EXPECT_TRUE(fits({{"type", "boolean"}}, "false"));
    EXPECT_TRUE(fits({{"type", "number"}}, "0"));
    EXPECT_TRUE(fits({{"type", "string"}}, R"("")"));
    EXPECT_FALSE(fits({{"type", "no type"}}, "1"));
    check_budget spent(0);
    EXPECT_FALSE(fits_question(unit_schema, {{"unit", "C"}}, spent));
}

TEST(ToolQuestion, OfAWebhookIsReadFromTheMetadataOfItsAnswer) {
    const tool_outcome outcome = read_webhook_answer(
        R"({"result":"unused","_meta":{"org.agui-gateway/input":{"message":"Which unit?",)"
        R"("responseSchema":{"type":"object"},"metadata":{"title":"Unit"}},)"
        R"("org.agui-gateway/effects":{"state":1}}})"
    );
    EXPECT_EQ(outcome.what, tool_outcome::kind::input);
    ASSERT_NE(outcome.question, nullptr);
    EXPECT_EQ(outcome.question->message, "Which unit?");
    EXPECT_EQ(outcome.question->schema, (boost::json::object{{"type", "object"}}));
    EXPECT_EQ(outcome.question->metadata, (boost::json::object{{"title", "Unit"}}));
    EXPECT_NE(outcome.effects, nullptr);
    // A question of the wrong form is one that cannot be asked, not a result.
    const tool_outcome bad =
        read_webhook_answer(R"({"_meta":{"org.agui-gateway/input":{"message":1}}})");
    ASSERT_NE(bad.question, nullptr);
    EXPECT_NE(question_problem(*bad.question), "");
    EXPECT_EQ(
        read_webhook_answer(R"({"org.agui-gateway/input":{}})").what, tool_outcome::kind::result
    );
}

} // namespace
} // namespace agui::runner
