#pragma once

#include "runner/tools/tool_registry.hpp"
#include "session/base/mutex.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// The credentials of callers for one tool server, by their principals. May be used on any thread.
class stored_credentials {
public:
    using by_principal = std::map<std::string, std::string, std::less<>>;

    explicit stored_credentials(by_principal values) : values_(std::move(values)) {}

    /// Later calls use these. Those under way go on with the former ones.
    void replace(by_principal values);
    /// nullopt for the empty principal, which names nobody.
    [[nodiscard]] std::optional<std::string> find(std::string_view principal) const;

private:
    mutable mutex mutex_;
    by_principal values_ AGUI_GUARDED_BY(mutex_);
};

/// Where a tool server's calls get the credentials of the caller whose request began the run
/// (tool_invocation::sender). If there are any such places, a call without credentials is not made:
/// the gateway's own never take their place.
struct caller_credentials {
    /// The header of the server's request. In `Authorization`, a value without a scheme is sent as
    /// `Bearer VALUE`.
    std::string header = "Authorization";
    /// The header of the run's request that brings them, in lower case; empty for none. It precedes
    /// `stored`.
    std::string passed_in = {};
    std::shared_ptr<const stored_credentials> stored = {}; ///< May be null.

    [[nodiscard]] bool are_required() const noexcept { return !passed_in.empty() || stored; }
    /// The header with the credentials of this call's caller; nullopt if there are none.
    [[nodiscard]] std::optional<std::pair<std::string, std::string>> of(const tool_invocation& call
    ) const;
};

/// The error result of a call whose caller has no credentials.
[[nodiscard]] tool_outcome missing_credentials();

} // namespace agui::runner
