#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace externaltool {

/// Reads server-sent events from bytes that may be cut anywhere. Lines end with LF; lines that
/// begin with ':' are comments and keep the connection alive.
class event_reader {
public:
    /// `sequence` is the event's `id:`, its number in the run's log; 0 if it has none.
    using handler = std::function<void(std::uint64_t sequence, std::string_view data)>;

    explicit event_reader(handler on_event) : on_event_(std::move(on_event)) {}

    /// Calls the handler for each event that `bytes` completes. Exceptions of the handler are
    /// passed on.
    void feed(std::string_view bytes);

private:
    void take_line(std::string_view line);

    handler on_event_;
    std::string rest_; ///< A line that has not ended.
    std::string data_;
    std::uint64_t sequence_ = 0;
};

} // namespace externaltool
