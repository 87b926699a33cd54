#include "session/prompt/prompt_template.hpp"

#include "session/base/contains.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace agui::session {

namespace {

constexpr std::string_view opening = "{{";
constexpr std::string_view closing = "}}";
constexpr std::string_view literal = "{{{{";
constexpr std::string_view prop_prefix = "forwardedProps.";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// True if the name can be quoted in an error message.
bool is_name(std::string_view text) {
    constexpr std::size_t longest = 128;
    return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_' || c == '-' || c == '.';
    });
}

// The length of the control character or line separator at the start of `text`; 0 if there is none.
std::size_t control_length(std::string_view text) noexcept {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x20 || byte == 0x7f) {
        return 1;
    }
    if (byte == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0) {
        return 2; // U+0080 to U+009F
    }
    if (text.starts_with("\xe2\x80\xa8") || text.starts_with("\xe2\x80\xa9")) {
        return 3; // LINE SEPARATOR, PARAGRAPH SEPARATOR
    }
    return 0;
}

std::string time_text(unix_ms at, bool with_clock) {
    using namespace std::chrono;
    const sys_seconds second = floor<seconds>(sys_time<milliseconds>(milliseconds(at)));
    const sys_days day = floor<days>(second);
    const year_month_day date(day);
    const hh_mm_ss clock(second - day);
    std::array<char, 40> text{};
    const int length = std::snprintf(
        text.data(), text.size(), with_clock ? "%04d-%02u-%02uT%02d:%02d:%02dZ" : "%04d-%02u-%02u",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count())
    );
    return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

failure wrong(std::string detail) { return {errc::invalid_input, std::move(detail), {}}; }

std::string known_names(const std::vector<std::string>& props) {
    std::string names = "time, date, user, agent, thread";
    for (const std::string& prop : props) {
        names.append(", ").append(prop_prefix).append(prop);
    }
    return names;
}

} // namespace

std::string prompt_value(std::string_view text) {
    std::string value;
    while (!text.empty()) {
        if (const std::size_t control = control_length(text); control > 0) {
            if (value.size() == prompt_value_max) {
                break;
            }
            value.push_back(' ');
            text.remove_prefix(control);
            continue;
        }
        std::size_t length = 1;
        while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80) {
            ++length;
        }
        if (value.size() + length > prompt_value_max) {
            break;
        }
        value.append(text.substr(0, length));
        text.remove_prefix(length);
    }
    return value;
}

const std::array<std::pair<std::string_view, prompt_template::part::kind>, 5>
    prompt_template::value_names{{
        {"time", part::kind::time},
        {"date", part::kind::date},
        {"user", part::kind::user},
        {"agent", part::kind::agent},
        {"thread", part::kind::thread},
    }};

result<prompt_template::part>
prompt_template::placeholder(std::string_view name, const std::vector<std::string>& props) {
    const auto* const known =
        std::ranges::find(value_names, name, [](const auto& each) { return each.first; });
    if (known != value_names.end()) {
        return part{known->second, {}};
    }
    if (name.starts_with(prop_prefix)) {
        const std::string_view prop = name.substr(prop_prefix.size());
        if (contains(props, prop)) {
            return part{part::kind::prop, std::string(prop)};
        }
    }
    return wrong("holds {{" + std::string(name) + "}}, which is not one of " + known_names(props));
}

void prompt_template::append_text(std::string_view text) {
    if (text.empty()) {
        return;
    }
    if (parts_.empty() || parts_.back().what != part::kind::text) {
        parts_.emplace_back();
    }
    parts_.back().text.append(text);
}

result<prompt_template>
prompt_template::parse(std::string_view text, const std::vector<std::string>& props) {
    prompt_template made;
    std::size_t line = 1;
    while (!text.empty()) {
        const std::size_t start = std::min(text.find(opening), text.size());
        line += static_cast<std::size_t>(std::ranges::count(text.substr(0, start), '\n'));
        made.append_text(text.substr(0, start));
        text.remove_prefix(start);
        if (text.starts_with(literal)) {
            made.append_text(opening);
            text.remove_prefix(literal.size());
            continue;
        }
        if (text.empty()) {
            break;
        }
        text.remove_prefix(opening.size());
        const std::size_t end = text.find(closing);
        const std::string_view name = trimmed(text.substr(0, end));
        if (end == std::string_view::npos || !is_name(name)) {
            return wrong(
                "has a {{ in line " + std::to_string(line) +
                " that does not begin a {{name}} (for a literal {{, write {{{{)"
            );
        }
        auto found = placeholder(name, props);
        if (!found) {
            return found.error();
        }
        made.parts_.push_back(std::move(*found));
        text.remove_prefix(end + closing.size());
    }
    return made;
}

bool prompt_template::constant() const noexcept {
    return std::ranges::all_of(parts_, [](const part& each) {
        return each.what == part::kind::text;
    });
}

bool prompt_template::tells_time() const noexcept {
    return std::ranges::any_of(parts_, [](const part& each) {
        return each.what == part::kind::time || each.what == part::kind::date;
    });
}

std::string prompt_template::value_of(const part& each, const prompt_values& values) {
    switch (each.what) {
    case part::kind::text:
        return each.text;
    case part::kind::user:
        return prompt_value(values.user);
    case part::kind::agent:
        return prompt_value(values.agent);
    case part::kind::thread:
        return prompt_value(values.thread);
    case part::kind::time:
    case part::kind::date:
        return time_text(values.time, each.what == part::kind::time);
    case part::kind::prop:
        break;
    }
    const auto* value = values.props == nullptr ? nullptr : values.props->if_contains(each.text);
    const auto* given = value == nullptr ? nullptr : value->if_string();
    return given == nullptr ? std::string() : prompt_value(std::string_view(*given));
}

std::string prompt_template::render(const prompt_values& values) const {
    std::string text;
    for (const part& each : parts_) {
        text.append(value_of(each, values));
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> prompt_template::told(const prompt_values& values
) const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const part& each : parts_) {
        std::string name;
        for (const auto& [known, kind] : value_names) {
            name = kind == each.what ? std::string(known) : std::move(name);
        }
        if (each.what == part::kind::prop) {
            name = std::string(prop_prefix) + each.text;
        }
        const bool is_known =
            std::ranges::any_of(all, [&](const auto& one) { return one.first == name; });
        if (!name.empty() && !is_known) {
            all.emplace_back(std::move(name), value_of(each, values));
        }
    }
    return all;
}

} // namespace agui::session
