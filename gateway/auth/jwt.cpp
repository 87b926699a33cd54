#include "gateway/auth/jwt.hpp"

#include "session/base/ascii.hpp"
#include "session/base/base64url.hpp"
#include "session/base/json_events.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

constexpr std::size_t jwt_depth_max = 8;
/// Keys without a matching id that are tried for a token without `kid`.
constexpr int tried_keys_max = 8;
/// The year 33658: later times are no dates, and would overflow.
constexpr double date_max = 1e12;

constexpr std::string_view malformed = "The token is not a signed JWT of a supported form.";

struct key_count : unread_json {
    std::size_t names = 0;
    bool on_key(text_view /*last*/, std::size_t /*size*/, error_code& /*ec*/) {
        ++names;
        return true;
    }
};

std::size_t members_of(const json::value& value) {
    std::size_t count = 0;
    if (const json::object* const object = value.if_object()) {
        count = object->size();
        for (const auto& [name, each] : *object) {
            count += members_of(each);
        }
    } else if (const json::array* const array = value.if_array()) {
        for (const json::value& each : *array) {
            count += members_of(each);
        }
    }
    return count;
}

/// A JSON object in base64url. Nothing if a name occurs twice in an object: parsers differ about
/// which one counts (RFC 7515, 4; RFC 7519, 4).
std::optional<json::object> object_in(std::string_view encoded) {
    const auto text = decode_base64url(encoded);
    if (!text) {
        return std::nullopt;
    }
    const json_limits limits{.max_depth = jwt_depth_max};
    auto value = parse_json(*text, limits);
    json_event_reader<key_count> names(limits);
    if (!value || !value->is_object() || names.read(*text) ||
        names.handler().names != members_of(*value)) {
        return std::nullopt;
    }
    return std::move(value->get_object());
}

struct jwt_parts {
    jws_algorithm algorithm{};
    std::optional<std::string> key_id;
    std::string_view signed_text;
    std::string_view claims; ///< In base64url.
    std::string signature;
};

bool has_right_form(const json::object& header) {
    if (header.contains("crit")) { // It names extensions that must be understood; none is.
        return false;
    }
    const json::value* const type = header.if_contains("typ");
    if (type == nullptr) {
        return true;
    }
    if (!type->is_string()) {
        return false;
    }
    std::string_view name = type->get_string();
    constexpr std::string_view prefix = "application/"; // May be left out (RFC 7515, 4.1.9).
    if (name.size() > prefix.size() && equal_ignoring_case(name.substr(0, prefix.size()), prefix)) {
        name.remove_prefix(prefix.size());
    }
    return equal_ignoring_case(name, "jwt") || equal_ignoring_case(name, "at+jwt");
}

std::optional<jwt_parts> split(std::string_view token, const jwt_rules& rules) {
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (token.size() > jwt_bytes_max || first == std::string_view::npos || first == last ||
        std::ranges::count(token, '.') != 2) {
        return std::nullopt;
    }
    const auto header = object_in(token.substr(0, first));
    auto signature = decode_base64url(token.substr(last + 1));
    if (!header || !signature || !has_right_form(*header)) {
        return std::nullopt;
    }
    const json::value* const name = header->if_contains("alg");
    const auto algorithm = name != nullptr && name->is_string()
                               ? jws_algorithm_named(name->get_string())
                               : std::nullopt;
    if (!algorithm || std::ranges::find(rules.algorithms, *algorithm) == rules.algorithms.end()) {
        return std::nullopt;
    }
    jwt_parts parts;
    parts.algorithm = *algorithm;
    if (const json::value* const id = header->if_contains("kid")) {
        if (!id->is_string()) {
            return std::nullopt;
        }
        parts.key_id.emplace(id->get_string());
    }
    parts.signed_text = token.substr(0, last);
    parts.claims = token.substr(first + 1, last - first - 1);
    parts.signature = std::move(*signature);
    return parts;
}

enum class verdict { right, wrong, unknown };

verdict verify(const jwt_parts& parts, const key_set& keys) {
    verdict found = verdict::unknown;
    int tried = 0;
    for (const verification_key& each : keys.keys) {
        if (each.algorithm() != parts.algorithm || (parts.key_id && each.id() != *parts.key_id)) {
            continue;
        }
        if (tried++ == tried_keys_max) {
            break;
        }
        if (each.verifies(parts.signed_text, parts.signature)) {
            return verdict::right;
        }
        // Without an id, the right key may be in a newer set.
        found = parts.key_id ? verdict::wrong : verdict::unknown;
    }
    return found;
}

const json::value* claim_in(const json::object& claims, std::string_view name) {
    if (const json::value* const found = claims.if_contains(name)) {
        return found;
    }
    const std::size_t dot = name.find('.');
    const json::value* const outer =
        dot == std::string_view::npos ? nullptr : claims.if_contains(name.substr(0, dot));
    return outer != nullptr && outer->is_object()
               ? claim_in(outer->get_object(), name.substr(dot + 1))
               : nullptr;
}

/// Whether a claim is missing, a date, or something else.
struct date_claim {
    bool is_missing = false;
    std::optional<unix_ms> at{};
};

date_claim date_in(const json::object& claims, std::string_view name) {
    const json::value* const found = claims.if_contains(name);
    if (found == nullptr) {
        return {.is_missing = true};
    }
    boost::system::error_code other;
    const auto seconds = found->is_number() ? found->to_number<double>(other) : -1.0;
    if (other || !(seconds >= 0) || seconds > date_max) {
        return {};
    }
    return {.at = static_cast<unix_ms>(std::floor(seconds * 1000))};
}

bool is_for(const json::object& claims, const std::vector<std::string>& audiences) {
    const auto is_one = [&audiences](const json::value& each) {
        return each.is_string() && std::ranges::any_of(audiences, [&](const std::string& one) {
                   return each.get_string() == one;
               });
    };
    const json::value* const found = claims.if_contains("aud");
    return found != nullptr &&
           (found->is_array() ? std::ranges::any_of(found->get_array(), is_one) : is_one(*found));
}

bool read_name_claim(const json::object& claims, std::string_view claim, std::string& into) {
    const json::value* const found = claim_in(claims, claim);
    if (found == nullptr || !found->is_string() || !is_caller_name(found->get_string())) {
        return false;
    }
    into = found->get_string();
    return true;
}

void add_scopes(const json::object& claims, std::string_view claim, scope_set& to) {
    // Otherwise a claim with the empty name would count.
    const json::value* const found = claim.empty() ? nullptr : claim_in(claims, claim);
    if (found == nullptr) {
        return;
    }
    if (found->is_string()) {
        to.add_list(found->get_string());
    } else if (found->is_array()) {
        for (const json::value& each : found->get_array()) {
            if (each.is_string()) {
                to.add(each.get_string());
            }
        }
    }
}

jwt_outcome caller_in(const json::object& claims, const jwt_rules& rules, unix_ms now) {
    const unix_ms leeway = rules.leeway.count();
    const date_claim end = date_in(claims, "exp");
    const date_claim begin = date_in(claims, "nbf");
    const date_claim made_at = date_in(claims, "iat");
    if (!end.at || (!begin.is_missing && !begin.at) || (!made_at.is_missing && !made_at.at)) {
        return jwt_refused{"The token has no valid exp, or an invalid nbf or iat."};
    }
    if (now >= *end.at + leeway) {
        return jwt_refused{"The token has expired."};
    }
    if (begin.at.value_or(0) > now + leeway || made_at.at.value_or(0) > now + leeway) {
        return jwt_refused{"The token is not valid yet."};
    }
    const json::value* const issuer = claims.if_contains("iss");
    if (issuer == nullptr || !issuer->is_string() || issuer->get_string() != rules.issuer) {
        return jwt_refused{"The token is from another issuer."};
    }
    if (!is_for(claims, rules.audiences)) {
        return jwt_refused{"The token is for another audience."};
    }
    caller made;
    if (!read_name_claim(claims, rules.user_claim, made.user) ||
        (!rules.tenant_claim.empty() && !read_name_claim(claims, rules.tenant_claim, made.tenant)
        )) {
        return jwt_refused{"The token names no user, or no tenant."};
    }
    made.principal = principal_of(made.tenant, made.user);
    made.scopes = rules.scopes;
    add_scopes(claims, rules.scope_claim, made.scopes);
    made.expires = *end.at + leeway;
    return made;
}

} // namespace

jwt_outcome
check_jwt(std::string_view token, const key_set& keys, const jwt_rules& rules, unix_ms now) {
    const auto parts = split(token, rules);
    if (!parts) {
        return jwt_refused{malformed};
    }
    switch (verify(*parts, keys)) {
    case verdict::unknown:
        return jwt_key_unknown{};
    case verdict::wrong:
        return jwt_refused{"The token's signature is wrong."};
    case verdict::right:
        break;
    }
    const auto claims = object_in(parts->claims);
    if (!claims) {
        return jwt_refused{malformed};
    }
    return caller_in(*claims, rules, now);
}

} // namespace agui::gateway
