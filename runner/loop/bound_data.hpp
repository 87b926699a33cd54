#pragma once

#include "runner/loop/prefix_watch.hpp"
#include "session/conversation/message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The model that is asked, as far as it decides which data goes back to it.
struct data_owner {
    std::string_view provider; ///< Empty if nothing is sent back.
    std::string_view model;
    std::string_view account; ///< model_provider::account()
    bool binds_tools = false; ///< model_provider::binds_tools()
};

/// Leaves out of `history` the opaque data that may not be sent in this request: signatures,
/// encrypted reasoning and unknown blocks go only to the provider, model and account that made
/// them, and only while the request still begins as the one in whose answer they came
/// (turn_origin::prefix). Plain text of reasoning, which is bound to nothing, stays with its model.
/// A paused answer of which nothing is left is removed. `parts` must be those of the request with
/// this history; request_parts::left_out is set. Returns the value of turn_origin::prefix for the
/// answer.
[[nodiscard]] std::string
bind_data(std::vector<session::message>& history, request_parts& parts, const data_owner& asked);

} // namespace agui::runner
