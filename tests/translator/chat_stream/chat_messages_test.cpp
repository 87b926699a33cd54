#include "translator/chat_stream/chat_messages.hpp"

#include "tests/translator/chat_stream/chat_frames.hpp"

#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace agui::translator {
namespace {

namespace json = boost::json;
using test::frames;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using lines = std::vector<std::string>;

const std::string run_started =
    R"({"type":"RUN_STARTED","timestamp":1,"threadId":"s","runId":"m","protocolVersion":"1.1"})";
const std::string run_finished =
    R"({"type":"RUN_FINISHED","timestamp":9,"threadId":"s","runId":"m","outcome":{"type":"success"}})";

std::string text_start(const std::string& id, int time) {
    return R"({"type":"TEXT_MESSAGE_START","timestamp":)" + std::to_string(time) +
           R"(,"messageId":")" + id + R"(","role":"assistant"})";
}
std::string text(const std::string& id, const std::string& delta) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":")" + id + R"(","delta":")" + delta +
           R"("})";
}
std::string text_end(const std::string& id, int time) {
    return R"({"type":"TEXT_MESSAGE_END","timestamp":)" + std::to_string(time) +
           R"(,"messageId":")" + id + R"("})";
}
std::string thinking(const std::string& step, const std::string& more = {}) {
    return R"({"type":"REASONING_MESSAGE_)" + step + R"(","messageId":"r")" + more + "}";
}
std::string call(const std::string& step, const std::string& id, const std::string& more = {}) {
    return R"({"type":"TOOL_CALL_)" + step + R"(","timestamp":3,"toolCallId":")" + id + '"' + more +
           "}";
}
std::string arguments(const std::string& id, const std::string& delta) {
    return R"({"type":"TOOL_CALL_ARGS","toolCallId":")" + id + R"(","delta":")" + delta + R"("})";
}
std::string custom(const std::string& name, const std::string& value) {
    return R"({"type":"CUSTOM","timestamp":4,"name":")" + name + R"(","value":)" + value + "}";
}

std::string
shown(const std::string& type, const std::string& value, int time, int index, bool done) {
    return R"({"type":")" + type + R"(","value":)" + value + R"(,"timestamp":)" +
           std::to_string(time) + R"(,"id":"m-)" + std::to_string(index) + R"(","status":")" +
           (done ? "generated" : "generating") + R"("})";
}
std::string going(const std::string& messages) {
    return R"(generating","messages":[)" + messages + "]}";
}
std::string last(const std::string& messages) {
    return R"(finished","messages":[)" + messages + "]}";
}

const lines greeting = {run_started,        text_start("a", 2), text("a", "Hello"),
                        text("a", ", you"), text_end("a", 5),   run_finished};

TEST(ChatMessages, IncrementallyAContentIsSentInPieces) {
    EXPECT_THAT(
        frames(chat_mode::incremental, greeting),
        ElementsAre(
            going(""), going(shown("content", R"("Hello")", 2, 0, false)),
            going(shown("content", R"(", you")", 2, 0, false)),
            going(shown("content", R"("")", 5, 0, true)), last("")
        )
    );
}

TEST(ChatMessages, InFullAContentIsSentAsFarAsItHasCome) {
    EXPECT_THAT(
        frames(chat_mode::full, greeting),
        ElementsAre(
            going(""), going(shown("content", R"("Hello")", 2, 0, false)),
            going(shown("content", R"("Hello, you")", 2, 0, false)),
            going(shown("content", R"("Hello, you")", 5, 0, true)),
            last(shown("content", R"("Hello, you")", 5, 0, true))
        )
    );
}

TEST(ChatMessages, AContentThatStaysEmptyIsSent) {
    const lines events = {run_started, text_start("a", 2), text_end("a", 5), run_finished};

    EXPECT_THAT(
        frames(chat_mode::incremental, events),
        ElementsAre(going(""), going(shown("content", R"("")", 5, 0, true)), last(""))
    );
    EXPECT_EQ(frames(chat_mode::full, events).back(), last(shown("content", R"("")", 5, 0, true)));
}

TEST(ChatMessages, ARunWithoutMessagesEndsWithAnEmptyFrame) {
    for (const chat_mode mode : {chat_mode::incremental, chat_mode::full}) {
        EXPECT_THAT(frames(mode, {run_started, run_finished}), ElementsAre(going(""), last("")));
    }
}

TEST(ChatMessages, ATimestampIsThatOfTheLastChange) {
    const std::string late =
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"c","timestamp":1007})";

    EXPECT_THAT(
        frames(
            chat_mode::full,
            {text_start("a", 2), text("a", "a"), late, text("a", "d"), text_end("a", 2000)}
        ),
        ElementsAre(
            going(shown("content", R"("a")", 2, 0, false)),
            going(shown("content", R"("ac")", 1007, 0, false)),
            going(shown("content", R"("acd")", 1007, 0, false)),
            going(shown("content", R"("acd")", 2000, 0, true))
        )
    );
}

TEST(ChatMessages, TextKeepsItsEscapes) {
    const std::string quoted = R"(a \"delta\":\" b\\\n\u0001 你好 \\)";

    EXPECT_EQ(
        frames(chat_mode::full, {text_start("a", 2), text("a", "x"), text("a", quoted)}).back(),
        going(shown("content", "\"x" + quoted + '"', 2, 0, false))
    );
}

TEST(ChatMessages, AnIdWithQuotesIsEscaped) {
    chat_messages messages("s\"", "m\n", chat_mode::incremental);
    messages.take(text(R"(a\")", "x"));
    std::string frame;
    messages.write_frame(frame);

    const json::object read = json::parse(frame).as_object();
    EXPECT_EQ(read.at("sessionId"), "s\"");
    EXPECT_EQ(read.at("messageId"), "m\n");
    EXPECT_EQ(read.at("messages").at(0).at("id"), "m\n-0");
}

TEST(ChatMessages, ThinkingIsSentWholeButNotForEachToken) {
    lines events = {run_started, thinking("START", R"(,"role":"reasoning","timestamp":2)")};
    std::size_t sent = 0;
    for (int i = 0; i < 2000; ++i) {
        events.push_back(thinking("CONTENT", R"(,"delta":"word ")"));
    }
    events.push_back(thinking("END"));
    const lines got = frames(chat_mode::incremental, events);
    for (const std::string& frame : got) {
        sent += frame.size();
    }

    EXPECT_EQ(got[1], going(shown("thinking", R"("word ")", 2, 0, false)));
    EXPECT_EQ(got[2], going(shown("thinking", R"("word word ")", 2, 0, false)));
    EXPECT_THAT(got.back(), HasSubstr("word word "));
    EXPECT_THAT(got.back(), HasSubstr("generated"));
    EXPECT_LT(sent, 8U * 2000U * 5U);
}

TEST(ChatMessages, ThinkingIsSentAtLeastOnceASecond) {
    const auto word = [](int time) {
        return thinking(
            "CONTENT", R"(,"timestamp":)" + std::to_string(time) + R"(,"delta":"word ")"
        );
    };
    lines events = {run_started, thinking("START", R"(,"role":"reasoning","timestamp":1000)")};
    for (int i = 0; i < 100; ++i) {
        events.push_back(word(1000));
    }
    const std::size_t before = frames(chat_mode::incremental, events).size();

    events.push_back(word(1999));
    EXPECT_EQ(frames(chat_mode::incremental, events).size(), before);
    events.push_back(word(2000));
    const lines got = frames(chat_mode::incremental, events);
    ASSERT_EQ(got.size(), before + 1);
    EXPECT_THAT(got.back(), HasSubstr(R"("timestamp":2000)"));
    events.push_back(word(2999));
    EXPECT_EQ(frames(chat_mode::incremental, events).size(), before + 1);
}

TEST(ChatMessages, ACallIsRequestedAndThenHasItsArguments) {
    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {call("START", "c", R"(,"toolCallName":"paint")"), arguments("c", R"({\"color\":)"),
             arguments("c", R"(\"red\"})"), call("END", "c")}
        ),
        ElementsAre(
            going(
                shown("tool_call_request", R"({"toolCallId":"c","toolName":"paint"})", 3, 0, false)
            ),
            going(shown(
                "tool_call_request",
                R"({"toolCallId":"c","toolName":"paint","arguments":{"color":"red"}})", 3, 0, true
            ))
        )
    );
}

TEST(ChatMessages, ArgumentsThatAreNotAnObjectAreShownAsText) {
    const std::map<std::string, std::string> cases = {
        {"", "{}"},
        {"loudly", R"("loudly")"},
        {"[1]", R"("[1]")"},
        {R"({\"a\":)", R"("{\"a\":")"},
        {R"({\"a\": 1,\n\"b\":[null]})", R"({"a":1,"b":[null]})"},
    };
    for (const auto& [given, expected] : cases) {
        lines events = {call("START", "c", R"(,"toolCallName":"f")")};
        if (!given.empty()) {
            events.push_back(arguments("c", given));
        }
        events.push_back(call("END", "c"));
        EXPECT_THAT(
            frames(chat_mode::incremental, events).back(),
            HasSubstr(R"("toolName":"f","arguments":)" + expected + "}")
        );
    }
}

TEST(ChatMessages, TextInTheMiddleOfACallLeavesItGenerating) {
    const lines got = frames(
        chat_mode::incremental,
        {call("START", "c", R"(,"toolCallName":"f")"), text_start("a", 2), text("a", "wait"),
         arguments("c", R"({\"a\":1})"), text("a", "!"), text_end("a", 3), call("END", "c")}
    );

    ASSERT_EQ(got.size(), 5U);
    EXPECT_EQ(got[1], going(shown("content", R"("wait")", 2, 1, false)));
    EXPECT_EQ(got[2], going(shown("content", R"("!")", 2, 1, false)));
    EXPECT_EQ(
        got[4], going(shown(
                    "tool_call_request", R"({"toolCallId":"c","toolName":"f","arguments":{"a":1}})",
                    3, 0, true
                ))
    );
}

TEST(ChatMessages, AnotherMessageCompletesTheContent) {
    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {text_start("a", 2), text("a", "x"), call("START", "c", R"(,"toolCallName":"f")")}
        )
            .back(),
        going(
            shown("content", R"("")", 3, 0, true) + "," +
            shown("tool_call_request", R"({"toolCallId":"c","toolName":"f"})", 3, 1, false)
        )
    );
}

TEST(ChatMessages, TextThatContinuesAfterACallIsAContentOfItsOwn) {
    const lines got = frames(
        chat_mode::full, {text_start("a", 2), text("a", "x"), text_end("a", 2),
                          call("START", "c", R"(,"toolCallName":"f")"), call("END", "c"),
                          text_start("a", 6), text("a", "y")}
    );

    EXPECT_THAT(got.back(), HasSubstr(shown("content", R"("x")", 2, 0, true)));
    EXPECT_THAT(got.back(), HasSubstr(shown("content", R"("y")", 6, 2, false)));
}

TEST(ChatMessages, ToolsThatRunAtOnceHaveMessagesOfTheirOwn) {
    const auto started = [](const std::string& id) {
        return custom(
            "agui-gateway.tool.started", R"({"toolCallId":")" + id + R"(","toolCallName":"f"})"
        );
    };
    const auto ended = [](const std::string& id) {
        return call("RESULT", id, R"(,"messageId":"x","role":"tool","content":"done")");
    };
    const lines events = {started("c"), started("d"), ended("d"), ended("c")};
    const lines got = frames(chat_mode::incremental, events);

    ASSERT_EQ(got.size(), 4U);
    EXPECT_EQ(
        got[1],
        going(shown("tool_execution_start", R"({"toolCallId":"d","toolName":"f"})", 4, 1, false))
    );
    EXPECT_EQ(
        got[2],
        going(
            shown("tool_execution_start", R"({"toolCallId":"d","toolName":"f"})", 3, 1, true) +
            "," +
            shown(
                "tool_execution_complete", R"({"toolCallId":"d","toolName":"f","result":"done"})",
                3, 2, true
            )
        )
    );
    EXPECT_THAT(got[3], HasSubstr(R"("id":"m-0","status":"generated")"));
    EXPECT_THAT(got[3], HasSubstr(R"("id":"m-3","status":"generated")"));
}

TEST(ChatMessages, AFailedToolHasItsErrorAsValue) {
    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {custom("agui-gateway.tool.failed", R"({"toolCallId":"c"})"),
             R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"x","toolCallId":"c","role":"tool","content":"no \"such\" file"})"
            }
        ),
        ElementsAre(going(shown(
            "tool_execution_complete", R"({"toolCallId":"c","error":"no \"such\" file"})", 7, 0,
            true
        )))
    );
}

const std::string dead_call =
    R"({"toolCallId":"c","toolName":"f","error":"The call was interrupted; whether it had any effect is unknown."})";

TEST(ChatMessages, ACallThatAStoppedOrFailedRunLeavesHasFailed) {
    const std::string stopped =
        R"({"type":"RUN_FINISHED","timestamp":9,"threadId":"s","runId":"m","outcome":{"type":"cancelled"}})";
    const std::string failed =
        R"({"type":"RUN_ERROR","timestamp":9,"message":"Lost.","code":"model_unavailable"})";
    for (const std::string& end : {stopped, failed}) {
        for (const chat_mode mode : {chat_mode::incremental, chat_mode::full}) {
            const lines got = frames(
                mode,
                {call("START", "c", R"(,"toolCallName":"f")"), call("END", "c"),
                 call("START", "d", R"(,"toolCallName":"f")"), call("END", "d"),
                 R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"x","toolCallId":"d","role":"tool","content":"ok"})",
                 end}
            );

            EXPECT_THAT(
                got.back(), HasSubstr(R"("type":"tool_execution_complete","value":)" + dead_call)
            );
            EXPECT_EQ(
                got.back().find(R"("toolCallId":"d","toolName":"f","error")"), std::string::npos
            );
        }
    }
}

TEST(ChatMessages, TheResultOfAnEarlierRunsCallIsLeftOut) {
    EXPECT_THAT(
        frames(
            chat_mode::full,
            {R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"x","toolCallId":"c","content":"no"})",
             run_finished}
        ),
        ElementsAre(last(""))
    );
}

TEST(ChatMessages, AResultInPartsIsShownInParts) {
    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"x","toolCallId":"c","role":"tool","content":[{"type":"text","text":"a"}]})"
            }
        )
            .back(),
        HasSubstr(R"("result":[{"type":"text","text":"a"}]})")
    );
}

TEST(ChatMessages, TheEndOfAHandOffNamesThePendingCalls) {
    const std::string end =
        R"({"type":"RUN_FINISHED","timestamp":9,"threadId":"s","runId":"m","outcome":{"type":"success","pendingToolCallIds":["c","of an earlier run"]}})";

    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {call("START", "c", R"(,"toolCallName":"f")"), call("END", "c"),
             call("START", "d", R"(,"toolCallName":"g")"), call("END", "d"), end}
        )
            .back(),
        last(shown(
            "tool_call_request",
            R"({"toolCallId":"c","toolName":"f","arguments":{},"pending":true})", 9, 0, true
        ))
    );
}

TEST(ChatMessages, AFailedRunEndsWithAnError) {
    EXPECT_THAT(
        frames(
            chat_mode::incremental,
            {text_start("a", 2), text("a", "x"),
             R"({"type":"RUN_ERROR","timestamp":8,"message":"It is gone.","code":"model_timeout"})"}
        )
            .back(),
        last(
            shown("content", R"("")", 8, 0, true) + "," +
            shown("error", R"({"code":"model_timeout","message":"It is gone."})", 8, 1, true)
        )
    );
}

const std::string run_cancelled =
    R"({"type":"RUN_FINISHED","timestamp":9,"threadId":"s","runId":"m","outcome":{"type":"cancelled"}})";

TEST(ChatMessages, AStopByTheUserIsNotAnError) {
    for (const chat_mode mode : {chat_mode::incremental, chat_mode::full}) {
        const lines got = frames(
            mode, {call("START", "c", R"(,"toolCallName":"f")"),
                   custom("agui-gateway.run.stopped", R"({"reason":"user_stop"})"), run_cancelled}
        );
        EXPECT_THAT(got.back(), StartsWith(R"(finished","stopReason":"user_stop","messages":[)"));
        for (const std::string& frame : got) {
            EXPECT_THAT(frame, Not(HasSubstr(R"("type":"error")")));
            EXPECT_THAT(frame, Not(HasSubstr("pending")));
        }
    }
}

TEST(ChatMessages, AnyOtherStopIsAnError) {
    const lines got = frames(
        chat_mode::incremental,
        {custom("agui-gateway.run.stopped", R"({"reason":"tool_loop_detected"})"), run_cancelled}
    );

    ASSERT_EQ(got.size(), 2U);
    EXPECT_THAT(got[0], HasSubstr(R"("type":"error","value":{"code":"tool_loop_detected",)"));
    EXPECT_EQ(got[1], last(""));
}

TEST(ChatMessages, ALogOfAnEarlierVersionIsRead) {
    const lines stopped = frames(
        chat_mode::full, {custom("run.stopped", R"({"reason":"user_stop"})"), run_cancelled}
    );
    EXPECT_THAT(stopped.back(), HasSubstr(R"("stopReason":"user_stop")"));

    const lines tools = frames(
        chat_mode::full,
        {custom("tool.started", R"({"toolCallId":"c","toolCallName":"f"})"),
         custom("tool.failed", R"({"toolCallId":"c"})"),
         R"({"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c","role":"tool","content":"no"})"
        }
    );
    EXPECT_THAT(tools.back(), HasSubstr(R"("type":"tool_execution_start")"));
    EXPECT_THAT(tools.back(), HasSubstr(R"("error":"no")"));
}

TEST(ChatMessages, OpenContentIsCompleteAtTheEnd) {
    const lines got = frames(
        chat_mode::full,
        {custom("agui-gateway.tool.started", R"({"toolCallId":"c","toolCallName":"f"})"),
         call("START", "d", R"(,"toolCallName":"g")"), arguments("d", "{}"), text_start("a", 2),
         text("a", "x"), run_finished}
    );

    EXPECT_THAT(got.back(), HasSubstr("finished"));
    EXPECT_EQ(got.back().find("generating"), std::string::npos) << got.back();
    EXPECT_THAT(got.back(), HasSubstr(R"("arguments":{}})"));
}

TEST(ChatMessages, TheAnswerInASnapshotIsShownOnce) {
    const std::string snapshot =
        R"({"type":"MESSAGES_SNAPSHOT","timestamp":7,"messages":[{"id":"u","role":"user","content":"?"},{"id":"a","role":"assistant","content":"It \"is\"."}]})";

    EXPECT_THAT(
        frames(chat_mode::incremental, {run_started, snapshot, run_finished}),
        ElementsAre(going(""), going(shown("content", R"("It \"is\".")", 7, 0, true)), last(""))
    );
    EXPECT_THAT(
        frames(
            chat_mode::full, {text_start("a", 2), text("a", R"(It \"is\".)"), text_end("a", 2),
                              snapshot, run_finished}
        )
            .back(),
        last(shown("content", R"("It \"is\".")", 2, 0, true))
    );
}

std::string snapshot_of(const std::string& messages) {
    return R"({"type":"MESSAGES_SNAPSHOT","timestamp":7,"messages":[{"id":"u","role":"user","content":"?"})" +
           messages + "]}";
}

const std::string hidden = R"(,{"id":"a","role":"assistant","content":"\"It\" is [hidden]."})";

TEST(ChatMessages, ATextThatAPluginHasChangedReplacesTheOneThatWasShown) {
    const lines events = {run_started,        text_start("a", 2), text("a", R"(\"It\" is )"),
                          text("a", "1234."), text_end("a", 2),   snapshot_of(hidden),
                          run_finished};
    const lines full = frames(chat_mode::full, events);

    EXPECT_EQ(full[4], going(shown("content", R"("\"It\" is [hidden].")", 7, 0, true)));
    EXPECT_EQ(full.back(), last(shown("content", R"("\"It\" is [hidden].")", 7, 0, true)));
    std::string replaced = shown("content", R"("\"It\" is [hidden].")", 7, 0, true);
    replaced.insert(replaced.size() - 1, R"(,"replace":true)");
    const lines pieces = frames(chat_mode::incremental, events);
    EXPECT_EQ(pieces[4], going(replaced));
    EXPECT_EQ(pieces.back(), last(""));
}

TEST(ChatMessages, AChangedTextOfSeveralContentsIsInTheFirst) {
    const lines got = frames(
        chat_mode::full,
        {text_start("a", 2), text("a", R"(\"It\" is )"), text_end("a", 2),
         call("START", "c", R"(,"toolCallName":"f")"), call("END", "c"), text_start("a", 2),
         text("a", "1234."), text_end("a", 2), snapshot_of(hidden)}
    );

    EXPECT_THAT(got.back(), HasSubstr(shown("content", R"("\"It\" is [hidden].")", 7, 0, true)));
    EXPECT_THAT(got.back(), HasSubstr(shown("content", R"("")", 7, 2, true)));
}

TEST(ChatMessages, ATextOfSeveralContentsThatIsStoredAsShownIsNotSentAgain) {
    EXPECT_EQ(
        frames(
            chat_mode::incremental,
            {text_start("a", 2), text("a", R"(\"It\" is )"), text_end("a", 2),
             call("START", "c", R"(,"toolCallName":"f")"), call("END", "c"), text_start("a", 2),
             text("a", "[hidden]."), text_end("a", 2), snapshot_of(hidden)}
        )
            .size(),
        6U
    );
}

TEST(ChatMessages, ATextThatAPluginHasKeptFromTheThreadIsEmptied) {
    for (const std::string stored : {"", R"(,{"id":"a","role":"assistant"})"}) {
        const lines events = {
            text_start("a", 2), text("a", "1234"), text_end("a", 2), snapshot_of(stored)
        };
        EXPECT_EQ(
            frames(chat_mode::full, events).back(), going(shown("content", R"("")", 7, 0, true))
        );
        EXPECT_THAT(frames(chat_mode::incremental, events).back(), HasSubstr(R"("replace":true)"));
    }
}

TEST(ChatMessages, ChangedThinkingIsReplacedAsAlways) {
    const lines got = frames(
        chat_mode::incremental,
        {thinking("START", R"(,"timestamp":2)"), thinking("CONTENT", R"(,"delta":"1234")"),
         thinking("END"), snapshot_of(R"(,{"id":"r","role":"reasoning","content":"[hidden]"})")}
    );

    EXPECT_EQ(got.back(), going(shown("thinking", R"("[hidden]")", 7, 0, true)));
}

TEST(ChatMessages, ASnapshotThatEndsOtherwiseSaysNothing) {
    for (const std::string messages :
         {"[]", R"([{"id":"u","role":"user","content":"?"}])", R"([7])",
          R"([{"id":"a","role":"assistant","content":""}])", "7"}) {
        EXPECT_THAT(
            frames(
                chat_mode::full,
                {R"({"type":"MESSAGES_SNAPSHOT","timestamp":7,"messages":)" + messages + "}"}
            ),
            IsEmpty()
        );
    }
}

TEST(ChatMessages, EventsWithoutMeaningForAChatChangeNothing) {
    EXPECT_THAT(
        frames(
            chat_mode::full,
            {"", "7", "{}", "no json", R"({"type":)", R"({"type":"TEXT_MESSAGE_END")",
             R"({"type":"STATE_SNAPSHOT","timestamp":2,"snapshot":{}})",
             R"({"type":"STEP_STARTED","timestamp":2,"stepName":"x"})",
             R"({"type":"REASONING_START","timestamp":2,"messageId":"r"})",
             custom("agui-gateway.chat.segment", R"({"messageId":"a","segment":{}})"),
             custom("agui-gateway.tool.started", "7"), arguments("unknown", "x"),
             call("END", "unknown")}
        ),
        IsEmpty()
    );
}

TEST(ChatMessages, NothingFollowsTheEnd) {
    EXPECT_THAT(
        frames(chat_mode::full, {run_finished, text("a", "x"), run_finished}), ElementsAre(last(""))
    );
}

TEST(ChatMessages, OnlyTheLastMessageOfALongConversationIsRead) {
    std::string messages = R"({"id":"u","role":"user","content":"],\"}"},{"a":[[{"b":","}]]})";
    for (int i = 0; i < 10'000; ++i) {
        messages += R"(,{"id":"u","role":"user","content":["x",{"y":"\\"}]})";
    }
    EXPECT_THAT(
        frames(
            chat_mode::full, {R"({"type":"MESSAGES_SNAPSHOT","timestamp":7,"messages":[)" +
                              messages + R"(,{"id":"a","role":"assistant","content":"yes"}]})"}
        ),
        ElementsAre(going(shown("content", R"("yes")", 7, 0, true)))
    );
    EXPECT_THAT(
        frames(chat_mode::full, {R"({"type":"MESSAGES_SNAPSHOT","messages":[)" + messages}),
        IsEmpty()
    ) << "cut";
}

TEST(ChatMessages, ASecondResultOfACallIsAMessageOfItsOwn) {
    const std::string result =
        call("RESULT", "c", R"(,"messageId":"x","role":"tool","content":"done")");
    const lines got = frames(
        chat_mode::incremental,
        {custom("agui-gateway.tool.started", R"({"toolCallId":"c","toolCallName":"f"})"), result,
         result}
    );

    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(
        got[2], going(shown(
                    "tool_execution_complete",
                    R"({"toolCallId":"c","toolName":"f","result":"done"})", 3, 2, true
                ))
    );
}

TEST(ChatMessages, IncrementallyResultsAreNotKept) {
    chat_messages messages("s", "m", chat_mode::incremental);
    const std::string large(100'000, 'x');
    messages.take(call("RESULT", "c", R"(,"messageId":"x","role":"tool","content":")" + large + '"')
    );
    EXPECT_GT(messages.bytes(), large.size());
    messages.skip_frame();

    EXPECT_LT(messages.bytes(), 1000U);
}

TEST(ChatMessages, IncrementallyACallIsNotKeptOnceItHasItsResult) {
    chat_messages messages("s", "m", chat_mode::incremental);
    messages.take(call("START", "c", R"(,"toolCallName":"f")"));
    messages.take(arguments("c", std::string(100'000, 'x')));
    messages.take(call("END", "c"));
    messages.skip_frame();
    EXPECT_GT(messages.bytes(), 100'000U);
    messages.take(call("RESULT", "c", R"(,"messageId":"x","role":"tool","content":"done")"));
    messages.skip_frame();

    EXPECT_LT(messages.bytes(), 1500U);
}

TEST(ChatMessages, IncrementalContentsAreNotKept) {
    chat_messages messages("s", "m", chat_mode::incremental);
    messages.take(text_start("a", 2));
    messages.take(text("a", "x"));
    messages.skip_frame();
    const std::size_t before = messages.bytes();
    for (int i = 0; i < 10'000; ++i) {
        messages.take(text("a", "some more text "));
        messages.skip_frame();
    }
    EXPECT_EQ(messages.bytes(), before);
}

} // namespace
} // namespace agui::translator
