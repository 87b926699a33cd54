#pragma once

#include "gateway/config/config.hpp"
#include "runner/http/scripted_transport.hpp"

#include <string>

namespace agui::gateway {

/// The model of `--demo`: a pure function of the request that the provider would send to a model
/// server. Asked for another background colour it talks and then calls `change_background`; given
/// that call's result it says what came of it; asked anything else it says what to try. One word
/// every 30 ms.
[[nodiscard]] runner::script demo_script();

/// The configuration of `--demo` as TOML: that model, and a store in `folder`.
[[nodiscard]] std::string demo_config(const std::string& folder);

} // namespace agui::gateway
