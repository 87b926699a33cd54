#pragma once

#include "runner/tools/argument_type.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/callable_traits/args.hpp>
#include <boost/callable_traits/return_type.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace agui::runner {

/// The name of a tool's argument, with a description for the model.
struct tool_parameter {
    // NOLINTNEXTLINE(google-explicit-constructor): `{"a", "b"}` names two parameters.
    tool_parameter(const char* given, std::string about = {})
        : name(given), description(std::move(about)) {}

    std::string name;
    std::string description;
};

/// A first parameter of a tool's function that is no argument of the tool: a person's answers to
/// the questions that the tool has asked for this call (tool_outcome::ask).
struct tool_inputs {
    std::vector<boost::json::value> values; ///< tool_invocation::inputs
};

namespace detail {

template <class Function>
concept callable_by_type = requires { typename boost::callable_traits::args_t<Function>; };

/// Type in which a parameter is kept until the call has ended.
template <class Parameter>
struct kept {
    using type = std::remove_cvref_t<Parameter>;
};
template <class Parameter>
    requires std::is_same_v<std::remove_cvref_t<Parameter>, std::string_view>
struct kept<Parameter> {
    using type = std::string;
};
template <class Arguments>
struct kept_arguments;
template <class... Parameters>
struct kept_arguments<std::tuple<Parameters...>> {
    using type = std::tuple<typename kept<Parameters>::type...>;
};
/// Tuple of the values of a function's parameters.
template <class Function>
using parameters_of =
    typename kept_arguments<boost::callable_traits::args_t<Function, std::tuple>>::type;

template <class Parameters>
struct only_arguments {
    using type = Parameters;
    static constexpr bool has_inputs = false;
    static std::tuple<> inputs(const tool_invocation& /*call*/) { return {}; }
};
template <class... Parameters>
struct only_arguments<std::tuple<tool_inputs, Parameters...>> {
    using type = std::tuple<Parameters...>;
    static constexpr bool has_inputs = true;
    static std::tuple<tool_inputs> inputs(const tool_invocation& call) {
        return {tool_inputs{call.inputs}};
    }
};
/// The same without tool_inputs.
template <class Function>
using arguments_of = typename only_arguments<parameters_of<Function>>::type;

/// A function whose arguments are the members of a struct.
template <class Arguments>
inline constexpr bool is_one_struct = false;
template <described_struct One>
inline constexpr bool is_one_struct<std::tuple<One>> = true;

template <class T>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<boost::asio::awaitable<T>> = true;
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

/// A number as people write it, such as `42` or `0.5`.
[[nodiscard]] std::string text_of_number(double value);
[[nodiscard]] tool_outcome outcome_of_failure(const failure& failed);

/// The names `a`, `b` and so on, for a function with unnamed parameters.
[[nodiscard]] std::vector<tool_parameter> plain_names(std::size_t count);

struct typed_parameter {
    std::string_view name;
    json::object schema;
    bool required = true;
};
/// The schema of a tool's arguments. Throws std::invalid_argument if two parameters have one name.
[[nodiscard]] json::object
schema_of_parameters(const std::vector<tool_parameter>& given, std::vector<typed_parameter> typed);
/// Adds the descriptions. Throws std::invalid_argument if a described member does not exist.
void describe_members(json::object& schema, const std::vector<tool_parameter>& given);
/// Throws std::invalid_argument if the name is empty.
[[nodiscard]] server_tool
checked_tool(std::string name, std::string description, json::object schema);

template <class Arguments>
[[nodiscard]] json::object arguments_schema(const std::vector<tool_parameter>& given) {
    if constexpr (is_one_struct<Arguments>) {
        json::object schema = schema_of<std::tuple_element_t<0, Arguments>>();
        describe_members(schema, given);
        return schema;
    } else {
        return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
            return schema_of_parameters(
                given,
                {typed_parameter{given[Index].name, schema_of<std::tuple_element_t<Index, Arguments>>(), !is_optional<std::tuple_element_t<Index, Arguments>>}...
                }
            );
        }(std::make_index_sequence<std::tuple_size_v<Arguments>>());
    }
}

template <class Arguments>
[[nodiscard]] Arguments
read_arguments(const json::object& from, const std::vector<tool_parameter>& given) {
    if constexpr (is_one_struct<Arguments>) {
        return {value_of<std::tuple_element_t<0, Arguments>>(from, "")};
    } else {
        return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
            return Arguments{
                member_of<std::tuple_element_t<Index, Arguments>>(from, given[Index].name, "")...
            };
        }(std::make_index_sequence<std::tuple_size_v<Arguments>>());
    }
}

/// The tool's result for the return value of its function.
template <class T>
[[nodiscard]] tool_outcome outcome_of(T value) {
    if constexpr (std::is_same_v<T, tool_outcome>) {
        return value;
    } else if constexpr (std::is_same_v<T, result<void>>) {
        return value ? tool_outcome() : outcome_of_failure(value.error());
    } else if constexpr (is_result<T>) {
        return value ? outcome_of(*std::move(value)) : outcome_of_failure(value.error());
    } else if constexpr (is_optional<T>) {
        return value ? outcome_of(*std::move(value)) : tool_outcome{.content = "null"};
    } else if constexpr (std::is_same_v<T, session::content>) {
        return {tool_outcome::kind::result, std::move(value)};
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
        return {tool_outcome::kind::result, std::string(std::string_view(value))};
    } else if constexpr (std::is_floating_point_v<T>) {
        return {tool_outcome::kind::result, text_of_number(static_cast<double>(value))};
    } else if constexpr (described_enum<T>) {
        return {tool_outcome::kind::result, std::string(json_of(value).as_string())};
    } else {
        return {tool_outcome::kind::result, json::serialize(json_of(value))};
    }
}

template <class Function>
struct typed_function {
    Function function;
    std::vector<tool_parameter> parameters;
};

/// Holds everything that it uses, because a tool may outlive its caller.
template <class Function>
[[nodiscard]] boost::asio::awaitable<tool_outcome>
call_typed(std::shared_ptr<typed_function<Function>> typed, tool_invocation call) {
    using returned = boost::callable_traits::return_type_t<Function>;
    auto arguments = std::tuple_cat(
        only_arguments<parameters_of<Function>>::inputs(call),
        read_arguments<arguments_of<Function>>(call.arguments, typed->parameters)
    );
    if constexpr (std::is_same_v<returned, boost::asio::awaitable<void>>) {
        co_await std::apply(typed->function, std::move(arguments));
        co_return tool_outcome();
    } else if constexpr (is_awaitable<returned>) {
        co_return outcome_of(co_await std::apply(typed->function, std::move(arguments)));
    } else if constexpr (std::is_void_v<returned>) {
        std::apply(typed->function, std::move(arguments));
        co_return tool_outcome();
    } else {
        co_return outcome_of<std::remove_cvref_t<returned>>(
            std::apply(typed->function, std::move(arguments))
        );
    }
}

template <class Function>
[[nodiscard]] server_tool make_typed_tool(
    std::string name, std::string description, std::vector<tool_parameter> parameters,
    Function function, tool_options options
) {
    server_tool made = checked_tool(
        std::move(name), std::move(description),
        arguments_schema<arguments_of<Function>>(parameters)
    );
    made.function = [typed = std::make_shared<typed_function<Function>>(
                         std::move(function), std::move(parameters)
                     )](tool_invocation call) {
        return call_typed(typed, std::move(call));
    };
    made.options = std::move(options);
    if constexpr (only_arguments<parameters_of<Function>>::has_inputs) {
        made.options.asks_for_input = true;
    }
    return made;
}

} // namespace detail

/// A tool with its function, whose parameters are the tool's arguments:
///
///     tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; })
///
/// Parameters are bool, numbers, std::string, std::optional (not required), lists, maps with names
/// as keys, structs and enums that Boost.Describe knows, or types of Boost.JSON. C++ does not tell
/// the names of parameters, so they are given, each with a description if it needs one: `{{"city",
/// "In English."}, "days"}`. The function may be a coroutine (awaitable<T>). It returns void, text,
/// any type that a parameter may have, session::content, a tool_outcome, or result<T>, whose
/// failure the model gets. It throws tool_error to give the model an error. A function that asks a
/// person for input (tool_outcome::ask) has a first parameter of type tool_inputs, without a name.
///
/// Arguments are checked before the function is called, on the run's executor; use blocking_tool()
/// for a function that blocks. Throws std::invalid_argument if the names cannot be right.
template <detail::callable_by_type Function, std::size_t Count>
[[nodiscard]] server_tool tool(
    std::string name, std::string description, const tool_parameter (&parameters)[Count],
    Function function, tool_options options = {}
) {
    using arguments = detail::arguments_of<Function>;
    static_assert(
        detail::is_one_struct<arguments> || Count == std::tuple_size_v<arguments>,
        "each parameter of the function needs a name"
    );
    return detail::make_typed_tool(
        std::move(name), std::move(description),
        std::vector<tool_parameter>(std::begin(parameters), std::end(parameters)),
        std::move(function), options
    );
}

/// A tool without parameter names: for a function without parameters, or with one struct, whose
/// members are the arguments. Other parameters are called `a`, `b` and so on, in their order.
template <detail::callable_by_type Function>
[[nodiscard]] server_tool
tool(std::string name, std::string description, Function function, tool_options options = {}) {
    using arguments = detail::arguments_of<Function>;
    return detail::make_typed_tool(
        std::move(name), std::move(description),
        detail::is_one_struct<arguments> ? std::vector<tool_parameter>()
                                         : detail::plain_names(std::tuple_size_v<arguments>),
        std::move(function), options
    );
}

} // namespace agui::runner
