#pragma once

#include "gateway/config/config.hpp"
#include "runner/http/scripted_transport.hpp"

#include <string>

namespace agui::gateway {

/// The model of `--demo`: a pure function of the request that the provider would send to a model
/// server. Asked for another background color, it talks and then calls `change_background`. Given
/// that call's result, it reports the outcome. Asked anything else, it suggests what to try. Sends
/// one word every 30 ms.
[[nodiscard]] runner::script demo_script();

/// The configuration of `--demo` as TOML: that model, and a store in `folder`.
[[nodiscard]] std::string demo_config(const std::string& folder);

} // namespace agui::gateway
