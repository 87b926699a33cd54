#include "runner/openai/openai_model.hpp"

#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"

#include <stdexcept>
#include <utility>

namespace agui::runner {

owned_model openai_model(openai_model_settings settings) {
    auto dialect = make_openai_dialect(std::move(settings.dialect));
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
            throw std::invalid_argument("openai_model: " + client.error().detail);
        }
        settings.client = *std::move(client);
    }
    owned_model made;
    made.provider =
        make_http_provider(std::move(settings.client), std::move(dialect), std::move(provider));
    made.parameters = std::move(settings.parameters);
    made.parameters.model = std::move(settings.model);
    return made;
}

} // namespace agui::runner
