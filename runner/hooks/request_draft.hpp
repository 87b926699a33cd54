#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/conversation/message.hpp"

#include <map>
#include <string>
#include <vector>

namespace agui::runner {

/// A request before it is sent. Everything may be changed; nothing of it is stored. Afterwards the
/// messages are repaired: whatever a plugin leaves out, each call is answered once, in order.
class request_draft {
public:
    std::string instructions;
    std::string context; ///< Data of the application; leads the last user message.
    std::vector<session::message> messages;
    /// A tool that is taken out is not executed either: a model that calls it all the same is told
    /// that there is none.
    std::vector<tool_definition> tools;
    /// Those of the model that is asked first; what is changed here is changed for each model.
    /// `model` is not: each model has its own.
    model_parameters parameters;

    /// Replaces the messages. Of each one only what a request may carry is kept: role, content,
    /// name, calls, the call that a result answers and its error, and what a provider wants back.
    void set_request_messages(std::vector<session::message> replacement);

    /// Offers a tool that `function` executes as a tool of the server: several at once, cancelled
    /// and not waited for at a stop. Its arguments are not checked against the definition. A name
    /// that is offered already stays as it is. For this request alone: the next one offers it only
    /// if it is added again.
    void add_tool(tool_definition definition, tool_function function);

    /// What add_tool() was given, by name.
    [[nodiscard]] const std::map<std::string, tool_function, std::less<>>&
    functions() const noexcept {
        return functions_;
    }

private:
    std::map<std::string, tool_function, std::less<>> functions_;
};

/// The message without what no request may carry; see set_request_messages().
[[nodiscard]] session::message requestable(session::message value);

} // namespace agui::runner
