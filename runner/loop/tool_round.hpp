#pragma once

#include "runner/loop/run_parts.hpp"
#include "runner/tools/tool_batch.hpp"

#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Executes stored server calls side by side. Results are stored, and then shown, in the order of
/// the calls. For one run, on its executor.
class tool_round {
public:
    explicit tool_round(const run_parts& run) noexcept : run_(run) {}

    /// Executes conversation::calls_to_execute(). Returns nullopt once each call has a result, was
    /// handed over by its tool or asks a person for input, or its subagent waits. After a stop, or
    /// if a result could not be shown or stored, no further tool of the round is started, and the
    /// running ones are cancelled. Subagents are waited for in any case.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> execute();

    /// True if a person has to approve the call before it is executed. False for a call that gets
    /// an error result without being executed.
    [[nodiscard]] bool needs_approval(const session::tool_call& call) const;
    /// True if the tools of the last round may have been started.
    [[nodiscard]] bool has_started() const noexcept { return has_started_; }

    /// Puts `warning` in front of that call's result.
    void warn(const std::string& call_id, std::string warning) {
        warnings_[call_id] = std::move(warning);
    }

private:
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> execute_batch();
    [[nodiscard]] boost::asio::awaitable<bool> store_start();
    [[nodiscard]] boost::asio::awaitable<bool> wait_for(tool_batch& batch);
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    store_results(std::vector<tool_batch::finished>& finished);
    void keep_question(branch_growth& growing, const tool_batch::finished& one) const;
    [[nodiscard]] boost::asio::awaitable<void> carry_out(tool_outcome& outcome);
    [[nodiscard]] session::message result_message(tool_batch::finished& one);
    /// nullptr if the call needed no approval.
    [[nodiscard]] const session::approved_call* approval_of(std::string_view call_id) const;
    /// True if plugins changed that tool in the request; their change takes precedence.
    [[nodiscard]] bool is_of_plugins(const std::string& name) const noexcept;
    [[nodiscard]] std::shared_ptr<const registered_tool> tool_of(const std::string& name) const;
    [[nodiscard]] std::shared_ptr<const tool_function> executor_of(const std::string& name) const;
    [[nodiscard]] tool_invocation invocation(const session::tool_call& call) const;

    const run_parts run_;
    std::map<std::string, std::string> warnings_; ///< By call id.
    bool has_started_ = false;
};

} // namespace agui::runner
