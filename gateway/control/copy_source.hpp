#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/control/thread_lines.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"

#include <memory>

namespace agui::gateway {

/// The lines of one thread as the body of a reply. Attachments are read from the store one at a
/// time; one that has expired meanwhile is left out. `kept` is the memory of the thread, and grows
/// by that of the lines. If it has no room, or if the store fails, the reader is cut off. `from`
/// and `heavy`, which may be null, must outlive the source.
[[nodiscard]] std::unique_ptr<event_source>
make_copy_source(session::store& from, heavy_work* heavy, memory_share kept, copied_thread thread);

} // namespace agui::gateway
