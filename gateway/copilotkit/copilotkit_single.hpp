#pragma once

#include "gateway/http/router.hpp"
#include "session/base/heavy_work.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace agui::gateway {

/// POST on `base` itself: CopilotKit's "single mode", in which each request is an envelope
/// `{"method", "params"?, "body"?}`. It is answered by the route among `routes`, which are below
/// `base`, that the method stands for:
///
/// - `info`: by `info`
/// - `agent/run`, `agent/connect`, `agent/suggest` with `params.agentId`; `agent/stop` also with
///   `params.threadId`
/// - `resource/request` with `params.path` (below the base, with its query) and
///   `params.httpMethod`: routes of threads alone, and none with route::large_reply, which pages
///   read by a plain GET in this mode too
///
/// A wrong envelope is 400 `invalid_request`. Envelopes above 256 KB are read on `heavy`, which
/// must outlive the handler.
[[nodiscard]] route make_single_route(
    const std::string& base, std::vector<route> routes, http_handler info, heavy_work& heavy,
    std::size_t max_json_depth
);

} // namespace agui::gateway
