#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/control/thread_lines.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <memory>

namespace agui::gateway {

/// The lines of one thread as the body of a reply. Attachments are read from the store one at a
/// time; one that has expired meanwhile is left out. If the store fails, the reader is cut off.
/// `from` and `heavy`, which may be null, must outlive it.
[[nodiscard]] std::unique_ptr<event_source>
make_copy_source(session::store& from, heavy_work* heavy, copied_thread thread);

} // namespace agui::gateway
