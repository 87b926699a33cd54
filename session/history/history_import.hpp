#pragma once

#include "session/history/history_plan.hpp"

namespace agui::session {

/// The part of plan_history for requests whose input is the whole history: the first request of a
/// thread, and every request where `policy.mode` is client.
[[nodiscard]] result<history_plan>
plan_import(const thread_record& thread, const history_input& input, const history_policy& policy);

} // namespace agui::session
