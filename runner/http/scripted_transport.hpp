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
    std::string body; ///< The bytes, as a server would send them.
    /// How long to wait before each frame (a frame ends with an empty line).
    std::chrono::milliseconds pace{0};
    /// After so many frames nothing more comes: `timeout` once `idle` has passed.
    std::optional<std::uint64_t> stall_after_frames;
    std::optional<std::uint64_t> drop_after_frames; ///< After so many, the connection is lost.
    std::optional<std::uint64_t> repeat_frame;      ///< The frame (from 0) that is sent twice.
    std::chrono::milliseconds idle{60'000};         ///< How long a stall lasts.
    bool refuse = false;                            ///< There is no connection at all.
    std::vector<std::pair<std::string, std::string>> headers = {}; ///< Names in lower case.
};

/// Chooses the answer to a request; nullopt: status 500 with an empty body. Called for each
/// request, from any thread; the request body is what the provider would have sent.
using script = std::function<std::optional<scripted_answer>(const transport_request&)>;

/// A client that plays transcripts instead of contacting a server, so that the code of a dialect
/// runs as in production.
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(script choose);

/// The same with the answers in order, each once. Each request is passed to `seen` first; it may be
/// empty.
[[nodiscard]] std::shared_ptr<http_client> make_scripted_client(
    std::vector<scripted_answer> answers, std::function<void(const transport_request&)> seen = {}
);

} // namespace agui::runner
