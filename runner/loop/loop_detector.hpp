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

/// What a run does about a model that repeats itself.
enum class loop_action {
    go_on,     ///< Nothing but a line in the log.
    warn,      ///< The model is told, in front of the repeated call's result.
    terminate, ///< The run ends as tool_loop; the calls are not executed.
};

/// A repetition, found with its last call.
struct found_loop {
    std::string tool;        ///< Of the last call.
    std::size_t period = 1;  ///< 1: the same call again; 2: two calls in turn; and so on.
    std::size_t repeats = 0; ///< How often the period has occurred in a row.
};

/// Decides instead of the configured action. Called on the run's executor; must not block.
using loop_callback = std::function<loop_action(const found_loop&)>;

/// Recognises a model that makes the same calls again and again: one call, or a cycle of up to
/// max_period, `threshold` times in a row. Calls are the same if their tools are and their
/// arguments are equal as JSON, whatever the order of members, `1` and `1.0` alike; arguments that
/// are not JSON, or longer than 16 KB, are compared as text. The calls of one answer have no order,
/// and equal ones among them count once: the model has not seen a result in between. Keeps hashes
/// only, and no more than it needs.
class loop_detector {
public:
    static constexpr std::size_t max_period = 3;

    /// At least 2.
    explicit loop_detector(std::size_t threshold) noexcept : threshold_(threshold) {}

    struct call {
        std::string_view tool;
        std::string_view arguments;
    };
    /// The calls of the model's next answer. For each of them the loop that it completes.
    [[nodiscard]] std::vector<std::optional<found_loop>> add(const std::vector<call>& answer);

    /// How many of the last calls can matter.
    [[nodiscard]] std::size_t memory() const noexcept { return max_period * threshold_ + 1; }

private:
    [[nodiscard]] std::optional<found_loop> add_hash(std::size_t hash);
    [[nodiscard]] std::size_t repeats_of(std::size_t period) const noexcept;

    std::size_t threshold_;
    std::vector<std::size_t> calls_; ///< Hashes; the newest last. Most runs have none.
};

/// What a warned model reads in front of the result.
[[nodiscard]] std::string loop_warning(const found_loop& found);
/// Puts it there. Content parts get a text part of its own.
void prepend(session::content& result, std::string_view warning);

} // namespace agui::runner
