#include "gateway/auth/caller.hpp"
#include "gateway/auth/key_set.hpp"
#include "gateway/config/config_sections.hpp"
#include "gateway/config/config_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

namespace agui::gateway {
namespace {

/// The number that a text of digits stands for; nullopt for any other text.
std::optional<int> digits(std::string_view text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    const bool all = problem == std::errc{} && rest == end && !text.starts_with('-');
    return all ? std::optional(number) : std::nullopt;
}

/// A day, `2027-01-31`, of which it is the first moment, or a time, `2027-01-31T08:00:00Z`.
std::optional<unix_ms> moment_of(std::string_view text) {
    constexpr std::size_t day_size = 10;
    constexpr std::size_t time_size = 20;
    if ((text.size() != day_size && text.size() != time_size) || text[4] != '-' || text[7] != '-') {
        return std::nullopt;
    }
    const auto year = digits(text.substr(0, 4));
    const auto month = digits(text.substr(5, 2));
    const auto day_of_month = digits(text.substr(8, 2));
    if (!year || !month || !day_of_month) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{
        std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
        std::chrono::day(static_cast<unsigned>(*day_of_month))
    };
    std::chrono::seconds of_day{0};
    if (text.size() == time_size) {
        const auto hour = digits(text.substr(11, 2));
        const auto minute = digits(text.substr(14, 2));
        const auto second = digits(text.substr(17, 2));
        if (text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z' || !hour ||
            !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
            return std::nullopt;
        }
        of_day = std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                 std::chrono::seconds(*second);
    }
    if (!date.ok()) {
        return std::nullopt;
    }
    const std::chrono::sys_time<std::chrono::milliseconds> at =
        std::chrono::sys_days(date) + of_day;
    return at.time_since_epoch().count();
}

void read_scope_list(config_table& table, std::vector<std::string>& scopes) {
    table.value("scopes", scopes);
    scope_set known;
    for (const std::string& each : scopes) {
        if (!known.add(each)) {
            table.problem(
                "scopes", "holds \"" + each +
                              "\", but a scope is run, read, delete, approve, admin or "
                              "agents:ID:run"
            );
        }
    }
}

void describe_token(config_table& table, token_config& token) {
    caller_name_value(table, "name", token.name);
    if (!table.is_printed() && token.name.empty()) {
        table.problem("name", "is missing: it is the user whose token this is");
    }
    if (table.uses(!token.tenant.empty())) {
        caller_name_value(table, "tenant", token.tenant);
    }
    secret_value(table, "token", token.token);
    if (!table.is_printed() && !table.has("token_env") && !table.has("token_file")) {
        table.problem("token_file", "is missing: name the file that holds the token, or token_env");
    }
    read_scope_list(table, token.scopes);
    if (table.uses(!token.expires.empty()) && table.value("expires", token.expires)) {
        token.expires_at = moment_of(token.expires);
        if (!token.expires_at) {
            table.problem("expires", "must be like \"2027-01-31\" or \"2027-01-31T08:00:00Z\"");
        }
    }
}

void read_header_name(config_table& table, std::string_view key, std::string& name) {
    if (table.value(key, name) && !name.empty() && !is_word(name, "-_")) {
        table.problem(key, "must be the name of an HTTP header");
    }
}

void describe_proxy_headers(config_table& table, auth_config& auth) {
    read_header_name(table, "user_header", auth.user_header);
    if (auth.user_header.empty()) {
        table.problem("user_header", "must not be empty");
    }
    read_header_name(table, "tenant_header", auth.tenant_header);
    read_header_name(table, "groups_header", auth.groups_header);
    table.value("group_scopes", auth.group_scopes);
    for (const auto& [group, list] : auth.group_scopes) {
        scope_set known;
        if (const auto unknown = known.add_list(list)) {
            table.problem(
                "group_scopes", "gives the group \"" + group + "\" the unknown scope \"" +
                                    std::string(*unknown) + "\""
            );
        } else if (known.empty()) {
            table.problem("group_scopes", "gives no scope to the group \"" + group + "\"");
        }
    }
}

bool is_cleartext_to_others(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme)) {
        return false;
    }
    url.remove_prefix(scheme.size());
    return std::ranges::none_of(
        std::array<std::string_view, 3>{"127.0.0.1", "[::1]", "localhost"},
        [url](std::string_view host) {
            const std::string_view rest = url.substr(std::min(host.size(), url.size()));
            return url.starts_with(host) && (rest.empty() || rest[0] == ':' || rest[0] == '/');
        }
    );
}

void read_key_file(config_table& table, auth_config& auth) {
    std::ifstream stream(auth.jwks_file, std::ios::binary);
    auth.jwks.assign(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open()) {
        table.problem("jwks_file", "cannot be read");
        return;
    }
    std::error_code unreadable;
    const auto allowed = std::filesystem::status(auth.jwks_file, unreadable).permissions();
    if (!unreadable &&
        (allowed & std::filesystem::perms::others_write) != std::filesystem::perms::none) {
        table.problem(
            "jwks_file",
            "every user of this machine can change the file, which decides which tokens are valid"
        );
    }
    if (const auto keys = parse_key_set(auth.jwks); !keys) {
        table.problem("jwks_file", "the file " + keys.error().detail);
    }
}

void read_keys(config_table& table, auth_config& auth) {
    if (table.uses(!auth.jwks_url.empty())) {
        if (exact_url(table, "jwks_url", auth.jwks_url) && is_cleartext_to_others(auth.jwks_url)) {
            table.problem(
                "jwks_url", "must begin with https:// unless the host is this machine, because "
                            "the keys decide which tokens are valid"
            );
        }
    }
    table.value("jwks_ca_file", auth.jwks_ca_file);
    if (table.uses(!auth.jwks_file.empty()) && table.value("jwks_file", auth.jwks_file)) {
        read_key_file(table, auth);
    }
    if (auth.kind == auth_config::mode::jwt && auth.jwks_url.empty() == auth.jwks_file.empty()) {
        table.problem("jwks_url", "set either this or jwks_file: the keys of the issuer");
    }
}

void describe_jwt(config_table& table, auth_config& auth) {
    read_keys(table, auth);
    table.value("issuer", auth.issuer);
    if (table.has_text("audience")) {
        table.value("audience", auth.audience.emplace_back());
    } else {
        table.value("audience", auth.audience);
    }
    const bool is_used = auth.kind == auth_config::mode::jwt;
    if (is_used && auth.issuer.empty()) {
        table.problem(
            "issuer", "is missing: the iss of the tokens, such as \"https://id.example\""
        );
    }
    const bool is_named = std::ranges::find(auth.audience, "") == auth.audience.end();
    if (is_used && (auth.audience.empty() || !is_named)) {
        table.problem("audience", "is missing: an aud of the tokens that are for this gateway");
    }
    table.value("algorithms", auth.algorithms);
    if (auth.algorithms.empty() || !std::ranges::all_of(auth.algorithms, [](const auto& each) {
            return jws_algorithm_named(each).has_value();
        })) {
        table.problem("algorithms", "must hold some of RS256, ES256 and EdDSA");
    }
    table.time("leeway_seconds", auth.leeway, 0, 600);
    table.value("user_claim", auth.user_claim);
    if (auth.user_claim.empty()) {
        table.problem("user_claim", "must not be empty");
    }
    table.value("tenant_claim", auth.tenant_claim);
    table.value("scope_claim", auth.scope_claim);
}

void describe_session_cookies(config_table& table, auth_session_config& session) {
    table.value("enabled", session.enabled);
    secret_value(table, "secret", session.key);
    const std::string& key = session.key.value;
    const std::string_view named = session.key.file.empty() ? "secret_env" : "secret_file";
    if (!key.empty() && key.size() < session_cookies::secret_bytes_min) {
        table.problem(
            named, "must hold at least 32 bytes, such as those of `openssl rand -hex 32`"
        );
    }
    table.time("seconds", session.life, 1, day);
    table.choice(
        "same_site", session.site,
        {{"lax", same_site::lax}, {"strict", same_site::strict}, {"none", same_site::none}}
    );
}

/// The keys of one mode are errors in all others.
void refuse_keys(
    config_table& table, std::initializer_list<std::string_view> keys, std::string_view modes
) {
    for (const std::string_view key : keys) {
        if (table.has(key)) {
            table.problem(key, "needs mode = " + std::string(modes));
        }
    }
}

// Two tokens of one user are fine: one replaces the other without a gap.
void check_tokens(config_table& table, const auth_config& auth) {
    std::set<std::string_view> values{auth.token.value};
    for (const token_config& each : auth.tokens) {
        if (!each.token.value.empty() && !values.insert(each.token.value).second) {
            table.problem("tokens", "\"" + each.name + "\" has the same token as another one");
        }
    }
}

} // namespace

void describe_auth(config_table& table, auth_config& auth) {
    using mode = auth_config::mode;
    if (!table.has("mode")) {
        table.problem("mode", "is missing: must be \"bearer\", \"jwt\", \"proxy\" or \"none\"");
    }
    table.choice(
        "mode", auth.kind,
        {{"bearer", mode::bearer}, {"jwt", mode::jwt}, {"proxy", mode::proxy}, {"none", mode::none}}
    );
    secret_value(table, "token", auth.token);
    if (table.uses(!auth.tokens.empty())) {
        table.tables("tokens", auth.tokens, describe_token);
    }
    if (table.uses(auth.kind == mode::proxy || auth.kind == mode::jwt)) {
        read_scope_list(table, auth.scopes);
    }
    if (table.uses(auth.kind == mode::proxy)) {
        describe_proxy_headers(table, auth);
    }
    if (table.uses(auth.kind == mode::jwt)) {
        describe_jwt(table, auth);
    }
    const bool has_sessions = auth.kind == mode::bearer || auth.kind == mode::jwt;
    if (table.uses(has_sessions)) {
        table.table("session", auth.session, describe_session_cookies);
    }
    if (!has_sessions) {
        refuse_keys(table, {"session"}, "\"bearer\" or \"jwt\"");
    }
    const bool named = table.has("token_env") || table.has("token_file");
    if (auth.kind == mode::bearer && !named && auth.tokens.empty()) {
        table.problem(
            "token_env",
            "is missing: name the environment variable that holds the token, or set token_file"
        );
    }
    if (auth.kind == mode::none && named) {
        table.problem("mode", "\"none\" does not use a token: remove token_env and token_file");
    } else if (auth.kind != mode::bearer) {
        refuse_keys(table, {"token_env", "token_file", "tokens"}, "\"bearer\"");
    }
    if (auth.kind != mode::proxy) {
        refuse_keys(
            table, {"user_header", "tenant_header", "groups_header", "group_scopes"}, "\"proxy\""
        );
    }
    if (auth.kind != mode::jwt) {
        refuse_keys(
            table,
            {"jwks_url", "jwks_ca_file", "jwks_file", "issuer", "audience", "algorithms",
             "leeway_seconds", "user_claim", "tenant_claim", "scope_claim"},
            "\"jwt\""
        );
        if (auth.kind != mode::proxy) {
            refuse_keys(table, {"scopes"}, "\"jwt\" or \"proxy\"");
        }
    }
    check_tokens(table, auth);
}

void describe_audit(config_table& table, audit_config& audit) { table.value("file", audit.file); }

void describe_access_log(config_table& table, access_log_config& log) {
    table.value("file", log.file);
    table.choice(
        "format", log.form, {{"combined", access_form::combined}, {"json", access_form::json}}
    );
}

} // namespace agui::gateway
