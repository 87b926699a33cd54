#pragma once

#include "runner/base/model_provider.hpp"

#include <string_view>
#include <vector>

namespace agui::runner {

/// The tools of a request by the place at which its model is told them: in the list of tools, or
/// with a message (model_request::adds_tools). The request must outlive it.
class added_tools {
public:
    explicit added_tools(const model_request& request);

    /// The tools of the list, in order: all of the request if no message adds one. If a message
    /// adds each of them, the list has those of the first such message, so that it is never empty.
    [[nodiscard]] const std::vector<const tool_definition*>& listed() const noexcept {
        return listed_;
    }
    /// True if a message of the request adds the tool, so that the list does not have it.
    [[nodiscard]] bool is_added(std::string_view name) const;
    /// The tools that a message of the request adds, as far as the request still declares them.
    [[nodiscard]] std::vector<const tool_definition*> added_with(const session::message& value
    ) const;

private:
    void make_list(const std::vector<session::message>& messages);

    std::vector<const tool_definition*> listed_;
    std::vector<const tool_definition*> added_;
};

} // namespace agui::runner
