#include "gateway/auth/session_cookie.hpp"

#include "gateway/auth/secret_digest.hpp"
#include "session/base/base64url.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace {

// A browser accepts a cookie with this prefix only if it is Secure, for the whole host, and set by
// the host itself (RFC 6265bis, 4.1.3.2).
constexpr std::string_view secure_name = "__Host-agui-session";
constexpr std::string_view plain_name = "agui-session";

/// Calls `visit` with the text, the name and the value of each cookie in a header Cookie.
template <class Visitor>
void for_each_cookie(std::string_view header, Visitor visit) {
    while (!header.empty()) {
        const std::size_t end = std::min(header.find(';'), header.size());
        std::string_view cookie = header.substr(0, end);
        cookie.remove_prefix(std::min(cookie.find_first_not_of(" \t"), cookie.size()));
        cookie = cookie.substr(0, cookie.find_last_not_of(" \t") + 1);
        const std::size_t equals = std::min(cookie.find('='), cookie.size());
        if (!cookie.empty()) {
            visit(
                cookie, cookie.substr(0, equals), cookie.substr(std::min(equals + 1, cookie.size()))
            );
        }
        header.remove_prefix(std::min(end + 1, header.size()));
    }
}

std::optional<std::string_view>
cookie_named(std::string_view wanted, const presented_head& head) noexcept {
    std::optional<std::string_view> found;
    for (const auto& [header, text] : head.headers) {
        if (header != "cookie") {
            continue;
        }
        for_each_cookie(text, [&](auto /*cookie*/, std::string_view name, std::string_view value) {
            if (name == wanted) {
                found = found ? std::string_view() : value;
            }
        });
    }
    return found;
}

auth_error not_a_session() {
    return {auth_error::kind::invalid, "The session cookie is not valid."};
}

/// The text up to the next separator, removed from `from`; nullopt if there is none.
std::optional<std::string_view> take_until(char separator, std::string_view& from) {
    const std::size_t end = from.find(separator);
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view taken = from.substr(0, end);
    from.remove_prefix(end + 1);
    return taken;
}

std::string_view name_of(same_site site) noexcept {
    switch (site) {
    case same_site::strict:
        return "Strict";
    case same_site::lax:
        return "Lax";
    case same_site::none:
        break;
    }
    return "None";
}

} // namespace

std::string session_cookies::signature(std::string_view text) const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (HMAC(
            EVP_sha256(), settings_.secret.data(), static_cast<int>(settings_.secret.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size
        ) == nullptr) {
        throw std::runtime_error("a session could not be signed");
    }
    return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string session_cookies::credential_of(std::initializer_list<std::string_view> texts) const {
    std::string all = "credential";
    for (const std::string_view each : texts) { // With its length, so that no two lists are equal.
        all.append(" ").append(std::to_string(each.size())).append(":").append(each);
    }
    return encode_base64url(signature(all));
}

std::optional<session_cookies::begun> session_cookies::begin(const caller& who, unix_ms now) const {
    const auto after = [now](std::chrono::milliseconds time) {
        return now + time.count();
    };
    begun made;
    made.who = who;
    made.who.expires = std::min(who.expires.value_or(after(longest)), after(longest));
    made.ends = std::min(*made.who.expires, after(settings_.life));
    const std::string content = encode_base64url(
        std::to_string(made.ends) + " " + who.credential + " " + write_caller(made.who)
    );
    made.value = content + "." + encode_base64url(signature("session " + content));
    if (secure_name.size() + made.value.size() > bytes_max) {
        return std::nullopt;
    }
    return made;
}

std::optional<std::string_view> session_cookies::find(const presented_head& head) noexcept {
    const auto secure = cookie_named(secure_name, head);
    return secure || !head.plain_loopback ? secure : cookie_named(plain_name, head);
}

boost::system::result<caller, auth_error>
session_cookies::read(std::string_view value, unix_ms now) const {
    if (value.size() > bytes_max) {
        return not_a_session();
    }
    std::string_view rest = value;
    const auto content = take_until('.', rest);
    const auto given = content ? decode_base64url(rest) : std::nullopt;
    if (!given || !same_secret(*given, signature("session " + std::string(*content)))) {
        return not_a_session();
    }
    const auto bytes = decode_base64url(*content);
    std::string_view text = bytes ? std::string_view(*bytes) : std::string_view();
    const auto end = take_until(' ', text);
    const auto credential = take_until(' ', text);
    const auto who = read_caller(text);
    unix_ms ends = 0;
    if (!end || !credential || credential->empty() || !who ||
        std::from_chars(end->data(), end->data() + end->size(), ends).ec != std::errc{}) {
        return not_a_session();
    }
    if (now >= ends) {
        return auth_error{
            auth_error::kind::missing, "The session has ended: begin another one with a token."
        };
    }
    caller remembered = **who;
    remembered.credential = *credential;
    return remembered;
}

std::string session_cookies::attributes(bool is_secure, std::chrono::milliseconds life) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(life).count();
    std::string text = "; Path=/; Max-Age=" + std::to_string(seconds) + "; HttpOnly; SameSite=";
    return text.append(name_of(settings_.site)).append(is_secure ? "; Secure" : "");
}

std::string
session_cookies::set_cookie(const begun& session, bool plain_loopback, unix_ms now) const {
    // Browsers ignore SameSite=None without Secure.
    const bool is_secure = !plain_loopback || settings_.site == same_site::none;
    std::string text(is_secure ? secure_name : plain_name);
    return text.append("=")
        .append(session.value)
        .append(attributes(is_secure, std::chrono::milliseconds(session.ends - now)));
}

std::vector<std::string> session_cookies::clear_cookies(bool plain_loopback) const {
    using std::chrono::milliseconds;
    std::vector<std::string> all{
        std::string(secure_name).append("=").append(attributes(true, milliseconds(0)))
    };
    if (plain_loopback) {
        all.push_back(std::string(plain_name).append("=").append(attributes(false, milliseconds(0)))
        );
    }
    return all;
}

void remove_session_cookies(std::vector<presented_head::header>& headers) {
    for (auto& [header, text] : headers) {
        if (header != "cookie") {
            continue;
        }
        std::string others;
        for_each_cookie(text, [&others](std::string_view cookie, std::string_view name, auto) {
            if (name != secure_name && name != plain_name) {
                others.append(others.empty() ? "" : "; ").append(cookie);
            }
        });
        text = std::move(others);
    }
    std::erase_if(headers, [](const auto& each) {
        return each.first == "cookie" && each.second.empty();
    });
}

} // namespace agui::gateway
