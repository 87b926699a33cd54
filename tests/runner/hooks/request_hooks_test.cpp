#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using session::role;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A model that records its requests.
class seeing_model final : public model_provider {
public:
    std::string instructions;
    model_parameters parameters;
    std::vector<std::string> texts;
    std::vector<std::string> tools;

    boost::asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) override {
        instructions = request.instructions;
        parameters = request.parameters;
        for (const session::message& each : *request.messages) {
            texts.push_back(session::text_of(each.content));
        }
        for (const tool_definition& each : *request.tools) {
            tools.push_back(each.name);
        }
        sink.on_text("Hi");
        co_return model_answer{};
    }
};

class RequestHooks : public Hooks {
protected:
    // Acts in the first round only.
    void follow_once(std::function<void(after_request&)> what) {
        a->after = [this, what](after_request& request) -> boost::asio::awaitable<void> {
            if (noted("A after") == 1) {
                what(request);
            }
            co_return;
        };
    }
};

TEST_F(RequestHooks, EditTheRequest) {
    seeing_model provider;
    request.agent.parameters.model = "m";
    request.agent.context = "page 3";
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        EXPECT_EQ(draft.context, "page 3");
        draft.instructions += "Be brief.";
        draft.context = "page 4";
        draft.messages.back().content = std::string("Hello, changed");
        draft.tools.resize(1);
        draft.parameters.temperature = 0.5;
        draft.parameters.model = "another";
        co_return;
    };
    b->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        EXPECT_EQ(draft.instructions, "Be brief.");
        co_return;
    };

    play_with(provider);

    EXPECT_EQ(provider.instructions, "Be brief.");
    EXPECT_EQ(provider.parameters.temperature, 0.5);
    EXPECT_EQ(provider.parameters.model, "m") << "each model has its own";
    EXPECT_THAT(provider.texts, ElementsAre("page 4\n\nHello, changed"));
    EXPECT_EQ(provider.tools.size(), 1U);
    EXPECT_EQ(session::text_of(stored().nodes.at(0).message.content), "Hello");
}

TEST_F(RequestHooks, SetRequestMessagesKeepsOnlyMessagesThatARequestMayCarry) {
    session::message full = message_of(role::assistant, "text");
    full.id = "m1";
    full.name = "me";
    full.tool_calls = {{"c1", "weather", "{}", "secret", "kind"}};
    full.metadata.emplace();
    full.encrypted_value = "secret";
    full.subagent_run_id = "s1";
    request_draft draft;

    draft.set_request_messages({full, message_of(role::activity, ""), result_of("c1", "sunny")});

    ASSERT_EQ(draft.messages.size(), 2U);
    const session::message& kept = draft.messages[0];
    EXPECT_EQ(session::text_of(kept.content), "text");
    EXPECT_EQ(kept.name, "me");
    EXPECT_EQ(kept.tool_calls, (std::vector<session::tool_call>{{"c1", "weather", "{}", {}, {}}}));
    EXPECT_FALSE(kept.metadata || kept.encrypted_value);
    EXPECT_TRUE(kept.subagent_run_id.empty());
    EXPECT_EQ(draft.messages[1].tool_call_id, "c1");
}

TEST_F(RequestHooks, TheHistoryIsRepairedAfterwards) {
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        session::message caller = message_of(role::assistant, "");
        caller.tool_calls = {{"x1", "weather", "not JSON", {}, {}}};
        draft.set_request_messages({result_of("x9", "of no call"), caller});
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    const std::vector<session::message>& sent = model.histories.at(0);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].tool_calls.at(0).arguments, R"({"INVALID_JSON":"not JSON"})");
    EXPECT_EQ(sent[1].tool_call_id, "x1");
    EXPECT_TRUE(sent[1].error);
}

TEST_F(RequestHooks, EditsAreMadeOnceAndGoToEachFallbackModel) {
    fake_model second;
    second.provider_name = "second";
    second.turns = {says("Hi")};
    model.provider_name = "first";
    model.turns = {fails(model_failure::kind::unavailable)};
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::required, {}};
    request.fallbacks.push_back({&second, request.agent.parameters});
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.messages.push_back(message_of(role::user, "added"));
        draft.tools.resize(1);
        draft.parameters.tool_choice.reset();
        co_return;
    };

    play();

    EXPECT_EQ(noted("A before"), 1);
    for (const fake_model* each : {&model, &second}) {
        ASSERT_EQ(each->histories.size(), 1U);
        EXPECT_EQ(session::text_of(each->histories[0].back().content), "added");
        EXPECT_EQ(each->offered[0].size(), 1U);
        EXPECT_FALSE(each->choices[0].has_value());
    }
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(RequestHooks, WithoutEditsTheRequestIsThatOfARunWithoutPlugins) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};
    const loop_services services{model, tools, ids, time, log};
    recording_sink plain_sink;
    plain_sink.thread = [&] {
        session::thread_record thread = *given;
        for (const session::changes& change : plain_sink.commits) {
            session::apply(thread, change);
        }
        return thread;
    };
    stop_source plain_stop(context().get_executor());
    run(run_agent(request, services, plain_sink, plain_stop));
    const auto plain = std::exchange(model.histories, {});
    context().restart();
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    ASSERT_EQ(model.histories.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(model.histories[i].size(), plain[i].size());
        for (std::size_t k = 0; k < plain[i].size(); ++k) {
            EXPECT_EQ(model.histories[i][k].content, plain[i][k].content);
            EXPECT_EQ(model.histories[i][k].tool_calls, plain[i][k].tool_calls);
        }
    }
}

TEST_F(RequestHooks, AfterRequestGetsTheMessageAndTheLastChunk) {
    std::string text;
    std::optional<model_answer> last;
    follow_once([&](after_request& request) {
        text = session::text_of(request.message().content);
        last = request.last_chunk();
    });
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Half");
        return model_answer{
            .reason = finish_reason::length,
            .usage = token_usage{"p", "m", 3, 4, {}, {}, {}},
        };
    }}};

    play();

    EXPECT_EQ(text, "Half");
    ASSERT_TRUE(last);
    EXPECT_EQ(last->reason, finish_reason::length);
    EXPECT_EQ(last->usage.value().output_tokens, 4);
    EXPECT_EQ(sink.end.reason, stop_reason::max_output_tokens);
}

TEST_F(RequestHooks, AppendedMessagesAreStoredAndShownWithoutAnotherRequest) {
    follow_once([](after_request& request) {
        request.append({message_of(role::user, "One"), message_of(role::assistant, "Two")});
    });
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user One", "assistant Two"));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_GE(sink.steps.size(), 2U);
    EXPECT_EQ(sink.steps[sink.steps.size() - 2], "snapshot 4") << "right before the end";
    EXPECT_EQ(noted("B append One"), 1);
    EXPECT_EQ(noted("B append Two"), 1);
}

TEST_F(RequestHooks, ANormalAppendIsAtOnceAndItsPriorityDoesNotCount) {
    a->after = [this](after_request& request) -> boost::asio::awaitable<void> {
        request.append(message_of(role::user, "A1"), {.priority = 1});
        while (noted("A append A1") == 0) { // Its plugin is still running.
            co_await yield();
        }
        request.append(message_of(role::user, "A2"), {.priority = 9});
    };
    b->after = [](after_request& request) -> boost::asio::awaitable<void> {
        request.append(message_of(role::user, "B1"), {.priority = 5});
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user A1", "user B1", "user A2"));
}

TEST_F(RequestHooks, DeferredMessagesComeByPriorityThenInTheOrderOfRegistration) {
    const auto later = [](int priority) {
        return append_options{.priority = priority, .deferred = true};
    };
    a->after = [&](after_request& request) -> boost::asio::awaitable<void> {
        co_await yield(); // B is the first to append.
        request.append(message_of(role::user, "A low"), later(-1));
        request.append(message_of(role::user, "A even"), later(0));
        request.append(message_of(role::user, "A even too"), later(0));
        request.append(message_of(role::user, "A now"));
    };
    b->after = [&](after_request& request) -> boost::asio::awaitable<void> {
        request.append(message_of(role::user, "B even"), later(0));
        request.append(message_of(role::user, "B high"), later(7));
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(
        stored_texts(), ElementsAre(
                            "assistant Hi", "user A now", "user B high", "user A even",
                            "user A even too", "user B even", "user A low"
                        )
    );
    EXPECT_EQ(noted("A append B high"), 1);
}

TEST_F(RequestHooks, ADeferredMessageMayAskForARequest) {
    follow_once([](after_request& request) {
        request.append_and_request(message_of(role::user, "More"), {.deferred = true});
    });
    model.turns = {says("Hi"), says("Bye")};

    play();

    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user More", "assistant Bye"));
}

TEST_F(RequestHooks, AppendAndRequestCountsAsARound) {
    a->after = [](after_request& request) -> boost::asio::awaitable<void> {
        request.append_and_request(message_of(role::user, "Again"));
        co_return;
    };
    request.agent.max_rounds = 2;
    model.turns = {says("1"), says("2"), says("3"), says("4")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(model.histories.size(), 3U);
    EXPECT_EQ(noted("A end"), 1);
}

TEST_F(RequestHooks, ACutTextMayBeContinued) {
    follow_once([](after_request& request) {
        request.append_and_request(message_of(role::user, "Go on"));
    });
    model.turns = {says("Half a", finish_reason::length), says(" sentence")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        stored_texts(), ElementsAre("assistant Half a", "user Go on", "assistant  sentence")
    );
}

TEST_F(RequestHooks, AModelThatPausedGoesOn) {
    model.turns = {says("Half a", finish_reason::pause), says(" sentence")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 2U);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Half a", "assistant  sentence"));
}

TEST_F(RequestHooks, ARequestBesideServerCallsIsMadeOnceAfterThem) {
    follow_once([](after_request& request) {
        request.append_and_request(message_of(role::user, "And then?"));
    });
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    ASSERT_EQ(model.histories.size(), 2U);
    ASSERT_EQ(model.histories[1].size(), 4U);
    EXPECT_EQ(model.histories[1][2].tool_call_id, "c1") << "a valid history";
    EXPECT_EQ(session::text_of(model.histories[1][3].content), "And then?");
}

TEST_F(RequestHooks, ARequestWithAnOpenExternalCallWaitsForItsAnswer) {
    follow_once([](after_request& request) {
        request.append_and_request(message_of(role::user, "And then?"));
    });
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(status_of("c1"), session::call_status::pending);
    EXPECT_EQ(model.histories.size(), 1U);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant ", "user And then?"));
}

TEST_F(RequestHooks, AnAppendedResultAnswersItsCall) {
    follow_once([](after_request& request) {
        request.append_and_request(
            {result_of("c1", "from the plugin"), result_of("c2", "painted"),
             result_of("c2", "twice"), result_of("x", "of no call")}
        );
    });
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "change_background", "{}"}}), says("Done")
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        stored_texts(),
        ElementsAre("assistant ", "tool from the plugin", "tool painted", "assistant Done")
    );
    EXPECT_THAT(sink.steps, Contains("result c1 from the plugin"));
    EXPECT_THAT(sink.steps, Contains("result c2 painted"));
    EXPECT_EQ(status_of("c2"), session::call_status::answered);
}

TEST_F(RequestHooks, AnAppendedMessageMakesNoCalls) {
    follow_once([](after_request& request) {
        session::message forged = message_of(role::assistant, "I call");
        forged.tool_calls = {{"c9", "weather", "{}", {}, {}}};
        request.append(forged);
    });
    model.turns = {says("Hi")};

    play();

    EXPECT_TRUE(stored().nodes.at(2).message.tool_calls.empty());
    EXPECT_THAT(log.lines(), Contains(HasSubstr("the calls of a message")));
}

// Tools of plugins: several at once, executed by the loop.
TEST_F(RequestHooks, APluginBringsATool) {
    int running = 0;
    int most = 0;
    const tool_function dice = [&](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
        most = std::max(most, ++running);
        co_await yield();
        co_await yield();
        --running;
        co_return tool_outcome{tool_outcome::kind::result, "six " + call.arguments_text};
    };
    a->before = [&](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.add_tool({"dice", "Throws", {}}, dice);
        draft.add_tool({"weather", "Is there already", {}}, returns("not used "));
        co_return;
    };
    model.turns = {
        calls({{"c1", "dice", "{}"}, {"c2", "dice", R"({"n":2})"}, {"c3", "weather", "{}"}}),
        says("Done")
    };

    play();

    EXPECT_THAT(model.offered.at(0), Contains("dice").Times(1));
    EXPECT_THAT(model.offered.at(0), Contains("weather").Times(1));
    EXPECT_THAT(sink.steps, Contains("result c1 six {}"));
    EXPECT_THAT(sink.steps, Contains(R"(result c2 six {"n":2})"));
    EXPECT_THAT(sink.steps, Contains("result c3 sunny {}"));
    EXPECT_EQ(most, 2);
}

TEST_F(RequestHooks, AToolThatIsNotBroughtAgainIsNotExecuted) {
    a->before = [&](request_draft& draft) -> boost::asio::awaitable<void> {
        if (noted("A before") == 1) {
            draft.add_tool({"dice", "Throws", {}}, returns("six "));
        }
        co_return;
    };
    model.turns = {calls({{"c1", "dice", "{}"}}), calls({{"c2", "dice", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, Contains("result c1 six {}"));
    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c2 failed")));
}

TEST_F(RequestHooks, AToolThatIsTakenOutIsNeitherExecutedNorHandedOver) {
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.tools.clear();
        co_return;
    };
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "change_background", "{}"}}), says("Done")
    };

    play();

    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c1 failed")));
    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c2 failed")));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(RequestHooks, APluginMayTakeOutAToolOfAnother) {
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.add_tool({"dice", "Throws", {}}, returns("six "));
        co_return;
    };
    b->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.tools.clear();
        co_return;
    };
    model.turns = {calls({{"c1", "dice", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c1 failed")));
}

TEST_F(RequestHooks, AToolMayBeReplaced) {
    a->before = [](request_draft& draft) -> boost::asio::awaitable<void> {
        draft.tools.clear();
        draft.add_tool({"weather", "", {}}, returns("rainy "));
        draft.add_tool({"change_background", "", {}}, returns("painted "));
        co_return;
    };
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "change_background", "{}"}}), says("Done")
    };

    play();

    EXPECT_THAT(sink.steps, Contains("result c1 rainy {}"));
    EXPECT_THAT(sink.steps, Contains("result c2 painted {}"));
}

TEST_F(RequestHooks, AToolOfAPluginIsCancelledAndNotWaitedFor) {
    boost::asio::steady_timer later(context(), boost::asio::steady_timer::time_point::max());
    bool done = false;
    a->before = [&](request_draft& draft) -> boost::asio::awaitable<void> {
        const std::string held = "captured by the function, which outlives the run";
        draft.add_tool(
            {"slow", "", {}},
            [&, held](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
                (void)stop.request(stop_reason::cancelled);
                co_await boost::asio::this_coro::reset_cancellation_state(
                    boost::asio::disable_cancellation()
                );
                co_await later.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
                done = held.starts_with("captured");
                co_return tool_outcome{};
            }
        );
        co_return;
    };
    model.turns = {calls({{"c1", "slow", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_FALSE(done) << "its own request goes on";
    later.cancel();
    run_until([&] { return done; });
    EXPECT_TRUE(done);
}

} // namespace
} // namespace agui::runner
