#pragma once

#include "session/conversation/turn_origin.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::session {

struct prompt_record;

/// The author of a message: the seven message roles of AG-UI 1.1.
enum class role { developer, system, user, assistant, tool, activity, reasoning };

[[nodiscard]] std::string_view to_string(role value) noexcept;
[[nodiscard]] std::optional<role> role_from_string(std::string_view name) noexcept;

/// Text, or content parts (text, image, audio, video, document), kept as the JSON objects in which
/// they arrived (`{"type":"text","text":…}`): only members that we act on are inspected.
using content = std::variant<std::string, boost::json::array>;

/// A call as the model wrote it. `arguments` is the model's text, JSON or not.
struct tool_call {
    std::string id;
    std::string name;
    std::string arguments;
    std::optional<std::string> encrypted_value;
    std::optional<std::string> encrypted_value_type;

    friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// One message of a conversation, of any role. Members that a role does not have are empty.
struct message {
    std::string id;
    session::role role = session::role::user;
    /// Text or parts; empty text for an assistant that only calls. activity: the data parts that
    /// `activity` is about, stored for their links and never shown as parts; else empty.
    session::content content;
    std::optional<std::string> name;
    std::vector<tool_call> tool_calls; ///< assistant
    std::string tool_call_id;          ///< tool
    std::optional<std::string> error;  ///< tool: how the call failed, if it did
    std::string activity_type;         ///< activity
    boost::json::object activity;      ///< activity: its content
    std::string subagent_run_id; ///< The subagent run that the message belongs to; empty if none.
    std::optional<std::string> encrypted_value;
    std::optional<std::string> encrypted_value_type;
    std::optional<boost::json::object> metadata;
    /// tool: digest of the answer to the approval of the call (approval.hpp); empty if it needed
    /// none. Stored, never shown to a client.
    std::string approval_answer;
    /// True if a plugin inserted the message into a user turn. Stored, never shown to a client, and
    /// no client can set it.
    bool by_plugin = false;
    /// assistant: set if a model's answer has more to keep than text and calls; otherwise null.
    /// Stored, never shown to a client.
    std::shared_ptr<const turn_origin> origin;
    /// tool, assistant: the content for the model if it differs from `content`, which clients see:
    /// the model's side of a result, or the model's own words if only a part of them is text. Null
    /// if both are the same. Stored, never shown to a client.
    std::shared_ptr<const session::content> for_model;
    /// user, tool: the parts of the prompt that models were told with the message; null if there
    /// are none. Stored, never shown to a client.
    std::shared_ptr<const prompt_record> prompt;

    /// Compares the objects behind pointers by value.
    friend bool operator==(const message& left, const message& right);
};

/// The text of a content: the string, or its text parts joined.
[[nodiscard]] std::string text_of(const content& value);

/// True for "" and for an array without parts.
[[nodiscard]] bool is_empty(const content& value) noexcept;

/// True if it holds nothing that a model could read: only texts, and these hold only white space.
/// Model servers refuse such text.
[[nodiscard]] bool is_blank(const content& value) noexcept;

/// True for instructions: a message of the role `system` or `developer`.
[[nodiscard]] bool is_system(const message& value) noexcept;

/// True for a message of the user: it begins a user turn, which lasts until the next one.
[[nodiscard]] bool begins_user_turn(const message& value) noexcept;

/// True for an answer that its model's server withdrew (turn_end::refused).
[[nodiscard]] bool is_withdrawn(const message& value) noexcept;

/// True if both mean the same (content_form): a string equals one text part, a legacy `binary` part
/// its modern form, and ids and metadata of parts do not count.
[[nodiscard]] bool same_content(const content& left, const content& right);

} // namespace agui::session
