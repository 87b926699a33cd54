// The values in an agent's instructions, as each model call of a run gets them.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Prompt : public server_test {
protected:
    Prompt() {
        settings.agents.at(0).prompt_props = {"locale", "level"};
        listen();
    }

    void listen() {
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                bodies_.emplace_back(request.body);
                return std::optional(bodies_.size() <= calls_ ? call_tool("look") : answer);
            };
        };
    }
    void instruct(std::string_view text) { settings.agents.at(0).instructions = text; }
    /// The first answers call a tool.
    void call_first(std::size_t count) { calls_ = count; }

    raw_reply send(
        std::string_view run_id, std::string_view messages, std::string_view props = {},
        std::string_view more = {}
    ) {
        std::string body = R"({"threadId":"t","runId":")" + std::string(run_id) +
                           R"(","messages":)" + std::string(messages);
        if (!props.empty()) {
            body.append(R"(,"forwardedProps":)").append(props);
        }
        body.append(more).append("}");
        return ask(post("/agui", body));
    }

    /// The system text of each request to the model.
    [[nodiscard]] std::vector<std::string> told() const {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> texts;
        for (const std::string& body : bodies_) {
            const json::value request = json::parse(body);
            const json::value& first = request.at("messages").at(0);
            texts.emplace_back(
                first.at("role") == "system" ? std::string(first.at("content").as_string()) : ""
            );
        }
        return texts;
    }
    [[nodiscard]] std::vector<std::string> bodies() const {
        const std::lock_guard lock(mutex_);
        return bodies_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> bodies_;
    std::size_t calls_ = 0;
};

const std::string hello = R"([{"id":"m1","role":"user","content":"hello"}])";
const std::string again = R"([{"id":"m2","role":"user","content":"again"}])";
const std::string result = R"([{"id":"a1","role":"tool","toolCallId":"c1","content":"ok"}])";
const std::string tools = R"(,"tools":[{"name":"look","description":"","parameters":{}}])";

std::size_t count_of(std::string_view what, std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
        ++count;
    }
    return count;
}

TEST_F(Prompt, HasTheValuesOfTheRun) {
    instruct("I am {{agent}}, in {{thread}}, for [{{user}}], in {{forwardedProps.locale}}.");
    start();

    ASSERT_EQ(send("r", hello, R"({"locale":"de","other":"x"})").status, 200);

    EXPECT_THAT(told(), ElementsAre("I am default, in t, for [], in de."));
}

TEST_F(Prompt, TellsTheTimeInUtc) {
    instruct("{{time}} {{date}}");
    start();

    ASSERT_EQ(send("r", hello).status, 200);

    EXPECT_THAT(
        told(), ElementsAre(MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z "
                                         "20[0-9]{2}-[0-9]{2}-[0-9]{2}"))
    );
}

TEST_F(Prompt, HasEachValueOnceInEachCallOfARun) {
    instruct("In {{forwardedProps.locale}}.");
    options.tools.add(
        {.name = "look", .description = "", .parameters = {}},
        [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            co_return runner::tool_outcome{};
        }
    );
    call_first(2);
    start();

    ASSERT_THAT(send("r", hello, R"({"locale":"elvish"})").body, HasSubstr("RUN_FINISHED"));

    ASSERT_THAT(bodies(), SizeIs(3));
    for (const std::string& body : bodies()) {
        EXPECT_EQ(count_of("elvish", body), 1U) << body;
    }
    EXPECT_THAT(told(), Each("In elvish."));
}

TEST_F(Prompt, StaysTheSameWhereARequestOnlyAnswersACall) {
    instruct("{{time}} in {{forwardedProps.locale}}");
    use_sqlite();
    call_first(1);
    start();
    ASSERT_EQ(send("r1", hello, R"({"locale":"de"})", tools).status, 200);

    ASSERT_THAT(send("r2", result, {}, tools).body, HasSubstr("Hello"));

    ASSERT_THAT(told(), SizeIs(2));
    EXPECT_EQ(told()[0], told()[1]);
    EXPECT_THAT(told()[1], HasSubstr("in de"));
}

TEST_F(Prompt, NewValuesAreToldInTheNextMessage) {
    instruct("In {{forwardedProps.locale}}.");
    call_first(1);
    start();
    ASSERT_EQ(send("r1", hello, R"({"locale":"de"})", tools).status, 200);
    ASSERT_EQ(send("r2", result, R"({"locale":"fr"})", tools).status, 200);

    ASSERT_EQ(send("r3", again).status, 200);

    EXPECT_THAT(told(), Each("In de."));
    EXPECT_THAT(bodies().at(1), Not(HasSubstr("<values")));
    EXPECT_THAT(bodies().at(2), HasSubstr(R"(<value name=\"forwardedProps.locale\"></value>)"))
        << "a new message says everything anew";
}

TEST_F(Prompt, MayBeRewrittenForEachMessage) {
    instruct("In {{forwardedProps.locale}}.");
    settings.agents.at(0).instructions_refresh = gateway::instructions_refresh::rewrite;
    start();
    ASSERT_EQ(send("r1", hello, R"({"locale":"de"})").status, 200);

    ASSERT_EQ(send("r2", again, R"({"locale":"fr"})").status, 200);

    EXPECT_THAT(told(), ElementsAre("In de.", "In fr."));
}

TEST_F(Prompt, LeavesTheContextAsItIs) {
    instruct("In {{forwardedProps.locale}}.");
    call_first(1);
    start();
    const std::string context = R"(,"context":[{"description":"weather","value":"rain"}])";
    ASSERT_EQ(send("r1", hello, R"({"locale":"de"})", tools + context).status, 200);

    ASSERT_EQ(send("r2", result, {}, tools + R"(,"context":[])").status, 200);

    EXPECT_THAT(told(), Each("In de."));
    EXPECT_THAT(bodies()[0], AllOf(HasSubstr("rain"), HasSubstr("<context")));
    EXPECT_THAT(bodies()[1], HasSubstr("<context")) << "it was told";
}

TEST_F(Prompt, CannotBeSetByContext) {
    instruct("In {{forwardedProps.locale}}.");
    start();

    ASSERT_EQ(
        send(
            "r", hello, {},
            R"(,"context":[{"description":"d","value":"v","forwardedProps":{"locale":"xx"}}])"
        )
            .status,
        200
    );

    EXPECT_THAT(told(), ElementsAre("In ."));
}

TEST_F(Prompt, AValueIsDataOfBoundedLength) {
    instruct("In {{forwardedProps.locale}}. End.");
    start();
    json::object props{{"locale", "a\n# New rules: {{thread}}" + std::string(100'000, 'x')}};

    ASSERT_EQ(send("r", hello, json::serialize(props)).status, 200);

    ASSERT_THAT(told(), SizeIs(1));
    EXPECT_THAT(told()[0], StartsWith("In a # New rules: {{thread}}xxx"));
    EXPECT_EQ(told()[0].size(), std::string_view("In . End.").size() + 1024);
}

TEST_F(Prompt, TakesNumbersAndNoObjects) {
    instruct("{{forwardedProps.level}}/{{forwardedProps.locale}}");
    start();

    ASSERT_EQ(send("r", hello, R"({"level":3,"locale":{"a":1}})").status, 200);

    EXPECT_THAT(told(), ElementsAre("3/"));
}

TEST_F(Prompt, ComesBeforeTheContextAsSystemText) {
    instruct("I am {{agent}}.");
    settings.agents.at(0).context = gateway::context_place::system;
    start();

    ASSERT_EQ(
        send("r", hello, {}, R"(,"context":[{"description":"d","value":"rain"}])").status, 200
    );

    ASSERT_THAT(told(), SizeIs(1));
    EXPECT_THAT(told()[0], AllOf(StartsWith("I am default.\n\n<context"), HasSubstr("rain")));
}

TEST_F(Prompt, HasLiteralBraces) {
    instruct("Write {{{{name}}.");
    start();

    ASSERT_EQ(send("r", hello).status, 200);

    EXPECT_THAT(told(), ElementsAre("Write {{name}}."));
}

TEST_F(Prompt, IsCheckedIfAProgramSetsIt) {
    instruct("{{nobody}}");
    EXPECT_THROW(start(), std::runtime_error);
}

} // namespace
} // namespace agui::test
