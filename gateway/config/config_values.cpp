#include "gateway/config/config_values.hpp"

#include "gateway/auth/caller.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace agui::gateway {
namespace {

// Spaces around a secret are a mistake: HTTP drops them, so the secret would never match.
bool has_spaces_around(std::string_view text) {
    return text.starts_with(' ') || text.ends_with(' ') || text.starts_with('\t') ||
           text.ends_with('\t');
}

// The value of the environment variable `name`; problems are recorded for `key`.
secret from_environment(config_table& table, std::string_view key, const std::string& name) {
    secret found;
    found.environment = name;
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0' || !is_printable(value)) {
        table.problem(key, "the environment variable " + name + " must be set to one line of text");
    } else if (has_spaces_around(value)) {
        table.problem(key, "the environment variable " + name + " has spaces around its value");
    } else {
        found.value = value;
    }
    return found;
}

void read_file(config_table& table, const std::string& key, const std::string& path, secret& to) {
    std::ifstream stream(path, std::ios::binary);
    to.file = path;
    to.value.assign(std::istreambuf_iterator<char>(stream), {});
    while (!to.value.empty() && (to.value.back() == '\n' || to.value.back() == '\r')) {
        to.value.pop_back();
    }
    if (to.value.empty() || !is_printable(to.value)) {
        table.problem(key, "must be a readable file that holds one line");
    } else if (has_spaces_around(to.value)) {
        table.problem(key, "the file has spaces around its value");
    }
}

} // namespace

// Headers of one connection or one body must not be passed on with another.
bool may_be_passed(std::string_view name) {
    static constexpr std::array<std::string_view, 12> own = {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "te",
        "transfer-encoding",
        "upgrade"
    };
    return is_word(name, "-_") && std::ranges::find(own, name) == own.end();
}

bool is_word(std::string_view text, std::string_view besides) {
    return !text.empty() && std::ranges::all_of(text, [besides](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               besides.find(c) != std::string_view::npos;
    });
}

bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

std::string masked_url(const std::string& url) {
    std::string result = url.substr(0, url.find('?'));
    for (std::size_t at = result.size(); at < url.size();) {
        const std::size_t end = std::min(url.find('&', at + 1), url.size());
        const std::size_t value = url.find('=', at);
        result += value < end ? url.substr(at, value + 1 - at) + std::string(masked)
                              : url.substr(at, end - at);
        at = end;
    }
    return result;
}

bool exact_url(config_table& table, std::string_view key, std::string& url) {
    std::string text = masked_url(url);
    if (!table.value(key, text)) {
        return false;
    }
    url = std::move(text);
    const std::size_t begin = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
    const std::string_view authority =
        std::string_view(url).substr(begin, url.find_first_of("/?", begin) - begin);
    if (begin == 0 || authority.empty() || authority.find('@') != std::string_view::npos ||
        url.find_first_of("# ") != std::string::npos || !is_printable(url)) {
        table.problem(key, "must be an http:// or https:// URL without a user name or fragment");
        return false;
    }
    return true;
}

void url_value(config_table& table, std::string_view key, std::string& url) {
    if (!exact_url(table, key, url)) {
        return;
    }
    std::string rest;
    if (const std::size_t mark = url.find('?'); mark != std::string::npos) {
        rest = url.substr(mark);
        url.resize(mark);
    }
    while (url.ends_with('/')) {
        url.pop_back();
    }
    url += rest;
}

void headers_value(config_table& table, header_list& headers) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : headers) {
        texts[name] = masked;
    }
    if (!table.value("headers", texts)) {
        return;
    }
    for (auto& [name, value] : texts) {
        if (!is_word(name, "-_") || !is_printable(value)) {
            table.problem("headers", "holds a name or value that is not allowed in an HTTP header");
        }
        headers.emplace_back(name, std::move(value));
    }
}

void secret_headers_value(config_table& table, std::map<std::string, secret>& headers) {
    std::map<std::string, std::string> variables;
    for (const auto& [header, value] : headers) {
        variables[header] = value.environment;
    }
    if (!table.value("header_env", variables)) {
        return;
    }
    for (const auto& [header, variable] : variables) {
        if (!is_word(header, "-_")) {
            table.problem("header_env", "holds a name that is not allowed for an HTTP header");
        }
        headers[header] = from_environment(table, "header_env", variable);
    }
}

void secret_value(config_table& table, const std::string& prefix, secret& value) {
    const std::string env_key = prefix + "_env";
    const std::string file_key = prefix + "_file";
    std::string name = value.environment;
    const bool is_named = table.uses(!name.empty()) && table.value(env_key, name);
    if (is_named) {
        value = from_environment(table, env_key, name);
    }
    std::string path = value.file;
    if (!table.uses(!path.empty()) || !table.value(file_key, path)) {
        return;
    }
    if (is_named) {
        table.problem(file_key, "excludes " + env_key);
        return;
    }
    read_file(table, file_key, path, value);
}

void passed_headers_value(config_table& table, std::vector<std::string>& names) {
    table.value("pass_headers", names);
    for (std::string& name : names) {
        name = to_lower(name);
        if (!may_be_passed(name)) {
            table.problem("pass_headers", "holds the name of a header that cannot be passed on");
        }
    }
}

void caller_name_value(config_table& table, std::string_view key, std::string& name) {
    if (table.value(key, name) && !name.empty() && !is_caller_name(name)) {
        table.problem(key, "must be one line of at most 255 bytes");
    }
}

void client_tools_value(
    config_table& table, std::string_view key, std::optional<std::vector<std::string>>& names
) {
    std::vector<std::string> patterns = names.value_or(std::vector<std::string>());
    if (!table.uses(names.has_value()) || !table.value(key, patterns)) {
        return;
    }
    for (const std::string& pattern : patterns) {
        if (pattern.empty() || !is_printable(pattern)) {
            table.problem(
                key, "must hold names of tools, or the beginning of names with a * at "
                     "the end"
            );
        }
    }
    names = std::move(patterns);
}

void approval_value(config_table& table, runner::approval_rule& rule) {
    using runner::approval_rule;
    table.choice(
        "approval", rule,
        {{"never", approval_rule::never},
         {"destructive", approval_rule::destructive},
         {"always", approval_rule::always}}
    );
}

} // namespace agui::gateway
