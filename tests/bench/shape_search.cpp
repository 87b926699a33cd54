// Searches for inputs that cost the most CPU or memory, from every side from which the product is
// given any. Prints the ten worst of each side, and all that exceed the limit.
//
//   shape-search [--side NAME] [--count 200] [--seed 1] [--bytes 100000] [--store memory]
//   shape-search --floods yes      known floods of a schema against its arguments
//
// The side is one of those that the program prints, or all. A seed makes the same input each time:
// `--seed 17 --count 1` repeats one. Exit status 1: something exceeded the limit.

#include "tests/bench/arguments.hpp"
#include "tests/bench/input_side.hpp"
#include "tests/bench/schema_floods.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace agui::test {
namespace {

constexpr double ms_max = 20;
constexpr double megabytes_max = 20;
constexpr std::size_t shown = 10;

struct found {
    std::uint32_t seed = 0;
    std::size_t bytes = 0;
    step_cost slowest;
    step_cost largest;
};

found measure(input_side& side, std::uint32_t seed, std::size_t bytes) {
    cost_meter meter;
    found one;
    one.seed = seed;
    one.bytes = side.feed(seed, bytes, meter);
    one.slowest = meter.slowest();
    one.largest = meter.largest();
    if (one.bytes > bytes) { // Some shapes do not exist in every size.
        const double part = static_cast<double>(bytes) / static_cast<double>(one.bytes);
        one.slowest.ms *= part;
        one.largest.megabytes *= part;
    }
    return one;
}

// Other programs disturb a measurement, so the least of three is the cost.
found measure_again(input_side& side, const found& before, std::size_t bytes) {
    found least = before;
    for (int i = 0; i < 2; ++i) {
        const found again = measure(side, before.seed, bytes);
        if (again.slowest.ms < least.slowest.ms) {
            least.slowest = again.slowest;
        }
        if (again.largest.megabytes < least.largest.megabytes) {
            least.largest = again.largest;
        }
    }
    return least;
}

void print(const input_side& side, const found& one) {
    std::printf(
        "  %7.2f ms (%s: %s), %6.2f MB (%s: %s), %zu bytes, %s\n", one.slowest.ms,
        one.slowest.step.c_str(), one.slowest.outcome.c_str(), one.largest.megabytes,
        one.largest.step.c_str(), one.largest.outcome.c_str(), one.bytes,
        side.describe(one.seed).c_str()
    );
}

bool exceeds(const found& one) {
    return one.slowest.ms > ms_max || one.largest.megabytes > megabytes_max;
}

// Measures the first ones of an order again and puts them back into it.
template <class Value>
void print_worst(
    input_side& side, std::vector<found>& all, std::size_t bytes, const char* by, Value value
) {
    const auto worse = [value](const found& left, const found& right) {
        return value(left) > value(right);
    };
    std::ranges::sort(all, worse);
    const auto most = static_cast<std::ptrdiff_t>(std::min(all.size(), 2 * shown));
    for (auto each = all.begin(); each != all.begin() + most; ++each) {
        *each = measure_again(side, *each, bytes);
    }
    std::sort(all.begin(), all.begin() + most, worse);
    std::printf(" the worst by %s:\n", by);
    for (std::size_t i = 0; i < std::min(all.size(), shown); ++i) {
        print(side, all[i]);
    }
}

// Returns the number of shapes that exceed the limit.
std::size_t search(input_side& side, std::uint32_t first, std::uint32_t count, std::size_t bytes) {
    // The first measurement makes things that are kept, which should count for no shape.
    (void)measure(side, 1, 1000);
    std::vector<found> all;
    for (std::uint32_t seed = first; seed < first + count; ++seed) {
        all.push_back(measure(side, seed, bytes));
        if (all.size() % 100 == 0) {
            std::fprintf(stderr, "%s: %zu\n", std::string(side.name()).c_str(), all.size());
        }
    }
    std::printf("%s, %u shapes from seed %u:\n", std::string(side.name()).c_str(), count, first);
    print_worst(side, all, bytes, "CPU", [](const found& one) { return one.slowest.ms; });
    print_worst(side, all, bytes, "memory", [](const found& one) { return one.largest.megabytes; });
    std::size_t above = 0;
    for (found& one : all) {
        if (exceeds(one)) {
            one = measure_again(side, one, bytes);
        }
        if (exceeds(one)) {
            std::printf(above++ == 0 ? " above the limit:\n" : "");
            print(side, one);
        }
    }
    std::fflush(stdout);
    return above;
}

int run(const bench::arguments& given) {
    if (!given.text("--floods", "").empty()) {
        print_schema_floods();
        return 0;
    }
    input_sides sides;
    add_numbered_sides(sides, given.text("--store", "memory"));
    add_mcp_sides(sides);
    add_gateway_sides(sides);
    const std::string wanted = given.text("--side", "all");
    const auto first = static_cast<std::uint32_t>(given.number("--seed", 1, {1, 1'000'000'000}));
    const auto count = static_cast<std::uint32_t>(given.number("--count", 200, {1, 1'000'000}));
    const auto bytes = static_cast<std::size_t>(given.number("--bytes", 100'000, {1, 1 << 30}));
    std::size_t above = 0;
    bool is_known = false;
    for (const auto& side : sides) {
        if (wanted == "all" || wanted == side->name()) {
            is_known = true;
            above += search(*side, first, count, bytes);
        }
    }
    if (!is_known) {
        throw bench::usage_error("there is no side " + wanted);
    }
    std::printf("%zu shapes above %.0f ms or %.0f MB\n", above, ms_max, megabytes_max);
    return above == 0 ? 0 : 1;
}

} // namespace
} // namespace agui::test

int main(int argc, char** argv) {
    try {
        return agui::test::run(
            {argc, argv, {"--side", "--count", "--seed", "--bytes", "--store", "--floods"}}
        );
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
