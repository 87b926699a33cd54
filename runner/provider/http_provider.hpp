#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/http_client.hpp"
#include "runner/provider/model_dialect.hpp"
#include "session/base/heavy_work.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

/// The configuration of a model server that does not depend on its dialect.
struct http_provider_settings {
    std::string name; ///< model_provider::name().
    /// Cut out of what the server says about errors.
    std::vector<std::string> secrets;
    /// How long the model may say nothing from the header of the answer on, whatever else the
    /// server sends: some wait for their turn for minutes, in silence or with signs of life.
    std::chrono::milliseconds first_content{600'000};
    /// How long usage or the end mark are waited for after the model's last word.
    std::chrono::milliseconds end_wait{2000};
    heavy_work* heavy =
        nullptr; ///< Reads large parts of answers, and counts them; null: nothing does.
};

/// A model server: a dialect over an HTTP client. Status codes become kinds of model_failure: 408,
/// 429 and 5xx are `unavailable`, other 4xx `rejected`. At most 16 KB of the body of an error go to
/// the failure's `upstream`. Until the model has said something, settings.first_content is the only
/// limit of time; then the client's idle time is, which comments and signs of life do not end. Time
/// in which the sink has no room does not count. Once the decoder is ending(),
/// the answer ends with usage, the end mark, the end of the body or settings.end_wait, whichever
/// comes first. Only a connection whose body was read to its end is used for another request. The
/// provider may be destroyed while a call is under way.
[[nodiscard]] std::unique_ptr<model_provider> make_http_provider(
    std::shared_ptr<http_client> client, std::unique_ptr<model_dialect> dialect,
    http_provider_settings settings
);

} // namespace agui::runner
