// The tables of gateway/config/README.md: keys and defaults are those of the description that reads
// and prints the configuration.
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigSecret;
using test::load;
using test::minimal;

// Every key that is printed only if it is set, or that depends on another one, but no default of
// a model.
const std::vector<std::string> everything{
    "server.static_dir=/tmp",
    "auth.mode=bearer",
    "auth.token_env=AGUI_TEST_KEY",
    "session.store=postgres://agui@db/agui",
    "session.store_password_env=AGUI_TEST_KEY",
    "models.main.api_key_env=AGUI_TEST_KEY",
    "models.main.ca_file=ca.pem",
    "models.main.temperature=1",
    "models.main.max_output_tokens=1",
    "models.main.tool_choice=auto",
    "models.main.parallel_tool_calls=true",
    "models.main.reasoning_effort=low",
    "models.main.top_p=0.5",
    "models.main.stop=[\"END\"]",
    "models.main.seed=1",
    "models.main.extra_body.top_k=3",
    "models.claude.provider=anthropic",
    "models.claude.base_url=http://h",
    "models.claude.model=claude-opus-5-5",
    "models.gpt.provider=responses",
    "models.gpt.base_url=http://h/v1",
    "models.gpt.model=gpt-5.6",
    "models.script.provider=scripted",
    "models.script.script=folder",
    "agents.0.id=default",
    "agents.0.models=[\"main\"]",
    "agents.0.title=model",
    "agents.0.title_model=main",
    "agents.0.client_tools=[\"t\"]",
    "tools.client_names=[\"t\"]",
    "tools.external.0.name=t",
    "tools.webhook.0.name=w",
    "tools.webhook.0.url=http://h/",
    "tools.webhook.0.parameters={\"type\":\"object\"}",
    "mcp_servers.0.name=a",
    "mcp_servers.0.url=http://h/",
    "mcp_servers.0.ca_file=ca.pem",
    "mcp_servers.0.digest=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "mcp_servers.0.user_token_from=X-Token",
    "tools.webhook.0.user_token_from=X-Token",
    "mcp_servers.1.name=b",
    "mcp_servers.1.command=run",
    "mcp_servers.1.cwd=/tmp",
    "models.main.price={ input = 1, output = 1, cached_input = 2 }",
    "quotas.0.per=principal",
    "quotas.0.user=ada",
    "quotas.0.tenant=acme",
    "quotas.0.requests_per_minute=1",
    "quotas.0.runs=1",
    "quotas.0.detached_runs=1",
    "quotas.0.thread_bytes=1",
    "quotas.0.day={ input_tokens = 1, output_tokens = 1, cost = 1 }",
    "quotas.0.month={ input_tokens = 1 }"
};

// Other modes of [auth], each with keys of its own.
const std::vector<std::vector<std::string>> other_modes{
    {"auth.mode=proxy", "auth.group_scopes.staff=run"},
    {"auth.mode=jwt", "auth.issuer=https://id.example", "auth.audience=agui",
     "auth.jwks_url=https://id.example/keys"},
    {"auth.mode=bearer", "auth.tokens.0.name=ada", "auth.session.secret_env=AGUI_TEST_LONG_KEY",
     "auth.tokens.0.tenant=acme", "auth.tokens.0.token_env=AGUI_TEST_KEY",
     "auth.tokens.0.scopes=[\"run\"]", "auth.tokens.0.expires=\"2027-01-31\""},
};

// `everything` without its secrets, and with `instead`.
std::vector<std::string> everything_but_secrets(const std::vector<std::string>& instead) {
    std::vector<std::string> overrides = everything;
    std::erase_if(overrides, [](const std::string& each) {
        return each.ends_with("=AGUI_TEST_KEY");
    });
    overrides.insert(overrides.end(), instead.begin(), instead.end());
    return overrides;
}

std::string without(std::string text, std::string_view unwanted) {
    std::erase_if(text, [&](char c) { return unwanted.find(c) != std::string_view::npos; });
    return text;
}

std::vector<std::string> split(std::string_view text) {
    constexpr std::string_view separator = ", ";
    std::vector<std::string> parts;
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), parts.back().size() + separator.size()));
    }
    return parts;
}

struct readme_row {
    std::string table; ///< As in the table's head, such as "[[agents]]".
    std::vector<std::string> keys;
    std::string defaults; ///< Without the backticks.
};

// The rows with keys. Keys of [[tools.external]] and [[tools.webhook]] are in their row's text.
std::vector<readme_row> readme_rows() {
    std::ifstream stream(AGUI_CONFIG_README);
    std::vector<readme_row> rows;
    std::string table;
    for (std::string line; std::getline(stream, line);) {
        if (!line.starts_with("| `")) {
            continue;
        }
        const std::size_t first_end = line.find(" |");
        const std::string first = without(line.substr(2, first_end - 2), "`");
        if (first.starts_with("[[tools.")) {
            continue;
        }
        if (first.starts_with('[')) {
            table = first;
            continue;
        }
        const std::size_t second = first_end + 2;
        std::string defaults = without(line.substr(second, line.find('|', second) - second), "`");
        defaults.erase(0, defaults.find_first_not_of(' '));
        defaults.erase(defaults.find_last_not_of(' ') + 1);
        rows.push_back({table, split(first), std::move(defaults)});
    }
    return rows;
}

// The text of this room's README that describes a table.
std::string described(const std::string& table) {
    std::ifstream stream(AGUI_CONFIG_README);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const std::size_t begin = text.find("\n| `" + table + "` |");
    return begin == std::string::npos ? std::string()
                                      : text.substr(begin, text.find("\n\n", begin) - begin);
}

// "tools.webhook" is described with "[tools]", "models.main" with "[models.NAME]".
std::string table_of(const std::string& section) {
    if (section == "auth.session") {
        return "[" + section + "]";
    }
    const std::string root = section.substr(0, section.find('.'));
    if (root == "agents" || root == "mcp_servers" || root == "quotas") {
        return "[[" + root + "]]";
    }
    return root == "models" ? "[models.NAME]" : "[" + root + "]";
}

// The key path of a key in a table of the README.
std::string path_of(const std::string& table, const std::string& key) {
    const std::string name = table == "[models.NAME]" ? "models.main" : without(table, "[]");
    return name + (table.starts_with("[[") ? ".0." : ".") + key;
}

// The keys of a printed configuration with their values, written as in the README, by table. Of a
// key that is printed twice, the first value.
using printed_keys = std::map<std::string, std::map<std::string, std::string>>;

void add_printed(const config& all, printed_keys& to) {
    std::istringstream printed(print_config(all));
    std::string section;
    for (std::string line; std::getline(printed, line);) {
        const bool is_array = line.find("[[") != std::string::npos;
        line.erase(0, line.find_first_not_of(" ["));
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos) {
            section = line.substr(0, line.find(']'));
            // A key may be a table, such as `headers`.
            const std::size_t dot = section.rfind('.');
            const bool is_model = section.starts_with("models.") && section.find('.') == dot;
            const bool has_rows = is_model || table_of(section) == "[" + section + "]";
            if (dot != std::string::npos && !is_array && !has_rows) {
                to[table_of(section)].emplace(section.substr(dot + 1), "");
            }
            continue;
        }
        if (section.empty() || section.ends_with(".extra_body") ||
            section.ends_with(".group_scopes")) {
            continue;
        }
        std::string value = without(line.substr(equals + 3), " ");
        std::ranges::replace(value, '\'', '"');
        to[table_of(section)].emplace(line.substr(0, equals), std::move(value));
    }
}

// False for words, such as "half of the available memory".
bool is_value(const std::string& text) {
    return text == "true" || text == "false" || text.starts_with('"') || text.starts_with('[') ||
           (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
}

TEST_F(ConfigSecret, EveryKeyThatCanBePrintedIsDescribed) {
    const std::string file = write("secret", "sk-canary-file");
    printed_keys printed;
    std::vector<std::vector<std::string>> all_instead = other_modes;
    all_instead.push_back(
        {"auth.token_env=AGUI_TEST_KEY", "session.store_password_env=AGUI_TEST_KEY",
         "models.main.api_key_env=AGUI_TEST_KEY"}
    );
    all_instead.push_back(
        {"auth.token_file=" + file, "session.store_password_file=" + file,
         "models.main.api_key_file=" + file}
    );
    for (const auto& instead : all_instead) {
        const auto all = load(minimal, everything_but_secrets(instead));
        ASSERT_TRUE(all) << all.error().lines.front();
        add_printed(*all, printed);
    }

    EXPECT_EQ(printed.size(), 11U);
    std::size_t keys = 0;
    for (const auto& [table, values] : printed) {
        for (const auto& [key, value] : values) {
            EXPECT_NE(described(table).find("`" + key + "`"), std::string::npos)
                << table << " " << key;
        }
        keys += values.size();
    }
    EXPECT_GT(keys, 130U);
}

TEST(ConfigReadme, DescribesNoOtherKey) {
    const std::vector<readme_row> rows = readme_rows();
    EXPECT_GT(rows.size(), 90U);
    for (const readme_row& row : rows) {
        for (const std::string& key : row.keys) {
            const std::string path = path_of(row.table, key);
            const auto all = load(minimal, {path + "=wrong"});
            for (const std::string& problem :
                 all ? std::vector<std::string>() : all.error().lines) {
                EXPECT_EQ(problem.find("unknown key"), std::string::npos) << problem;
            }
        }
    }
}

TEST_F(ConfigSecret, EveryDefaultIsTheDescribedOne) {
    printed_keys printed;
    std::vector<std::vector<std::string>> all_overrides{{}, everything};
    for (const auto& instead : other_modes) {
        all_overrides.push_back(everything_but_secrets(instead));
    }
    for (const auto& overrides : all_overrides) { // The first one has most of the defaults.
        const auto all = load(minimal, overrides);
        ASSERT_TRUE(all) << all.error().lines.front();
        add_printed(*all, printed);
    }

    std::size_t compared = 0;
    for (const readme_row& row : readme_rows()) {
        const std::vector<std::string> defaults = split(row.defaults);
        if (!std::ranges::all_of(defaults, is_value)) {
            continue;
        }
        ASSERT_EQ(defaults.size(), row.keys.size()) << row.table << " " << row.keys.front();
        for (std::size_t i = 0; i < defaults.size(); ++i, ++compared) {
            EXPECT_EQ(printed[row.table][row.keys[i]], defaults[i])
                << row.table << " " << row.keys[i];
        }
    }
    EXPECT_GT(compared, 90U);
}

} // namespace
} // namespace agui::gateway
