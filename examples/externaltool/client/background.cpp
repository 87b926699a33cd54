#include "background.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace externaltool {

namespace json = boost::json;

namespace {

constexpr std::size_t longest_name = 32;

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_hex(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// rgb(0, 0, 255) as #0000ff: terminals do not know CSS functions.
std::optional<std::string> from_rgb_function(std::string_view text) {
    if (!text.starts_with("rgb(") || !text.ends_with(')')) {
        return std::nullopt;
    }
    text = text.substr(4, text.size() - 5);
    std::array<unsigned char, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        const auto [end, failed] =
            std::from_chars(text.data(), text.data() + text.size(), parts[i]);
        if (failed != std::errc{}) {
            return std::nullopt;
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        const bool last = i + 1 == parts.size();
        if (last ? !text.empty() : !text.starts_with(',')) {
            return std::nullopt;
        }
        text.remove_prefix(last ? 0 : 1);
    }
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "#%02x%02x%02x", parts[0], parts[1], parts[2]);
    return hex.data();
}

// Accepts only harmless characters for a terminal escape: letters, or '#' and hexadecimal digits.
std::optional<std::string> allowed_color(std::string_view text) {
    if (!text.empty() && text.size() <= longest_name && std::ranges::all_of(text, is_letter)) {
        return std::string{text};
    }
    if (text.starts_with('#') && (text.size() == 4 || text.size() == 7) &&
        std::ranges::all_of(text.substr(1), is_hex)) {
        return std::string{text};
    }
    return from_rgb_function(text);
}

} // namespace

json::object background_tool() {
    return json::parse(R"json({
        "name": "change_background",
        "description": "Changes the background colour of what the user is looking at.",
        "parameters": {
            "type": "object",
            "properties": {
                "color": {"type": "string", "description": "A colour name, #rrggbb or rgb(r, g, b)"}
            },
            "required": ["color"]
        }
    })json")
        .as_object();
}

std::string checked_color(std::string_view arguments) {
    boost::system::error_code failed;
    const json::value parsed = json::parse(arguments.empty() ? "{}" : arguments, failed);
    if (failed) {
        throw std::invalid_argument{"the arguments are not JSON"};
    }
    const auto* object = parsed.if_object();
    const auto* color = object == nullptr ? nullptr : object->if_contains("color");
    if (color == nullptr || !color->is_string()) {
        throw std::invalid_argument{"the arguments must be an object with a string \"color\""};
    }
    auto allowed = allowed_color(color->get_string());
    if (!allowed) {
        throw std::invalid_argument{"color must be a name, #rgb, #rrggbb or rgb(r, g, b)"};
    }
    return *std::move(allowed);
}

void change_background(const std::string& color, const std::optional<std::string>& file) {
    if (::isatty(STDOUT_FILENO) == 1) {
        std::cout << "\033]11;" << color << "\033\\"
                  << std::flush; // OSC 11: the terminal's background
    } else {
        std::cout << "background is now " << color << std::endl;
    }
    if (file) {
        std::ofstream out{*file, std::ios::trunc};
        if (!(out << color << '\n' << std::flush)) {
            throw std::runtime_error{"cannot write " + *file};
        }
    }
}

} // namespace externaltool
