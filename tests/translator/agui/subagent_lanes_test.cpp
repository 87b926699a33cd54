#include "tests/translator/agui/agui_translator_case.hpp"
#include "translator/agui/interrupt_json.hpp"
#include "translator/agui/snapshot_limit.hpp"

#include <boost/json/parse.hpp>

namespace agui::translator {
namespace {

using namespace agui_translator_case;
using outcome = runner::subagent_ended::outcome;

class SubagentLanes : public AguiTranslator {
protected:
    void begin(std::string_view id, std::string_view parent = {}) {
        translator_.translate(runner::subagent_started{id, "writer", "Writes.", parent, "c1", "m1"}
        );
    }
    void inner(std::string_view id, const runner::runner_event& event) {
        translator_.translate(event, id);
    }
    void inner_text(std::string_view id) { inner(id, runner::text_delta{"a", "A"}); }
    void end(std::string_view id, outcome how) {
        runner::subagent_ended ended{id, how};
        ended.result = "done";
        ended.message = "It failed.";
        ended.code = "model_timeout";
        translator_.translate(ended);
    }
    // The events of the subagent that are tagged, by type.
    [[nodiscard]] std::vector<std::string> tagged(std::string_view id) const {
        std::vector<std::string> types;
        for (const std::string& line : stream_.lines()) {
            const boost::json::object event = boost::json::parse(line).as_object();
            const auto* tag = event.if_contains("subagentRunId");
            if (tag != nullptr && tag->as_string() == id) {
                types.emplace_back(event.at("type").as_string());
            }
        }
        return types;
    }
};

TEST_F(SubagentLanes, StreamSideBySideAndTagAllTheirEvents) {
    start();
    begin("s1");
    begin("s2");
    inner("s1", runner::text_delta{"a", "A"});
    inner("s2", runner::reasoning_delta{"b", "B"});
    inner("s1", runner::text_delta{"a", "A"});
    inner("s2", runner::call_started{"c2", "f", "d", false});
    inner("s2", runner::call_arguments{"c2", "{}"});
    text("m1", "Mine");
    inner("s2", runner::turn_ended{});
    const session::content nothing;
    inner("s2", runner::call_result{"t2", "c2", &nothing, false});
    inner("s1", runner::text_delta{"a", "A"});
    end("s2", outcome::finished);
    end("s1", outcome::finished);
    finish(stop_reason::completed);

    EXPECT_THAT(
        tagged("s1"),
        ElementsAre(
            "SUBAGENT_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "SUBAGENT_FINISHED"
        )
    );
    EXPECT_THAT(
        tagged("s2"), ElementsAre(
                          "SUBAGENT_STARTED", "REASONING_START", "REASONING_MESSAGE_START",
                          "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
                          "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
                          "SUBAGENT_FINISHED"
                      )
    );
    EXPECT_THAT(
        stream_.lines(), ::testing::Contains(R"({"type":"TEXT_MESSAGE_CONTENT",)"
                                             R"("messageId":"m1","delta":"Mine"})")
    );
}

TEST_F(SubagentLanes, AreAnnouncedWithTheirCall) {
    start();
    begin("s1");
    begin("s2", "s1");
    end("s2", outcome::failed);
    end("s1", outcome::finished);

    EXPECT_THAT(
        stream_.lines(),
        ElementsAre(
            _,
            R"({"type":"SUBAGENT_STARTED","timestamp":7,"subagentRunId":"s1","name":"writer",)"
            R"("description":"Writes.","parentToolCallId":"c1","parentMessageId":"m1"})",
            HasSubstr(R"("parentSubagentRunId":"s1")"),
            R"({"type":"SUBAGENT_ERROR","timestamp":7,"subagentRunId":"s2",)"
            R"("message":"It failed.","code":"model_timeout"})",
            R"({"type":"SUBAGENT_FINISHED","timestamp":7,"subagentRunId":"s1","result":"done"})"
        )
    );
}

TEST_F(SubagentLanes, SuspendedOnesEndWithTheRunAndNameTheirInterrupts) {
    session::approval own{"i0", "c0", "f", "{}", 7};
    session::approval inner{"i1", "c3", "f", "{}", 7, "s2"};
    start();
    begin("s1");
    begin("s2", "s1");
    inner_text("s1");
    end("s2", outcome::suspended);
    end("s1", outcome::suspended);
    runner::run_end asking;
    asking.reason = stop_reason::approval_needed;
    asking.approvals = {own, inner};
    translator_.finish(asking);
    stream_.expect_complete();

    const std::vector<std::string> lines = stream_.lines();
    ASSERT_EQ(lines.size(), 9U);
    EXPECT_EQ(
        lines[6], R"({"type":"SUBAGENT_FINISHED","timestamp":7,"subagentRunId":"s2",)"
                  R"("outcome":{"type":"suspended","interruptIds":["i1"]}})"
    );
    EXPECT_THAT(lines[7], HasSubstr(R"("subagentRunId":"s1","outcome":{"type":"suspended"})"));
    EXPECT_THAT(lines[8], HasSubstr(R"("subagentRunId":"s2")"));
    EXPECT_THAT(stream_.last(projection::undeclared), Not(HasSubstr("subagentRunId")));
    EXPECT_THAT(stream_.last(projection::undeclared), HasSubstr(R"("id":"i1")"));
}

TEST_F(SubagentLanes, SuspendedOnesNameOnlyTheInterruptsThatTheEndShows) {
    start();
    begin("s1");
    end("s1", outcome::suspended);
    const std::string large = R"({"a":")" + std::string(60'000, 'x') + R"("})";
    runner::run_end asking;
    asking.reason = stop_reason::approval_needed;
    for (int i = 0; i < 200; ++i) {
        const std::string call = "c" + std::to_string(i);
        asking.approvals.push_back({call + ":0f", call, "f", large, 7, "s1"});
    }
    translator_.finish(asking);
    stream_.expect_complete();

    const std::string shown = stream_.last(projection::v1_1);
    EXPECT_LE(shown.size(), event_bytes_max);
    const auto interrupts = boost::json::parse(shown).at("outcome").at("interrupts").as_array();
    EXPECT_GT(interrupts.size(), 100U);
    EXPECT_LT(interrupts.size(), 200U);
    EXPECT_EQ(interrupts.front().at("id"), "c0:0f");
    const std::vector<std::string> lines = stream_.lines();
    const boost::json::value over = boost::json::parse(lines.at(lines.size() - 2));
    EXPECT_EQ(over.at("outcome").at("interruptIds").as_array().size(), interrupts.size());
    EXPECT_LE(stream_.last(projection::undeclared).size(), event_bytes_max);
}

TEST_F(SubagentLanes, AQuestionThatIsLargerThanTheEventIsShownAlone) {
    session::approval question{"i0", "c0", "f", "{}", 7};
    question.question = std::make_shared<const session::input_question>(
        session::input_question{std::string(event_bytes_max, 'x'), {}, {}}
    );
    const session::approval next{"i1", "c1", "f", "{}", 7};

    const auto shown = interrupts_json({question, next}, event_bytes_max);

    ASSERT_EQ(shown.size(), 1U) << "a run that asks shows what it asks";
    EXPECT_EQ(shown.front().at("id"), "i0");
}

TEST_F(SubagentLanes, ASuspendedOneHasFailedIfTheRunIsStopped) {
    start();
    begin("s1");
    end("s1", outcome::suspended);
    finish(stop_reason::cancelled);

    EXPECT_THAT(
        stream_.types(),
        ElementsAre("RUN_STARTED", "SUBAGENT_STARTED", "SUBAGENT_ERROR", "CUSTOM", "RUN_FINISHED")
    );
}

TEST_F(SubagentLanes, CloseInOrderBeforeTheTerminal) {
    start();
    begin("s1");
    begin("s2", "s1");
    inner("s1", runner::step_started{"a"});
    translator_.translate(runner::step_started{"a"});
    inner("s2", runner::text_delta{"b", "B"});
    inner("s1", runner::call_started{"c2", "f", "d", false});
    finish(stop_reason::run_timeout);

    const std::vector<std::string> types = stream_.types();
    EXPECT_THAT(
        std::vector(types.end() - 8, types.end()),
        ElementsAre(
            "TEXT_MESSAGE_END", "TOOL_CALL_END", "STEP_FINISHED", "STEP_FINISHED", "SUBAGENT_ERROR",
            "SUBAGENT_ERROR", "CUSTOM", "RUN_FINISHED"
        )
    );
    EXPECT_THAT(stream_.lines()[stream_.lines().size() - 4], HasSubstr(R"("subagentRunId":"s2")"));
    EXPECT_THAT(stream_.lines()[stream_.lines().size() - 3], HasSubstr(R"("code":"run_timeout")"));
}

TEST_F(SubagentLanes, OlderPeersGetTheirContentOnly) {
    start();
    begin("s1");
    inner("s1", runner::text_delta{"a", "A"});
    end("s1", outcome::finished);
    begin("s2");
    finish(stop_reason::error);

    EXPECT_THAT(
        stream_.types(projection::undeclared),
        ElementsAre(
            "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "RUN_ERROR"
        )
    );
    EXPECT_EQ(stream_.types(projection::v1_0), stream_.types());
    EXPECT_THAT(
        losses_,
        ElementsAre("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_STARTED", "SUBAGENT_ERROR")
    );
}

TEST_F(SubagentLanes, ASnapshotClosesTheTextsOfAllLanes) {
    const std::vector<session::message> messages;
    start();
    begin("s1");
    inner("s1", runner::text_delta{"a", "A"});
    translator_.translate(runner::messages_snapshot{&messages});
    end("s1", outcome::finished);
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "SUBAGENT_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT", "SUBAGENT_FINISHED", "RUN_FINISHED"
        )
    );
}

TEST_F(SubagentLanes, AnInterruptedStreamIsClosedWithItsSubagents) {
    start();
    begin("s1");
    begin("s2", "s1");
    inner("s1", runner::step_started{"a"});
    translator_.translate(runner::step_started{"a"});
    inner("s2", runner::text_delta{"b", "B"});
    end("s2", outcome::finished);
    open_brackets left;
    for (const std::string& line : stream_.lines()) {
        left.read(boost::json::parse(line).as_object());
    }

    agui_translator other(stream_, {});
    other.resume({.thread_id = "t", .run_id = "r", .parent_run_id = {}}, left);
    runner::run_end lost;
    lost.reason = stop_reason::error;
    other.finish(lost);
    stream_.expect_complete();
    EXPECT_THAT(
        std::vector(stream_.lines().end() - 4, stream_.lines().end()),
        ElementsAre(
            R"({"type":"STEP_FINISHED","stepName":"a"})",
            R"({"type":"STEP_FINISHED","stepName":"a","subagentRunId":"s1"})",
            R"({"type":"SUBAGENT_ERROR","subagentRunId":"s1","message":"An internal error ended the run.")"
            R"(})",
            HasSubstr("RUN_ERROR")
        )
    );
}

} // namespace
} // namespace agui::translator
