#include "tests/translator/agui/agui_translator_case.hpp"

namespace agui::translator {
namespace {

using namespace agui_translator_case;

constexpr stop_reason all_reasons[] = {
    stop_reason::completed,         stop_reason::external_tool,
    stop_reason::partial_answers,   stop_reason::nothing_new,
    stop_reason::cancelled,         stop_reason::aborted,
    stop_reason::superseded,        stop_reason::run_timeout,
    stop_reason::max_rounds,        stop_reason::tool_loop,
    stop_reason::token_limit,       stop_reason::max_output_tokens,
    stop_reason::truncated,         stop_reason::content_filtered,
    stop_reason::model_unavailable, stop_reason::model_rejected,
    stop_reason::model_timeout,     stop_reason::store_unavailable,
    stop_reason::shutdown,          stop_reason::error,
    stop_reason::resume_rejected,   stop_reason::quota_exceeded,
};

struct expected_end {
    stop_reason reason;
    bool external_open;
    std::string_view v1_1; ///< The members after the timestamp; the same for 1.0.
    std::string_view undeclared;
    /// The reason in CUSTOM agui-gateway.run.stopped; empty if there is no such event.
    std::string_view stopped;
};

constexpr std::string_view finished = R"("threadId":"t","runId":"r"})";
constexpr std::string_view succeeded =
    R"("threadId":"t","runId":"r","outcome":{"type":"success"}})";
constexpr std::string_view handed_off =
    R"("threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c1"]}})";
constexpr std::string_view cancelled =
    R"("threadId":"t","runId":"r","outcome":{"type":"cancelled"}})";

constexpr expected_end ends[] = {
    {stop_reason::completed, false, succeeded, finished, ""},
    {stop_reason::external_tool, false, handed_off, finished, ""},
    {stop_reason::partial_answers, false, succeeded, finished, ""},
    {stop_reason::nothing_new, false, succeeded, finished, ""},
    {stop_reason::cancelled, false, cancelled, finished, "user_stop"},
    {stop_reason::aborted, false, cancelled, finished, "plugin_stop"},
    {stop_reason::superseded, false, cancelled, finished, "superseded"},
    {stop_reason::max_output_tokens, false, cancelled, finished, "max_output_tokens"},
    {stop_reason::run_timeout, false, cancelled, R"("code":"run_timeout"})", "run_timeout"},
    {stop_reason::max_rounds, false, cancelled, R"("code":"max_rounds_exceeded"})",
     "max_rounds_exceeded"},
    {stop_reason::tool_loop, false, cancelled, R"("code":"tool_loop_detected"})",
     "tool_loop_detected"},
    {stop_reason::token_limit, false, cancelled, R"("code":"token_limit"})", "token_limit"},
    {stop_reason::quota_exceeded, false, cancelled, R"("code":"quota_exceeded"})", "quota_exceeded"
    },
    {stop_reason::cancelled, true, cancelled, R"("code":"user_stop"})", "user_stop"},
    {stop_reason::aborted, true, cancelled, R"("code":"plugin_stop"})", "plugin_stop"},
    {stop_reason::superseded, true, cancelled, R"("code":"superseded"})", "superseded"},
    {stop_reason::max_output_tokens, true, cancelled, R"("code":"max_output_tokens"})",
     "max_output_tokens"},
    {stop_reason::run_timeout, true, cancelled, R"("code":"run_timeout"})", "run_timeout"},
    {stop_reason::max_rounds, true, cancelled, R"("code":"max_rounds_exceeded"})",
     "max_rounds_exceeded"},
    {stop_reason::tool_loop, true, cancelled, R"("code":"tool_loop_detected"})",
     "tool_loop_detected"},
    {stop_reason::token_limit, true, cancelled, R"("code":"token_limit"})", "token_limit"},
    {stop_reason::quota_exceeded, true, cancelled, R"("code":"quota_exceeded"})", "quota_exceeded"},
    {stop_reason::resume_rejected, false, R"("code":"resume_rejected"})",
     R"("code":"resume_rejected"})", ""},
    {stop_reason::resume_rejected, true, R"("code":"resume_rejected"})",
     R"("code":"resume_rejected"})", ""},
    {stop_reason::truncated, false, R"("code":"model_output_truncated"})",
     R"("code":"model_output_truncated"})", ""},
    {stop_reason::truncated, true, R"("code":"model_output_truncated"})",
     R"("code":"model_output_truncated"})", ""},
    {stop_reason::content_filtered, false, R"("code":"content_filtered"})",
     R"("code":"content_filtered"})", ""},
    {stop_reason::content_filtered, true, R"("code":"content_filtered"})",
     R"("code":"content_filtered"})", ""},
    {stop_reason::model_unavailable, false, R"("code":"model_unavailable"})",
     R"("code":"model_unavailable"})", ""},
    {stop_reason::model_unavailable, true, R"("code":"model_unavailable"})",
     R"("code":"model_unavailable"})", ""},
    {stop_reason::model_rejected, false, R"("code":"model_rejected"})",
     R"("code":"model_rejected"})", ""},
    {stop_reason::model_rejected, true, R"("code":"model_rejected"})",
     R"("code":"model_rejected"})", ""},
    {stop_reason::model_timeout, false, R"("code":"model_timeout"})", R"("code":"model_timeout"})",
     ""},
    {stop_reason::model_timeout, true, R"("code":"model_timeout"})", R"("code":"model_timeout"})",
     ""},
    {stop_reason::store_unavailable, false, R"("code":"store_unavailable"})",
     R"("code":"store_unavailable"})", ""},
    {stop_reason::store_unavailable, true, R"("code":"store_unavailable"})",
     R"("code":"store_unavailable"})", ""},
    {stop_reason::shutdown, false, R"("code":"shutdown"})", R"("code":"shutdown"})", ""},
    {stop_reason::shutdown, true, R"("code":"shutdown"})", R"("code":"shutdown"})", ""},
    {stop_reason::error, false, R"("code":"internal"})", R"("code":"internal"})", ""},
    {stop_reason::error, true, R"("code":"internal"})", R"("code":"internal"})", ""},
};

std::string label(const ::testing::TestParamInfo<expected_end>& info) {
    std::string out = "Reason" + std::to_string(static_cast<int>(info.param.reason));
    return out + (info.param.external_open ? "WithOpenCall" : "");
}

class AguiTranslatorEnd : public ::testing::TestWithParam<expected_end> {};

/// The run ends in the middle of an external call (without its END), in the middle of a text, or
/// with nothing open, so the terminal has to close it.
test::recorded_stream end_of(const expected_end& row, std::string_view left_open) {
    test::recorded_stream stream;
    agui_translator translator(stream, {});
    translator.set_time(7);
    translator.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});
    if (row.external_open || row.reason == stop_reason::external_tool) {
        translator.translate(runner::call_started{"c1", "pick", "m1", true});
        translator.translate(runner::call_arguments{"c1", "{\"a\""});
    }
    if (left_open == "text") {
        translator.translate(runner::text_delta{"m1", "x"});
    } else if (left_open == "reasoning") {
        translator.translate(runner::reasoning_delta{"th", "x"});
    }
    runner::run_end end;
    end.reason = row.reason;
    end.external_call_open = row.external_open;
    if (row.reason == stop_reason::external_tool) {
        end.pending_call_ids = {"c1"};
    }
    translator.finish(end);
    EXPECT_TRUE(translator.finished());
    EXPECT_TRUE(translator.open_tool_call_ids().empty());
    return stream;
}

TEST_P(AguiTranslatorEnd, ClosesEverythingAndTellsEachPeerInItsOwnTerms) {
    for (const std::string_view left_open : {"call", "text", "reasoning"}) {
        SCOPED_TRACE(left_open);
        const test::recorded_stream stream = end_of(GetParam(), left_open);

        stream.expect_complete();
        EXPECT_THAT(stream.last(projection::v1_1), ::testing::EndsWith(GetParam().v1_1));
        EXPECT_EQ(stream.last(projection::v1_0), stream.last(projection::v1_1));
        EXPECT_THAT(
            stream.last(projection::undeclared), ::testing::EndsWith(GetParam().undeclared)
        );
        for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
            const std::string& before = stream.lines(form)[stream.lines(form).size() - 2];
            if (GetParam().stopped.empty()) {
                EXPECT_THAT(before, Not(HasSubstr("CUSTOM")));
            } else {
                EXPECT_EQ(
                    before,
                    R"({"type":"CUSTOM","timestamp":7,"name":"agui-gateway.run.stopped","value":{"reason":")" +
                        std::string(GetParam().stopped) + "\"}}"
                );
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, AguiTranslatorEnd, ::testing::ValuesIn(ends), label);

TEST(AguiTranslatorEnds, AreAllListed) {
    for (const stop_reason reason : all_reasons) {
        SCOPED_TRACE(static_cast<int>(reason));
        const bool with_call = runner::class_of(reason) != runner::stop_class::success;
        for (const bool open : {false, true}) {
            const auto rows = std::count_if(std::begin(ends), std::end(ends), [&](const auto& row) {
                return row.reason == reason && row.external_open == open;
            });
            EXPECT_EQ(rows, !open || with_call ? 1 : 0);
        }
    }
}

TEST_F(AguiTranslator, EndsWithTheInterruptsOfAllApprovals) {
    start();
    runner::run_end end;
    end.reason = stop_reason::approval_needed;
    end.approvals = {
        {"c1:0f", "c1", "order", R"({"count":2,"what":"tea"})", 951'827'696'789},
        {"c2:1f", "c2", "erase", "{}", 0}
    };
    translator_.finish(end);

    const std::string schema =
        R"("responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},)"
        R"("reason":{"type":"string"},"editedArgs":{"type":"object"}},"required":["approved"]})";
    const std::string expected =
        R"({"type":"RUN_FINISHED","timestamp":7,"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[)"
        R"({"id":"c1:0f","reason":"tool_call","message":"Allow the call of order?","toolCallId":"c1",)" +
        schema +
        R"(,"expiresAt":"2000-02-29T12:34:56.789Z","metadata":{"kind":"approval","toolName":"order","input":{"count":2,"what":"tea"}}},)"
        R"({"id":"c2:1f","reason":"tool_call","message":"Allow the call of erase?","toolCallId":"c2",)" +
        schema +
        R"(,"expiresAt":"1970-01-01T00:00:00.000Z","metadata":{"kind":"approval","toolName":"erase","input":{}}}]}})";
    for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        EXPECT_EQ(stream_.last(form), expected);
    }
    stream_.expect_complete();
}

TEST_F(AguiTranslator, EndsWithTheQuestionOfATool) {
    start();
    runner::run_end end;
    end.reason = stop_reason::approval_needed;
    end.approvals = {{"c1:0f", "c1", "order", "{}", 0}};
    end.approvals[0].question = std::make_shared<const session::input_question>(
        session::input_question{"Which size?", {{"type", "string"}}, {{"a", 1}, {"kind", "forged"}}}
    );
    translator_.finish(end);

    EXPECT_EQ(
        stream_.last(projection::v1_0),
        R"({"type":"RUN_FINISHED","timestamp":7,"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[)"
        R"({"id":"c1:0f","reason":"input_required","message":"Which size?","toolCallId":"c1",)"
        R"("responseSchema":{"type":"string"},"expiresAt":"1970-01-01T00:00:00.000Z",)"
        R"("metadata":{"a":1,"kind":"input","toolName":"order"}}]}})"
    );
    stream_.expect_complete();
}

TEST(AguiTranslatorLegacy, ShowsTheFirstInterruptAsACustomEvent) {
    test::recorded_stream stream;
    agui_translator translator(stream, {.legacy_interrupts = true});
    translator.set_time(7);
    translator.start({"t", "r", ""});
    runner::run_end end;
    end.reason = stop_reason::approval_needed;
    end.approvals = {{"c1:0f", "c1", "order", "{}", 0}, {"c2:1f", "c2", "order", "{}", 0}};
    translator.finish(end);

    for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        ASSERT_EQ(
            stream.types(form), (std::vector<std::string>{"RUN_STARTED", "CUSTOM", "RUN_FINISHED"})
        );
        EXPECT_THAT(
            stream.lines(form)[1],
            HasSubstr(R"("name":"on_interrupt","value":"{\"id\":\"c1:0f\",\"reason\":\"tool_call\")"
            )
        );
        EXPECT_EQ(
            stream.last(form).find("outcome") == std::string::npos, form == projection::undeclared
        );
    }
    stream.expect_complete();
}

TEST(AguiTranslatorTanstack, SendsTheInputOfTheCallsThatAreLeftToTheCaller) {
    test::recorded_stream stream;
    agui_translator translator(stream, {.tanstack = true});
    translator.set_time(7);
    translator.start({"t", "r", ""});
    for (const std::string_view id : {"c1", "c2", "c3"}) {
        translator.translate(runner::call_started{id, "paint", "m"});
    }
    translator.translate(runner::call_arguments{"c1", R"({"to":)"});
    translator.translate(runner::call_arguments{"c1", R"("red"})"});
    translator.translate(runner::call_arguments{"c3", "{no"});
    translator.translate(runner::turn_ended{});
    runner::run_end end;
    end.reason = stop_reason::external_tool;
    end.pending_call_ids = {"c1", "c2", "c3"};
    translator.finish(end);

    std::vector<std::string> sent;
    for (const std::string& line : stream.lines(projection::undeclared)) {
        if (line.find("CUSTOM") != std::string::npos) {
            sent.push_back(line.substr(line.find(R"("name")")));
        }
    }
    const std::string begin = R"("name":"tool-input-available","value":{"toolCallId":")";
    EXPECT_EQ(
        sent, (std::vector{
                  begin + R"(c1","toolName":"paint","input":{"to":"red"}}})",
                  begin + R"(c2","toolName":"paint","input":{}}})",
                  begin + R"(c3","toolName":"paint","input":"{no"}})"
              })
    );
    EXPECT_EQ(stream.types(projection::v1_1).back(), "RUN_FINISHED");
    stream.expect_complete();
}

TEST(AguiTranslatorTanstack, SendsNothingForAStoppedRun) {
    test::recorded_stream stream;
    agui_translator translator(stream, {.tanstack = true});
    translator.start({"t", "r", ""});
    translator.translate(runner::call_started{"c1", "paint", "m"});
    runner::run_end end;
    end.reason = stop_reason::cancelled;
    end.pending_call_ids = {"c1"};
    translator.finish(end);

    for (const std::string& line : stream.lines(projection::v1_1)) {
        EXPECT_EQ(line.find("tool-input-available"), std::string::npos);
    }
}

TEST_F(AguiTranslator, TellsWhyAnswersToInterruptsAreRefused) {
    start();
    runner::run_end end;
    end.reason = stop_reason::resume_rejected;
    end.refusal = "An interrupt is answered twice.";
    translator_.finish(end);

    EXPECT_EQ(
        stream_.last(projection::v1_1),
        R"({"type":"RUN_ERROR","timestamp":7,"message":"An interrupt is answered twice.","code":"resume_rejected"})"
    );
}

TEST_F(AguiTranslator, LeavesLargeArgumentsOutOfAnInterrupt) {
    start();
    runner::run_end end;
    end.reason = stop_reason::approval_needed;
    const std::string large = R"({"a":")" + std::string(70'000, 'x') + R"("})";
    end.approvals = {{"c1:0f", "c1", "order", large, 0}};
    translator_.finish(end);

    EXPECT_THAT(stream_.last(projection::v1_1), Not(HasSubstr("xxx")));
    EXPECT_THAT(stream_.last(projection::v1_1), HasSubstr(R"("toolName":"order"})"));
}

TEST_F(AguiTranslator, DescribesAFailureWithoutTheUpstream) {
    start();
    finish(stop_reason::model_unavailable);

    EXPECT_EQ(
        stream_.last(), R"({"type":"RUN_ERROR","timestamp":7,"message":")" +
                            std::string(runner::describe(stop_reason::model_unavailable)) +
                            R"(","code":"model_unavailable"})"
    );
}

TEST_F(AguiTranslator, LeavesPendingCallsOfPartialAnswersOut) {
    start();
    finish(stop_reason::partial_answers, {"c1"});

    EXPECT_THAT(stream_.last(), ::testing::EndsWith(succeeded));
}

} // namespace
} // namespace agui::translator
