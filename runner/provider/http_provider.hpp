#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/http_client.hpp"
#include "runner/provider/call_observer.hpp"
#include "runner/provider/model_dialect.hpp"
#include "session/base/heavy_work.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

/// The configuration of a model server that does not depend on its dialect.
struct http_provider_settings {
    std::string name;    ///< model_provider::name().
    std::string account; ///< model_provider::account().
    /// Cut out of the server's error texts.
    std::vector<std::string> secrets;
    /// How long the model may say nothing after the header of the answer, whatever else the server
    /// sends. Some servers keep a request in a queue for minutes, silently or with signs of life.
    std::chrono::milliseconds first_content{600'000};
    /// How long to wait for usage or the end mark after the model's last word.
    std::chrono::milliseconds end_wait{2000};
    heavy_work* heavy = nullptr;       ///< Reads and counts large parts of answers; may be null.
    call_observer* observer = nullptr; ///< Must outlive all calls; may be null.
};

/// A model server: a dialect over an HTTP client. Status codes become kinds of model_failure: 408,
/// 429 and 5xx are `unavailable`, other 4xx `rejected`. At most 16 KB of an error's body go to the
/// failure's `upstream`. Until the model has said something, settings.first_content is the only
/// time limit. After that the client's idle time applies; comments and signs of life do not restart
/// it. Time in which the sink has no room does not count. Once the decoder is ending(), the answer
/// ends with usage, the end mark, the end of the body or settings.end_wait, whichever comes first.
/// A connection is reused only if its body was read to the end. The provider may be destroyed
/// during a call.
[[nodiscard]] std::unique_ptr<model_provider> make_http_provider(
    std::shared_ptr<http_client> client, std::unique_ptr<model_dialect> dialect,
    http_provider_settings settings
);

} // namespace agui::runner
