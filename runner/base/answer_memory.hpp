#pragma once

#include "session/base/memory_budget.hpp"

#include <cstddef>

namespace agui::runner {

/// Counts the buffered part of a server's answer against a budget until this object is destroyed.
/// Sizes of up to 4 KB are not counted, so that tokens change no counter. Used by one thread at a
/// time.
class answer_memory {
public:
    /// `budget` may be null; otherwise it must outlive this object.
    explicit answer_memory(memory_budget* budget) noexcept;

    /// Sets the size of what the reader keeps, in all its copies, to `bytes`. Returns false if the
    /// budget has no room for it; the size counted before then stays.
    [[nodiscard]] bool keep(std::size_t bytes) noexcept;

private:
    memory_share share_;
};

} // namespace agui::runner
