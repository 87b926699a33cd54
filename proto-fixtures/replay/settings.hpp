#pragma once

#include "proto-fixtures/replay/fixture.hpp"
#include "proto-fixtures/replay/json_reader.hpp"

namespace agui::replay {

/// The members `config`, `externalTools` and `serverTools` of a fixture.
[[nodiscard]] fixture_settings read_settings(json_reader& in);

} // namespace agui::replay
