#pragma once

#include "runner/http/scripted_transport.hpp"

namespace embedding {

/// A model that needs no server. It answers in the bytes of a Chat Completions stream, so that
/// everything above it runs as it does with a real one: a request that speaks of the time calls
/// get_time, one that speaks of the background calls change_background, and a tool's result is told
/// to the user.
[[nodiscard]] agui::runner::script scripted_model();

} // namespace embedding
