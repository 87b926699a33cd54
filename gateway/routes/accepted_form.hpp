#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/log/stream_form.hpp"

namespace agui::gateway {

/// The form in which the client of a run's events gets them: protobuf_form() if its Accept header
/// names that media type, without parameters and with a quality above 0; otherwise sse_form(),
/// whatever it accepts. The quality of one form is not compared with that of the other (AG-UI
/// specification, HTTP + Protobuf).
[[nodiscard]] const stream_form& accepted_form(const http_request& request) noexcept;

} // namespace agui::gateway
