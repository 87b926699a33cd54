#pragma once

#include "gateway/config/config.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {

/// The smallest configuration that serves.
inline constexpr const char* minimal = R"(
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:4010/v1"
model = "gpt-test"
)";

inline gateway::config_result<gateway::config>
load(const std::string& text, std::vector<std::string> overrides = {}) {
    return gateway::load_config({.file = {}, .text = text, .overrides = std::move(overrides)});
}

/// The only problem of a configuration; fails the test if it has none or several.
inline std::string problem_of(const std::string& text, std::vector<std::string> overrides = {}) {
    const auto loaded = load(text, std::move(overrides));
    if (loaded) {
        ADD_FAILURE() << "accepted: " << text;
        return {};
    }
    EXPECT_EQ(loaded.error().lines.size(), 1U) << text;
    return loaded.error().lines.front();
}

class ConfigFile : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& content) {
        const std::string path = folder_.file(name);
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }

private:
    temporary_folder folder_;
};

class ConfigSecret : public ConfigFile {
protected:
    ConfigSecret() {
        ::setenv("AGUI_TEST_KEY", "sk-canary", 1);
        ::setenv("AGUI_TEST_LONG_KEY", "sk-canary-of-more-than-thirty-two-bytes", 1);
        ::unsetenv("AGUI_TEST_ABSENT");
    }
    ~ConfigSecret() override {
        ::unsetenv("AGUI_TEST_KEY");
        ::unsetenv("AGUI_TEST_LONG_KEY");
    }
};

} // namespace agui::test
