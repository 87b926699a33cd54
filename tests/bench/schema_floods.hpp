#pragma once

namespace agui::test {

/// Prints what floods of a schema against its arguments cost.
void print_schema_floods();

} // namespace agui::test
