#include "runner/tools/typed_tool.hpp"

#include "runner/tools/tool_batch.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class unit { celsius, fahrenheit };
BOOST_DESCRIBE_ENUM(unit, celsius, fahrenheit)

struct place {
    std::string city;
    std::optional<std::string> country;
};
BOOST_DESCRIBE_STRUCT(place, (), (city, country))

struct forecast {
    place where;
    std::vector<double> degrees;
    unit in = unit::celsius;
    std::optional<bool> rain;
};
BOOST_DESCRIBE_STRUCT(forecast, (), (where, degrees, in, rain))

struct knot {
    std::vector<knot> knots;
};
BOOST_DESCRIBE_STRUCT(knot, (), (knots))

json::value schema_of(const server_tool& made) { return made.definition.parameters; }

class TypedTool : public test::coroutine_test {
protected:
    /// The text that a calling model gets, after the checks of a run; `! ` marks an error.
    std::string told(const server_tool& made, std::string arguments) {
        const tool_registry registry({made});
        const auto set = registry.snapshot();
        const auto batch =
            std::make_shared<tool_batch>(context().get_executor(), stop, 1, 10'000, log);
        tool_invocation call;
        call.name = made.definition.name;
        call.arguments_text = std::move(arguments);
        batch->add({set, set->find_tool(call.name)}, call);
        batch->start();
        run(batch->wait());
        const auto ended = batch->take_finished();
        if (ended.size() != 1) {
            return "nothing";
        }
        const tool_outcome& outcome = ended.front().outcome;
        return (outcome.what == tool_outcome::kind::result ? "" : "! ") +
               session::text_of(outcome.content);
    }

    stop_source stop{context().get_executor()};
    memory_logger log;
};

TEST_F(TypedTool, ItsParametersAreItsSchema) {
    const server_tool add =
        tool("add", "Adds two numbers.", {"a", {"b", "The other one."}}, [](double a, int b) {
            return a + b;
        });

    EXPECT_EQ(add.definition.name, "add");
    EXPECT_EQ(add.definition.description, "Adds two numbers.");
    EXPECT_EQ(schema_of(add), json::parse(R"({
        "type": "object",
        "properties": {
            "a": {"type": "number"}, "b": {"type": "integer", "description": "The other one."}
        },
        "required": ["a", "b"]
    })"));
    EXPECT_EQ(told(add, R"({"a":0.5,"b":2})"), "2.5");
    EXPECT_EQ(told(add, R"({"b":2,"a":40})"), "42");
}

TEST_F(TypedTool, WithoutNamesParametersAreLetters) {
    const server_tool add =
        tool("add", "Adds two numbers.", [](double a, double b) { return a + b; });

    EXPECT_EQ(schema_of(add).at("required"), json::parse(R"(["a","b"])"));
    EXPECT_EQ(told(add, R"({"a":17,"b":25})"), "42");
}

TEST_F(TypedTool, WithoutParametersTakesNoArguments) {
    const server_tool now = tool("now", "", [] { return "noon"; });

    EXPECT_EQ(schema_of(now), json::parse(R"({"type":"object","properties":{}})"));
    EXPECT_EQ(told(now, ""), "noon");
    EXPECT_EQ(told(now, "{}"), "noon");
}

TEST_F(TypedTool, TheMembersOfAStructAreItsArguments) {
    const server_tool weather =
        tool("weather", "", {{"city", "In English."}}, [](const place& where) {
            return where.city + "/" + where.country.value_or("?");
        });

    EXPECT_EQ(schema_of(weather), json::parse(R"({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "In English."},
            "country": {"type": "string"}
        },
        "required": ["city"]
    })"));
    EXPECT_EQ(told(weather, R"({"city":"Ulm"})"), "Ulm/?");
    EXPECT_EQ(told(weather, R"({"city":"Ulm","country":"DE"})"), "Ulm/DE");
}

// Models write null for arguments that they leave out.
TEST_F(TypedTool, NullIsAbsent) {
    const server_tool weather =
        tool("weather", "", [](place where) { return where.country.value_or("none"); });

    EXPECT_EQ(told(weather, R"({"city":"Ulm","country":null})"), "none");
    EXPECT_THAT(told(weather, R"({"city":null})"), StartsWith("! "));
}

TEST_F(TypedTool, TypesMayBeNested) {
    const server_tool tell =
        tool("tell", "", {"day", "by"}, [](forecast day, const std::map<std::string, int>& by) {
            day.degrees.push_back(by.at("one"));
            return day;
        });

    EXPECT_EQ(schema_of(tell).at("properties").at("day"), json::parse(R"({
        "type": "object",
        "properties": {
            "where": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
                "required": ["city"]
            },
            "degrees": {"type": "array", "items": {"type": "number"}},
            "in": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "rain": {"type": "boolean"}
        },
        "required": ["where", "degrees", "in"]
    })"));
    EXPECT_EQ(
        json::parse(told(
            tell,
            R"({"day":{"where":{"city":"Ulm"},"degrees":[1.5],"in":"fahrenheit"},"by":{"one":1}})"
        )),
        json::parse(R"({"where":{"city":"Ulm","country":null},"degrees":[1.5,1],
            "in":"fahrenheit","rain":null})")
    );
}

TEST_F(TypedTool, ArgumentsThatDoNotFitAreRefusedBeforeTheCall) {
    bool called = false;
    const server_tool some = tool("some", "", {"count", "in"}, [&called](unsigned count, unit in) {
        called = true;
        return std::to_string(count) + (in == unit::celsius ? "C" : "F");
    });

    for (const char* const wrong :
         {R"({"count":1})", R"({"count":"1","in":"celsius"})", R"({"count":-1,"in":"celsius"})",
          R"({"count":1.5,"in":"celsius"})", R"({"count":1,"in":"kelvin"})",
          R"({"count":5000000000,"in":"celsius"})", R"([1])", R"({"count":1,)"}) {
        EXPECT_THAT(told(some, wrong), StartsWith("! ")) << wrong;
    }
    EXPECT_FALSE(called);
    EXPECT_EQ(told(some, R"({"count":1.0,"in":"celsius","more":1})"), "1C");
}

// The schema does not limit the size of a number.
TEST_F(TypedTool, SaysWhichArgumentIsWrong) {
    const server_tool narrow =
        tool("narrow", "", {"n"}, [](std::vector<std::int8_t> n) { return n.size(); });

    EXPECT_THAT(told(narrow, R"({"n":[1,300]})"), HasSubstr("The argument /n/1 is not"));
}

TEST_F(TypedTool, ReturnsTheResultOfTheFunction) {
    const auto of = [this](auto function) {
        return told(tool("t", "", std::move(function)), "");
    };

    EXPECT_EQ(of([] {}), "");
    EXPECT_EQ(of([] { return std::string("text"); }), "text");
    EXPECT_EQ(of([] { return true; }), "true");
    EXPECT_EQ(of([] { return 1e300; }), "1e+300");
    EXPECT_EQ(of([] { return unit::fahrenheit; }), "fahrenheit");
    EXPECT_EQ(of([] { return std::optional<std::string>("text"); }), "text");
    EXPECT_EQ(of([] { return std::optional<int>(); }), "null");
    EXPECT_EQ(of([] { return std::vector<double>{1, 2.5}; }), "[1,2.5E0]");
    EXPECT_EQ(of([] { return json::value{{"a", 1}}; }), R"({"a":1})");
    EXPECT_EQ(of([] { return tool_outcome{tool_outcome::kind::error, "no"}; }), "! no");
    EXPECT_EQ(of([]() -> result<int> { return 7; }), "7");
    EXPECT_EQ(of([]() -> result<void> { return {}; }), "");
    EXPECT_EQ(
        of([]() -> result<int> { return failure{errc::not_found, "no such city"}; }),
        "! no such city"
    );
    EXPECT_EQ(of([]() -> asio::awaitable<int> { co_return 8; }), "8");
    EXPECT_EQ(of([]() -> asio::awaitable<void> { co_return; }), "");
    EXPECT_EQ(
        of([]() -> session::content { return json::array{{{"type", "text"}, {"text", "part"}}}; }),
        "part"
    );
}

TEST_F(TypedTool, AnErrorIsToldToTheModelIfItIsMeantForIt) {
    const server_tool open = tool("open", "", {"path"}, [](std::string_view path) -> std::string {
        if (path == "secret") {
            throw tool_error("There is no file of this name.");
        }
        throw std::runtime_error("the password is wrong");
    });

    EXPECT_EQ(told(open, R"({"path":"secret"})"), "! There is no file of this name.");
    EXPECT_EQ(told(open, R"({"path":"else"})"), "! The tool failed.");
}

TEST_F(TypedTool, TakesAnythingThatCanBeCalled) {
    EXPECT_EQ(told(tool("plus", "", {"a", "b"}, std::plus<int>()), R"({"a":1,"b":2})"), "3");
    const std::function<int(int)> twice = [](int n) {
        return 2 * n;
    };
    EXPECT_EQ(told(tool("twice", "", {"n"}, twice), R"({"n":4})"), "8");
    int count = 0;
    auto counter = [&count, own = std::make_unique<int>(1)]() mutable noexcept {
        return count += (*own)++;
    };
    EXPECT_EQ(told(tool("count", "", std::move(counter)), ""), "1");
}

TEST_F(TypedTool, AsksAPersonAndGetsTheAnswers) {
    const auto book = [](const tool_inputs& inputs, std::string city, int nights) -> tool_outcome {
        if (inputs.values.empty()) {
            return tool_outcome::ask({"Which bed?", {{"type", "string"}}, {}});
        }
        return {
            tool_outcome::kind::result,
            city + std::to_string(nights) + json::serialize(inputs.values[0])
        };
    };
    const server_tool made = tool("book", "Books a room.", {"city", "nights"}, book);
    EXPECT_TRUE(made.options.asks_for_input);
    EXPECT_EQ(schema_of(made).at("required"), json::value({"city", "nights"}));
    tool_invocation call;
    call.arguments = {{"city", "Bern"}, {"nights", 2}};

    const tool_outcome asked = run(made.function(call));
    EXPECT_EQ(asked.what, tool_outcome::kind::input);
    EXPECT_EQ(asked.question->message, "Which bed?");
    call.inputs = {"soft"};
    EXPECT_EQ(session::text_of(run(made.function(call)).content), R"(Bern2"soft")");
}

TEST_F(TypedTool, RefusesNamesThatCannotBeRight) {
    const auto length = [](const place& where) {
        return where.city.size();
    };
    EXPECT_THROW((void)tool("", "", [] {}), std::invalid_argument);
    EXPECT_THROW((void)tool("t", "", {{"town", "A typo."}}, length), std::invalid_argument);
    EXPECT_THROW((void)tool("t", "", {"a", "a"}, std::plus<int>()), std::invalid_argument);
    EXPECT_THROW((void)tool("t", "", [](knot) {}), std::invalid_argument) << "no end of it";
}

TEST_F(TypedTool, KeepsItsTimeout) {
    const server_tool slow = tool("slow", "", [] {}, {.timeout = std::chrono::seconds(3)});

    EXPECT_EQ(slow.options.timeout, std::chrono::seconds(3));
    EXPECT_FALSE(slow.options.asks_for_input);
}

} // namespace
} // namespace agui::runner
