#pragma once

#include "runner/http/http_client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

/// One scripted answer of a model server.
struct scripted_answer {
    int status = 200;
    std::string content_type = "text/event-stream";
    std::string body; ///< Bytes as a server would send them.
    /// Pause before each frame (a frame ends with an empty line).
    std::chrono::milliseconds pace{0};
    /// Number of frames after which the answer stalls; reading gives `timeout` once `idle` has
    /// passed.
    std::optional<std::uint64_t> stall_after_frames;
    /// Number of frames after which the connection is lost.
    std::optional<std::uint64_t> drop_after_frames;
    std::optional<std::uint64_t> repeat_frame; ///< Index of a frame that is sent twice.
    std::chrono::milliseconds idle{60'000};    ///< Length of a stall.
    bool refuse = false;                       ///< No connection can be made.
    std::vector<std::pair<std::string, std::string>> headers = {}; ///< Names in lower case.
};

/// Chooses the answer to a request; nullopt means status 500 with an empty body. Called for each
/// request, from any thread, with the request body that the provider would have sent.
using script = std::function<std::optional<scripted_answer>(const transport_request&)>;

/// A client that plays transcripts instead of contacting a server, so that a dialect's code runs as
/// in production.
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(script choose);

/// A client that gives the answers in order, each once. Each request is first passed to `seen`,
/// which may be empty.
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(
    std::vector<scripted_answer> answers, std::function<void(const transport_request&)> seen = {}
);

} // namespace agui::runner
