#pragma once

#include "session/base/memory_budget.hpp"

#include <boost/json/memory_resource.hpp>
#include <boost/json/storage_ptr.hpp>

#include <cstddef>

namespace agui {

/// Memory for JSON values that counts against a budget, allocator overhead included, for as long as
/// the values live. An allocation that the budget has no room for throws memory_refused. The values
/// that share an object of this class are used by one thread at a time; they may move to another
/// thread only together.
class json_memory final : public boost::json::memory_resource {
public:
    explicit json_memory(memory_budget* budget, memory_use use = memory_use::ordinary) noexcept;

    /// The bytes that the values take now.
    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    /// The highest value of used() so far.
    [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    memory_share share_;
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

/// A new json_memory, shared by the values made with it. Without a budget (null) nothing is
/// refused; otherwise the budget must outlive them.
[[nodiscard]] boost::json::storage_ptr
make_json_storage(memory_budget* budget, memory_use use = memory_use::ordinary);

/// The bytes that the values in this storage take, with all others that share it. 0 if nothing
/// counts them.
[[nodiscard]] std::size_t counted_bytes(const boost::json::storage_ptr& memory) noexcept;

} // namespace agui
