#pragma once

#include "session/history/history_plan.hpp"

namespace agui::session {

/// The part of plan_history for requests whose input is the history: the first one of a thread, and
/// every one where `policy.mode` is client.
[[nodiscard]] result<history_plan>
plan_import(const thread_record& thread, const history_input& input, const history_policy& policy);

} // namespace agui::session
