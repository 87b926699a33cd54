#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_reader.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace agui::gateway {

// Shared by the tables of the configuration: limits, forms of text, and values that several tables
// hold. The read functions record problems with the table.

constexpr std::int64_t day = 86'400; ///< In seconds.
constexpr std::int64_t gib = 1LL << 30;

/// Whether the text is one or more of A-Z a-z 0-9 and the characters of `besides`.
bool is_word(std::string_view text, std::string_view besides);
/// Whether the text holds no control character.
bool is_printable(std::string_view text);

/// An http(s) URL without userinfo and fragment, as it is written. False: there is none.
bool read_exact_url(config_reader& table, std::string_view key, std::string& url);
/// The same; a trailing slash of its path is removed.
void read_url(config_reader& table, std::string_view key, std::string& url);
/// Adds the headers of the key `headers`.
void read_headers(config_reader& table, header_list& headers);

/// Adds the headers of the key `header_env`, whose values come from the environment.
void read_secret_headers(config_reader& table, std::map<std::string, secret>& headers);

/// The value of the environment variable `name`; problems are `key`'s.
secret from_environment(config_reader& table, std::string_view key, const std::string& name);
/// The value of an environment variable or file named by the keys `PREFIX_env` and `PREFIX_file`.
void read_secret(config_reader& table, const std::string& prefix, secret& value);

} // namespace agui::gateway
