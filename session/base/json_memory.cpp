#include "session/base/json_memory.hpp"

#include <boost/assert.hpp>

#include <algorithm>
#include <new>

namespace agui {

namespace {

// The budget is changed in steps of this size, because all threads share it.
constexpr std::size_t step_bytes = 64U << 10U;

// Bytes of an allocation with malloc's header, rounded up to malloc's granularity.
std::size_t cost_of(std::size_t bytes) noexcept {
    constexpr std::size_t grain = 16;
    constexpr std::size_t least = 32;
    return std::max(least, (bytes + sizeof(void*) + grain - 1) / grain * grain);
}

} // namespace

json_memory::json_memory(memory_budget* budget, memory_use use) noexcept
    : share_(budget, use, step_bytes) {}

void* json_memory::do_allocate(std::size_t bytes, [[maybe_unused]] std::size_t alignment) {
    if (!share_.grow_to(used_ + cost_of(bytes))) {
        throw memory_refused();
    }
    BOOST_ASSERT(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    void* block = ::operator new(bytes);
    used_ += cost_of(bytes);
    peak_ = std::max(peak_, used_);
    return block;
}

// Boost.JSON 1.81 does not free a block with the alignment it asked for: strings ask for 1.
void json_memory::do_deallocate(void* block, std::size_t bytes, std::size_t /*alignment*/) {
    ::operator delete(block, bytes);
    used_ -= cost_of(bytes);
    if (share_.held() > used_ + 2 * step_bytes) {
        share_.shrink_to(used_ + step_bytes);
    }
}

boost::json::storage_ptr make_json_storage(memory_budget* budget, memory_use use) {
    return boost::json::make_shared_resource<json_memory>(budget, use);
}

std::size_t counted_bytes(const boost::json::storage_ptr& memory) noexcept {
    const auto* const counted = dynamic_cast<const json_memory*>(memory.get());
    return counted == nullptr ? 0 : counted->used();
}

} // namespace agui
