#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_table.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

// Shared by several tables of the configuration: limits, checks of texts, and functions that read
// or print common values.

constexpr std::int64_t day = 86'400; ///< A day in seconds.
constexpr std::int64_t gib = 1LL << 30;

/// True if the text is one or more of A-Z a-z 0-9 and the characters in `besides`.
bool is_word(std::string_view text, std::string_view besides);
/// True if the text holds no control character.
bool is_printable(std::string_view text);

/// The URL with the values of its query masked: they may be secrets.
std::string masked_url(const std::string& url);
/// An http(s) URL without userinfo and fragment, kept as written. Returns false if it was not read.
bool exact_url(config_table& table, std::string_view key, std::string& url);
/// The same, without slashes at the end of its path.
void url_value(config_table& table, std::string_view key, std::string& url);
/// The headers in the key `headers`, whose values are masked.
void headers_value(config_table& table, header_list& headers);
/// The headers in the key `header_env`, whose values come from the environment.
void secret_headers_value(config_table& table, std::map<std::string, secret>& headers);

/// A secret from the environment variable or the file that the key `PREFIX_env` or `PREFIX_file`
/// names.
void secret_value(config_table& table, const std::string& prefix, secret& value);

/// `pass_headers`: names of headers of a run's request that a tool's server gets; in lower case.
void passed_headers_value(config_table& table, std::vector<std::string>& names);

/// True if requests to a tool server may have a header of that name, in lower case, that is not the
/// server's or the connection's own.
[[nodiscard]] bool may_be_passed(std::string_view name);

/// A tenant or a user.
void caller_name_value(config_table& table, std::string_view key, std::string& name);

/// `user_tokens`, `user_token_from` and `user_token_as`: the callers' credentials for a tool
/// server.
void caller_credentials_value(config_table& table, caller_credentials_config& callers);

/// Patterns for the names of the tools that clients may offer; nullopt if the key is absent.
void client_tools_value(
    config_table& table, std::string_view key, std::optional<std::vector<std::string>>& names
);

/// `approval`: the calls that a person has to approve.
void approval_value(config_table& table, runner::approval_rule& rule);

} // namespace agui::gateway
