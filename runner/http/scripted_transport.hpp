#pragma once

#include "runner/http/http_client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

/// One scripted answer of a model server.
struct scripted_answer {
    int status = 200;
    std::string content_type = "text/event-stream";
    std::string body; ///< Raw bytes, as a server would send them.
    /// Wait before each SSE frame (frames end with an empty line).
    std::chrono::milliseconds pace{0};
    /// Then nothing more until cancelled or until `idle` has passed.
    std::optional<std::uint64_t> stall_after_frames;
    std::optional<std::uint64_t> drop_after_frames; ///< Then the connection is lost.
    std::optional<std::uint64_t> repeat_frame;      ///< This frame (from 0) is sent twice.
    std::chrono::milliseconds idle{60'000};         ///< A stall ends as `timeout` after this.
    bool refuse = false;                            ///< No connection at all.
};

/// Chooses the answer to a request; nullopt: status 500 with an empty body. Called for each
/// request, from any thread; the request body is what the provider would have sent.
using script = std::function<std::optional<scripted_answer>(const transport_request&)>;

/// Plays transcripts instead of contacting a server: the dialect's code runs as in production.
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(script choose);

/// Answers in order, each once; every request is passed to `seen` first (may be empty).
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(
    std::vector<scripted_answer> answers, std::function<void(const transport_request&)> seen = {}
);

} // namespace agui::runner
