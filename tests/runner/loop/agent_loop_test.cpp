#include "runner/loop/agent_loop.hpp"

#include "session/history/model_history.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <deque>
#include <functional>
#include <stdexcept>

namespace agui::runner {
namespace {

using session::call_status;

// What a model answers to one call.
struct scripted_turn {
    std::function<model_outcome(model_sink&)> answer;
    bool hold = false; ///< After the answer's deltas, wait until cancelled.
};

class fake_model final : public model_provider {
public:
    std::string provider_name;
    std::deque<scripted_turn> turns;
    std::vector<std::vector<session::message>> histories;
    std::vector<std::optional<tool_choice>> choices;
    std::vector<std::vector<std::string>> offered;

    [[nodiscard]] std::string_view name() const noexcept override { return provider_name; }

    boost::asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) override {
        histories.push_back(*request.messages);
        choices.push_back(request.parameters.tool_choice);
        offered.emplace_back();
        for (const tool_definition& tool : *request.tools) {
            offered.back().push_back(tool.name);
        }
        if (turns.empty()) {
            throw std::logic_error("the model was asked more often than the test expects");
        }
        const scripted_turn turn = std::move(turns.front());
        turns.pop_front();
        const model_outcome outcome = turn.answer(sink);
        if (turn.hold) {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return model_failure{model_failure::kind::cancelled, 0, {}};
        }
        co_return outcome;
    }
};

// Writes down what a run shows and stores, as one list: the order is what P3 is about.
class recording_sink final : public run_sink {
public:
    std::vector<std::string> steps;
    std::vector<session::changes> commits;
    run_end end;
    int finishes = 0;
    int loads = 0;
    std::function<result<session::thread_record>()> thread;
    std::function<void()> on_load;
    int fail_commit = -1; ///< Number of the commit that fails, from 0; -1: none.
    std::function<void(const std::string&)> on_step;

    void emit(const runner_event& event) override {
        std::visit([this](const auto& one) { note(text(one)); }, event);
    }

    boost::asio::awaitable<result<void>> commit(session::changes change) override {
        note("commit");
        commits.push_back(std::move(change));
        if (static_cast<int>(commits.size()) - 1 == fail_commit) {
            co_return failure{errc::store_unavailable, "full", {}, {}};
        }
        co_return result<void>();
    }

    boost::asio::awaitable<result<session::thread_record>> load_thread() override {
        ++loads;
        if (on_load) {
            on_load();
        }
        co_return thread();
    }

    boost::asio::awaitable<void> finish(session::changes change, run_end ended) override {
        ++finishes;
        end = std::move(ended);
        note("finish");
        commits.push_back(std::move(change));
        co_return;
    }

private:
    void note(std::string step) {
        steps.push_back(step);
        if (on_step) {
            on_step(step);
        }
    }
    static std::string text(const text_delta& e) { return "text " + std::string(e.text); }
    static std::string text(const reasoning_delta& e) { return "reasoning " + std::string(e.text); }
    static std::string text(const call_started& e) {
        return "call " + std::string(e.call_id) + " " + std::string(e.name) +
               (e.external ? " external" : " server");
    }
    static std::string text(const call_arguments& e) {
        return "args " + std::string(e.call_id) + " " + std::string(e.delta);
    }
    static std::string text(const turn_ended&) { return "turn ended"; }
    static std::string text(const call_result& e) {
        return "result " + std::string(e.call_id) + (e.failed ? " failed " : " ") +
               session::text_of(*e.content);
    }
    static std::string text(const messages_snapshot& e) {
        return "snapshot " + std::to_string(e.messages->size());
    }
};

scripted_turn says(std::string text, finish_reason reason = finish_reason::stop) {
    return {[=](model_sink& sink) -> model_outcome {
        sink.on_text(text);
        return model_answer{reason, {}};
    }};
}

struct made_call {
    std::string id;
    std::string name;
    std::string arguments;
};

scripted_turn calls(std::vector<made_call> made, finish_reason reason = finish_reason::tool_calls) {
    return {[=](model_sink& sink) -> model_outcome {
        for (std::size_t i = 0; i < made.size(); ++i) {
            sink.on_call(i, made[i].id, made[i].name);
            if (!made[i].arguments.empty()) {
                sink.on_call_arguments(i, made[i].arguments);
            }
        }
        return model_answer{reason, {}};
    }};
}

scripted_turn fails(model_failure::kind what) {
    return {[=](model_sink&) -> model_outcome {
        return model_failure{what, 0, "why"};
    }};
}

tool_function returns(std::string text) {
    return [text](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::result, text + call.arguments_text};
    };
}

class AgentLoop : public test::coroutine_test {
protected:
    AgentLoop() {
        tools.add({"weather", "The weather", {}}, returns("sunny "));
        tools.add(
            {"screen", "Found to be the browser's", {}},
            [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
                co_return tool_outcome{tool_outcome::kind::external, std::string()};
            }
        );
        tools.add(
            {"broken", "Throws", {}},
            [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
                throw std::runtime_error("a secret detail");
                co_return tool_outcome{};
            }
        );
        request.key.thread_id = "t1";
        request.run_id = "r1";
        request.external_tools = {{"change_background", "Paints", {}}};
        request.new_user_turn = true;
        session::changes change;
        session::stored_message node;
        node.message.id = "u1";
        node.message.content = std::string("Hello");
        change.messages.push_back(node);
        change.branches.push_back({0, {0, 0}});
        session::apply(request.thread, change);
        sink.thread = [this] {
            return stored();
        };
    }

    void play() {
        const loop_services services{model, tools, ids, time, log, max_result_bytes};
        run(run_agent(request, services, sink, stop));
    }

    // The thread after the run, as the store would hold it.
    session::thread_record stored() {
        session::thread_record thread = request.thread;
        for (const session::changes& change : sink.commits) {
            session::apply(thread, change);
        }
        return thread;
    }

    call_status status_of(std::string_view id) {
        const session::thread_record thread = stored();
        const session::call_record* call = thread.find_call(id);
        if (call == nullptr) {
            throw std::logic_error("no such call");
        }
        return call->status;
    }

    fake_model model;
    tool_registry tools;
    sequential_ids ids;
    manual_clock time;
    memory_logger log;
    recording_sink sink;
    stop_source stop{context().get_executor()};
    run_request request;
    std::size_t max_result_bytes = 1000;
};

TEST_F(AgentLoop, StoresTheAnswerTogetherWithTheEnd) {
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.steps, (std::vector<std::string>{"text Hi", "turn ended", "finish"}));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(sink.commits.size(), 1U);
    const session::thread_record thread = stored();
    EXPECT_EQ(session::text_of(thread.nodes.at(1).message.content), "Hi");
    EXPECT_EQ(thread.branches.at(0).tip, 1U);
}

TEST_F(AgentLoop, LeavesExternalCallsPendingWithTheEnd) {
    model.turns = {calls({{"c1", "change_background", R"({"color":"blue"})"}})};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "call c1 change_background external", R"(args c1 {"color":"blue"})",
                        "turn ended", "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
}

TEST_F(AgentLoop, CommitsTheTurnBeforeAServerToolRuns) {
    model.turns = {calls({{"c1", "weather", R"({"city":"Ulm"})"}}), says("It is sunny")};

    play();

    EXPECT_EQ(
        sink.steps,
        (std::vector<std::string>{
            "call c1 weather server", R"(args c1 {"city":"Ulm"})", "turn ended", "commit", "commit",
            R"(result c1 sunny {"city":"Ulm"})", "text It is sunny", "turn ended", "finish"
        })
    );
    EXPECT_EQ(status_of("c1"), call_status::answered);
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].size(), 3U);
}

TEST_F(AgentLoop, ExecutesServerCallsAndHandsTheOthersOver) {
    model.turns = {calls({{"c1", "change_background", "{}"}, {"c2", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
    EXPECT_EQ(status_of("c2"), call_status::answered);
}

// As when the caller has approved a call: the run begins with it, not with the model.
TEST_F(AgentLoop, BeginsWithTheStoredCallsOfTheServer) {
    session::changes change;
    session::stored_message node;
    node.parent = 0;
    node.message.id = "a1";
    node.message.role = session::role::assistant;
    node.message.tool_calls = {
        {"c1", "weather", R"({"city":"Ulm"})", {}, {}}, {"c2", "weather", "{}", {}, {}}
    };
    change.messages.push_back(node);
    change.branches.push_back({0, {1, 0}});
    change.calls = {
        {"c1", "weather", "r1", session::call_owner::server, call_status::open, 1},
        {"c2", "weather", "r0", session::call_owner::server, call_status::dead, 1}
    };
    session::apply(request.thread, change);
    model.turns = {says("It is sunny")};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "commit", R"(result c1 sunny {"city":"Ulm"})", "text It is sunny",
                        "turn ended", "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(AgentLoop, BeginsWithTheCallsThatAreLeftToTheCaller) {
    request.thread.calls = {
        {"c1", "paint", "r1", session::call_owner::external, call_status::open, 0}
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
}

TEST_F(AgentLoop, ARecordWhoseMessageLacksTheCallEndsTheRun) {
    request.thread.calls = {
        {"c1", "weather", "r1", session::call_owner::server, call_status::open, 0}
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AServerFunctionMaySayExternal) {
    model.turns = {calls({{"c1", "screen", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
    EXPECT_EQ(stored().find_call("c1")->owner, session::call_owner::external);
}

TEST_F(AgentLoop, TellsTheModelThatAToolIsNotRegistered) {
    model.turns = {calls({{"c1", "imagined", "{}"}}), says("Sorry")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed There is no tool of this name."));
}

TEST_F(AgentLoop, ArgumentsOfAServerCallThatAreNoObjectAreAnErrorResult) {
    model.turns = {
        calls(
            {{"c1", "weather", "[1]"},
             {"c2", "weather", "{oops"},
             {"c3", "weather", R"({"a":[1e400]})"}}
        ),
        says("Sorry")
    };

    play();

    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c1 failed The arguments are not a JSON object.")
    );
    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c2 failed The arguments are not a JSON object.")
    );
    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c3 failed The arguments are not a JSON object.")
    );
}

TEST_F(AgentLoop, AnyArgumentsHaveAnOutcome) {
    std::vector<std::string> seen;
    const auto look = [&seen](const tool_invocation& call) {
        seen.push_back(boost::json::serialize(call.arguments));
    };
    tools.add(
        {"look", "", boost::json::parse(R"({"type":"object","properties":{"n":{"type":"integer"},
            "text":{"maxLength":2000000}},"additionalProperties":false})")},
        [look](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            look(call);
            co_return tool_outcome{tool_outcome::kind::result, std::string("ok")};
        }
    );
    const std::string no_object = " failed The arguments are not a JSON object.";
    const std::string no_fit = " failed The arguments do not fit the tool's schema. At ";
    const std::string megabyte = R"({"text":")" + std::string(1'000'000, 'x') + "\"}";
    const struct {
        std::string arguments, result;
    } cases[] = {
        {"", " ok"},
        {" \n", " ok"},
        {"{}", " ok"},
        {R"({"n":1,"n":2})", " ok"},
        {megabyte, " ok"},
        {"null", no_object},
        {"5", no_object},
        {"\"{}\"", no_object},
        {"[]", no_object},
        {"{", no_object},
        {"{}}", no_object},
        {std::string(1'000'000, '['), no_object},
        {std::string("{\"n\":1}\0", 8), no_object},
        {"{\"text\":\"\xFF\"}", no_object},
        {R"({"n":"1"})", no_fit + "/n: "},
        {R"({"n":1,"n":"2"})", no_fit + "/n: "},
        {R"({"__proto__":{"n":1}})", no_fit + "/: "},
    };
    std::vector<made_call> made;
    for (const auto& each : cases) {
        made.push_back({"c" + std::to_string(made.size()), "look", each.arguments});
    }
    model.turns = {calls(made), says("Done")};
    request.agent.limits.loop_threshold = 0;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        const std::string result = "result " + made[i].id + cases[i].result;
        EXPECT_EQ(
            std::ranges::count_if(
                sink.steps, [&](const std::string& step) { return step.starts_with(result); }
            ),
            1
        ) << result
          << " for " << made[i].arguments.substr(0, 50);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"{}", "{}", "{}", R"({"n":2})", megabyte}));
}

TEST_F(AgentLoop, WhatDoesNotFitASchemaIsLoggedWithoutContent) {
    tools.add(
        {"n", "", boost::json::parse(R"({"additionalProperties":false})")}, returns("never ")
    );
    model.turns = {calls({{"c1", "n", R"({"secret":1})"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains(::testing::HasSubstr("'secret'")));
    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre("warning tool failed run=r1 tool=n call=c1 detail=\"The "
                               "arguments do not fit the tool's schema.\"")
    );
}

TEST_F(AgentLoop, EmptyArgumentsAreAnEmptyObject) {
    model.turns = {calls({{"c1", "weather", ""}}), says("Sunny")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 sunny {}"));
}

TEST_F(AgentLoop, ACallWithoutArgumentsGetsTheEmptyObject) {
    model.turns = {calls({{"c1", "change_background", ""}, {"c2", "change_background", ""}})};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "call c1 change_background external", "call c2 change_background external",
                        "args c1 {}", "args c2 {}", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.at(0).arguments, "{}");
}

TEST_F(AgentLoop, AToolThatThrowsIsAnErrorResultWithoutItsText) {
    model.turns = {calls({{"c1", "broken", "{}"}}), says("Sorry")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed The tool failed."));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, AToolThatThrowsIsNamedInTheLogWithoutItsArguments) {
    model.turns = {calls({{"c1", "broken", R"({"city":"Ulm"})"}}), says("Sorry")};

    play();

    EXPECT_THAT(
        log.lines(), ::testing::ElementsAre(
                         "error tool failed run=r1 tool=broken call=c1 detail=\"a secret detail\""
                     )
    );
}

TEST_F(AgentLoop, EachErrorOfAToolIsLoggedOnceWithoutContent) {
    tools.add(
        {"refuses", "Answers with an error", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_return tool_outcome{
                tool_outcome::kind::error, std::string("no weather in Ulm"), "status 503"
            };
        }
    );
    model.turns = {
        calls(
            {{"c1", "refuses", R"({"city":"Ulm"})"},
             {"c2", "refuses", "Ulm"},
             {"c3", "weather in Ulm", "{}"}}
        ),
        says("Sorry")
    };

    play();

    EXPECT_THAT(
        log.lines(),
        ::testing::UnorderedElementsAre(
            "warning tool failed run=r1 tool=refuses call=c1 detail=\"status 503\"",
            "warning tool failed run=r1 tool=refuses call=c2 detail=\"The arguments are not a JSON "
            "object.\"",
            "warning tool failed run=r1 tool=unknown call=c3 detail=\"There is no tool of this "
            "name.\""
        )
    );
}

TEST_F(AgentLoop, AResultThatIsNotUtf8IsAnErrorResult) {
    tools.add({"bytes", "Gives bytes", {}}, returns("\xFF\xFE"));
    tools.add(
        {"parts", "Gives parts with bytes", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            const boost::json::object part{{"type", "text"}, {"text", "a\xC3"}};
            co_return tool_outcome{tool_outcome::kind::result, boost::json::array{part}};
        }
    );
    model.turns = {calls({{"c1", "bytes", "{}"}, {"c2", "parts", "{}"}}), says("Sorry")};

    play();

    for (const std::string id : {"c1", "c2"}) {
        EXPECT_THAT(
            sink.steps,
            ::testing::Contains("result " + id + " failed The tool's result is not text in UTF-8.")
        );
    }
}

TEST_F(AgentLoop, WhatTheModelServerSaidIsLoggedAtDebugOnly) {
    model.turns = {{[](model_sink&) -> model_outcome {
        return model_failure{model_failure::kind::rejected, 400, "an error status", "your text: …"};
    }}};

    play();

    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre(
            "error model call failed run=r1 model=\"\" status=400 detail=\"an error status\"",
            "debug the model server said run=r1 upstream=\"your text: …\""
        )
    );
}

TEST_F(AgentLoop, AnUnknownFinishReasonIsLoggedWithItsNameAtDebugOnly) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hi");
        return model_answer{
            .reason = finish_reason::stop, .usage = {}, .unknown_reason = "whatever"
        };
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        log.lines(), ::testing::ElementsAre(
                         "warning unknown finish_reason run=r1",
                         "debug the model server said run=r1 upstream=whatever"
                     )
    );
}

TEST_F(AgentLoop, AResultOverTheLimitIsCutWithANote) {
    max_result_bytes = 8;
    model.turns = {calls({{"c1", "weather", "{\"city\":\"Ulm\"}"}}), says("Sorry")};

    play();

    EXPECT_THAT(
        sink.steps,
        ::testing::Contains("result c1 sunny {\"\n[The server cut this result after 8 bytes.]")
    );
}

TEST_F(AgentLoop, StopsAfterMaxRoundsWithoutExecutingWhatFollows) {
    request.agent.max_rounds = 1;
    model.turns = {calls({{"c1", "weather", "{}"}}), calls({{"c2", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(status_of("c2"), call_status::dead);
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 failed The call was interrupted."));
}

TEST_F(AgentLoop, MapsACallIdOfAnEarlierTurnToANewOne) {
    session::changes earlier;
    earlier.calls.push_back(
        {"c1", "weather", "r0", session::call_owner::server, call_status::answered, 0}
    );
    session::apply(request.thread, earlier);
    model.turns = {calls({{"c1", "change_background", "{}"}, {"", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 2U);
    EXPECT_NE(sink.end.pending_call_ids[0], "c1");
    EXPECT_NE(sink.end.pending_call_ids[0], sink.end.pending_call_ids[1]);
}

TEST_F(AgentLoop, AnIdThatNoClientCouldSendBackIsReplaced) {
    const std::string longest(id_bytes_max, 'i');
    model.turns = {calls(
        {{longest, "change_background", "{}"},
         {longest + "i", "change_background", "{}"},
         {"a\nb", "change_background", "{}"}}
    )};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 3U);
    EXPECT_EQ(sink.end.pending_call_ids[0], longest);
    EXPECT_TRUE(sink.end.pending_call_ids[1].starts_with("call_"));
    EXPECT_TRUE(sink.end.pending_call_ids[2].starts_with("call_"));
}

TEST_F(AgentLoop, ACallCutByLengthIsNeverHandedOff) {
    model.turns = {calls(
        {{"c1", "change_background", "{}"}, {"c2", "change_background", R"({"co)"}},
        finish_reason::length
    )};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::truncated);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_TRUE(sink.end.external_call_open);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(status_of("c2"), call_status::dead);
}

TEST_F(AgentLoop, TextCutByLengthIsAStopAndKept) {
    model.turns = {says("Half a sen", finish_reason::length)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_output_tokens);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half a sen");
}

TEST_F(AgentLoop, TranslatesEveryModelFailure) {
    const std::vector<std::pair<model_failure::kind, stop_reason>> rows = {
        {model_failure::kind::unavailable, stop_reason::model_unavailable},
        {model_failure::kind::lost, stop_reason::model_unavailable},
        {model_failure::kind::rejected, stop_reason::model_rejected},
        {model_failure::kind::timeout, stop_reason::model_timeout},
    };
    for (const auto& [what, reason] : rows) {
        SCOPED_TRACE(static_cast<int>(what));
        model.turns = {fails(what)};
        sink = {};

        play();

        EXPECT_EQ(sink.end.reason, reason);
        EXPECT_EQ(sink.finishes, 1);
    }
}

TEST_F(AgentLoop, AnUpstreamLostInsideACallIsATruncation) {
    model.turns = {{[](model_sink& sink) -> model_outcome {
        sink.on_call(0, "c1", "change_background");
        sink.on_call_arguments(0, "{\"co");
        return model_failure{model_failure::kind::lost, 200, "reset"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::truncated);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AnExceptionOfTheProviderEndsTheRunAsAnError) {
    model.turns = {}; // The fake throws.

    play();

    EXPECT_EQ(sink.finishes, 1);
    EXPECT_EQ(sink.end.reason, stop_reason::error);
}

TEST_F(AgentLoop, AStopInTheMiddleOfTextKeepsTheText) {
    model.turns = {
        {[](model_sink& sink) -> model_outcome {
             sink.on_text("Half");
             return model_answer{};
         },
         true}
    };
    sink.on_step = [this](const std::string& step) {
        if (step == "text Half") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half");
}

TEST_F(AgentLoop, AStopBeforeTheFirstTokenAsksNoFurther) {
    model.turns = {{[](model_sink&) -> model_outcome { return model_answer{}; }, true}};
    boost::asio::post(context(), [this] { (void)stop.request(stop_reason::run_timeout); });

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::run_timeout);
    EXPECT_EQ(stored().nodes.size(), 1U);
}

TEST_F(AgentLoop, ARunThatIsStoppedBeforeItStartsDoesNotAskTheModel) {
    (void)stop.request(stop_reason::shutdown);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::shutdown);
    EXPECT_TRUE(model.histories.empty());
}

TEST_F(AgentLoop, ResultsAreStoredAndShownInTheOrderOfTheCalls) {
    const auto gate = std::make_shared<boost::asio::steady_timer>(
        context(), boost::asio::steady_timer::time_point::max()
    );
    tools.add(
        {"first", "Ends after the other", {}},
        [gate](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await gate->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return tool_outcome{tool_outcome::kind::result, std::string("slow")};
        }
    );
    tools.add(
        {"second", "Opens the gate", {}},
        [gate](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            gate->cancel();
            co_return tool_outcome{tool_outcome::kind::result, std::string("fast")};
        }
    );
    model.turns = {calls({{"c1", "first", "{}"}, {"c2", "second", "{}"}}), says("Done")};

    play();

    std::vector<std::string> shown;
    for (const std::string& step : sink.steps) {
        if (step.starts_with("result")) {
            shown.push_back(step);
        }
    }
    EXPECT_EQ(shown, (std::vector<std::string>{"result c1 slow", "result c2 fast"}));
    EXPECT_EQ(stored().nodes.at(2).message.tool_call_id, "c1");
    EXPECT_EQ(stored().nodes.at(3).message.tool_call_id, "c2");
}

TEST_F(AgentLoop, AResultThatWaitsForAnotherIsStoredWhenTheRunIsStopped) {
    tools.add({"never", "Waits", {}}, [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        boost::asio::steady_timer never(
            co_await boost::asio::this_coro::executor, boost::asio::steady_timer::time_point::max()
        );
        co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        co_return tool_outcome{};
    });
    tools.add(
        {"stops", "Ends, and the run is stopped after it", {}},
        [this](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            boost::asio::post(context(), [this] {
                boost::asio::post(context(), [this] {
                    (void)stop.request(stop_reason::cancelled);
                });
            });
            co_return tool_outcome{tool_outcome::kind::result, std::string("paid")};
        }
    );
    model.turns = {calls({{"c1", "never", "{}"}, {"c2", "stops", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 paid"));
}

TEST_F(AgentLoop, AToolMayShowClientsSomethingElseThanTheModel) {
    tools.add({"chart", "Draws", {}}, [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        tool_outcome outcome{tool_outcome::kind::result, std::string("rising")};
        outcome.shown = std::string("<svg/>");
        co_return outcome;
    });
    model.turns = {calls({{"c1", "chart", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 <svg/>"));
    const session::thread_record thread = stored();
    const session::message& kept = thread.nodes.at(2).message;
    EXPECT_EQ(session::text_of(kept.content), "<svg/>");
    ASSERT_NE(kept.for_model, nullptr);
    EXPECT_EQ(session::text_of(*kept.for_model), "rising");
    EXPECT_EQ(session::text_of(model.histories.at(1).back().content), "rising");
}

TEST_F(AgentLoop, AnExecutorOfTheAgentAnswersForAToolThatIsNotRegistered) {
    request.agent.executors =
        std::make_shared<tool_executors>(tool_executors{{"imagined", returns("real ")}});
    model.turns = {calls({{"c1", "imagined", "{}"}, {"c2", "other", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 real {}"));
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 failed There is no tool of this name."));
}

TEST_F(AgentLoop, AToolThatIgnoresItsCancellationIsNotWaitedFor) {
    const auto release = std::make_shared<boost::asio::steady_timer>(
        context(), boost::asio::steady_timer::time_point::max()
    );
    tools.add(
        {"stubborn", "Ignores cancellation", {}},
        [release](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await boost::asio::this_coro::reset_cancellation_state(
                boost::asio::disable_cancellation()
            );
            co_await release->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return tool_outcome{tool_outcome::kind::result, std::string("late")};
        }
    );
    model.turns = {calls({{"c1", "stubborn", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    play();
    const std::vector<std::string> steps = sink.steps;
    release->cancel();
    context().restart();
    context().run();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(sink.steps, steps) << "the late result must not be shown";
}

TEST_F(AgentLoop, AStopFromWithinWhatIsShownEndsTheRunForItsReason) {
    model.turns = {
        {[](model_sink& sink) -> model_outcome {
             sink.on_text("Half");
             return model_answer{};
         },
         true}
    };
    sink.on_step = [this](const std::string& step) {
        if (step == "text Half") {
            (void)stop.request(stop_reason::token_limit);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half");
}

TEST_F(AgentLoop, AStopWhileTheTurnIsCommittedStartsNoTool) {
    int started = 0;
    tools.add(
        {"count", "Counts", {}},
        [&started](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            ++started;
            co_return tool_outcome{};
        }
    );
    model.turns = {calls({{"c1", "count", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(started, 0);
    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AStopWhileAToolRunsStartsNoFurtherOne) {
    int started = 0;
    tools.add(
        {"count", "Counts and stops the run", {}},
        [this, &started](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            ++started;
            (void)stop.request(stop_reason::cancelled);
            co_return tool_outcome{};
        }
    );
    request.agent.max_parallel_tools = 1;
    model.turns = {calls({{"c1", "count", "{}"}, {"c2", "count", "{}"}})};

    play();

    EXPECT_EQ(started, 1);
    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
}

TEST_F(AgentLoop, AStopBeforeTheEndIsStoredHandsNothingOff) {
    model.turns = {calls({{"c1", "change_background", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "turn ended") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_TRUE(sink.end.external_call_open);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AStopBeforeAnswersAreWaitedForIsTheEnd) {
    request.next = session::next_step::wait_for_answers;
    (void)stop.request(stop_reason::cancelled);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
}

TEST_F(AgentLoop, AStopOnceTheEndIsBeingStoredComesTooLate) {
    model.turns = {says("Hi")};
    bool counted = true;
    sink.on_step = [&](const std::string& step) {
        if (step == "finish") {
            counted = stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_FALSE(counted);
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, ToolsAreCancelledWhenTheResultOfAnotherCannotBeShown) {
    bool ended = false;
    bool cancelled = false;
    tools.add(
        {"slow", "Waits until cancelled", {}},
        [&](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await boost::asio::this_coro::throw_if_cancelled(false);
            const auto [ec] =
                co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            cancelled = ec == boost::asio::error::operation_aborted;
            ended = true;
            co_return tool_outcome{};
        }
    );
    model.turns = {calls({{"c1", "weather", "{}"}, {"c2", "slow", "{}"}})};
    sink.on_step = [](const std::string& step) {
        if (step.starts_with("result c1 sunny")) {
            throw std::runtime_error("cannot be shown");
        }
    };

    play();
    context().restart();
    context().run_for(std::chrono::seconds(ended ? 0 : 5)); // Nothing else is left to wait for.

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_TRUE(ended) << "it goes on";
    EXPECT_TRUE(cancelled);
}

TEST_F(AgentLoop, AToolThatThrowsWhenCancelledLeavesNoOtherRunning) {
    int cancelled = 0;
    std::vector<std::shared_ptr<void>> waiting; // The slots must not hold it: it holds them.
    const auto waits = [&](bool throws) {
        return [&cancelled, &waiting,
                throws](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
                [&cancelled, &waiting, throws](auto handler) {
                    auto own = boost::asio::get_associated_cancellation_slot(handler);
                    waiting.push_back(std::make_shared<decltype(handler)>(std::move(handler)));
                    own.assign([&cancelled, throws](boost::asio::cancellation_type) {
                        ++cancelled;
                        if (throws) {
                            throw std::runtime_error("will not");
                        }
                    });
                },
                boost::asio::use_awaitable
            );
            co_return tool_outcome{};
        };
    };
    tools.add({"bad", "Throws", {}}, waits(true));
    tools.add({"good", "Does not", {}}, waits(false));
    model.turns = {calls({{"c1", "bad", "{}"}, {"c2", "good", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    const loop_services services{model, tools, ids, time, log, max_result_bytes};
    bool ended = false;
    boost::asio::co_spawn(
        context(), run_agent(request, services, sink, stop),
        [&](std::exception_ptr) { ended = true; }
    );
    for (int handlers = 0; !ended && handlers < 1'000; ++handlers) {
        try {
            context().run_one_for(std::chrono::seconds(5));
        } catch (const std::runtime_error& error) { // As a server's thread does: Asio passes it on.
            EXPECT_STREQ(error.what(), "will not");
        }
    }

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(cancelled, 2);
    waiting.clear();
}

TEST_F(AgentLoop, AStoreThatFailsBeforeTheToolsRunEndsTheRun) {
    sink.fail_commit = 0;
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    // The turn was shown: it is stored with the end, its call dead, and answered on the wire.
    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed The call was interrupted."));
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.at(0).id, "c1");
    EXPECT_EQ(stored().find_call("c1")->status, session::call_status::dead);
}

TEST_F(AgentLoop, AStoreThatLosesAResultShowsNone) {
    sink.fail_commit = 1;
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_THAT(sink.steps, ::testing::Not(::testing::Contains("result c1 sunny {}")));
}

TEST_F(AgentLoop, LetsTheThreadGoWhileTheModelAnswersAndLoadsItForTheNextRound) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    EXPECT_EQ(sink.loads, 1) << "once, before the second round";
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].size(), 3U) << "the question, the call and its result";
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, ARunWhoseThreadCannotBeLoadedAgainEnds) {
    model.turns = {calls({{"c1", "weather", "{}"}})};
    sink.thread = [] {
        return failure{errc::store_unavailable, "gone", {}, {}};
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(AgentLoop, AThreadThatIsNotAsTheRunHasLeftItEndsTheRun) {
    model.turns = {calls({{"c1", "weather", "{}"}})};
    // Without what the run has committed.
    sink.thread = [this] {
        return request.thread;
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
}

TEST_F(AgentLoop, AStopWhileTheThreadIsLoadedAgainAsksNoFurther) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("never")};
    sink.on_load = [this] {
        stop.request(stop_reason::cancelled);
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(model.histories.size(), 1U);
}

TEST_F(AgentLoop, OnAThreadOfVeryManyCallsEveryCallGetsAnIdOfItsOwn) {
    for (int i = 0; i < 1025; ++i) {
        request.thread.calls.push_back({"old-" + std::to_string(i), "weather", "r0"});
    }
    model.turns = {calls({{"old-7", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 1U);
    EXPECT_EQ(request.thread.find_call(sink.end.pending_call_ids[0]), nullptr);
}

TEST_F(AgentLoop, AForcedToolChoiceHoldsForTheFirstCallOfAUserTurn) {
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::required, {}};
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    ASSERT_EQ(model.choices.size(), 2U);
    ASSERT_TRUE(model.choices[0].has_value());
    EXPECT_EQ(model.choices[0]->kind, tool_choice::mode::required);
    EXPECT_FALSE(model.choices[1].has_value());
}

TEST_F(AgentLoop, AForcedToolChoiceDoesNotHoldForAToolAnswer) {
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::required, {}};
    request.new_user_turn = false;
    model.turns = {says("Done")};

    play();

    EXPECT_FALSE(model.choices.at(0).has_value());
}

TEST_F(AgentLoop, OffersServerToolsFirstAndNoNameTwice) {
    request.external_tools.push_back({"weather", "The client's own", {}});
    request.agent.tool_patterns = {"weather"};
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(model.offered.at(0), (std::vector<std::string>{"weather", "change_background"}));
}

TEST_F(AgentLoop, AServerToolThatTheAgentMayNotUseIsNotExecuted) {
    request.agent.tool_patterns = {"screen"};
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sorry")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed There is no tool of this name."));
}

TEST_F(AgentLoop, ContextOfTheApplicationIsNeverSystemText) {
    request.agent.context = "Context given by the application:\n- page: 3";
    model.turns = {says("Hi")};

    play();

    ASSERT_EQ(model.histories.at(0).size(), 1U) << "roles alternate";
    EXPECT_EQ(model.histories[0][0].role, session::role::user);
    EXPECT_TRUE(
        session::text_of(model.histories[0][0].content).starts_with(request.agent.context + "\n\n")
    );
    EXPECT_EQ(stored().nodes.size(), 2U) << "context belongs to the request, not to the thread";
}

TEST_F(AgentLoop, SumsUsagePerModelAndKeepsAbsentCountsAbsent) {
    const auto with_usage = [](scripted_turn turn) {
        return scripted_turn{[turn](model_sink& sink) -> model_outcome {
            model_outcome outcome = turn.answer(sink);
            outcome->usage = token_usage{"openai", "m", 10, 5, {}, {}, {}};
            return outcome;
        }};
    };
    model.turns = {with_usage(calls({{"c1", "weather", "{}"}})), with_usage(says("Sunny"))};

    play();

    ASSERT_EQ(sink.end.usage.size(), 1U);
    EXPECT_EQ(sink.end.usage[0].input_tokens, 20);
    EXPECT_EQ(sink.end.usage[0].output_tokens, 10);
    EXPECT_FALSE(sink.end.usage[0].reasoning_tokens.has_value());
}

TEST_F(AgentLoop, ReasoningIsStoredBeforeTheAnswerAndKeptFromTheModel) {
    model.turns = {{[](model_sink& sink) -> model_outcome {
        sink.on_reasoning("Hm");
        sink.on_text("Hi");
        return model_answer{};
    }}};

    play();

    const session::thread_record thread = stored();
    EXPECT_EQ(thread.nodes.at(1).message.role, session::role::reasoning);
    EXPECT_EQ(thread.nodes.at(2).message.role, session::role::assistant);
    EXPECT_EQ(session::model_history(thread, 2).size(), 2U);
}

TEST_F(AgentLoop, WaitingForAnswersAsksNoModel) {
    request.next = session::next_step::wait_for_answers;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
    EXPECT_TRUE(model.histories.empty());
}

TEST_F(AgentLoop, NothingNewSendsTheSnapshotThatTheClientMisses) {
    request.next = session::next_step::nothing;
    request.snapshot = true;

    play();

    EXPECT_EQ(sink.steps, (std::vector<std::string>{"snapshot 1", "finish"}));
    EXPECT_EQ(sink.end.reason, stop_reason::nothing_new);
}

TEST_F(AgentLoop, EachStretchOfReasoningIsAMessageAndTheOrderIsKept) {
    model.provider_name = "main";
    request.agent.parameters.model = "thinker-1";
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_turn_data("reasoning", "reasoning_content");
        to.on_reasoning("Hm");
        to.on_reasoning("?");
        to.on_text("Hel");
        to.on_reasoning("So.");
        to.on_text("lo");
        to.on_call(0, "c1", "change_background");
        to.on_call_arguments(0, "{}");
        to.on_call_data(0, {{"extra_content", "signed"}});
        return model_answer{finish_reason::tool_calls, {}};
    }}};

    play();

    const session::thread_record thread = stored();
    ASSERT_EQ(thread.nodes.size(), 4U);
    EXPECT_EQ(session::text_of(thread.nodes.at(1).message.content), "Hm?");
    EXPECT_EQ(session::text_of(thread.nodes.at(2).message.content), "So.");
    EXPECT_NE(thread.nodes.at(1).message.id, thread.nodes.at(2).message.id);
    const session::message& answer = thread.nodes.at(3).message;
    EXPECT_EQ(session::text_of(answer.content), "Hello");
    ASSERT_TRUE(answer.origin);
    using kind = session::turn_block::kind;
    const session::turn_origin expected{
        "main",
        "thinker-1",
        {{kind::reasoning, thread.nodes.at(1).message.id, 0, nullptr},
         {kind::text, "", 3, nullptr},
         {kind::reasoning, thread.nodes.at(2).message.id, 0, nullptr},
         {kind::text, "", 2, nullptr},
         {kind::call, "c1", 0, boost::json::object{{"extra_content", "signed"}}}},
        {{"reasoning", "reasoning_content"}}
    };
    EXPECT_EQ(*answer.origin, expected);
    const std::vector<session::message> history = session::model_history(thread, 3);
    ASSERT_GE(history.size(), 4U);
    EXPECT_EQ(history[1].role, session::role::reasoning);
    EXPECT_EQ(history[2].role, session::role::reasoning);
    EXPECT_EQ(history[3].id, answer.id);
}

TEST_F(AgentLoop, AnAnswerThatSaysAllByItselfHasNoOrigin) {
    model.provider_name = "main";
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hello");
        to.on_call(0, "c1", "change_background");
        to.on_call_arguments(0, "{}");
        return model_answer{finish_reason::tool_calls, {}};
    }}};

    play();

    EXPECT_FALSE(stored().nodes.at(1).message.origin);
}

// Each of the model's answers makes the same call.
std::deque<scripted_turn> same_call(int times, const std::string& tool = "weather") {
    std::deque<scripted_turn> turns;
    for (int i = 0; i < times; ++i) {
        turns.push_back(calls({{"c" + std::to_string(i), tool, R"({"city":"Ulm"})"}}));
    }
    return turns;
}

TEST_F(AgentLoop, WarnsAModelThatRepeatsItselfInFrontOfTheResult) {
    model.turns = same_call(4);
    model.turns.push_back(says("Sunny, then"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    const std::vector<session::message>& sent = model.histories.back();
    std::vector<std::string> results;
    for (const session::message& each : sent) {
        if (each.role == session::role::tool) {
            results.push_back(session::text_of(each.content));
        }
    }
    ASSERT_EQ(results.size(), 4U);
    EXPECT_EQ(results[1], R"(sunny {"city":"Ulm"})");
    EXPECT_EQ(
        results[2],
        "Warning: this tool was called 3 times in a row with the same arguments. Calling it again "
        "will not help: use the result, or try something else.\n\nsunny {\"city\":\"Ulm\"}"
    );
    EXPECT_THAT(results[3], ::testing::StartsWith("Warning: this tool was called 4 times"));
}

TEST_F(AgentLoop, AModelThatRepeatsItselfForEverIsWarnedAndStopped) {
    model.turns = same_call(11);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    const session::thread_record thread = stored();
    EXPECT_EQ(status_of("c9"), call_status::answered);
    EXPECT_EQ(status_of("c10"), call_status::dead);
    const session::node_index tip = thread.branches.at(0).tip;
    const std::vector<session::message> history = session::model_history(thread, tip);
    EXPECT_EQ(history.size(), 1U + 2U * 11U) << "each call has its result";
}

TEST_F(AgentLoop, ALoopEndsTheRunIfTheAgentSaysSo) {
    request.agent.limits.on_loop = loop_action::terminate;
    model.turns = same_call(3);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(status_of("c2"), call_status::dead);
}

TEST_F(AgentLoop, ACallbackDecidesAboutALoop) {
    std::vector<std::size_t> told;
    request.agent.limits.on_loop = loop_action::terminate;
    request.agent.limits.decide_loop = [&told](const found_loop& found) {
        told.push_back(found.repeats);
        return found.repeats < 4 ? loop_action::go_on : loop_action::terminate;
    };
    model.turns = same_call(4);

    play();

    EXPECT_EQ(told, (std::vector<std::size_t>{3, 4}));
    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_THAT(sink.steps, ::testing::Contains(R"(result c2 sunny {"city":"Ulm"})"));
}

TEST_F(AgentLoop, WithoutAThresholdNothingIsDetected) {
    request.agent.limits.loop_threshold = 0;
    request.agent.limits.on_loop = loop_action::terminate;
    model.turns = same_call(5);
    model.turns.push_back(says("Done"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

// A page that answers the same hand-off again and again makes a run of each.
TEST_F(AgentLoop, ALoopOverSeveralRunsIsDetected) {
    request.agent.limits.on_loop = loop_action::terminate;
    request.new_user_turn = false;
    session::changes change;
    const auto add = [&change](session::node_index parent, session::message value) {
        session::stored_message node;
        node.parent = parent;
        node.message = std::move(value);
        change.messages.push_back(std::move(node));
    };
    for (session::node_index i = 0; i < 2; ++i) {
        session::message asked;
        asked.id = "a" + std::to_string(i);
        asked.role = session::role::assistant;
        asked.tool_calls = {{"e" + std::to_string(i), "change_background", "{}", {}, {}}};
        add(2 * i, std::move(asked));
        session::message answered;
        answered.id = "t" + std::to_string(i);
        answered.role = session::role::tool;
        answered.tool_call_id = "e" + std::to_string(i);
        add(2 * i + 1, std::move(answered));
    }
    change.branches.push_back({0, {4, 0}});
    session::apply(request.thread, change);
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());

    // The rounds of the whole turn are limited, too.
    request.agent.limits.loop_threshold = 0;
    request.agent.limits.max_turn_rounds = 2;
    sink.commits.clear();
    model.turns = {calls({{"c2", "change_background", "{}"}})};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    request.agent.limits.max_turn_rounds = 3;
    sink.commits.clear();
    model.turns = {calls({{"c3", "change_background", "{}"}})};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
}

TEST_F(AgentLoop, TheCallsOfARunAreLimited) {
    request.agent.limits.max_calls = 3;
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "weather", R"({"a":1})"}}),
        calls({{"c3", "weather", R"({"a":2})"}, {"c4", "weather", R"({"a":3})"}})
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    EXPECT_EQ(status_of("c3"), call_status::dead);
}

// What a turn has cost is stored with it: the follow-up run of a hand-off begins with it.
TEST_F(AgentLoop, TheTokensOfATurnAreLimited) {
    model.provider_name = "main";
    request.agent.limits.max_tokens = 100;
    model_answer answer;
    answer.usage.emplace();
    answer.usage->input_tokens = 60;
    answer.usage->output_tokens = 40;
    const auto counted = [&](int number) {
        scripted_turn turn = calls({{"c" + std::to_string(number), "weather", "{}"}});
        turn.answer = [said = turn.answer, answer](model_sink& out) -> model_outcome {
            (void)said(out);
            model_answer with_usage = answer;
            with_usage.reason = finish_reason::tool_calls;
            return with_usage;
        };
        return turn;
    };
    model.turns = {counted(1)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(status_of("c1"), call_status::answered) << "the answer itself is used";

    request.thread = stored();
    request.new_user_turn = false;
    sink.commits.clear();
    model.histories.clear();
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_TRUE(model.histories.empty());

    request.agent.limits.max_tokens = 101;
    sink.commits.clear();
    model.turns = {says("More")};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, AModelServerThatCountsNothingIsEstimated) {
    model.provider_name = "main";
    request.agent.limits.max_tokens = 1000;
    model.turns = {calls({{"c1", "weather", R"({"city":")" + std::string(4000, 'x') + R"("})"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
}

scripted_turn fails_after(int seconds) {
    return {[=](model_sink&) -> model_outcome {
        return model_failure{
            model_failure::kind::unavailable, 429, "busy", {}, std::chrono::seconds(seconds)
        };
    }};
}

class Fallback : public AgentLoop {
protected:
    Fallback() {
        model.provider_name = "first";
        second.provider_name = "second";
        third.provider_name = "third";
        request.fallbacks = {{&second, {}}, {&third, {}}};
        request.fallbacks[0].parameters.model = "two";
    }

    fake_model second;
    fake_model third;
};

TEST_F(Fallback, TheNextModelAnswersAfterAnyFailure) {
    using kind = model_failure::kind;
    for (const kind what : {kind::unavailable, kind::rejected, kind::timeout, kind::lost}) {
        model.turns = {fails(what)};
        second.turns = {says("Hi")};
        second.histories.clear();
        sink.steps.clear();
        sink.commits.clear();

        play();

        EXPECT_EQ(sink.end.reason, stop_reason::completed);
        EXPECT_EQ(sink.steps, (std::vector<std::string>{"text Hi", "turn ended", "finish"}));
        ASSERT_EQ(second.histories.size(), 1U);
        EXPECT_EQ(second.histories[0].size(), 1U) << "the request is built anew";
    }
    EXPECT_TRUE(third.histories.empty());
}

TEST_F(Fallback, TheLastFailureIsTheRunsEnd) {
    model.turns = {fails(model_failure::kind::timeout)};
    second.turns = {fails(model_failure::kind::unavailable)};
    third.turns = {fails(model_failure::kind::rejected)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_rejected);
    EXPECT_EQ(sink.steps, (std::vector<std::string>{"finish"}));
    EXPECT_TRUE(stored().nodes.size() == 1) << "nothing was said";
}

TEST_F(Fallback, AnAnswerThatHasBegunIsNotReplaced) {
    model.turns = {{[](model_sink& out) -> model_outcome {
        out.on_text("He");
        return model_failure{model_failure::kind::lost, 0, "cut"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_TRUE(second.histories.empty());
}

TEST_F(Fallback, TheModelThatAnsweredIsAskedFirstInTheWholeTurn) {
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {calls({{"c1", "weather", "{}"}}), calls({{"c2", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(model.histories.size(), 1U);
    EXPECT_EQ(second.histories.size(), 2U);

    // The hand-off is answered: another run of the same turn.
    request.thread = stored();
    request.new_user_turn = false;
    sink.commits.clear();
    second.turns = {fails(model_failure::kind::unavailable)};
    model.turns = {says("Done")};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(second.histories.size(), 3U) << "asked first again";
    EXPECT_EQ(model.histories.size(), 2U) << "then the others as configured";
}

TEST_F(Fallback, ANewTurnBeginsWithTheFirstModel) {
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {says("Hi")};
    play();
    request.thread = stored();
    session::changes asked;
    session::stored_message node;
    node.parent = 1;
    node.message.id = "u2";
    node.message.content = std::string("And?");
    asked.messages.push_back(node);
    asked.branches.push_back({0, {2, 0}});
    session::apply(request.thread, asked);
    sink.commits.clear();
    model.turns = {says("Hello")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 2U);
}

TEST_F(Fallback, AStopAsksNoFurtherModel) {
    model.turns = {{[this](model_sink&) -> model_outcome {
        (void)stop.request(stop_reason::cancelled);
        return model_failure{model_failure::kind::cancelled, 0, {}};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_TRUE(second.histories.empty());
}

TEST_F(AgentLoop, TheOnlyModelIsAskedAgainWhenItSaysSo) {
    model.turns = {fails_after(0), fails_after(0), says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 3U);
}

TEST_F(AgentLoop, AModelIsNotAskedAgainForEverNorAfterALongTime) {
    model.turns = {fails_after(0), fails_after(0), fails_after(0)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(model.histories.size(), 3U);

    model.turns = {fails_after(11)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(model.histories.size(), 4U);
}

TEST_F(AgentLoop, AStopEndsTheWaitForAModel) {
    model.turns = {{[this](model_sink&) -> model_outcome {
        boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        return model_failure{
            model_failure::kind::unavailable, 503, "busy", {}, std::chrono::seconds(10)
        };
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(model.histories.size(), 1U);
}

} // namespace
} // namespace agui::runner
