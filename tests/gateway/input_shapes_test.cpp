// Counts the work of a request: twice the size must not cost much more than twice the work.

#include "tests/gateway/input_shapes.hpp"

#include "session/base/work_count.hpp"
#include "tests/gateway/input_pipeline.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <string>

namespace agui::test {
namespace {

#ifdef AGUI_VERIFY_EVENTS

std::uint64_t work_of(const input_shape& shape, unsigned size) {
    session::history_policy policy;
    policy.accept_client_system = true;
    policy.mode =
        shape.client_history ? session::history_mode::client : session::history_mode::server;
    input_pipeline pipeline(session::make_memory_store(), policy);
    const std::uint64_t before = work_done;
    for (const std::string& body : bodies_of(shape, size, 3)) {
        (void)pipeline.post(body);
    }
    return work_done - before;
}

// A size large enough to show how the work grows, in bodies of about 100 KB.
unsigned size_of(const input_shape& shape) {
    unsigned size = 40;
    while (size > 5 && bodies_of(shape, size, 1).front().size() > 100'000) {
        size /= 2;
    }
    return size;
}

class InputShape : public ::testing::TestWithParam<input_shape> {};

TEST_P(InputShape, CostsTwiceTheWorkForTwiceTheSize) {
    const unsigned size = size_of(GetParam());
    const std::uint64_t once = work_of(GetParam(), size);
    const std::uint64_t twice = work_of(GetParam(), 2 * size);

    EXPECT_GT(once, 0U);
    EXPECT_LE(static_cast<double>(twice), 2.3 * static_cast<double>(once))
        << once << " steps, and " << twice;
}

INSTANTIATE_TEST_SUITE_P(
    Worst, InputShape, ::testing::ValuesIn(worst_shapes()),
    [](const ::testing::TestParamInfo<input_shape>& info) {
        std::string name;
        for (const char c : info.param.name) {
            name.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
        }
        return name;
    }
);

#endif

} // namespace
} // namespace agui::test
