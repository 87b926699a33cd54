#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/run/requested_run.hpp"
#include "session/base/error.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// Longer header values are not passed on to tools, because they would be kept and sent with each
/// call of the run.
inline constexpr std::size_t max_passed_header = 4'096;

/// Reads the parts of a request for a run outside its body: the sender's principal, the agent, and
/// the headers X-On-Disconnect (`continue`, `cancel`, `grace:SECONDS`), X-Client-History (`auto`,
/// `full`, `delta`) and Idempotency-Key. The tools of the run may be passed the headers that
/// `passed` names, in lower case. errc::invalid_input: one of them has a wrong value.
[[nodiscard]] result<requested_run>
read_run_headers(const http_request& request, const std::vector<std::string>& passed);

} // namespace agui::gateway
