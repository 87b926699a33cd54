// Secrets, which several tables name.
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigSecret;
using test::load;
using test::minimal;
using test::problem_of;

TEST_F(ConfigSecret, ResolvesSecretsAndNeverPrintsThem) {
    const std::string key_file = write("key", "sk-canary-file\n");

    const config all =
        load(
            minimal,
            {"models.main.api_key_env=AGUI_TEST_KEY", "models.main.headers.x-team=sk-canary-header",
             "models.main.base_url=http://h/v1/?v=sk-canary-1&flag&key=sk-canary-2",
             "models.main.extra_body.key=sk-canary-body",
             "models.main.extra_body.options.key=sk-canary-inner",
             "models.main.extra_body.list=[\"sk-canary-list\"]", "auth.mode=bearer",
             "auth.token_file=" + key_file}
        )
            .value();

    EXPECT_EQ(all.models[0].api_key.value, "sk-canary");
    EXPECT_EQ(all.auth->token.value, "sk-canary-file");
    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("api_key_env = 'AGUI_TEST_KEY'"), std::string::npos) << printed;
    EXPECT_NE(printed.find("options"), std::string::npos) << printed;
    EXPECT_EQ(all.models[0].base_url, "http://h/v1?v=sk-canary-1&flag&key=sk-canary-2");
    EXPECT_NE(printed.find("'http://h/v1?v=***&flag&key=***'"), std::string::npos) << printed;
}

TEST_F(ConfigSecret, TakesNoSpacesAroundASecret) {
    ::setenv("AGUI_TEST_KEY", "sk-canary ", 1);
    EXPECT_EQ(
        problem_of(minimal, {"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY"}),
        "--set: auth.token_env: the environment variable AGUI_TEST_KEY has spaces around its value"
    );
    const std::string file = write("key", " sk-canary-file\n");
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_file=" + file}),
        "--set: models.main.api_key_file: the file has spaces around its value"
    );
}

TEST_F(ConfigSecret, NamesAMissingSecret) {
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_env=AGUI_TEST_ABSENT"}),
        "--set: models.main.api_key_env: the environment variable AGUI_TEST_ABSENT must be set to "
        "one line of text"
    );
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_file=no/such/file"}),
        "--set: models.main.api_key_file: must be a readable file that holds one line"
    );
    EXPECT_EQ(
        problem_of(minimal, {"auth.mode=bearer"}),
        "config: auth.token_env: is missing: name the environment variable that holds the token, "
        "or set token_file"
    );
}

} // namespace
} // namespace agui::gateway
