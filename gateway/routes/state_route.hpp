#pragma once

#include "gateway/http/router.hpp"
#include "gateway/routes/input_parser.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <cstdint>

namespace agui::gateway {

/// PATCH /agui/threads/{id}/state: the body, any JSON, becomes the state document of the thread;
/// `null` and `{}` clear it. Answers 200 with the state as GET does; 404 for a thread that the
/// principal does not have; 413 for a state with which the thread would take more than
/// `max_thread_bytes`, unless it is smaller than the one before. A run that is under way goes on
/// with the state that it began with. `store`, `time` and `parser` outlive the handler.
[[nodiscard]] route make_state_route(
    session::store& store, const clock& time, input_parser& parser, std::uint64_t max_thread_bytes
);

} // namespace agui::gateway
