#include "proto-fixtures/replay/transcript.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace agui::replay {
namespace {

namespace json = boost::json;

model_turn turn(std::string body, const char* messages) {
    model_turn made;
    made.answer.body = std::move(body);
    if (messages != nullptr) {
        made.expect = json::object{{"messages", json::parse(messages)}};
    }
    return made;
}

fixture with_turns(std::vector<model_turn> turns) {
    request_step request;
    request.upstream = std::move(turns);
    fixture made;
    made.steps.push_back({"step 1", std::move(request)});
    return made;
}

std::string ask(transcript& model, const std::string& messages) {
    runner::transport_request request;
    request.body = R"({"model":"m","messages":)" + messages + "}";
    const auto answer = model.answer(request);
    return answer ? answer->body : "none";
}

constexpr const char* hello = R"([{"role":"user","content":"Hello."}])";
constexpr const char* bye = R"([{"role":"user","content":"Hello."},)"
                            R"({"role":"assistant","content":"Hi."},)"
                            R"({"role":"user","content":"Bye."}])";

TEST(Transcript, ChoosesTheAnswerThatExpectsTheseMessages) {
    transcript model(with_turns({turn("first", hello), turn("second", bye)}));

    EXPECT_EQ(ask(model, bye), "second");
    EXPECT_EQ(ask(model, hello), "first");
    EXPECT_EQ(ask(model, hello), "first");
}

TEST(Transcript, TakesAnyIdForAPlaceholder) {
    transcript model(with_turns(
        {turn("other", hello),
         turn("answer", R"([{"role":"tool","tool_call_id":"$id:call","content":"ok"}])")}
    ));

    EXPECT_EQ(ask(model, R"([{"role":"tool","tool_call_id":"call_77","content":"ok"}])"), "answer");
}

TEST(Transcript, FallsBackOnTheLastMessage) {
    transcript model(with_turns({turn("first", hello), turn("second", bye)}));

    EXPECT_EQ(
        ask(model, R"([{"role":"system","content":"x"},{"role":"user","content":"Bye."}])"),
        "second"
    );
}

TEST(Transcript, FallsBackOnThePlaceInTheConversationAndBeginsAgain) {
    transcript model(with_turns({turn("first", nullptr), turn("second", nullptr)}));
    const std::string one = R"({"role":"user","content":"a"})";
    const std::string two =
        one + R"(,{"role":"assistant","content":"b"},{"role":"user","content":"c"})";
    const std::string three =
        two + R"(,{"role":"assistant","content":"d"},{"role":"user","content":"e"})";

    EXPECT_EQ(ask(model, "[" + one + "]"), "first");
    EXPECT_EQ(ask(model, "[" + two + "]"), "second");
    EXPECT_EQ(ask(model, "[" + three + "]"), "first");
}

TEST(Transcript, GivesSeveralAnswersToOneConversationInTurn) {
    transcript model(with_turns({turn("failure", hello), turn("success", hello)}));

    EXPECT_EQ(ask(model, hello), "failure");
    EXPECT_EQ(ask(model, hello), "success");
    EXPECT_EQ(ask(model, hello), "failure");
}

TEST(Transcript, ChoosesByTheItemsOfTheResponsesDialect) {
    const auto item = [](const char* role, const char* text) {
        return R"({"type":"message","role":")" + std::string(role) + R"(","content":")" + text +
               "\"}";
    };
    const auto body_of = [](transcript& model, const std::string& input) {
        runner::transport_request request;
        request.body = R"({"model":"m","input":)" + input + "}";
        const auto answer = model.answer(request);
        return answer ? answer->body : "none";
    };
    model_turn second = turn("second", nullptr);
    second.expect = json::object{{"input", json::parse("[" + item("user", "Bye.") + "]")}};
    transcript model(with_turns({turn("first", nullptr), second, turn("third", nullptr)}));
    const std::string one = item("user", "a");
    const std::string two = one + R"(,{"type":"reasoning","id":"rs_1"},)" +
                            item("assistant", "Let me look.") +
                            R"(,{"type":"function_call","call_id":"c"},)" +
                            R"({"type":"function_call_output","call_id":"c"},)" +
                            R"({"type":"reasoning","id":"rs_2"},)" + item("assistant", "b");

    EXPECT_EQ(body_of(model, "[" + item("user", "Bye.") + "]"), "second");
    EXPECT_EQ(body_of(model, "[" + two + "," + item("user", "Bye.") + "]"), "second");
    EXPECT_EQ(body_of(model, "[" + one + "]"), "first");
    EXPECT_EQ(body_of(model, "[" + two + "," + item("user", "c") + "]"), "third");
}

TEST(Transcript, HasNoAnswerToAnInvalidChat) {
    transcript model(with_turns({turn("first", hello)}));
    runner::transport_request request;
    request.body = "{}";

    EXPECT_FALSE(model.answer(request).has_value());
}

} // namespace
} // namespace agui::replay
