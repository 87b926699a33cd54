#include "runner/base/stop_reason.hpp"

#include <gtest/gtest.h>

namespace agui::runner {
namespace {

TEST(StopReason, IsFoundAgainByItsCode) {
    for (int value = 0; value <= static_cast<int>(stop_reason::error); ++value) {
        const auto reason = static_cast<stop_reason>(value);
        if (class_of(reason) == stop_class::success) {
            EXPECT_EQ(stop_reason_of(error_code(reason)), stop_reason::completed);
        } else {
            EXPECT_EQ(stop_reason_of(error_code(reason)), reason) << error_code(reason);
        }
    }
    EXPECT_EQ(stop_reason_of("what no version has said"), stop_reason::error);
}

} // namespace
} // namespace agui::runner
