#include "session/history/model_history.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <memory>

#include <random>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::bytes;
using test::call;
using test::other;
using test::outline;
using test::thread_builder;

using lines = std::vector<std::string>;

std::vector<message> history(const thread_record& thread) {
    return model_history(thread, thread.branches.at(thread.head).tip);
}

std::string arguments_sent(std::string written) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint", std::move(written))})
        .answer("c1", "done");
    return history(thread.build()).at(1).tool_calls.at(0).arguments;
}

lines with_unanswered_call(call_status status) {
    thread_builder thread;
    thread.user("u1", "Hi").assistant("a1", "", {call("c1", "paint")}, status).user("u2", "And?");
    return outline(history(thread.build()));
}

TEST(ModelHistory, IsEmptyWithoutMessages) {
    EXPECT_TRUE(model_history(thread_record{}, no_node).empty());
}

TEST(ModelHistory, HoldsTheConversationOfTheBranchOnly) {
    thread_builder thread;
    thread.user("u1", "Hi").assistant("a1", "Hello").fork("u1").assistant("a2", "Good day");

    EXPECT_EQ(outline(history(thread.build())), (lines{"user u1: Hi", "assistant a2: Good day"}));
    EXPECT_EQ(
        outline(model_history(thread.build(), thread.build().branches[0].tip)),
        (lines{"user u1: Hi", "assistant a1: Hello"})
    );
}

TEST(ModelHistory, KeepsSystemAndDeveloperMessagesAtTheirPlace) {
    thread_builder thread;
    thread.add(other(role::system, "s1", "Be brief"))
        .user("u1", "Hi")
        .add(other(role::developer, "d1", "Be kind"));

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{"system s1: Be brief", "user u1: Hi", "developer d1: Be kind"})
    );
}

TEST(ModelHistory, SaysOfALostCallThatItsEffectIsUnknown) {
    const lines expected{
        "user u1: Hi", "assistant a1:  [c1 paint({})]",
        "tool c1: ! The call was interrupted; whether it had any effect is unknown.",
        "user u2: And?"
    };

    EXPECT_EQ(with_unanswered_call(call_status::dead), expected);
    EXPECT_EQ(with_unanswered_call(call_status::open), expected);
}

TEST(ModelHistory, SaysOfAnAbandonedCallThatTheApplicationDidNotAnswer) {
    const lines expected{
        "user u1: Hi", "assistant a1:  [c1 paint({})]",
        "tool c1: ! The call was not answered by the application.", "user u2: And?"
    };

    EXPECT_EQ(with_unanswered_call(call_status::abandoned), expected);
    EXPECT_EQ(with_unanswered_call(call_status::pending), expected);
}

TEST(ModelHistory, SaysOfADeniedCallThatItWasNotAllowed) {
    EXPECT_EQ(
        with_unanswered_call(call_status::denied).at(2), "tool c1: ! The call was not allowed."
    );
}

TEST(ModelHistory, NeverInventsASuccessForAnAnswerThatIsNotOnTheBranch) {
    EXPECT_EQ(
        with_unanswered_call(call_status::answered).at(2),
        "tool c1: ! The result of this call is not available."
    );
}

TEST(ModelHistory, AnswersACallWithoutARecordWithAnError) {
    thread_builder thread;
    thread.user("u1", "Hi").add(assistant("a1", "", {call("c1", "paint")}));

    EXPECT_EQ(
        outline(history(thread.build())).at(2), "tool c1: ! There is no result for this call."
    );
}

TEST(ModelHistory, NamesTheToolInEveryResult) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint"), call("c2", "move")})
        .answer("c1", "done");

    const std::vector<message> sent = history(thread.build());

    EXPECT_EQ(sent.at(2).name, "paint");
    EXPECT_EQ(sent.at(3).name, "move");
    EXPECT_EQ(sent.at(3).role, role::tool);
}

TEST(ModelHistory, PutsResultsRightAfterTheirCallsInCallOrder) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "Working", {call("c1", "paint"), call("c2", "move")})
        .answer("c2", "moved")
        .user("u2", "And?")
        .answer("c1", "painted");

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{
            "user u1: Hi", "assistant a1: Working [c1 paint({})] [c2 move({})]", "tool c1: painted",
            "tool c2: moved", "user u2: And?"
        })
    );
}

TEST(ModelHistory, UsesAResultThatStandsInFrontOfItsCall) {
    thread_builder thread;
    thread.user("u1", "Hi").add(answer("c1", "early")).assistant("a1", "", {call("c1", "paint")});

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{"user u1: Hi", "assistant a1:  [c1 paint({})]", "tool c1: early"})
    );
}

TEST(ModelHistory, LeavesOutResultsWithoutACall) {
    thread_builder thread;
    thread.user("u1", "Hi").add(answer("c9", "orphan")).assistant("a1", "Hello");

    EXPECT_EQ(outline(history(thread.build())), (lines{"user u1: Hi", "assistant a1: Hello"}));
}

TEST(ModelHistory, LetsTheFirstOfRepeatedResultsStand) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint")})
        .answer("c1", "first")
        .answer("c1", "second");

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{"user u1: Hi", "assistant a1:  [c1 paint({})]", "tool c1: first"})
    );
}

TEST(ModelHistory, LeavesOutACallThatALaterMessageRepeats) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint")})
        .answer("c1", "done")
        .add(assistant("a2", "Again", {call("c1", "paint"), call("c1", "paint")}))
        .add(assistant("a3", "", {call("c1", "paint")}));

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{
            "user u1: Hi", "assistant a1:  [c1 paint({})]", "tool c1: done", "assistant a2: Again"
        })
    );
}

TEST(ModelHistory, DoesNotTakeTheResultOfARepeatedCallForTheFirstCall) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint")}, call_status::dead)
        .add(assistant("a2", "Again", {call("c1", "paint")}))
        .add(answer("c1", "of the repeat"));

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{
            "user u1: Hi", "assistant a1:  [c1 paint({})]",
            "tool c1: ! The call was interrupted; whether it had any effect is unknown.",
            "assistant a2: Again"
        })
    );
}

TEST(ModelHistory, LeavesOutAnAssistantMessageThatSaysNothing) {
    thread_builder thread;
    thread.user("u1", "Hi").assistant("a1", "").user("u2", "Hello?");

    EXPECT_EQ(outline(history(thread.build())), (lines{"user u1: Hi", "user u2: Hello?"}));
}

TEST(ModelHistory, PassesFailedAndEmptyResultsOn) {
    message failed = answer("c1", "");
    failed.error = "no paint left";
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint"), call("c2", "move")})
        .add(failed)
        .answer("c2", "");

    const std::vector<message> sent = history(thread.build());

    EXPECT_EQ(sent.at(2).error, "no paint left");
    EXPECT_EQ(sent.at(3).error, std::nullopt);
    EXPECT_EQ(text_of(sent.at(3).content), "");
}

TEST(ModelHistory, LeavesOutSubagentsActivityAndReasoning) {
    message sub_user = test::user("su", "delegated");
    message sub_assistant = assistant("sa", "", {call("sc", "paint")});
    message sub_result = answer("c1", "the subagent's");
    for (message* value : {&sub_user, &sub_assistant, &sub_result}) {
        value->subagent_run_id = "sub-1";
    }
    thread_builder thread;
    thread.user("u1", "Hi")
        .add(other(role::reasoning, "r1", "thinking"))
        .add(other(role::activity, "x1", ""))
        .assistant("a1", "", {call("c1", "delegate")})
        .add(sub_user)
        .add(sub_assistant)
        .add(sub_result)
        .answer("c1", "the parent's");

    EXPECT_EQ(
        outline(history(thread.build())),
        (lines{"user u1: Hi", "assistant a1:  [c1 delegate({})]", "tool c1: the parent's"})
    );
}

TEST(ModelHistory, SendsEmptyArgumentsAsAnEmptyObject) {
    EXPECT_EQ(arguments_sent(""), "{}");
    EXPECT_EQ(arguments_sent(" \t\r\n"), "{}");
}

TEST(ModelHistory, KeepsAnArgumentsObjectByteForByte) {
    const std::string written = " { \"b\" : 1.50, \"a\":\"\\u00e9\", \"b\":1e3 }\n";
    EXPECT_EQ(arguments_sent(written), written);
}

TEST(ModelHistory, KeepsDeeplyNestedArguments) {
    std::string written;
    for (int depth = 0; depth < 100; ++depth) {
        written += "{\"a\":";
    }
    written += "1" + std::string(100, '}');
    EXPECT_EQ(arguments_sent(written), written);
}

TEST(ModelHistory, WrapsArgumentsThatAreNotAnObject) {
    EXPECT_EQ(arguments_sent("[1,2]"), R"({"INVALID_JSON":"[1,2]"})");
    EXPECT_EQ(arguments_sent("null"), R"({"INVALID_JSON":"null"})");
    EXPECT_EQ(arguments_sent("{\"a\":"), R"({"INVALID_JSON":"{\"a\":"})");
    EXPECT_EQ(arguments_sent("{} {}"), R"({"INVALID_JSON":"{} {}"})");
}

TEST(ModelHistory, WrapsArgumentsWithNumbersThatNoDoubleHolds) {
    EXPECT_EQ(
        arguments_sent(R"({"a":[1,{"b":-1e400}]})"),
        R"({"INVALID_JSON":"{\"a\":[1,{\"b\":-1e400}]}"})"
    );
}

// Turns of all kinds, with every way to leave a call without an answer.
void add_random_turn(thread_builder& thread, std::mt19937& random, int number) {
    const std::string n = std::to_string(number);
    thread.user("u" + n, "question " + n);
    if (random() % 4 == 0) {
        thread.add(other(role::reasoning, "r" + n, "thinking"));
    }
    std::vector<tool_call> calls;
    for (unsigned i = 0; i < random() % 4; ++i) {
        const std::string repeated = "c" + std::to_string(random() % 20);
        const std::string fresh = "c" + n + "." + std::to_string(i);
        static const char* const written[] = {"", "{}", "[]", "{\"a\":1}", "{"};
        calls.push_back(call(random() % 5 == 0 ? repeated : fresh, "paint", written[random() % 5]));
    }
    static constexpr call_status ends[] = {
        call_status::dead, call_status::abandoned, call_status::denied
    };
    thread.assistant("a" + n, random() % 3 == 0 ? "" : "text " + n, calls, ends[random() % 3]);
    for (const tool_call& made : calls) {
        const auto results = random() % 3;
        for (unsigned i = 0; i < results; ++i) {
            thread.add(answer(made.id, "result " + std::to_string(i)));
        }
    }
    if (random() % 6 == 0) {
        thread.add(answer("orphan" + n, "nothing"));
    }
}

TEST(ModelHistory, OnlyGrowsAsTheBranchGrows) {
    for (std::mt19937::result_type seed = 1; seed <= 15; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        thread_builder thread;
        std::string before;
        for (int turn = 0; turn < 30; ++turn) {
            add_random_turn(thread, random, turn);

            const std::string sent = bytes(history(thread.build()));

            ASSERT_TRUE(sent.starts_with(before)) << before << "---\n" << sent;
            ASSERT_GT(sent.size(), before.size());
            ASSERT_EQ(sent, bytes(history(thread.build())));
            before = sent;
        }
    }
}

TEST(ModelHistory, AnswersEveryCallOnceNextToItsCall) {
    for (std::mt19937::result_type seed = 1; seed <= 15; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        thread_builder thread;
        for (int turn = 0; turn < 30; ++turn) {
            add_random_turn(thread, random, turn);
        }

        const std::vector<message> sent = history(thread.build());

        std::size_t i = 0;
        while (i < sent.size()) {
            ASSERT_NE(sent[i].role, role::tool) << outline(sent)[i];
            const std::vector<tool_call>& calls = sent[i].tool_calls;
            ++i;
            for (const tool_call& made : calls) {
                ASSERT_LT(i, sent.size());
                ASSERT_EQ(sent[i].role, role::tool);
                ASSERT_EQ(sent[i].tool_call_id, made.id);
                ++i;
            }
        }
    }
}

TEST(ModelHistory, PutsTheReasoningThatAnOriginNamesBeforeItsAnswer) {
    thread_record thread;
    std::vector<stored_message> added;
    const auto add = [&](role who, const std::string& id) -> message& {
        stored_message& node = added.emplace_back();
        node.parent = added.size() == 1 ? no_node : static_cast<node_index>(added.size() - 2);
        node.message.id = id;
        node.message.role = who;
        node.message.content = id;
        return node.message;
    };
    add(role::user, "u1");
    add(role::reasoning, "r1");
    add(role::reasoning, "r2");
    turn_origin origin;
    origin.blocks = {
        {turn_block::kind::reasoning, "r2", 0, nullptr}, {turn_block::kind::text, "", 2, nullptr}
    };
    add(role::assistant, "m1").origin = std::make_shared<const turn_origin>(origin);
    changes change;
    change.messages = node_list(std::move(added));
    change.branches.push_back({0, {3, 0}});
    apply(thread, change);

    std::vector<std::string> ids;
    for (const message& each : model_history(thread, 3)) {
        ids.push_back(each.id);
    }

    EXPECT_EQ(ids, (std::vector<std::string>{"u1", "r2", "m1"}));
}

} // namespace
} // namespace agui::session
