#pragma once

#include "session/base/memory_budget.hpp"
#include "session/conversation/message.hpp"

#include <vector>

namespace agui::runner {

/// Messages that a run adds to its thread besides those of its model and tools.
struct additions {
    std::vector<session::message> messages = {};
    memory_share memory = {}; ///< Of the media in them, until they are stored.
};

} // namespace agui::runner
