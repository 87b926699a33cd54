#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/owned_model.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/provider/http_provider.hpp"
#include "runner/provider/model_dialect.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// A model on a server that speaks the dialect of these settings.
template <class DialectSettings>
struct served_model_settings {
    std::string url;      ///< URL of the API; the dialect says where it ends.
    std::string model;    ///< The model's id on that server.
    std::string key = {}; ///< API key; not sent if empty. It is cut out of errors.
    /// model_provider::name(). Two models of one name get each other's reasoning sent back. If
    /// empty, the name is made from `model` and `url`, so that it is the same in another process.
    std::string name = {};
    model_parameters parameters = {}; ///< Parameters except for `model`.
    DialectSettings dialect = {};
    /// Endpoint without its base_url: timeouts, headers, certificates.
    http_endpoint endpoint = {};
    std::shared_ptr<http_client> client = {}; ///< If null, a client for `url` is made.
};

/// Makes the model. Throws std::invalid_argument, which names `caller`, if the URL or the settings
/// cannot be used.
template <class DialectSettings>
[[nodiscard]] owned_model make_served_model(
    std::string_view caller, served_model_settings<DialectSettings> settings,
    std::unique_ptr<model_dialect> dialect
) {
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
            throw std::invalid_argument(std::string(caller) + ": " + client.error().detail);
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
