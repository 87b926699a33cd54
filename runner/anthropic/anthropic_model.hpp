#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/base/owned_model.hpp"
#include "runner/http/http_transport.hpp"

#include <memory>
#include <string>

namespace agui::runner {

struct anthropic_model_settings {
    std::string url;      ///< URL of the server without `/v1`, such as `https://api.anthropic.com`.
    std::string model;    ///< The model's id on that server.
    std::string key = {}; ///< API key; not sent if empty. It is cut out of errors.
    /// model_provider::name(). Two models of one name get each other's thoughts sent back. If
    /// empty, the name is made from `model` and `url`, so that it is the same in another process.
    std::string name = {};
    model_parameters parameters = {}; ///< Parameters except for `model`.
    anthropic_settings dialect = {};
    /// Endpoint without its base_url: timeouts, headers, certificates.
    http_endpoint endpoint = {};
    std::shared_ptr<http_client> client = {}; ///< If null, a client for `url` is made.
};

/// A model on a server that speaks Anthropic's Messages:
///
///     anthropic_model(
///         {.url = "https://api.anthropic.com", .model = "claude-opus-5-5", .key = key}
///     )
///
/// Throws std::invalid_argument if the URL or the settings cannot be used, or if the model is known
/// to refuse one of them (anthropic_refusals).
[[nodiscard]] owned_model anthropic_model(anthropic_model_settings settings);

} // namespace agui::runner
