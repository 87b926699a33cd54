#include "gateway/server_impl.hpp"

#include "gateway/config/config_access.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace agui::gateway {

namespace {

bool has_same_keys(const auth_config& next, const std::optional<auth_config>& present) {
    return present && next.jwks_url == present->jwks_url &&
           next.jwks_ca_file == present->jwks_ca_file;
}

// Of both readings, which have the same tools.
bool has_same_tokens(const tools_config& next, const tools_config& present) {
    const auto same = [](const auto& left, const auto& right) {
        return left.callers.tokens == right.callers.tokens;
    };
    return std::ranges::equal(next.webhooks, present.webhooks, same) &&
           std::ranges::equal(next.mcp_servers, present.mcp_servers, same);
}

} // namespace

void server::impl::warn_of_settings() {
    for (const std::string& line : warnings_of(settings)) {
        log.log(log_level::warning, "the configuration needs attention", {{"problem", line}});
    }
}

server::impl::provider_list server::impl::providers_with_new_keys(const config& next) {
    provider_list made;
    // Providers cut the tokens of tools out of error messages, too.
    const bool has_new_tokens = !has_same_tokens(next.tools, settings.tools);
    // The new configuration has the same models.
    for (std::size_t i = 0; i < next.models.size(); ++i) {
        const model_config& model = next.models[i];
        const bool has_new_key = model.api_key.value != settings.models[i].api_key.value;
        if (is_served(model.provider) && (has_new_key || has_new_tokens)) {
            made.emplace_back(
                model.name,
                make_provider(next, model, options, log, &heavy, asked.get(), limits.get())
            );
        }
    }
    return made;
}

config_result<void> server::impl::reload(const config& fresh) {
    const std::lock_guard lock(reload_mutex);
    reopen_files();
    config_result<reread_config> taken = with_secrets_of(settings, fresh);
    if (!taken) {
        return taken.error();
    }
    config* const next = &taken->settings;
    provider_list made;
    std::shared_ptr<key_source> keys = fetched_keys;
    std::shared_ptr<authenticator> checker; // Null if nothing in [auth] has changed.
    try {                                   // Failures must precede the first change.
        made = providers_with_new_keys(*next);
        if (next->auth != settings.auth) {
            if (!has_same_keys(*next->auth, settings.auth)) {
                keys = make_fetched_keys(*next, log);
            }
            checker = make_authenticator(*next, keys, session_secret);
        }
    } catch (const std::runtime_error& error) {
        return config_problems{{error.what()}};
    }
    for (auto& [name, provider] : made) {
        providers.at(name)->replace(std::move(provider));
    }
    if (next->session.store_password.value != settings.session.store_password.value) {
        store->use_password(next->session.store_password.value);
    }
    if (accepts_everybody(*next) && !accepts_everybody(settings)) {
        log.log(log_level::warning, "requests no longer need a token");
    }
    if (checker) {
        fetched_keys = std::move(keys);
        auth.replace(std::move(checker));
    }
    for (std::size_t i = 0; i < settings.models.size(); ++i) {
        settings.models[i].api_key = std::move(next->models[i].api_key);
    }
    users_of_tools.replace(next->tools);
    for (const mcp_server_config& server : next->tools.mcp_servers) {
        mcp->accept(server.name, server.digest);
    }
    settings.tools = std::move(next->tools);
    settings.session.store_password = std::move(next->session.store_password);
    settings.auth = std::move(next->auth);
    log.log(
        log_level::info,
        "reloaded [auth] and the secrets, and the digests of MCP servers; other settings need a "
        "restart"
    );
    for (const std::string& line : taken->left_out) {
        log.log(log_level::warning, "a part was not reloaded", {{"problem", line}});
    }
    warn_of_settings();
    return {};
}

config_problems server::impl::read_again() {
    try {
        const config_result<config> fresh = options.read_config();
        if (!fresh) {
            reopen_files(); // Log rotation does not depend on the configuration.
            return fresh.error();
        }
        const config_result<void> done = reload(*fresh);
        return done ? config_problems() : done.error();
    } catch (const std::exception& error) {
        return {{error.what()}};
    }
}

// After logrotate has renamed them.
void server::impl::reopen_files() {
    if (audit) {
        audit->reopen();
    }
    if (accesses) {
        accesses->reopen();
    }
}

void server::impl::reload_from_source() {
    const config_problems problems = read_again();
    for (const std::string& line : problems.lines) {
        log.log(
            log_level::error, "the configuration was not reloaded: nothing has changed",
            {{"problem", line}}
        );
    }
}

} // namespace agui::gateway
