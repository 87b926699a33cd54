#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/conversation/message.hpp"

#include <map>
#include <string>
#include <vector>

namespace agui::runner {

/// A request before it is sent. Everything may be changed; the changes are not stored. Afterwards
/// the messages are repaired so that each call is answered once, in order, whatever messages a
/// plugin removed.
class request_draft {
public:
    std::string instructions;
    /// Data that is put before the last user message. The gateway's own data of the application is
    /// in the messages already, where they were sent with it.
    std::string context;
    std::vector<session::message> messages;
    /// A removed tool is not executed either: a model that calls it is told that there is no such
    /// tool.
    std::vector<tool_definition> tools;
    /// Parameters of the model that is asked first. Changes hold for each model, except for
    /// `model`: each model has its own.
    model_parameters parameters;

    /// Replaces the messages. Each keeps only the members that a request may carry: role, content,
    /// name, calls, the call that a result answers and its error, and the data that a provider
    /// wants sent back.
    void set_request_messages(std::vector<session::message> replacement);

    /// Offers a tool that `function` executes as a tool of the server: calls run side by side and
    /// are cancelled, but not waited for, at a stop. Its arguments are not checked against the
    /// definition. If the name is already offered, that tool stays. It holds for this request only;
    /// the next one needs it to be added again.
    void add_tool(tool_definition definition, tool_function function);

    /// The functions given to add_tool(), by name.
    [[nodiscard]] const std::map<std::string, tool_function, std::less<>>&
    functions() const noexcept {
        return functions_;
    }

private:
    std::map<std::string, tool_function, std::less<>> functions_;
};

/// The message without the members that no request may carry; see set_request_messages().
[[nodiscard]] session::message requestable(session::message value);

} // namespace agui::runner
