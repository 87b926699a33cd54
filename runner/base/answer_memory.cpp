#include "runner/base/answer_memory.hpp"

#include "session/base/heavy_work.hpp"

namespace agui::runner {

namespace {

// That much for each of 10 000 streams is little.
constexpr std::size_t uncounted_bytes = 4096;

// The budget is changed in steps of this size, because all threads share it.
constexpr std::size_t step_bytes = 64U << 10U;

} // namespace

answer_memory::answer_memory(memory_budget* budget) noexcept
    : share_(budget, memory_use::small, step_bytes) {}

bool answer_memory::keep(std::size_t bytes) noexcept {
    const std::size_t counted = bytes <= uncounted_bytes ? 0 : bytes;
    if (counted <= share_.held()) {
        share_.shrink_to(counted);
        return true;
    }
    share_.set_use(use_of(counted));
    return share_.grow_to(counted);
}

} // namespace agui::runner
