// The model servers: providers, their dialects and connections.
#include "gateway/server_parts.hpp"

#include "gateway/base/warned_names.hpp"
#include "gateway/quota/metered_provider.hpp"
#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/base/model_circuit.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"
#include "runner/responses/responses_dialect.hpp"
#include "session/base/sha256_text.hpp"

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace {

std::shared_ptr<runner::http_client> make_client(
    const model_config& model, const runner::model_dialect& dialect, const server_options& options,
    heavy_work* heavy
) {
    if (model.provider == model_config::provider_kind::scripted) {
        if (!options.script_of) {
            throw std::runtime_error(
                "models." + model.name + ".script: this program does not play scripts"
            );
        }
        return runner::make_scripted_client(options.script_of(model));
    }
    runner::http_endpoint endpoint;
    endpoint.base_url = model.base_url;
    endpoint.headers = model.headers;
    if (!model.api_key.value.empty()) {
        // After the configured headers: of two headers with one name, the transport uses the first.
        endpoint.headers.push_back(dialect.key_header(model.api_key.value));
    }
    endpoint.connect_timeout = model.connect;
    endpoint.first_byte_timeout = model.first_byte;
    endpoint.idle_timeout = model.idle;
    endpoint.ca_file = model.ca_file;
    endpoint.budget = budget_of(heavy);
    auto transport = runner::make_http_client(std::move(endpoint));
    if (!transport) {
        throw std::runtime_error("models." + model.name + ".base_url: " + transport.error().detail);
    }
    return std::move(*transport);
}

/// Warns of settings that a dialect leaves out of requests.
std::function<void(std::string_view, std::string_view)>
warning_of(const model_config& model, logger& log) {
    return
        [&log, name = model.name,
         told = std::make_shared<warned_names>()](std::string_view id, std::string_view setting) {
            if (told->due(setting, id, std::chrono::steady_clock::now())) {
                log.log(
                    log_level::warning,
                    "a setting of a request was left out because the model refuses it",
                    {{"model", name}, {"setting", setting}}
                );
            }
        };
}

std::unique_ptr<runner::model_dialect>
make_messages_dialect(const model_config& model, logger& log) {
    runner::anthropic_settings settings = anthropic_settings_of(model);
    settings.on_left_out = warning_of(model, log);
    return runner::make_anthropic_dialect(std::move(settings));
}

std::unique_ptr<runner::model_dialect> make_dialect(const model_config& model, logger& log) {
    // load_config() has checked it; a program that fills in a config itself has not.
    for (const runner::anthropic_refusal& each : refusals_of(model, model.parameters)) {
        throw std::runtime_error("models." + model.name + "." + each.setting + ": " + each.why);
    }
    const model_config::provider_kind dialect = dialect_of(model);
    if (dialect == model_config::provider_kind::anthropic) {
        return make_messages_dialect(model, log);
    }
    if (dialect == model_config::provider_kind::responses) {
        runner::responses_settings settings;
        settings.extra_body = model.extra_body;
        settings.media_urls = model.media_urls;
        settings.file_sources = model.file_sources;
        settings.summary = model.reasoning_summary;
        settings.encrypted_reasoning = model.encrypted_reasoning;
        settings.drop = model.drop;
        settings.on_left_out = warning_of(model, log);
        return runner::make_responses_dialect(std::move(settings));
    }
    runner::openai_settings settings;
    settings.extra_body = model.extra_body;
    settings.media_urls = model.media_urls;
    settings.file_sources = model.file_sources;
    settings.merge_roles = model.merge_roles;
    settings.variant = model.variant;
    settings.reasoning_tags = model.reasoning_tags;
    return runner::make_openai_dialect(std::move(settings));
}

// The names of the server and of the key's place: a key that is replaced there stays the account's.
std::string account_of(const model_config& model) {
    constexpr std::size_t digits = 16;
    const std::string& key =
        model.api_key.environment.empty() ? model.api_key.file : model.api_key.environment;
    return sha256_text(model.base_url + "\n" + key).substr(0, digits);
}

std::unique_ptr<runner::model_provider> make_unmetered(
    const config& all, const model_config& model, const server_options& options, logger& log,
    heavy_work* heavy, runner::call_observer* observer
) {
    if (model.provider == model_config::provider_kind::custom) {
        auto own = options.provider_of ? options.provider_of(model) : nullptr;
        if (!own) {
            throw std::runtime_error(
                "models." + model.name + ".provider: this program has no provider of its own"
            );
        }
        return own;
    }
    runner::http_provider_settings settings;
    settings.name = model.name;
    settings.account = account_of(model);
    settings.secrets = secrets_of(model, all.tools);
    settings.first_content = model.first_content;
    settings.heavy = heavy;
    settings.observer = observer;
    auto dialect = make_dialect(model, log);
    auto client = make_client(model, *dialect, options, heavy);
    return runner::make_http_provider(std::move(client), std::move(dialect), std::move(settings));
}

} // namespace

std::unique_ptr<runner::model_provider> make_provider(
    const config& all, const model_config& model, const server_options& options, logger& log,
    heavy_work* heavy, runner::call_observer* observer, quotas* limits
) {
    auto made = make_unmetered(all, model, options, log, heavy, observer);
    if (limits == nullptr) {
        return made;
    }
    return std::make_unique<metered_provider>(std::move(made), model.metering, *limits, log);
}

provider_map make_providers(
    const config& all, const server_options& options, logger& log, heavy_work* heavy,
    runner::call_observer* observer, quotas* limits
) {
    provider_map providers;
    for (const model_config& model : all.models) {
        runner::model_circuit::settings circuit = model.circuit;
        circuit.model = model.name;
        providers[model.name] = std::make_unique<replaceable_provider>(
            make_provider(all, model, options, log, heavy, observer, limits),
            std::make_shared<runner::model_circuit>(std::move(circuit), system_clock(), log)
        );
    }
    return providers;
}

boost::json::object circuits_of(const provider_map& providers) {
    boost::json::object models;
    for (const auto& [name, provider] : providers) {
        const runner::model_circuit::status status = provider->circuit()->now();
        models[name] = {{"circuit", to_string(status.now)}, {"failures", status.failures}};
    }
    return models;
}

} // namespace agui::gateway
