#pragma once

#include "tests/bench/seeded_shape.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::test {

// Answers of the servers that the product asks, as bytes of HTTP, of about the shape's bytes.

/// Seeds up to this one are floods that were written by hand.
inline constexpr std::uint32_t model_floods = 12;

/// A stream of a model's answer.
[[nodiscard]] std::string model_answer_of(const seeded_shape& shape);
/// A webhook's answer.
[[nodiscard]] std::string webhook_answer_of(const seeded_shape& shape);
/// An MCP server's answer to tools/call, or to tools/list; `id` is the request's, as JSON.
[[nodiscard]] std::string mcp_result_of(const seeded_shape& shape, std::string_view id);
[[nodiscard]] std::string mcp_list_of(const seeded_shape& shape, std::string_view id);

/// A whole HTTP answer.
[[nodiscard]] std::string http_answer(std::string_view content_type, std::string_view body);

} // namespace agui::test
