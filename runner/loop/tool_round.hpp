#pragma once

#include "runner/loop/model_turn.hpp"
#include "runner/loop/run_parts.hpp"
#include "runner/tools/tool_batch.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <vector>

namespace agui::runner {

/// Executes server calls of a turn that is stored: side by side, each result stored before it is
/// shown. For one run, on its executor.
class tool_round {
public:
    explicit tool_round(const run_parts& run) noexcept : run_(run) {}

    /// Nothing: every call of the run is answered, the model goes on. After a stop, or a result
    /// that could not be shown or stored, nothing of the round goes on.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    execute(const std::vector<model_turn::call>& calls);

private:
    [[nodiscard]] boost::asio::awaitable<bool> wait_for(tool_batch& batch);
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    store_results(std::vector<tool_batch::finished>& finished, bool& handed_over);
    [[nodiscard]] session::message result_message(tool_batch::finished& one);
    [[nodiscard]] tool_invocation invocation(const model_turn::call& call) const;

    const run_parts run_;
};

} // namespace agui::runner
