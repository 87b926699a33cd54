#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_reader.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace agui::gateway {

// What several tables of the configuration share: limits, checks of texts, and values that several
// of them hold. The read functions record problems with the table.

constexpr std::int64_t day = 86'400; ///< A day in seconds.
constexpr std::int64_t gib = 1LL << 30;

/// True if the text is one or more of A-Z a-z 0-9 and the characters in `besides`.
bool is_word(std::string_view text, std::string_view besides);
/// True if the text holds no control character.
bool is_printable(std::string_view text);

/// Reads an http(s) URL without userinfo and fragment, as it is written. False: it is absent or
/// wrong.
bool read_exact_url(config_reader& table, std::string_view key, std::string& url);
/// The same, without slashes at the end of its path.
void read_url(config_reader& table, std::string_view key, std::string& url);
/// Adds the headers in the key `headers`.
void read_headers(config_reader& table, header_list& headers);

/// Adds the headers in the key `header_env`, whose values come from the environment.
void read_secret_headers(config_reader& table, std::map<std::string, secret>& headers);

/// The value of the environment variable `name`; problems are recorded for `key`.
secret from_environment(config_reader& table, std::string_view key, const std::string& name);
/// Reads a secret from the environment variable or the file that the key `PREFIX_env` or
/// `PREFIX_file` names.
void read_secret(config_reader& table, const std::string& prefix, secret& value);

/// `pass_headers`: names of headers of a run's request that a tool's server gets; in lower case.
void read_passed_headers(config_reader& table, std::vector<std::string>& names);

} // namespace agui::gateway
