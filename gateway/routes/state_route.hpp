#pragma once

#include "gateway/http/router.hpp"
#include "gateway/routes/input_parser.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <cstdint>

namespace agui::gateway {

/// PATCH /agui/threads/{threadId}/state: the body, any JSON value, replaces the state document of
/// the thread; `null` removes it. Answers 200 with the state, as GET does; 404 if the principal has
/// no such thread; 413 if the thread would exceed `max_thread_bytes` and the new state is larger
/// than the old one. An active run keeps its initial state. `store`, `time` and `parser` must
/// outlive the handler.
[[nodiscard]] route make_state_route(
    session::store& store, const clock& time, input_parser& parser, std::uint64_t max_thread_bytes
);

} // namespace agui::gateway
