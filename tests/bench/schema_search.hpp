#pragma once

#include <cstddef>
#include <cstdint>

namespace agui::test {

/// Prints what the known shapes of schemas and arguments cost, and the ten worst of that many
/// random ones, each of about that many bytes.
void search_schemas(std::uint32_t shapes, std::size_t bytes);

/// Prints what floods of a schema against its arguments cost.
void print_schema_floods();

} // namespace agui::test
