#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/hooks/request_draft.hpp"
#include "runner/loop/model_order.hpp"
#include "runner/loop/run_parts.hpp"
#include "session/conversation/message.hpp"

#include <cstddef>
#include <vector>

namespace agui::runner {

/// Makes the requests of a run to its models. Lives on the run's executor. `first` marks the run's
/// first model call: only that keeps a forced tool_choice.
class round_requests {
public:
    /// The references must outlive it.
    round_requests(const run_parts& run, const model_order& models) noexcept
        : run_(run), models_(models) {}

    /// model_round::draft().
    [[nodiscard]] request_draft draft(bool first) const;

    /// The request to the model `index` (model_order), which must not outlive `history`.
    [[nodiscard]] model_request
    make(std::size_t index, bool first, std::vector<session::message>& history) const;

private:
    [[nodiscard]] model_request plain(std::size_t index, bool first) const;
    void resolve_tool_choice(model_request& request) const;

    const run_parts& run_;
    const model_order& models_;
};

} // namespace agui::runner
