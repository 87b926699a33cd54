#pragma once

#include "runner/loop/model_turn.hpp"
#include "runner/loop/run_parts.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Asks a run's model, and says what its answer means for the run. For one run, on its executor.
class model_round {
public:
    explicit model_round(const run_parts& run) noexcept : run_(run) {}
    model_round(const model_round&) = delete;
    model_round& operator=(const model_round&) = delete;

    /// Asks once; `first`: of the run. Nothing: there are calls to execute or to hand over.
    /// Whatever it returns, what the model has said so far is in turn().
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> ask(bool first);

    /// What the model has said and nobody has stored; whoever stores it resets it.
    [[nodiscard]] std::optional<model_turn>& turn() noexcept { return turn_; }
    /// Of all answers.
    /// Tokens of all answers of this run.
    [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
    [[nodiscard]] std::vector<token_usage> take_usage() noexcept { return std::move(usage_); }

private:
    std::optional<stop_reason> on_failure(const model_failure& failed);
    std::optional<stop_reason> on_answer(const model_answer& answer);
    void count_tokens(const model_answer& answer);
    void log_upstream(std::string_view said);
    [[nodiscard]] model_turn::call name_call(std::string_view id, std::string_view name);

    const run_parts run_;
    std::optional<model_turn> turn_;
    std::vector<token_usage> usage_;
    std::uint64_t tokens_ = 0;
};

} // namespace agui::runner
