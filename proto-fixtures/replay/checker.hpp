#pragma once

#include "proto-fixtures/replay/fixture.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace agui::replay {

/// Plays a fixture in this process, its steps in order, and compares. Returns what differs, line by
/// line, ready to be printed; empty: the fixture passes. A run that has not ended after `limit` is
/// ended (as a shutdown ends it), so that the report shows how far it came. Throws nothing that the
/// fixture causes.
[[nodiscard]] std::vector<std::string>
check_fixture(const fixture& what, std::chrono::seconds limit = std::chrono::seconds(20));

} // namespace agui::replay
