#pragma once

#include "proto-fixtures/replay/fixture.hpp"
#include "proto-fixtures/replay/recording.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace agui::replay {

/// Plays a fixture's steps in order in this process, and compares. Returns the differences as lines
/// to print; empty if the fixture passes. A run that has not ended after `limit` is ended as by a
/// shutdown, so that the report shows its progress. Errors of the fixture are not thrown. `record`
/// (may be null) gets the runs that ended.
[[nodiscard]] std::vector<std::string> check_fixture(
    const fixture& what, std::chrono::seconds limit = std::chrono::seconds(20),
    recording* record = nullptr
);

} // namespace agui::replay
