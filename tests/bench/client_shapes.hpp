#pragma once

#include "tests/bench/seeded_shape.hpp"

#include <string>

namespace agui::test {

// Bodies that clients send, of about the shape's bytes.

/// A body of POST /agui: a RunAgentInput.
[[nodiscard]] std::string run_input_of(const seeded_shape& shape, unsigned request);
/// A body of POST /chat/stream.
[[nodiscard]] std::string chat_request_of(const seeded_shape& shape);
/// A body of PATCH /agui/threads/{threadId}.
[[nodiscard]] std::string thread_patch_of(const seeded_shape& shape);
/// A body of PATCH /agui/threads/{threadId}/state.
[[nodiscard]] std::string state_of(const seeded_shape& shape);
/// A body of POST /agui/threads/{threadId}/parts.
[[nodiscard]] std::string part_of(const seeded_shape& shape);
/// The head of a GET request, whose target begins with `path`.
[[nodiscard]] std::string head_of(const seeded_shape& shape, const std::string& path);

} // namespace agui::test
