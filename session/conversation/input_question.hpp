#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>

namespace agui::session {

/// A question that a tool asks a person while its call is open.
struct input_question {
    std::string message;          ///< For the person.
    boost::json::object schema;   ///< The JSON Schema of the answer.
    boost::json::object metadata; ///< For clients; `kind` and `toolName` are the gateway's own.
};

/// How many questions one call may ask: each is a run of its own, and the tool gets all answers.
inline constexpr std::size_t questions_max = 20;
/// The size of one question as JSON. Each view of the thread shows it while it is open.
inline constexpr std::size_t question_bytes_max = 64U << 10U;

} // namespace agui::session
