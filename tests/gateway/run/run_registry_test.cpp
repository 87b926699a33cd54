#include "gateway/run/run_registry.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using importance = run_registry::importance;

// How many requests of that kind are admitted in addition to those of `held`, which then has them.
std::size_t admit_all(
    run_registry& registry, importance of,
    std::vector<std::unique_ptr<run_registry::admission>>& held
) {
    for (std::size_t admitted = 0;; ++admitted) {
        auto one = registry.admit(of);
        if (!one) {
            EXPECT_EQ(one.error().code, errc::overloaded);
            return admitted;
        }
        held.push_back(std::move(*one));
    }
}

TEST(RunRegistry, MinorRunsHaveAnEighthOfThePlaces) {
    for (const auto& [most, minor] : {std::pair{16U, 2U}, {7U, 1U}, {1U, 1U}}) {
        run_registry registry({.max_runs = most});
        std::vector<std::unique_ptr<run_registry::admission>> held;
        EXPECT_EQ(admit_all(registry, importance::minor, held), minor);
        EXPECT_EQ(admit_all(registry, importance::usual, held), most - minor);
    }
}

TEST(RunRegistry, MinorRunsTakeNoPlaceOfOthers) {
    run_registry registry({.max_runs = 8});
    std::vector<std::unique_ptr<run_registry::admission>> held;

    EXPECT_EQ(admit_all(registry, importance::usual, held), 8U);
    EXPECT_EQ(admit_all(registry, importance::minor, held), 0U);
    held.pop_back();
    EXPECT_EQ(admit_all(registry, importance::minor, held), 1U);
}

TEST(RunRegistry, AMinorRunHoldsItsPlaceUntilItsEnd) {
    run_registry registry({.max_runs = 8});
    auto request = registry.admit(importance::minor);
    ASSERT_TRUE(request.has_value());
    auto place = (*request)->take_minor_place();
    EXPECT_NE(place, nullptr);

    request->reset(); // The request has become a run.
    EXPECT_FALSE(registry.admit(importance::minor).has_value());
    place.reset();
    EXPECT_TRUE(registry.admit(importance::minor).has_value());
    EXPECT_EQ((*registry.admit())->take_minor_place(), nullptr);
}

} // namespace
} // namespace agui::gateway
