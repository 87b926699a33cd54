#include "translator/agui/projected_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> seen_by(projection form) {
    projected_events events(form);
    events.on_event({.json = "a", .v1_0 = "a10", .undeclared = "a-", .terminal = false});
    events.on_event({.json = "b", .v1_0 = std::nullopt, .undeclared = "", .terminal = false});
    events.on_event(
        {.json = "c", .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = true}
    );
    return events.take();
}

TEST(ProjectedEvents, AreThoseOfTheProjection) {
    EXPECT_THAT(seen_by(projection::v1_1), ElementsAre("a", "b", "c"));
    EXPECT_THAT(seen_by(projection::v1_0), ElementsAre("a10", "b", "c"));
    EXPECT_THAT(seen_by(projection::undeclared), ElementsAre("a-", "c"));
}

} // namespace
} // namespace agui::translator
