// The tables of proto-fixtures/README.md: each fixture has its row, and each row its fixture.
#include "proto-fixtures/replay/fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace agui::replay {
namespace {

/// The names in the first column of the tables of fixtures.
std::vector<std::string> listed_fixtures() {
    std::ifstream stream(std::filesystem::path(PROTO_FIXTURES_DIR) / "README.md");
    std::vector<std::string> names;
    bool is_listed = false;
    for (std::string line; std::getline(stream, line);) {
        is_listed = line.starts_with("| fixture |") || (is_listed && line.starts_with('|'));
        if (is_listed && line.starts_with("| `")) {
            names.push_back(line.substr(3, line.find('`', 3) - 3));
        }
    }
    std::ranges::sort(names);
    return names;
}

TEST(FixturesReadme, ListsEachFixture) {
    std::vector<std::string> names;
    for (const std::filesystem::path& folder : find_fixtures(PROTO_FIXTURES_DIR)) {
        names.push_back(folder.filename().string());
    }
    std::ranges::sort(names);

    EXPECT_GT(names.size(), 290U);
    EXPECT_EQ(listed_fixtures(), names);
}

} // namespace
} // namespace agui::replay
