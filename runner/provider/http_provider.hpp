#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/http_client.hpp"
#include "runner/provider/model_dialect.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

/// What is configured of a model server, whatever its dialect.
struct http_provider_settings {
    std::string name; ///< model_provider::name().
    /// Cut out of what the server says about errors.
    std::vector<std::string> secrets;
    /// After the model's last word: how long usage or the end mark are waited for.
    std::chrono::milliseconds end_wait{2000};
};

/// A model server: a dialect over an HTTP client. Status codes become model_failure kinds: 408, 429
/// and 5xx unavailable, other 4xx rejected. An upstream's error body reaches the failure's
/// `upstream` (for the log), at most 2 KiB of it. Comments and signs of life do not count against
/// the client's idle time, nor does the time in which the sink has no room. Once the decoder is
/// `ending` the answer ends with usage, the end mark, the body or settings.end_wait, whichever is
/// first; only a body that was read to its end leaves its connection to the next request.
[[nodiscard]] std::unique_ptr<model_provider> make_http_provider(
    std::shared_ptr<http_client> client, std::unique_ptr<model_dialect> dialect,
    http_provider_settings settings
);

} // namespace agui::runner
