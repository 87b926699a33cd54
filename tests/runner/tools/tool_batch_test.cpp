#include "runner/tools/tool_batch.hpp"

#include "runner/base/utf8.hpp"
#include "session/base/work_count.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using list = std::vector<std::string>;

class ToolBatch : public test::coroutine_test {
protected:
    using timer = asio::steady_timer;

    // A tool that answers once its gate is opened, and reports whether it was cancelled.
    tool_function gated(std::string name) {
        auto gate = std::make_shared<timer>(context(), timer::time_point::max());
        gates[name] = gate;
        return [this, gate, name](tool_invocation call) -> asio::awaitable<tool_outcome> {
            started.push_back(name);
            co_await asio::this_coro::throw_if_cancelled(false);
            co_await gate->async_wait(asio::as_tuple(asio::use_awaitable));
            const auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                cancelled.push_back(name);
            }
            co_return tool_outcome{tool_outcome::kind::result, name + call.arguments_text};
        };
    }

    tool_function says(tool_outcome::kind kind, std::string text) {
        return [this, kind, text](tool_invocation call) -> asio::awaitable<tool_outcome> {
            started.push_back(text.substr(0, 10));
            co_return tool_outcome{kind, text + call.arguments_text};
        };
    }

    static tool_invocation call(std::string id) {
        tool_invocation made;
        made.name = "tool";
        made.call_id = std::move(id);
        return made;
    }

    std::shared_ptr<tool_batch> make(std::size_t max_bytes = 1000) {
        return std::make_shared<tool_batch>(context().get_executor(), stop, 8, max_bytes, log);
    }

    /// A copy that the call owns.
    template <class T>
    static std::shared_ptr<const T> held(const T* value) {
        return value == nullptr ? nullptr : std::make_shared<const T>(*value);
    }

    void go() {
        context().restart();
        context().poll();
    }

    static list texts(const std::vector<tool_batch::finished>& all) {
        list result;
        for (const auto& each : all) {
            result.push_back(
                each.call_id + (each.outcome.what == tool_outcome::kind::error ? " error " : " ") +
                session::text_of(each.outcome.content)
            );
        }
        return result;
    }

    list ended(const registered_tool* tool, const tool_function* executor = nullptr) {
        const auto batch = make();
        batch->add(held(tool), call("c1"), held(executor));
        batch->start();
        go();
        return texts(batch->take_finished());
    }

    stop_source stop{context().get_executor()};
    memory_logger log;
    std::map<std::string, std::shared_ptr<timer>> gates;
    list started, cancelled;
};

TEST_F(ToolBatch, ResultsComeInTheOrderOfTheCalls) {
    const registered_tool a{gated("a")};
    const registered_tool b{gated("b")};
    const registered_tool c{gated("c")};
    const auto batch = make();
    batch->add(held(&a), call("1"));
    batch->add(held(&b), call("2"));
    batch->add(held(&c), call("3"));
    batch->start();
    go();
    EXPECT_EQ(started, (list{"a", "b", "c"}));

    gates["b"]->cancel();
    go();
    EXPECT_EQ(texts(batch->take_finished()), list{});
    gates["a"]->cancel();
    go();
    EXPECT_EQ(texts(batch->take_finished()), (list{"1 a{}", "2 b{}"}));
    EXPECT_FALSE(batch->done());
    gates["c"]->cancel();
    go();
    EXPECT_EQ(texts(batch->take_finished()), list{"3 c{}"});
    EXPECT_TRUE(batch->done());
}

TEST_F(ToolBatch, TheRestDoesNotWaitForAMissingResult) {
    const registered_tool a{gated("a")};
    const registered_tool b{gated("b")};
    const auto batch = make();
    batch->add(held(&a), call("1"));
    batch->add(held(&b), call("2"));
    batch->start();
    go();
    gates["b"]->cancel();
    go();

    EXPECT_EQ(texts(batch->take_rest()), list{"2 b{}"});
    EXPECT_EQ(texts(batch->take_rest()), list{});
    batch->cancel();
    go();
}

TEST_F(ToolBatch, ATextThatIsTooLongIsCutBetweenCharacters) {
    const registered_tool tool{says(tool_outcome::kind::result, "abc\u20ac\u20ac\u20ac")};
    const std::vector<std::pair<std::size_t, std::string>> cases = {
        {14, "abc\u20ac\u20ac\u20ac{}"},
        {11, "abc\u20ac\u20ac\n[The server cut this result after 9 bytes.]"},
        {9, "abc\u20ac\u20ac\n[The server cut this result after 9 bytes.]"},
        {8, "abc\u20ac\n[The server cut this result after 6 bytes.]"},
        {1, "a\n[The server cut this result after 1 bytes.]"},
    };
    for (const auto& [limit, text] : cases) {
        const auto batch = make(limit);
        batch->add(held(&tool), call("1"));
        batch->start();
        go();
        EXPECT_EQ(texts(batch->take_finished()), list{"1 " + text}) << limit;
    }
}

TEST_F(ToolBatch, MediaThatAreTooLargeBecomeNotesTheLastFirst) {
    const auto image = [](std::size_t size) {
        return boost::json::object{
            {"type", "image"},
            {"source",
             {{"type", "data"}, {"value", std::string(size, 'A')}, {"mimeType", "image/png"}}}
        };
    };
    const registered_tool tool{[image](tool_invocation) -> asio::awaitable<tool_outcome> {
        const boost::json::object text{{"type", "text"}, {"text", "see "}};
        co_return tool_outcome{
            tool_outcome::kind::result, boost::json::array{text, image(400), image(2000)}
        };
    }};
    const auto batch = make(1000);
    batch->add(held(&tool), call("1"));
    batch->start();
    go();

    const auto done = batch->take_finished();
    ASSERT_EQ(done.size(), 1U);
    const auto& parts = std::get<boost::json::array>(done[0].outcome.content);
    EXPECT_EQ(parts.at(1), boost::json::value(image(400)));
    EXPECT_EQ(
        parts.at(2).at("text"), "[image of 2000 bytes in base64: larger than the server allows]"
    );
}

TEST_F(ToolBatch, PartsThatAreTooLongAreAnError) {
    const registered_tool tool{[](tool_invocation) -> asio::awaitable<tool_outcome> {
        const boost::json::object part{{"type", "text"}, {"text", std::string(2000, 'x')}};
        co_return tool_outcome{tool_outcome::kind::result, boost::json::array{part}};
    }};

    EXPECT_EQ(ended(&tool), list{"c1 error The result is larger than the server allows."});
}

TEST_F(ToolBatch, ContentThatCannotBeShownIsLeftOut) {
    const std::vector<std::pair<std::string, bool>> cases = {
        {"<svg/>", true}, {std::string(1001, 'x'), false}, {"\xFF", true}
    };
    for (const auto& [shown, fits] : cases) {
        const registered_tool tool{
            [text = shown](tool_invocation) -> asio::awaitable<tool_outcome> {
                tool_outcome outcome{tool_outcome::kind::result, std::string("told")};
                outcome.shown = text;
                co_return outcome;
            }
        };
        const auto batch = make();
        batch->add(held(&tool), call("1"));
        batch->start();
        go();
        const auto ended = batch->take_finished();
        ASSERT_EQ(texts(ended), list{"1 told"});
        EXPECT_EQ(ended[0].outcome.shown.has_value(), fits);
        EXPECT_TRUE(!fits || is_utf8(session::text_of(*ended[0].outcome.shown)));
    }
    EXPECT_EQ(log.lines().size(), 1U);
}

TEST_F(ToolBatch, ATimeoutEndsTheCallAndCancelsTheTool) {
    registered_tool slow{gated("slow")};
    slow.options.timeout = std::chrono::milliseconds(1);
    const registered_tool other{gated("other")};
    const auto batch = make();
    batch->add(held(&slow), call("1"));
    batch->add(held(&other), call("2"));
    batch->start();
    run(batch->wait());

    EXPECT_EQ(texts(batch->take_finished()), list{"1 error The tool did not answer in time."});
    go();
    EXPECT_EQ(cancelled, list{"slow"});
    EXPECT_EQ(
        log.lines(),
        list{"warning tool failed run=\"\" tool=tool call=1 detail=\"The tool did not answer in "
             "time.\""}
    );
    gates["other"]->cancel();
    go();
    EXPECT_EQ(texts(batch->take_finished()), list{"2 other{}"});
    EXPECT_TRUE(batch->done());
}

TEST_F(ToolBatch, AToolThatIgnoresItsTimeoutIsNotWaitedFor) {
    const auto release = std::make_shared<timer>(context(), timer::time_point::max());
    registered_tool stubborn{[release](tool_invocation) -> asio::awaitable<tool_outcome> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await release->async_wait(asio::as_tuple(asio::use_awaitable));
        co_return tool_outcome{tool_outcome::kind::result, std::string("late")};
    }};
    stubborn.options.timeout = std::chrono::milliseconds(1);
    const auto batch = make();
    batch->add(held(&stubborn), call("1"));
    batch->start();
    run(batch->wait());

    EXPECT_EQ(texts(batch->take_finished()), list{"1 error The tool did not answer in time."});
    EXPECT_TRUE(batch->done());
    release->cancel();
    go();
    EXPECT_EQ(texts(batch->take_rest()), list{});
}

TEST_F(ToolBatch, ABatchThatIsCancelledWaitsForNoTimeout) {
    registered_tool slow{gated("slow")};
    slow.options.timeout = std::chrono::hours(1);
    const auto batch = make();
    batch->add(held(&slow), call("1"));
    batch->start();
    go();
    batch->cancel();
    context().restart();
    context().run_for(test::patience);

    EXPECT_TRUE(context().stopped()) << "something is left to wait for";
}

TEST_F(ToolBatch, AnExecutorTakesThePlaceOfAToolThatIsMissing) {
    const tool_function executor = says(tool_outcome::kind::result, "executor");

    EXPECT_EQ(ended(nullptr, &executor), list{"c1 executor{}"});
    EXPECT_EQ(ended(nullptr), list{"c1 error There is no tool of this name."});
}

TEST_F(ToolBatch, AToolAndTheExecutorInItsPlaceGetTheArguments) {
    list seen;
    const auto sees = [&seen](tool_outcome::kind kind) -> tool_function {
        return [&seen, kind](tool_invocation given) -> asio::awaitable<tool_outcome> {
            seen.push_back(boost::json::serialize(given.arguments));
            co_return tool_outcome{kind, {}};
        };
    };
    const registered_tool away{sees(tool_outcome::kind::unavailable)};
    const tool_function executor = sees(tool_outcome::kind::unavailable);
    const auto batch = make();
    tool_invocation made = call("c1");
    made.arguments_text = R"({"a":1})";
    batch->add(held(&away), made, held(&executor));
    batch->start();
    go();

    EXPECT_EQ(seen, (list{R"({"a":1})", R"({"a":1})"}));
}

TEST_F(ToolBatch, AnExecutorTakesThePlaceOfAToolThatIsUnavailable) {
    const registered_tool away{says(tool_outcome::kind::unavailable, "away ")};
    const registered_tool silent{[](tool_invocation) -> asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::unavailable, {}};
    }};
    const tool_function executor = says(tool_outcome::kind::result, "executor");
    const tool_function also_away = says(tool_outcome::kind::unavailable, "no ");

    EXPECT_EQ(ended(&away, &executor), list{"c1 executor{}"});
    EXPECT_EQ(ended(&away), list{"c1 error away {}"});
    EXPECT_EQ(ended(&silent), list{"c1 error The tool is not available."});
    EXPECT_EQ(ended(&away, &also_away), list{"c1 error no {}"});
    EXPECT_EQ(ended(nullptr, &also_away), list{"c1 error no {}"});
}

TEST_F(ToolBatch, AToolThatWasStartedIsNotReplaced) {
    const tool_function executor = says(tool_outcome::kind::result, "executor");
    const registered_tool failed{says(tool_outcome::kind::error, "failed ")};
    const registered_tool thrown{[](tool_invocation) -> asio::awaitable<tool_outcome> {
        throw std::runtime_error("why");
        co_return tool_outcome{};
    }};

    EXPECT_EQ(ended(&failed, &executor), list{"c1 error failed {}"});
    EXPECT_EQ(ended(&thrown, &executor), list{"c1 error The tool failed."});
    EXPECT_EQ(started, list{"failed "});
}

// The former holder may be a registry that is gone, or one that has another tool of that name.
TEST_F(ToolBatch, ACallHoldsItsFunctionUntilItReturns) {
    const auto release = std::make_shared<timer>(context(), timer::time_point::max());
    list returned;
    const auto outliving = [&](std::string name) -> tool_function {
        return [&returned, release, name](tool_invocation) -> asio::awaitable<tool_outcome> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await release->async_wait(asio::as_tuple(asio::use_awaitable));
            returned.push_back(name);
            co_return tool_outcome{tool_outcome::kind::result, name};
        };
    };
    {
        auto tool = std::make_shared<registered_tool>();
        tool->function = outliving("a tool whose name needs memory");
        const auto batch = make();
        batch->add(tool, call("1"));
        batch->add(
            nullptr, call("2"),
            std::make_shared<tool_function>(outliving("an executor whose name needs memory"))
        );
        batch->start();
        go();
        batch->cancel();
    }
    release->cancel();
    go();

    EXPECT_EQ(returned.size(), 2U);
}

TEST_F(ToolBatch, AToolMayTellTheModelOfAnError) {
    const registered_tool told{[](tool_invocation) -> asio::awaitable<tool_outcome> {
        throw tool_error("There is no such city.");
        co_return tool_outcome{};
    }};

    EXPECT_EQ(ended(&told), list{"c1 error There is no such city."});
    EXPECT_EQ(log.lines().size(), 1U);
    EXPECT_EQ(log.lines().at(0).find("city"), std::string::npos) << "it may hold content";
}

TEST_F(ToolBatch, ACheckThatTakesTooLongIsAnErrorThatSaysSo) {
    registered_tool tool{says(tool_outcome::kind::result, "called")};
    tool.schema =
        compile_argument_schema(boost::json::parse(R"({"allOf":[{"$ref":"#"}]})")).value();

    EXPECT_EQ(
        ended(&tool),
        list{"c1 error The arguments have too many values, or too deeply nested ones, to check at "
             "once: send fewer."}
    );
    EXPECT_EQ(started, list{});
    EXPECT_THAT(
        log.lines(), ::testing::ElementsAre(::testing::HasSubstr(
                         "detail=\"The check of the arguments took too many steps.\""
                     ))
    );
}

#ifdef AGUI_VERIFY_EVENTS

// All calls are checked in one go, so they share the limit of one check.
TEST_F(ToolBatch, TheChecksOfAllCallsShareABudget) {
    std::string schema = R"({"$ref":"#/$defs/a0","$defs":{)";
    for (int i = 0; i < 12; ++i) {
        const std::string next = R"({"$ref":"#/$defs/a)" + std::to_string(i + 1) + "\"}";
        schema += "\"a" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
    }
    registered_tool tool{says(tool_outcome::kind::result, "called")};
    tool.schema = compile_argument_schema(boost::json::parse(schema + R"("a12":false}})")).value();
    const auto batch = make();
    for (int i = 0; i < 128; ++i) {
        batch->add(held(&tool), call(std::to_string(i)));
    }
    const std::uint64_t before = work_done;
    batch->start();
    go();

    EXPECT_LE(work_done - before, max_check_units);
    const list all = texts(batch->take_finished());
    ASSERT_EQ(all.size(), 128U);
    EXPECT_THAT(all.front(), ::testing::HasSubstr("none of 2 alternatives fits"));
    EXPECT_THAT(all.back(), ::testing::HasSubstr("send fewer"));
}

#endif

// Models write null for arguments that they leave out, which schemas rarely allow.
TEST_F(ToolBatch, ANullThatTheSchemaDoesNotAllowIsAbsent) {
    const auto told = [this](std::string_view schema, const std::string& arguments) {
        registered_tool tool{[](tool_invocation made) -> asio::awaitable<tool_outcome> {
            co_return tool_outcome{
                tool_outcome::kind::result, boost::json::serialize(made.arguments)
            };
        }};
        tool.schema = compile_argument_schema(boost::json::parse(schema)).value();
        const auto batch = make();
        tool_invocation made = call("1");
        made.arguments_text = arguments;
        batch->add(held(&tool), made);
        batch->start();
        go();
        return texts(batch->take_finished()).at(0);
    };
    const std::string text = R"({"type":"object","properties":{"a":{"type":"string"},)"
                             R"("b":{"type":"object","properties":{"c":{"type":"number"}}}})";

    EXPECT_EQ(
        told(text + "}", R"({"a":null,"b":{"c":null,"d":[{"e":null}]}})"), R"(1 {"b":{"d":[{}]}})"
    );
    EXPECT_EQ(told(text + "}", R"({"a":"x","f":null})"), R"(1 {"a":"x","f":null})") << "it fits";
    EXPECT_THAT(
        told(text + R"(,"required":["a"]})", R"({"a":null})"), ::testing::StartsWith("1 error")
    );
}

TEST_F(ToolBatch, AResultThatTheBudgetHasNoRoomForIsAnError) {
    memory_budget budget(1U << 20U);
    const auto batch =
        std::make_shared<tool_batch>(context().get_executor(), stop, 8, 1U << 20U, log, &budget);
    const registered_tool large{says(tool_outcome::kind::result, std::string(150'000, 'x'))};
    const registered_tool small{says(tool_outcome::kind::result, "small ")};
    batch->add(held(&large), call("1"));
    batch->add(held(&large), call("2"));
    batch->add(held(&small), call("3"));
    batch->start();
    go();

    {
        const std::vector<tool_batch::finished> all = batch->take_finished();
        const list read = texts(all);
        ASSERT_EQ(read.size(), 3U);
        EXPECT_EQ(read[0].size(), 150'004U);
        EXPECT_EQ(read[1], "2 error The server has not enough memory for the result.");
        EXPECT_EQ(read[2], "3 small {}");
        EXPECT_GE(budget.used(), 5 * 150'000U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

} // namespace
} // namespace agui::runner
