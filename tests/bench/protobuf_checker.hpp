#pragma once

#include "tests/bench/event_checker.hpp"

#include <string>
#include <string_view>

namespace agui::bench {

// Checks AG-UI as protobuf: first RUN_STARTED with the request's ids, all content between one start
// and one end of a text message, last RUN_FINISHED.
class protobuf_checker final : public event_checker {
public:
    using event_checker::event_checker;
    [[nodiscard]] std::string on_event(std::string_view id, std::string_view message) override;

private:
    bool started_ = false;
    bool message_open_ = false;
};

} // namespace agui::bench
