#pragma once

#include "gateway/http/router.hpp"
#include "session/base/clock.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"

#include <cstddef>

namespace agui::gateway {

/// PATCH /agui/threads/{id}/state: the body, any JSON, becomes the state document of the thread;
/// `null` and `{}` clear it. Answers 200 with the state as GET does; 404 for a thread that the
/// principal does not have. A run that is under way goes on with the state that it began with.
/// `store` and `time` outlive the handler; `budget` may be null.
[[nodiscard]] route make_state_route(
    session::store& store, const clock& time, std::size_t max_json_depth,
    memory_budget* budget = nullptr
);

} // namespace agui::gateway
