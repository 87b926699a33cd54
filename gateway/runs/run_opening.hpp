#pragma once

#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"

#include <string>
#include <string_view>

namespace agui::gateway {

/// RUN_STARTED as JSON, in each projection.
struct run_opening_forms {
    std::string v1_1;
    std::string v1_0;
    std::string undeclared;
};

/// The beginning of the stream of a run whose own was lost, as the run itself had written it, but
/// for the time.
[[nodiscard]] run_opening_forms
write_opening(std::string_view thread_id, const session::run_record& run, unix_ms now);

/// The one for the reader that the run was begun by.
[[nodiscard]] const std::string&
opening_for_first_reader(const run_opening_forms& forms, const session::run_record& run);

} // namespace agui::gateway
