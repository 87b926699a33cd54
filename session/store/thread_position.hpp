#pragma once

#include "session/conversation/thread.hpp"

#include <cstdint>

namespace agui::session {

/// The position of a thread in the tables of a store, read in the transaction that changes it.
struct thread_position {
    std::int64_t thread = 0;
    thread_size size;
    std::uint64_t version = 0;
    std::uint64_t event_count = 0;
    std::uint64_t bytes = 0;  ///< Bytes of its messages and documents.
    document_sizes documents; ///< The documents' part of `bytes`.
};

} // namespace agui::session
