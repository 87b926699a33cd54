#pragma once

#include "gateway/log/run_stream.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agui::replay {

/// A stream as read by a client, and its problems for any fixture: framing, numbering, and the
/// rules of translator::event_verifier.
struct read_stream {
    std::vector<boost::json::object> events;
    std::vector<std::string> problems;
    bool ended = false;
};

/// Called after each batch with the number of events read so far. If it returns false, reading
/// ends.
using progress_handler = std::function<boost::asio::awaitable<bool>(std::size_t)>;

/// Reads a log from its start to its end, as a connection does.
[[nodiscard]] boost::asio::awaitable<read_stream> read_log(
    std::shared_ptr<gateway::event_log> log, translator::projection projection,
    progress_handler progress = {}
);

} // namespace agui::replay
