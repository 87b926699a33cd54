#include "runner/tools/caller_credentials.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <mutex>

namespace agui::runner {

void stored_credentials::replace(by_principal values) {
    const std::lock_guard lock(mutex_);
    values_ = std::move(values);
}

std::optional<std::string> stored_credentials::find(std::string_view principal) const {
    const std::lock_guard lock(mutex_);
    const auto found = principal.empty() ? values_.end() : values_.find(principal);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::pair<std::string, std::string>>
caller_credentials::of(const tool_invocation& call) const {
    std::optional<std::string> value;
    const auto passed =
        std::ranges::find(call.headers, passed_in, &std::pair<std::string, std::string>::first);
    if (!passed_in.empty() && passed != call.headers.end()) {
        value = passed->second;
    } else if (stored) {
        value = stored->find(call.sender);
    }
    if (!value || value->empty()) {
        return std::nullopt;
    }
    const bool has_scheme = value->find(' ') != std::string::npos;
    if (!has_scheme && equal_ignoring_case(header, "authorization")) {
        value->insert(0, "Bearer ");
    }
    return std::pair(header, *std::move(value));
}

tool_outcome missing_credentials() {
    return {
        .what = tool_outcome::kind::error,
        .content = std::string("The tool was not called: it needs credentials of the user, and "
                               "there are none with this request."),
        .log_detail = "there are no credentials of the caller"
    };
}

} // namespace agui::runner
