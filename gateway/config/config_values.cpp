#include "gateway/config/config_values.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace agui::gateway {
namespace {

// Spaces around a secret are a mistake: HTTP drops them, so that the secret would never match.
bool has_spaces_around(std::string_view text) {
    return text.starts_with(' ') || text.ends_with(' ') || text.starts_with('\t') ||
           text.ends_with('\t');
}

// What belongs to one connection or one body says nothing about another.
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

} // namespace

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

bool read_exact_url(config_reader& table, std::string_view key, std::string& url) {
    if (!table.read(key, url)) {
        return false;
    }
    const std::size_t begin = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
    const std::string_view authority =
        std::string_view(url).substr(begin, url.find_first_of("/?", begin) - begin);
    if (begin == 0 || authority.empty() || authority.find('@') != std::string_view::npos ||
        url.find_first_of("# ") != std::string::npos || !is_printable(url)) {
        table.problem(key, "must be an http:// or https:// URL without user and fragment");
        return false;
    }
    return true;
}

void read_url(config_reader& table, std::string_view key, std::string& url) {
    if (!read_exact_url(table, key, url)) {
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

void read_headers(config_reader& table, header_list& headers) {
    std::map<std::string, std::string> found;
    table.read("headers", found);
    for (auto& [name, value] : found) {
        if (!is_word(name, "-_") || !is_printable(value)) {
            table.problem("headers", "holds a name or value that no HTTP header can have");
        }
        headers.emplace_back(name, std::move(value));
    }
}

void read_secret_headers(config_reader& table, std::map<std::string, secret>& headers) {
    std::map<std::string, std::string> names;
    table.read("header_env", names);
    for (const auto& [header, variable] : names) {
        if (!is_word(header, "-_")) {
            table.problem("header_env", "holds a name that no HTTP header can have");
        }
        headers[header] = from_environment(table, "header_env", variable);
    }
}

secret from_environment(config_reader& table, std::string_view key, const std::string& name) {
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

void read_secret(config_reader& table, const std::string& prefix, secret& value) {
    const std::string env_key = prefix + "_env";
    const std::string file_key = prefix + "_file";
    std::string name;
    if (table.read(env_key, name)) {
        value = from_environment(table, env_key, name);
    }
    std::string path;
    if (!table.read(file_key, path)) {
        return;
    }
    if (!name.empty()) {
        table.problem(file_key, "excludes " + env_key);
        return;
    }
    std::ifstream stream(path, std::ios::binary);
    value.file = path;
    value.value.assign(std::istreambuf_iterator<char>(stream), {});
    while (!value.value.empty() && (value.value.back() == '\n' || value.value.back() == '\r')) {
        value.value.pop_back();
    }
    if (value.value.empty() || !is_printable(value.value)) {
        table.problem(file_key, "must be a readable file that holds one line");
    } else if (has_spaces_around(value.value)) {
        table.problem(file_key, "the file has spaces around its value");
    }
}

void read_passed_headers(config_reader& table, std::vector<std::string>& names) {
    table.read("pass_headers", names);
    for (std::string& name : names) {
        name = to_lower(name);
        if (!may_be_passed(name)) {
            table.problem("pass_headers", "holds a name that cannot be passed on");
        }
    }
}

} // namespace agui::gateway
