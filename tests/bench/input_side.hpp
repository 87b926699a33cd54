#pragma once

#include "tests/bench/cost_meter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// A side from which the product gets input. Makes inputs of many shapes and passes them through
/// the product's code for that side.
class input_side {
public:
    virtual ~input_side() = default;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Passes the shape of that number, of about `bytes` bytes, through the product. Returns its
    /// size in bytes.
    virtual std::size_t feed(std::uint32_t seed, std::size_t bytes, cost_meter& meter) = 0;
    /// Describes the shape of that number in words.
    [[nodiscard]] virtual std::string describe(std::uint32_t seed) const = 0;
};

using input_sides = std::vector<std::unique_ptr<input_side>>;

/// Adds the request bodies of tests/gateway/input_shapes.hpp, from reading to storing, without a
/// server around them. `store` is `memory` or `sqlite:FOLDER`.
void add_numbered_sides(input_sides& to, const std::string& store);

/// Adds the inputs that clients, model servers, webhooks and MCP servers send to a running gateway.
void add_gateway_sides(input_sides& to);

/// Lists of tools that MCP servers send.
void add_mcp_sides(input_sides& to);

} // namespace agui::test
