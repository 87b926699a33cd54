#include "runner/loop/turn_use.hpp"
#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using session::call_status;
using session::role;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MessageAppend : public Hooks {
protected:
    // Changes the messages of the model only.
    void change(std::function<void(appended_message&)> what) {
        a->append = [what](appended_message& value) -> boost::asio::awaitable<void> {
            if (value.message.role == role::assistant) {
                what(value);
            }
            co_return;
        };
    }
};

TEST_F(MessageAppend, IsForEachMessageButThoseOfTheUser) {
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(noted("A append Hi"), 1);
    EXPECT_EQ(noted("A append Hello"), 0);
    EXPECT_THAT(sink.steps, ElementsAre("text Hi", "turn ended", "commit", "finish"))
        << "nothing was changed: no snapshot";
}

TEST_F(MessageAppend, AChangedMessageIsStoredAndSentBeforeTheEnd) {
    change([](appended_message& value) {
        value.message.content = std::string("Changed");
        value.message.id = "other";
        value.message.role = role::user;
    });
    b->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        EXPECT_EQ(session::text_of(value.message.content), "Changed");
        EXPECT_EQ(value.message.role, role::assistant);
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(stored_texts(), ElementsAre("assistant Changed"));
    EXPECT_TRUE(stored().nodes.at(1).message.id.starts_with("msg"));
    EXPECT_THAT(sink.steps, ElementsAre("text Hi", "turn ended", "commit", "snapshot 2", "finish"));
}

TEST_F(MessageAppend, PreventDefaultStoresNothing) {
    change([](appended_message& value) { value.prevent_default(); });
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(stored_texts(), IsEmpty());
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(sink.steps, Contains("snapshot 1"));
    EXPECT_EQ(noted("B append Hi"), 1) << "the others are asked all the same";
}

TEST_F(MessageAppend, APluginMayStoreTheMessageElsewhere) {
    change([](appended_message& value) {
        value.prevent_default();
        value.append(message_of(role::system, "Before it"));
        value.append(value.message);
    });
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    EXPECT_THAT(
        stored_texts(),
        ElementsAre(
            "system Before it", "assistant ", "tool sunny {}", "system Before it", "assistant Sunny"
        )
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(MessageAppend, ACopyHasAnIdOfItsOwn) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        value.append(value.message);
        co_return;
    };
    b->after = [](after_request& value) -> boost::asio::awaitable<void> {
        session::message copy = value.message();
        value.append(std::move(copy));
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(
        stored_texts(), ElementsAre("assistant Hi", "assistant Hi", "assistant Hi", "assistant Hi")
    );
    std::set<std::string> ids;
    for (const session::stored_message& each : stored().nodes) {
        ids.insert(each.message.id);
    }
    EXPECT_EQ(ids.size(), 5U);
}

TEST_F(MessageAppend, AMessageThatIsStoredLaterKeepsItsId) {
    change([](appended_message& value) { value.prevent_default(); });
    b->after = [](after_request& value) -> boost::asio::awaitable<void> {
        session::message later = value.message();
        later.role = role::user; // `a` withholds only messages of the model.
        value.append(later);
        co_return;
    };
    std::string shown;
    b->stream = [&](const session::message& so_far, const stream_data&) {
        shown = so_far.id;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(stored().nodes.at(1).message.id, shown);
}

TEST_F(MessageAppend, ACallThatIsRemovedIsNeitherExecutedNorPending) {
    bool executed = false;
    tools.add({"pay", "", {}}, [&](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        executed = true;
        co_return tool_outcome{};
    });
    change([](appended_message& value) {
        std::erase_if(value.message.tool_calls, [](const session::tool_call& call) {
            return call.name != "weather";
        });
    });
    model.turns = {
        calls({{"c1", "pay", "{}"}, {"c2", "weather", "{}"}, {"c3", "change_background", "{}"}}),
        says("Done")
    };

    play();

    EXPECT_FALSE(executed);
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_EQ(stored().find_call("c1"), nullptr);
    EXPECT_THAT(sink.steps, Contains("result c3 failed The call was not allowed."));
    const auto refused =
        std::ranges::find(sink.steps, std::string("result c1 failed The call was not allowed."));
    const auto executed_one = std::ranges::find(sink.steps, std::string("result c2 sunny {}"));
    EXPECT_LT(refused, executed_one);
    EXPECT_NE(executed_one, sink.steps.end());
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].at(1).tool_calls.size(), 1U);
}

TEST_F(MessageAppend, WithoutItsCallsAnAnswerIsTheLast) {
    change([](appended_message& value) { value.message.tool_calls.clear(); });
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_THAT(sink.steps, Contains("result c1 failed The call was not allowed."));
}

// Seed 000: if the user forbids a call, its message is kept.
TEST_F(MessageAppend, ADeniedCallKeepsItsMessageAndTheModelIsTold) {
    change([](appended_message& value) { value.deny_call("c1"); });
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "weather", R"({"n":2})"}}), says("Sorry")
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(sink.steps, Contains("result c1 failed The call was not allowed."));
    EXPECT_THAT(sink.steps, Contains(R"(result c2 sunny {"n":2})"));
    EXPECT_THAT(sink.steps, Not(Contains("result c1 sunny {}")));
    EXPECT_EQ(status_of("c1"), call_status::denied);
    ASSERT_EQ(model.histories.size(), 2U);
    ASSERT_EQ(model.histories[1].size(), 4U);
    EXPECT_EQ(model.histories[1][1].tool_calls.size(), 2U);
    EXPECT_EQ(model.histories[1][2].error, "The call was not allowed.");
}

TEST_F(MessageAppend, WithAllItsCallsDeniedTheModelIsAskedAgain) {
    change([](appended_message& value) { value.deny_call("c1"); });
    model.turns = {calls({{"c1", "change_background", "{}"}}), says("Sorry")};

    play();

    EXPECT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(status_of("c1"), call_status::denied);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_THAT(stored_texts(), ElementsAre("assistant ", "assistant Sorry"));
}

TEST_F(MessageAppend, AResultIsShownAsItWasChanged) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::tool) {
            value.message.content = std::string("cloudy");
            value.append(message_of(role::user, "added"));
        }
        co_return;
    };
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, Contains("result c1 cloudy"));
    EXPECT_THAT(
        stored_texts(), ElementsAre("assistant ", "tool cloudy", "user added", "assistant Done")
    );
    EXPECT_EQ(session::text_of(model.histories.at(1).at(2).content), "cloudy");
}

TEST_F(MessageAppend, AResultThatIsNotStoredIsAnErrorResult) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::tool) {
            value.prevent_default();
        }
        co_return;
    };
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, Contains("result c1 failed The result was withheld."));
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(MessageAppend, AnErrorWithAResultStoresItAndEndsTheTurn) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::tool) {
            throw std::runtime_error("bad result");
        }
        co_return;
    };
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant ", "tool sunny {}"));
}

TEST_F(MessageAppend, ChangedArgumentsAreExecuted) {
    change([](appended_message& value) {
        for (session::tool_call& call : value.message.tool_calls) {
            call.arguments = R"({"changed":true})";
        }
    });
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, Contains(R"(result c1 sunny {"changed":true})"));
}

TEST_F(MessageAppend, ACallCannotBeAdded) {
    change([](appended_message& value) {
        value.message.tool_calls.push_back({"c9", "weather", "{}", {}, {}});
        value.append(result_of("c1", "forged"));
    });
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Done")};

    play();

    EXPECT_EQ(stored().find_call("c9"), nullptr);
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.size(), 1U);
    EXPECT_THAT(sink.steps, Contains("result c1 sunny {}"));
    EXPECT_THAT(log.lines(), Contains(HasSubstr("a call that a plugin added")));
}

TEST_F(MessageAppend, ReasoningIsAMessageOfItsOwn) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_reasoning("Hm");
        to.on_text("Hi");
        return model_answer{};
    }}};
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::reasoning) {
            value.prevent_default();
        }
        co_return;
    };

    play();

    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi"));
}

TEST_F(MessageAppend, IsForTheTextOfAStoppedAnswerToo) {
    change([](appended_message& value) { value.message.content = std::string("[withheld]"); });
    model.turns = {says("A secr")};
    model.turns.front().hold = true;
    sink.on_step = [this](const std::string& step) {
        if (step == "text A secr") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant [withheld]"));
    EXPECT_THAT(sink.steps, Contains("snapshot 2"));
}

// Replies of the form `items`, whose original text is stored beside the shown text.
class ReplyItemsAppend : public MessageAppend {
protected:
    ReplyItemsAppend() {
        request.agent.reply = reply_format::items;
        model.turns = {says(reply), says(R"([{"type":"chat","content":"Done"}])")};
        b->after = [this](after_request& value) -> boost::asio::awaitable<void> {
            if (noted("B after") == 1) {
                value.append_and_request(message_of(role::user, "Go on"));
            }
            co_return;
        };
    }

    /// The parts of the first answer, reasoning and text, in the second request.
    std::string sent_again() {
        std::string all;
        for (const session::message& each : model.histories.at(1)) {
            all += each.role == role::user ? "" : session::text_of(each.content);
        }
        return all;
    }

    const std::string reply = R"([{"type":"thought","content":"Hm, 4711"},)"
                              R"({"type":"chat","content":["Code 4711",{"type":"image","id":7}]}])";
};

TEST_F(ReplyItemsAppend, AnUnchangedReplyGoesToTheModelAsItWroteIt) {
    play();

    EXPECT_THAT(
        sink.steps, ElementsAre(
                        "reasoning Hm, 4711", "text Code 4711",
                        R"(segment {"type":"image","id":7})", "turn ended", "commit", "commit",
                        "text Done", "turn ended", "commit", "snapshot 5", "finish"
                    )
    );
    EXPECT_EQ(noted("A stream Code 4711"), 1);
    EXPECT_EQ(noted("A append Code 4711"), 1);
    EXPECT_THAT(
        stored_texts(),
        ElementsAre("reasoning Hm, 4711", "assistant Code 4711", "user Go on", "assistant Done")
    );
    EXPECT_THAT(sent_again(), HasSubstr(reply));
}

TEST_F(ReplyItemsAppend, AChangedTextReachesTheModelChanged) {
    change([](appended_message& value) { value.message.content = std::string("Code [cut]"); });

    play();

    EXPECT_EQ(stored().nodes.at(2).message.for_model, nullptr);
    EXPECT_THAT(sent_again(), HasSubstr("Code [cut]"));
    EXPECT_THAT(sent_again(), Not(HasSubstr("Code 4711")));
}

TEST_F(ReplyItemsAppend, AChangedCopyReachesTheModelChanged) {
    change([](appended_message& value) {
        session::message copy = value.message;
        copy.content = std::string("Code [cut]");
        value.prevent_default();
        value.append(std::move(copy));
    });

    play();

    EXPECT_THAT(sent_again(), HasSubstr("Code [cut]"));
    EXPECT_THAT(sent_again(), Not(HasSubstr("Code 4711")));
}

TEST_F(ReplyItemsAppend, AChangedThoughtIsNoLongerInTheReply) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::reasoning) {
            value.prevent_default();
        }
        co_return;
    };

    play();

    EXPECT_THAT(sent_again(), Not(HasSubstr("Hm")));
    EXPECT_THAT(sent_again(), HasSubstr("Code 4711"));
}

TEST_F(ReplyItemsAppend, APluginMaySayWhatTheModelGets) {
    change([](appended_message& value) {
        value.message.content = std::string("Shown");
        value.message.for_model = std::make_shared<const session::content>(std::string("Told"));
    });

    play();

    EXPECT_EQ(session::text_of(stored().nodes.at(2).message.content), "Shown");
    EXPECT_THAT(sent_again(), HasSubstr("Told"));
}

TEST_F(MessageAppend, AChangedResultReachesTheModelChanged) {
    tools.add({"search", "", {}}, [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        tool_outcome made{tool_outcome::kind::result, "all of 4711"};
        made.shown = session::content(std::string("4711"));
        co_return made;
    });
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::tool) {
            value.message.content = std::string("[cut]");
        }
        co_return;
    };
    model.turns = {calls({{"c1", "search", "{}"}}), says("Done")};

    play();

    EXPECT_EQ(session::text_of(model.histories.at(1).at(2).content), "[cut]");
}

TEST_F(MessageAppend, AChangedThoughtIsNotSentBackByItsProvidersData) {
    model.provider_name = "main";
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_reasoning("Hm, 4711");
        to.on_text("Hi");
        to.on_turn_data("reasoning", boost::json::value("reasoning_content"));
        to.on_turn_data("reasoning_details", boost::json::array{"Hm, 4711"});
        return model_answer{};
    }}};
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == role::reasoning) {
            value.message.content = std::string("[cut]");
        }
        co_return;
    };

    play();

    const auto origin = stored().nodes.at(2).message.origin;
    ASSERT_NE(origin, nullptr);
    EXPECT_EQ(origin->data, boost::json::object({{"reasoning", "reasoning_content"}}));
}

// The thread as the next run of the turn finds it.
class MessageAppendUse : public Hooks {
protected:
    MessageAppendUse() {
        request.agent.limits.max_tokens = 1'000'000;
        model.provider_name = "main";
    }

    turn_use used() {
        const session::thread_record thread = stored();
        return use_of_turn(thread, thread.branches.at(0).tip);
    }
};

TEST_F(MessageAppendUse, AnAnswerInTwoMessagesCountsOnce) {
    a->append = [](appended_message& appended) -> boost::asio::awaitable<void> {
        session::message half = appended.message;
        const session::tool_call last = half.tool_calls.back();
        half.tool_calls.pop_back();
        appended.append(half);
        half.tool_calls = {last};
        appended.append(half);
        appended.prevent_default();
        co_return;
    };
    model.turns = {calls({{"c1", "change_background", "{}"}, {"c2", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.reason, stop_reason::external_tool);
    ASSERT_EQ(stored().nodes.size(), 3U);
    EXPECT_EQ(used().rounds, 1U);
    EXPECT_EQ(used().calls, 2U);
    EXPECT_EQ(used().tokens, sink.end.used.tokens);
}

TEST_F(MessageAppendUse, AnAnswerThatIsWithheldIsPaidForAllTheSame) {
    a->append = [](appended_message& appended) -> boost::asio::awaitable<void> {
        if (session::text_of(appended.message.content) == "secret") {
            appended.prevent_default();
        }
        co_return;
    };
    a->after = [](after_request& request) -> boost::asio::awaitable<void> {
        if (request.message().tool_calls.empty()) {
            request.append_and_request(message_of(session::role::user, "Say something else"));
        }
        co_return;
    };
    model.turns = {says("secret"), calls({{"c1", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_GT(sink.end.used.tokens, 2U);
    EXPECT_EQ(used().tokens, sink.end.used.tokens);
    EXPECT_EQ(used().rounds, 1U) << "the plugin's message begins no turn";
}

} // namespace
} // namespace agui::runner
