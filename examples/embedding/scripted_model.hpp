#pragma once

#include "runner/http/scripted_transport.hpp"

namespace embedding {

/// A model that needs no server. It answers with the bytes of a Chat Completions stream, so that
/// everything above it runs as with a real one. A request about the time calls get_time, a request
/// about the background calls change_background, and a tool's result is reported to the user.
[[nodiscard]] agui::runner::script scripted_model();

} // namespace embedding
