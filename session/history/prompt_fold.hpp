#pragma once

#include "session/conversation/prompt_record.hpp"
#include "session/conversation/thread.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The parts of the prompt that models were told on a branch are a function of the records of its
// messages (prompt_record), so they follow edits, branches and cuts without further code.

/// The records of a branch, folded from its first message to its last. The views live as long as
/// the thread.
struct told_prompt {
    /// Set if there is a beginning.
    const prompt_beginning* beginning = nullptr;
    std::string_view system_context; ///< Stands after the instructions; may be empty.
    std::string_view system_state;   ///< Stands after the instructions; may be empty.
    prompt_value_list values;        ///< The newest ones.
    std::string_view context;        ///< The one told last; empty if none was.
    std::string_view state;
    /// Names of the agent's tools that are declared, in the order of first appearance.
    std::vector<std::string> tools;
    /// Names of those that came inside the last user turn, after the prefix had begun.
    std::vector<std::string> late_tools;
    /// The definitions of tools that stayed declared once they were not offered, the newest of each
    /// name; see prompt_record::withdrawn.
    std::vector<const boost::json::object*> withdrawn;

    /// True if requests with this prompt continue the prefix.
    [[nodiscard]] bool continues(std::string_view agent_id, std::string_view source) const noexcept;
};

/// Records of messages that a model server refused (refused_turns.hpp) do not count: such a message
/// is not sent with its parts again. Pure.
[[nodiscard]] told_prompt fold_prompts(const thread_record& thread, node_index tip);

/// The prompt of a turn, as it would be told from nothing.
struct current_prompt {
    std::string_view agent_id;
    std::string_view source; ///< prompt_beginning::source
    std::optional<std::string> instructions;
    bool context_in_system = false;
    bool state_in_system = false;
    prompt_value_list values;
    /// False if the message does not begin a user turn. The values are then told only with a new
    /// beginning.
    bool tells_values = true;
    std::string context; ///< Empty if the request has no context. Then nothing is added or removed.
    std::string state;
    std::vector<std::string> tools; ///< Names of the tools that are offered, in order.
    /// False inside a turn whose tools may not change: new ones then wait for the next turn.
    bool tells_tools = true;
    /// Definitions of the tools that are declared without being offered.
    boost::json::array withdrawn;
};

/// The name in a tool's definition; empty if it has none.
[[nodiscard]] std::string_view name_of_tool(const boost::json::object& definition) noexcept;

/// True for an element of thread_record::offered_tools that is kept without being offered.
[[nodiscard]] bool is_kept_tool(const boost::json::value& element) noexcept;

/// thread_record::offered_tools once a request offers `offered`: also what was offered `before`, so
/// that a branch which declared such a tool can go on declaring it. The newest are kept, at most
/// `most`.
[[nodiscard]] boost::json::array
keep_tools(boost::json::array offered, const boost::json::array& before, std::size_t most);

/// Gives each tool of `offered` the definition that it has in `before`, if it is there: inside a
/// user turn a tool may not change under the model's thoughts.
void keep_definitions(boost::json::array& offered, const boost::json::array& before);

/// A kept tool's definition as it was offered.
[[nodiscard]] boost::json::object definition_of_kept(const boost::json::object& element);

/// The record of the next message of a branch, with all parts that differ from `told`; null if none
/// does. Pure.
[[nodiscard]] std::shared_ptr<const prompt_record>
next_record(const told_prompt& told, current_prompt current);

/// Removes from the messages of a branch the records' members that no request holds: those of
/// refused messages must be gone already; values told before the last beginning, which has newer
/// ones in its instructions; and, where these hold the context or the state, earlier ones of it.
void drop_replaced_records(std::vector<message>& messages);

/// Moves the newest told parts of the messages that will be dropped, those in [first, last), to the
/// message at `last`, unless that tells newer ones.
void move_told_parts(std::vector<message>& messages, std::size_t first, std::size_t last);

/// Puts the told parts into the contents: before that of a user message, after that of a result.
/// All other text of users and tools is escaped (escape_texts(), escape_parts()). Of the records
/// only tools are left: those that came with a message after a list of tools had begun, each at the
/// last message that told it. A model may be told them there, so that its list stays as it began.
void tell_prompts(std::vector<message>& messages);

} // namespace agui::session
