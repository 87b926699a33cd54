#pragma once

#include "session/base/memory_budget.hpp"

#include <cstddef>

namespace agui::runner {

/// Counts what is buffered of a server's answer against a budget, until this object is destroyed. A
/// few KB are not counted, so that tokens change no counter. Used by one thread at a time.
class answer_memory {
public:
    /// `budget` may be null; otherwise it must outlive this object.
    explicit answer_memory(memory_budget* budget) noexcept;

    /// The reader keeps `bytes` now, in all its copies. False: there is no room for more than
    /// before.
    [[nodiscard]] bool keep(std::size_t bytes) noexcept;

private:
    memory_share share_;
};

} // namespace agui::runner
