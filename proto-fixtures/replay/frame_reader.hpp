#pragma once

#include "gateway/log/event_log.hpp"
#include "translator/chat_stream/chat_messages.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <vector>

namespace agui::replay {

/// The frames of an ended run for a reader that keeps up with every frame, and problems that are
/// wrong for any fixture.
struct read_run_frames {
    std::vector<boost::json::object> incremental;
    std::vector<boost::json::object> full;
    std::vector<std::string> problems;
};

/// Makes the frames from `events`, the run's events in their newest form, and compares them with
/// the gateway's output for readers of `log`, from its start and after each frame. The incremental
/// frames must add up to the last full one, and only the last frame may say `finished`.
[[nodiscard]] boost::asio::awaitable<read_run_frames> read_frames(
    std::shared_ptr<gateway::event_log> log, const std::vector<boost::json::object>& events,
    std::string session_id, std::string message_id
);

} // namespace agui::replay
