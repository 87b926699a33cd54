#pragma once

#include "runner/base/owned_model.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/openai/openai_chat.hpp"

#include <memory>
#include <string>

namespace agui::runner {

struct openai_model_settings {
    std::string url;      ///< Of the API, as `https://api.openai.com/v1`.
    std::string model;    ///< Its id there.
    std::string key = {}; ///< None is sent if empty. It is cut out of errors.
    /// model_provider::name(). Two models of one name get each other's reasoning sent back. Empty:
    /// made of `model` and `url`, so that it is the same in another process.
    std::string name = {};
    model_parameters parameters = {}; ///< Besides `model`.
    openai_settings dialect = {};
    http_endpoint endpoint = {}; ///< Besides its base_url: timeouts, headers, certificates.
    std::shared_ptr<http_client> client = {}; ///< Null: one for `url`.
};

/// A model of a server that speaks OpenAI's Chat Completions:
///
///     openai_model({.url = "https://api.openai.com/v1", .model = "gpt-5.5", .key = key})
///
/// Throws std::invalid_argument for a URL or settings that cannot be used.
[[nodiscard]] owned_model openai_model(openai_model_settings settings);

} // namespace agui::runner
