#pragma once

#include "session/base/clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

/// A record as one JSON object, without a line break, whatever the texts hold. Its first member is
/// the time, in UTC as in RFC 3339. Bytes that are not UTF-8 become U+FFFD.
class record_line {
public:
    explicit record_line(unix_ms now);

    /// Adds nothing if the value is empty. The name needs no escape.
    void add(std::string_view name, std::string_view value);
    void add(std::string_view name, std::int64_t value);

    /// Call it once, last.
    [[nodiscard]] std::string end();

private:
    std::string text_;
};

} // namespace agui::gateway
