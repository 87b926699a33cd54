#include "tests/translator/input/run_input_case.hpp"

namespace agui::translator {
namespace {

using namespace run_input_case;

TEST(RunInputTools, LetTheLastOfANameWin) {
    const run_input input = read_with(
        R"("tools":[{"name":"a","description":"1"},{"name":"b"},{"name":"a","description":"2"}])"
    );

    ASSERT_EQ(input.tools->size(), 2U);
    EXPECT_EQ((*input.tools)[0].name, "a");
    EXPECT_EQ((*input.tools)[0].description, "2");
    EXPECT_EQ((*input.tools)[1].name, "b");
    EXPECT_EQ(
        boost::json::serialize(input.tools_json), R"([{"name":"a","description":"2"},{"name":"b"}])"
    );
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("tools[2]")));
}

TEST(RunInputTools, TakeAbsentDescriptionsAndParameters) {
    const run_input input =
        read_with(R"("tools":[{"name":"a","description":null,"parameters":null}])");

    EXPECT_EQ(input.tools->front().description, "");
    EXPECT_TRUE(input.tools->front().parameters.is_null());
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInputTools, IgnoreASchemaThatIsNotAnObject) {
    const run_input input = read_with(R"("tools":[{"name":"a","parameters":true}])");

    EXPECT_TRUE(input.tools->front().parameters.is_null());
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("tools[0].parameters")));
}

// ---- forwardedProps -----------------------------------------------------------------------------

TEST(ForwardedProps, KeepsTheValuesThatPromptsUse) {
    input_limits limits;
    limits.prompt_props = {"locale", "level", "tags", "none", "empty"};
    const run_input input =
        read_run_input(
            R"({"threadId":"t","runId":"r","messages":[],"forwardedProps":)"
            R"({"locale":"de\u0007\nx","level":3,"tags":["a"],"empty":null,"other":"y"}})",
            limits
        )
            .value();

    EXPECT_EQ(
        input.forwarded.prompt_values, (boost::json::object{{"locale", "de  x"}, {"level", "3"}})
    );
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("forwardedProps.tags")));
}

TEST(RunInputForwarded, ReadsSettings) {
    const forwarded_settings given =
        read_with(
            R"("forwardedProps":{"model":"m","temperature":1,"max_output_tokens":5,"tool_choice":"none",
        "reasoning_effort":"low","ephemeral":true,"follow":true,"other":[1]})"
        )
            .forwarded;

    EXPECT_EQ(given.model, "m");
    EXPECT_EQ(given.temperature, 1.0);
    EXPECT_EQ(given.max_output_tokens, 5);
    EXPECT_EQ(given.tool_choice, "none");
    EXPECT_EQ(given.reasoning_effort, "low");
    EXPECT_TRUE(given.ephemeral);
    EXPECT_TRUE(given.follow);
}

TEST(RunInputForwarded, ReadsTheAnswerOfAnOlderClient) {
    const auto resume = [](const std::string& command) {
        return read_with(R"("forwardedProps":{"command":)" + command + "}").forwarded.legacy_resume;
    };
    EXPECT_FALSE(resume("1"));
    EXPECT_FALSE(resume(R"({"resume":null})"));
    EXPECT_EQ(resume(R"({"resume":false})")->payload, boost::json::value(false));
    EXPECT_EQ(resume(R"({"resume":"Yes"})")->payload, boost::json::value("Yes"));
    EXPECT_EQ(resume(R"({"resume":"12"})")->payload, boost::json::value("12"));
    const auto named =
        resume(R"({"resume":"{\"approved\":true}","interruptEvent":"{\"id\":\"c1:0f\"}"})");
    EXPECT_EQ(named->payload, (boost::json::value{{"approved", true}}));
    EXPECT_EQ(named->interrupt_id, "c1:0f");
    EXPECT_FALSE(named->cancelled);
    EXPECT_EQ(resume(R"({"resume":1,"interruptEvent":{"id":"i"}})")->interrupt_id, "i");
    const auto with_null = resume(R"({"resume":null,"interruptEvent":{"id":"i"}})");
    ASSERT_TRUE(with_null);
    EXPECT_EQ(with_null->payload, boost::json::value());
    EXPECT_EQ(with_null->interrupt_id, "i");
    EXPECT_FALSE(resume(R"({"resume":null,"interruptEvent":"text"})"));
    EXPECT_EQ(resume(R"({"resume":1,"interruptEvent":"text"})")->interrupt_id, "");
}

TEST(RunInputForwarded, ReadsAliases) {
    const forwarded_settings given =
        read_with(
            R"("forwardedProps":{"modelName":"m","toolChoice":{"type":"function","function":{"name":"f"}},
        "reasoningEffort":"high","maxOutputTokens":7})"
        )
            .forwarded;

    EXPECT_EQ(given.model, "m");
    EXPECT_EQ(given.tool_choice, "f");
    EXPECT_EQ(given.reasoning_effort, "high");
    EXPECT_EQ(given.max_output_tokens, 7);
}

TEST(RunInputForwarded, AsksForSuggestionsIfTheirToolIsTheOnlyOneAndDemanded) {
    constexpr std::string_view tool =
        R"({"name":"copilotkitSuggest","description":"","parameters":{}})";
    constexpr std::string_view demand =
        R"("forwardedProps":{"toolChoice":{"type":"function","function":{"name":"copilotkitSuggest"}}})";
    const auto asks = [](std::string_view tools, std::string_view props) {
        const run_input input =
            read_with(std::string(props) + R"(,"tools":[)" + std::string(tools) + "]");
        EXPECT_EQ(input.forwarded.ephemeral, input.is_for_suggestions);
        return input.is_for_suggestions;
    };

    EXPECT_TRUE(asks(tool, demand));
    EXPECT_FALSE(asks(tool, R"("forwardedProps":{})"));
    EXPECT_FALSE(asks(tool, R"("forwardedProps":{"toolChoice":"auto"})"));
    EXPECT_FALSE(asks("", demand));
    EXPECT_FALSE(asks(R"({"name":"other","description":"","parameters":{}})", demand));
    const std::string both =
        std::string(tool) + R"(,{"name":"other","description":"","parameters":{}})";
    EXPECT_FALSE(asks(both, demand));
    EXPECT_FALSE(read_with(demand).is_for_suggestions);
}

TEST(RunInputForwarded, IgnoresWrongTypesWithNotes) {
    const run_input input = read_with(
        R"("forwardedProps":{"model":1,"temperature":"hot","max_output_tokens":1.5,"tool_choice":{},
        "reasoning_effort":[],"ephemeral":"yes"})"
    );

    EXPECT_FALSE(input.forwarded.model.has_value());
    EXPECT_FALSE(input.forwarded.temperature.has_value());
    EXPECT_FALSE(input.forwarded.max_output_tokens.has_value());
    EXPECT_FALSE(input.forwarded.tool_choice.has_value());
    EXPECT_FALSE(input.forwarded.reasoning_effort.has_value());
    EXPECT_FALSE(input.forwarded.ephemeral);
    EXPECT_EQ(input.notes.size(), 6U);
}

TEST(RunInputForwarded, IgnoresNumbersOutOfRange) {
    const run_input input =
        read_with(R"("forwardedProps":{"temperature":-1,"max_output_tokens":0})");

    EXPECT_FALSE(input.forwarded.temperature.has_value());
    EXPECT_FALSE(input.forwarded.max_output_tokens.has_value());
}

TEST(RunInputForwarded, ReadsTopPStopAndSeed) {
    const forwarded_settings given =
        read_with(R"("forwardedProps":{"topP":0.5,"stop":"END","seed":-7})").forwarded;
    EXPECT_EQ(given.top_p, 0.5);
    EXPECT_EQ(given.stop, std::vector<std::string>{"END"});
    EXPECT_EQ(given.seed, -7);

    const run_input more =
        read_with(R"("forwardedProps":{"top_p":1,"stop_sequences":["a","b"],"seed":1.5})");
    EXPECT_EQ(more.forwarded.top_p, 1.0);
    EXPECT_EQ(more.forwarded.stop, (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(more.forwarded.seed.has_value());
    EXPECT_THAT(more.notes, ElementsAre(HasSubstr("forwardedProps.seed")));
}

TEST(RunInputForwarded, LimitsTopPAndStop) {
    const std::string many = R"("a","a","a","a","a","a","a","a")";
    const std::vector<std::string> cases{
        R"("top_p":1.1)",
        R"("stop":"")",
        R"("stop":[1])",
        R"("stop":")" + std::string(257, 'a') + "\"",
        R"("stop":[)" + many + "," + many + R"(,"a"])",
    };
    for (const std::string& each : cases) {
        SCOPED_TRACE(each);
        const run_input input = read_with(R"("forwardedProps":{)" + each + "}");
        EXPECT_FALSE(input.forwarded.top_p.has_value());
        EXPECT_FALSE(input.forwarded.stop.has_value());
        EXPECT_EQ(input.notes.size(), 1U);
    }
    EXPECT_EQ(
        read_with(R"("forwardedProps":{"stop":[)" + many + "," + many + "]}")
            .forwarded.stop->size(),
        16U
    );
}

forwarded_settings with_format(const std::string& format) {
    return read_with(R"("forwardedProps":{"response_format":)" + format + "}").forwarded;
}

TEST(RunInputForwarded, ReadsTheFormsOfAResponseFormat) {
    const auto of_chat =
        with_format(R"({"type":"json_schema","json_schema":{"name":"w_1","strict":true,)"
                    R"("schema":{"type":"object"}}})")
            .response_format.value();
    EXPECT_EQ(of_chat->schema, R"({"type":"object"})");
    EXPECT_EQ(of_chat->name, "w_1");
    EXPECT_TRUE(of_chat->strict);

    const auto flat = with_format(R"({"type":"json_schema","name":"no name","schema":{}})")
                          .response_format.value();
    EXPECT_EQ(flat->schema, "{}");
    EXPECT_EQ(flat->name, "reply") << "servers refuse the other one";
    EXPECT_FALSE(flat->strict);

    EXPECT_EQ(with_format(R"({"type":"json_object"})").response_format.value()->schema, "");
    EXPECT_EQ(with_format(R"({"type":"text"})").response_format.value(), nullptr);
}

TEST(RunInputForwarded, IgnoresAResponseFormatThatNoServerTakes) {
    const std::vector<std::string> cases{
        "1",
        "{}",
        R"({"type":"xml"})",
        R"({"type":"json_schema"})",
        R"({"type":"json_schema","json_schema":1})",
        R"({"type":"json_schema","schema":"{}"})",
        R"({"type":"json_schema","schema":{"x":")" + std::string(65'536, 'a') + "\"}}",
    };
    for (const std::string& each : cases) {
        SCOPED_TRACE(each.substr(0, 60));
        const run_input input = read_with(R"("forwardedProps":{"response_format":)" + each + "}");
        EXPECT_FALSE(input.forwarded.response_format.has_value());
        EXPECT_THAT(input.notes, ElementsAre(HasSubstr("forwardedProps.response_format")));
    }
}

TEST(RunInputForwarded, MayBeNoObject) {
    const run_input input = read_with(R"("forwardedProps":"x")");

    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("forwardedProps")));
    EXPECT_THAT(input.canonical, HasSubstr(R"("forwardedProps":"x")"));
}

TEST(RunInputForwarded, DropsSecretsFromTheCanonicalText) {
    const run_input input = read_with(
        R"("forwardedProps":{"apiKey":"S1","API_KEY":"S2","baseUrl":"S3","base_url":"S4",
        "headers":{"x":"S5"},"Authorization":"S6","token":"S7","keep":1,
        "nested":[{"api-key":"S8","keep":2}]},
        "forwarded_props":{"apikey":"S9"})"
    );

    EXPECT_THAT(input.canonical, Not(::testing::ContainsRegex("S[0-9]")));
    EXPECT_THAT(input.canonical, HasSubstr(R"("forwardedProps":{"keep":1,"nested":[{"keep":2}]})"));
    for (const std::string& note : input.notes) {
        EXPECT_THAT(note, Not(::testing::ContainsRegex("S[0-9]")));
    }
}

TEST(RunInputForwarded, KeepsWordsLikeSecretsElsewhere) {
    const run_input input = read_with(R"("state":{"token":"mine"})");

    EXPECT_THAT(input.canonical, HasSubstr(R"("token":"mine")"));
}

} // namespace
} // namespace agui::translator
