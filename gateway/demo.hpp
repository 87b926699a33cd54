#pragma once

#include "gateway/config/config.hpp"
#include "runner/http/scripted_transport.hpp"
#include "runner/tools/tool_registry.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// The model of `--demo`: a pure function of the request that the provider would send to a model
/// server. It calls `change_background`, which the page executes, if it is asked for another
/// background color, and one of demo_tools() if it is asked to add something to the list, to order
/// what is on it, or to find a recipe. Given a call's result, it reports the outcome; given a
/// message that came while the call was executed, it answers that as well. Asked anything else, it
/// suggests what to try. Sends one word every 30 ms.
[[nodiscard]] runner::script demo_script();

/// The server tools of `--demo`, which show what a tool may do besides its result. `add_to_list`
/// changes the thread's state document, `place_order` needs an approval, and `find_recipe` shows
/// steps and an activity with its progress for some seconds.
[[nodiscard]] std::vector<runner::server_tool> demo_tools();

/// The configuration of `--demo` as TOML: that model, and a store in `folder`.
[[nodiscard]] std::string demo_config(const std::string& folder);

} // namespace agui::gateway
