#include "runner/anthropic/anthropic_model.hpp"

#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/provider/http_provider.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

namespace agui::runner {

owned_model anthropic_model(anthropic_model_settings settings) {
    owned_model made;
    made.parameters = std::move(settings.parameters);
    made.parameters.model = settings.model;
    const std::vector<anthropic_refusal> refused =
        anthropic_refusals(made.parameters, settings.dialect);
    if (!refused.empty()) {
        throw std::invalid_argument(
            "anthropic_model: " + refused.front().setting + ": " + refused.front().why
        );
    }
    auto dialect = make_anthropic_dialect(std::move(settings.dialect));
    http_provider_settings provider;
    provider.name =
        settings.name.empty() ? settings.model + " at " + settings.url : std::move(settings.name);
    if (!settings.key.empty()) {
        settings.endpoint.headers.push_back(dialect->key_header(settings.key));
        provider.secrets.push_back(std::move(settings.key));
    }
    if (settings.client == nullptr) {
        settings.endpoint.base_url = std::move(settings.url);
        auto client = make_http_client(std::move(settings.endpoint));
        if (!client) {
            throw std::invalid_argument("anthropic_model: " + client.error().detail);
        }
        settings.client = *std::move(client);
    }
    made.provider =
        make_http_provider(std::move(settings.client), std::move(dialect), std::move(provider));
    return made;
}

} // namespace agui::runner
