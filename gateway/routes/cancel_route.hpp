#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"

#include <cstddef>

namespace agui::gateway {

/// POST /agui/cancel `{"threadId","runId"?}`: stops the thread's run, or the one with that id, and
/// answers `{"cancelled":…}` once it has ended (run_service::cancel). `runs` must outlive the
/// handler.
[[nodiscard]] http_handler make_cancel_route(run_service& runs, std::size_t max_json_depth);

} // namespace agui::gateway
