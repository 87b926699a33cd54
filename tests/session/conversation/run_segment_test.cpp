#include "session/conversation/run_segment.hpp"

#include "session/base/id.hpp"

#include <gtest/gtest.h>

namespace agui::session {
namespace {

TEST(RunSegment, TheFirstHasTheClientsId) {
    EXPECT_EQ(segment_id("r", 1), "r");
    EXPECT_EQ(segment_of("r").number, 1U);
    EXPECT_EQ(client_run_id("r"), "r");
    EXPECT_EQ(first_number("r"), 0U);
}

TEST(RunSegment, LaterOnesHaveAnIdThatNoClientCanSend) {
    for (const std::uint32_t number : {2U, 3U, 10U, 4'000'000'000U}) {
        const std::string id = segment_id("r", number);
        EXPECT_FALSE(is_sound_id(id));
        EXPECT_EQ(segment_of(id).number, number);
        EXPECT_EQ(client_run_id(id), "r");
        EXPECT_EQ(first_number(id), (number - 1) * std::uint64_t{1'000'000'000});
    }
}

TEST(RunSegment, AnythingElseIsAnId) {
    for (const std::string id :
         {"", "\x1f", "r\x1f",
          "r\x1f"
          "1",
          "r\x1f"
          "0",
          "r\x1f"
          "x",
          "r\x1f"
          "2x",
          "r\x1f"
          "99999999999",
          "\x1f"
          "a"}) {
        EXPECT_EQ(client_run_id(id), id);
        EXPECT_EQ(segment_of(id).number, 1U);
    }
}

} // namespace
} // namespace agui::session
