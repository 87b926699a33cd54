#include "gateway/auth/caller.hpp"

#include "runner/base/utf8.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

void append_escaped(std::string& out, std::string_view name) {
    for (const char c : name) {
        if (c == '%') {
            out.append("%25");
        } else if (c == '/') {
            out.append("%2F");
        } else {
            out.push_back(c);
        }
    }
}

std::string unescaped(std::string_view text) {
    constexpr std::size_t escape_size = 3; // %25 or %2F
    std::string out;
    while (!text.empty()) {
        const bool is_escape = text.front() == '%' && text.size() >= escape_size;
        out.push_back(is_escape ? (text[1] == '2' && text[2] == 'F' ? '/' : '%') : text.front());
        text.remove_prefix(is_escape ? escape_size : 1);
    }
    return out;
}

// U+0000 to U+001F, U+007F to U+009F, and the line and paragraph separators, of valid UTF-8: logs
// and other programs would show a second line or hide a part.
bool holds_control(std::string_view text) noexcept {
    constexpr std::string_view line_separator = "\xE2\x80\xA8";
    constexpr std::string_view paragraph_separator = "\xE2\x80\xA9";
    unsigned char before = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0)) {
            return true;
        }
        before = byte;
    }
    return text.find(line_separator) != std::string_view::npos ||
           text.find(paragraph_separator) != std::string_view::npos;
}

failure unreadable_caller() { return {errc::invalid_input, "is not a valid caller", {}, {}}; }

bool read_name(const json::object& from, std::string_view name, std::string& into) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr || !found->is_string()) {
        return false;
    }
    into = found->get_string();
    return into.empty() || is_caller_name(into);
}

bool read_scopes(const json::object& from, scope_set& into) {
    const json::value* const found = from.if_contains("scopes");
    return found != nullptr && found->is_array() &&
           std::ranges::all_of(found->get_array(), [&into](const json::value& each) {
               return each.is_string() && into.add(each.get_string());
           });
}

} // namespace

bool is_caller_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= caller_name_max && runner::is_utf8(text) &&
           !holds_control(text);
}

std::string principal_of(std::string_view tenant, std::string_view user) {
    std::string out;
    if (!tenant.empty()) {
        append_escaped(out, tenant);
        out.push_back('/');
    }
    append_escaped(out, user);
    return out;
}

caller_name name_of(std::string_view principal) {
    const std::size_t slash = principal.find('/');
    if (slash == std::string_view::npos) {
        return {{}, unescaped(principal)};
    }
    return {unescaped(principal.substr(0, slash)), unescaped(principal.substr(slash + 1))};
}

const std::shared_ptr<const caller>& everybody() {
    static const std::shared_ptr<const caller> all =
        std::make_shared<const caller>(caller{.scopes = scope_set::everything()});
    return all;
}

std::string write_caller(const caller& who) {
    json::array scopes;
    for (const std::string& each : who.scopes.texts()) {
        scopes.emplace_back(each);
    }
    json::object out{{"tenant", who.tenant}, {"user", who.user}, {"scopes", std::move(scopes)}};
    if (who.expires) {
        out["expires"] = *who.expires;
    }
    return json::serialize(out);
}

result<std::shared_ptr<const caller>> read_caller(std::string_view text) {
    const auto value = parse_json(text, {.max_depth = 2});
    if (!value || !value->is_object()) {
        return unreadable_caller();
    }
    const json::object& from = value->get_object();
    caller read;
    if (!read_name(from, "tenant", read.tenant) || !read_name(from, "user", read.user) ||
        !read_scopes(from, read.scopes)) {
        return unreadable_caller();
    }
    if (const json::value* const expires = from.if_contains("expires")) {
        if (!expires->is_int64()) {
            return unreadable_caller();
        }
        read.expires = expires->get_int64();
    }
    read.principal = principal_of(read.tenant, read.user);
    return std::make_shared<const caller>(std::move(read));
}

} // namespace agui::gateway
