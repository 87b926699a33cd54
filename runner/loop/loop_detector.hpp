#pragma once

#include "session/conversation/message.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Reaction to a model that repeats itself.
enum class loop_action {
    go_on,     ///< Only a line in the log.
    warn,      ///< The repeated call's result begins with a warning for the model.
    terminate, ///< The run ends as tool_loop; the calls are not executed.
};

/// A repetition, found at its last call.
struct found_loop {
    std::string tool; ///< Tool of the last call.
    /// Length of the cycle: 1 for the same call again, 2 for two calls in turn, and so on.
    std::size_t period = 1;
    std::size_t repeats = 0; ///< How often the cycle occurred in a row.
};

/// Decides instead of the configured action. Called on the run's executor; must not block.
using loop_callback = std::function<loop_action(const found_loop&)>;

/// Detects a model that repeats its calls: one call, or a cycle of up to max_period, `threshold`
/// times in a row. Two calls are the same if their tools are the same and their arguments are equal
/// as JSON: the order of members does not matter, and `1` equals `1.0`. Arguments that are not
/// JSON, or longer than 16 KB, are compared as text. The calls of one answer have no order, and
/// equal ones among them count once, because the model has not seen a result in between. Keeps only
/// hashes, and no more of them than it needs.
class loop_detector {
public:
    static constexpr std::size_t max_period = 3;

    /// `threshold` is at least 2.
    explicit loop_detector(std::size_t threshold) noexcept : threshold_(threshold) {}

    struct call {
        std::string_view tool;
        std::string_view arguments;
    };
    /// Adds the calls of the model's next answer. Returns, for each of them, the loop that it
    /// completes.
    [[nodiscard]] std::vector<std::optional<found_loop>> add(const std::vector<call>& answer);

    /// Number of last calls that can matter.
    [[nodiscard]] std::size_t memory() const noexcept { return max_period * threshold_ + 1; }

private:
    [[nodiscard]] std::optional<found_loop> add_hash(std::size_t hash);
    [[nodiscard]] std::size_t repeats_of(std::size_t period) const noexcept;

    std::size_t threshold_;
    std::vector<std::size_t> calls_; ///< Hashes, the newest last. Empty in most runs.
};

/// The warning that a model reads in front of the result.
[[nodiscard]] std::string loop_warning(const found_loop& found);
/// Puts the warning in front of the result. Content parts get an additional text part.
void prepend(session::content& result, std::string_view warning);

} // namespace agui::runner
