// Secrets: which are weak, and what a later reading of a configuration may change.

#include "gateway/config/config.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigAccess : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& content) {
        const std::string path = folder_.file(name);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
        allow(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        return path;
    }

    static void allow(const std::string& path, std::filesystem::perms to) {
        std::filesystem::permissions(path, to);
    }

    /// With a token and a key in files.
    config load(std::vector<std::string> more = {}) {
        std::vector<std::string> overrides{
            "server.max_memory_bytes=1073741824",
            "models.main.provider=openai",
            "models.main.base_url=http://127.0.0.1:4010/v1",
            "models.main.model=m",
            "models.main.api_key_file=" + write("key", key),
            "auth.mode=bearer",
            "auth.token_file=" + write("token", token),
        };
        overrides.insert(overrides.end(), more.begin(), more.end());
        return load_config({.file = {}, .text = {}, .overrides = std::move(overrides)}).value();
    }

    std::string token = "a-token-of-sufficient-length";
    std::string key = "sk-1";

private:
    test::temporary_folder folder_;
};

TEST_F(ConfigAccess, WarnsOfATokenThatCanBeGuessed) {
    EXPECT_THAT(weak_secrets(load()), IsEmpty());
    token = "sixteen-letters!";
    EXPECT_THAT(weak_secrets(load()), IsEmpty());
    token = "fifteen-letters";
    EXPECT_THAT(
        weak_secrets(load()),
        ElementsAre("auth.token_file: the token has fewer than 16 characters and can be guessed")
    );
}

TEST_F(ConfigAccess, WarnsOfFilesThatEverybodyCanRead) {
    using std::filesystem::perms;
    const config all = load();
    allow(all.models.at(0).api_key.file, perms::owner_read | perms::group_read);
    EXPECT_THAT(weak_secrets(all), IsEmpty()) << "a group may be the gateway's own";

    allow(all.auth->token.file, perms::owner_read | perms::others_read);
    allow(all.models.at(0).api_key.file, perms::owner_read | perms::others_read);
    EXPECT_THAT(
        weak_secrets(all),
        ElementsAre(
            "auth.token_file: every user of this machine can read or change the file",
            "models.main.api_key_file: every user of this machine can read or change the file"
        )
    );
}

TEST_F(ConfigAccess, ALaterReadingChangesSecretsAndAuthAlone) {
    const config running = load();
    token = "another-token-of-that-length";
    key = "sk-2";
    const config fresh = load(
        {"server.max_runs=7", "models.main.model=other", "models.more.provider=openai",
         "models.more.base_url=http://h", "models.more.model=m", "agents.0.id=default",
         "agents.0.models=[\"main\"]", "tools.external.0.name=t"}
    );

    const config next = with_secrets_of(running, fresh).value().settings;

    EXPECT_EQ(next.auth->token.value, token);
    EXPECT_EQ(next.models.at(0).api_key.value, "sk-2");
    EXPECT_EQ(print_config(next), print_config(running));
}

TEST_F(ConfigAccess, ALaterReadingMayNotOpenTheDoor) {
    const config running = load({"server.listen=0.0.0.0:8080"});

    config fresh = load();
    fresh.auth.reset();
    const auto without = with_secrets_of(load(), fresh);
    ASSERT_FALSE(without) << "a file that is being written may lack it";
    EXPECT_THAT(without.error().lines, ElementsAre(HasSubstr("auth: the table is missing")));

    fresh.auth.emplace();
    fresh.server.allowed_hosts = {"app.example"};
    EXPECT_FALSE(with_secrets_of(running, fresh))
        << "it is the running server's address, and its allowed_hosts, that count";
}

TEST_F(ConfigAccess, ALaterReadingLeavesTheFirstTokensOfAToolOutAndTakesTheRest) {
    const config running = load({"tools.webhook.0.name=t", "tools.webhook.0.url=http://h/"});
    token = "another-token-of-that-length";
    config fresh = load({"tools.webhook.0.name=t", "tools.webhook.0.url=http://h/"});
    fresh.tools.webhooks.at(0).callers.tokens.resize(1);

    const reread_config next = with_secrets_of(running, fresh).value();

    EXPECT_EQ(next.settings.auth->token.value, token) << "a leaked token is revoked all the same";
    EXPECT_FALSE(next.settings.tools.webhooks.at(0).callers.are_required());
    EXPECT_THAT(
        next.left_out,
        ElementsAre("tools.webhook.t.user_tokens: needs a restart, because there were none")
    );
}

TEST_F(ConfigAccess, TokensOfUsersMayBeRemovedAndComeBack) {
    config running = load({"tools.webhook.0.name=t", "tools.webhook.0.url=http://h/"});
    caller_credentials_config& callers = running.tools.webhooks.at(0).callers;
    const config without = running;
    callers.tokens.resize(1);
    callers.tokens.at(0).user = "ada";
    const config with = running;

    const reread_config removed = with_secrets_of(running, without).value();
    const caller_credentials_config& none = removed.settings.tools.webhooks.at(0).callers;
    EXPECT_THAT(none.tokens, IsEmpty());
    EXPECT_TRUE(none.are_required()) << "the gateway's own do not take their place";

    const reread_config back = with_secrets_of(removed.settings, with).value();
    EXPECT_EQ(back.settings.tools.webhooks.at(0).callers.tokens, callers.tokens);
    EXPECT_THAT(removed.left_out, IsEmpty());
    EXPECT_THAT(back.left_out, IsEmpty());
}

TEST_F(ConfigAccess, TokensOfUsersEndWithTheirTool) {
    config running = load(
        {"tools.webhook.0.name=t", "tools.webhook.0.url=http://h/", "mcp_servers.0.name=s",
         "mcp_servers.0.url=http://h/mcp"}
    );
    running.tools.webhooks.at(0).callers.tokens.resize(1);
    running.tools.mcp_servers.at(0).callers.tokens.resize(1);
    config fresh = running;
    fresh.tools.webhooks.at(0).url = "http://other/";
    fresh.tools.mcp_servers.clear();

    const reread_config next = with_secrets_of(running, fresh).value();

    const webhook_config& hook = next.settings.tools.webhooks.at(0);
    EXPECT_EQ(hook.url, running.tools.webhooks.at(0).url);
    EXPECT_THAT(hook.callers.tokens, IsEmpty());
    EXPECT_TRUE(hook.callers.are_required());
    EXPECT_THAT(next.settings.tools.mcp_servers.at(0).callers.tokens, IsEmpty());
    EXPECT_THAT(
        next.left_out, ElementsAre(
                           HasSubstr("mcp_servers.s: needs a restart, because it was changed"),
                           HasSubstr("tools.webhook.t: needs a restart, because it was changed")
                       )
    );
}

TEST_F(ConfigAccess, ALaterReadingMayNotGiveTheTokenAway) {
    config running = load({"tools.webhook.0.name=t", "tools.webhook.0.url=http://h/"});
    running.auth.reset();
    running.tools.webhooks.at(0).pass_headers = {"authorization"};

    const auto next = with_secrets_of(running, load());

    ASSERT_FALSE(next);
    EXPECT_THAT(next.error().lines, ElementsAre(HasSubstr("X-Upstream-Authorization")));
}

} // namespace
} // namespace agui::gateway
