#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// Names and values of a prompt's placeholders, each name once, in the order of the prompt.
using prompt_value_list = std::vector<std::pair<std::string, std::string>>;

/// The system text that begins a prefix: all requests up to the next beginning start with it.
struct prompt_beginning {
    std::string agent_id;
    /// Identifies the prompt's text and the settings that decide the place of each part.
    std::string source;
    /// The rendered instructions; nullopt if the source alone determines them.
    std::optional<std::string> instructions;
    /// prompt_record::context, and prompt_record::state, stand after the instructions, not in the
    /// message.
    bool holds_context = false;
    bool holds_state = false;

    friend bool operator==(const prompt_beginning&, const prompt_beginning&) = default;
};

/// The parts of the prompt that models were told together with a message, and the beginning that it
/// made. They are sent again unchanged with the message (P13). Stored, never shown to a client, and
/// no client can set them. An empty member adds nothing to the message.
struct prompt_record {
    std::optional<prompt_beginning> begins;
    /// With `begins`, the values in the instructions; otherwise the values that have changed since.
    prompt_value_list values;
    std::string context; ///< A delimited part, as it is sent.
    std::string state;   ///< A delimited part, as it is sent.
    /// Names of the tools that are declared from here on, in order.
    std::vector<std::string> tools;
    /// Names of the tools that are not declared any more from here on. One that is offered again is
    /// new.
    std::vector<std::string> undeclared;
    /// Definitions of tools that are no longer offered from here on, but stay declared: objects as
    /// in thread_record::offered_tools.
    boost::json::array withdrawn;

    friend bool operator==(const prompt_record&, const prompt_record&) = default;

    [[nodiscard]] bool empty() const noexcept {
        return !begins && values.empty() && context.empty() && state.empty() && tools.empty() &&
               undeclared.empty() && withdrawn.empty();
    }
};

/// The form in which it is stored with the message.
[[nodiscard]] boost::json::object to_json(const prompt_record& value);
/// Reads the output of to_json(); nullopt for anything else, because the message is usable without
/// a record.
[[nodiscard]] std::optional<prompt_record> prompt_record_from_json(const boost::json::value& value);

} // namespace agui::session
