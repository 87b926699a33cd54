#pragma once

#include "session/conversation/thread.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Messages as clients send them and stores hold them.
[[nodiscard]] session::message user(std::string id, std::string text);
[[nodiscard]] session::tool_call
call(std::string id, std::string name, std::string arguments = "{}");
[[nodiscard]] session::message
assistant(std::string id, std::string text, std::vector<session::tool_call> calls = {});
/// The message's id has assistant-ui's form: `<call id>:tool`.
[[nodiscard]] session::message answer(const std::string& call_id, std::string text);
[[nodiscard]] session::message other(session::role role, std::string id, std::string text);
/// The last message of the current branch.
[[nodiscard]] session::node_index tip_of(const session::thread_record& thread);

/// Returns true for `get_weather`, the tool that the server of the tests executes. All others are
/// external.
[[nodiscard]] bool is_server_tool(std::string_view name);

/// Builds a stored thread message by message, on its head branch.
class thread_builder {
public:
    thread_builder& add(session::message value);
    thread_builder& user(std::string id, std::string text);
    /// Records the calls with `status`.
    thread_builder& assistant(
        std::string id, std::string text, std::vector<session::tool_call> calls = {},
        session::call_status status = session::call_status::answered
    );
    thread_builder& answer(const std::string& call_id, std::string text);
    /// Adds the following messages on a new branch, after the newest message with this id, or at
    /// the beginning if the id is "". The new branch becomes the head.
    thread_builder& fork(std::string_view after_id);
    thread_builder& head(std::uint32_t branch);
    /// Records that the previous request of the thread came with history.
    thread_builder& had_history();
    thread_builder& offered(std::initializer_list<std::string_view> tools);
    thread_builder& status(std::string_view call_id, session::call_status status);

    [[nodiscard]] const session::thread_record& build() const noexcept { return thread_; }

private:
    session::thread_record thread_;
};

/// One line for each message, from the first to `tip`: `user u1: Hi`, `assistant a1: Hello [c1
/// paint({})]`, `tool c1: done`, `tool c1: ! what failed`.
[[nodiscard]] std::vector<std::string> outline(const std::vector<session::message>& messages);
[[nodiscard]] std::vector<std::string>
outline(const session::thread_record& thread, session::node_index tip);
/// The head branch.
[[nodiscard]] std::vector<std::string> outline(const session::thread_record& thread);

/// One line of JSON for each message. Equal texts are equal bytes for a model server.
[[nodiscard]] std::string bytes(const std::vector<session::message>& messages);

} // namespace agui::test
