#pragma once

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/protocol_version.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agui::translator {

/// Collects events in the form for readers of one projection.
class projected_events final : public wire_sink {
public:
    explicit projected_events(projection form) noexcept : form_(form) {}

    void on_event(const wire_event& event) override;

    [[nodiscard]] std::vector<std::string> take() noexcept { return std::move(events_); }

private:
    projection form_;
    std::vector<std::string> events_;
};

} // namespace agui::translator
