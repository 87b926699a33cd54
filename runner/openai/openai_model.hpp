#pragma once

#include "runner/base/owned_model.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/openai/openai_chat.hpp"

#include <memory>
#include <string>

namespace agui::runner {

struct openai_model_settings {
    std::string url;      ///< URL of the API, such as `https://api.openai.com/v1`.
    std::string model;    ///< The model's id on that server.
    std::string key = {}; ///< API key; not sent if empty. It is cut out of errors.
    /// model_provider::name(). Two models of one name get each other's reasoning sent back. If
    /// empty, the name is made from `model` and `url`, so that it is the same in another process.
    std::string name = {};
    model_parameters parameters = {}; ///< Parameters except for `model`.
    openai_settings dialect = {};
    /// Endpoint without its base_url: timeouts, headers, certificates.
    http_endpoint endpoint = {};
    std::shared_ptr<http_client> client = {}; ///< If null, a client for `url` is made.
};

/// A model on a server that speaks OpenAI's Chat Completions:
///
///     openai_model({.url = "https://api.openai.com/v1", .model = "gpt-5.5", .key = key})
///
/// Throws std::invalid_argument if the URL or the settings cannot be used.
[[nodiscard]] owned_model openai_model(openai_model_settings settings);

} // namespace agui::runner
