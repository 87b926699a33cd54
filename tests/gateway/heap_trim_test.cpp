#include "gateway/heap_trim.hpp"
#include "tests/support/patience.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AGUI_OTHER_ALLOCATOR
#endif
#endif

namespace agui::gateway {
namespace {

[[maybe_unused]] std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Must run before other tests, because the heap may later use its own free memory instead of a
// mapping.
TEST(HeapTrim, LargeBlocksAreGivenBackAtOnce) {
#if defined(AGUI_OTHER_ALLOCATOR) || !defined(__GLIBC__)
    GTEST_SKIP() << "the allocator is not glibc's";
#else
    const heap_trim subject;
    constexpr std::size_t block_bytes = 16U << 20U;
    const auto block = [=] {
        return std::make_unique<std::vector<char>>(block_bytes, 'x');
    };
    std::vector<std::unique_ptr<std::vector<char>>> blocks;
    blocks.push_back(block());
    // From here on, the library would keep blocks of that size without the fixed threshold.
    blocks.clear();
    const std::size_t before = resident_bytes();
    std::vector<std::unique_ptr<std::vector<char>>> between;
    for (int i = 0; i < 4; ++i) {
        blocks.push_back(block());
        between.push_back(std::make_unique<std::vector<char>>(4096, 'x'));
    }
    EXPECT_GE(resident_bytes(), before + 4 * block_bytes);

    blocks.clear();

    EXPECT_LE(resident_bytes(), before + block_bytes);
#endif
}

TEST(HeapTrim, ReturnsPagesBetweenPiecesInUse) {
#if defined(AGUI_OTHER_ALLOCATOR) || !defined(__GLIBC__)
    GTEST_SKIP() << "the allocator is not glibc's";
#else
    constexpr std::size_t pieces = 16'384;
    constexpr std::size_t piece_bytes = 4096;
    const heap_trim subject({.period = std::chrono::milliseconds(5), .least = 1U << 20U});
    std::vector<std::unique_ptr<std::vector<char>>> all;
    for (std::size_t i = 0; i < pieces; ++i) {
        all.push_back(std::make_unique<std::vector<char>>(piece_bytes, 'x'));
    }
    const std::size_t before = resident_bytes();
    for (std::size_t i = 0; i < pieces; ++i) {
        if (i % 64 != 0) {
            all[i].reset();
        }
    }

    // Most of the 64 MB must be returned.
    const auto deadline = std::chrono::steady_clock::now() + test::patience;
    while (resident_bytes() + (40U << 20U) > before && std::chrono::steady_clock::now() < deadline
    ) {
        std::this_thread::yield();
    }
    EXPECT_LE(resident_bytes() + (40U << 20U), before);
#endif
}

} // namespace
} // namespace agui::gateway
