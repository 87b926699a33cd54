#pragma once

#include "runner/base/runner_event.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// `agents[].predict_state`: while a model writes that argument of that tool, clients are shown it
/// as a member of the state document.
struct predicted_member {
    std::string tool;
    std::string argument;
    std::string state_key;
};

/// The name of the CUSTOM event that tells clients of it.
inline constexpr std::string_view prediction_event = "PredictState";
/// The value of that event, as JSON.
[[nodiscard]] std::string prediction_text(const std::vector<predicted_member>& members);

/// An argument longer than this is not shown before its call has run.
inline constexpr std::size_t predicted_bytes_max = 256U << 10U;

/// Follows the calls of one run and finds the members of the state that they predict. Pure; used
/// on one executor.
class state_prediction {
public:
    explicit state_prediction(std::vector<predicted_member> members)
        : members_(std::move(members)) {}

    struct change {
        std::string_view key; ///< Of the state document; valid as long as this object.
        boost::json::value value;
    };
    /// What readers are to be shown because of the event. Text that grows is shown when it has
    /// grown by a quarter, so that all of it takes five times its length.
    [[nodiscard]] std::vector<change> on(const runner::runner_event& event);

private:
    struct call {
        std::string id;
        std::string tool;
        std::string arguments;
        std::size_t next = 0;  ///< The length at which it is shown again.
        std::size_t shown = 0; ///< The length at which it was shown.
    };

    [[nodiscard]] std::vector<change> read(const call& of) const;

    const std::vector<predicted_member> members_;
    std::vector<call> calls_; ///< Those whose arguments are not complete.
};

} // namespace agui::gateway
