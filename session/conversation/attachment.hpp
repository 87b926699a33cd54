#pragma once

#include "session/base/clock.hpp"

#include <string>

namespace agui::session {

/// A file that a page has sent to a thread before a message uses it.
struct attachment {
    std::string sha256; ///< Digest of the bytes: 64 hexadecimal digits in lower case.
    std::string mime_type;
    std::string bytes;
    unix_ms kept_at = 0;

    friend bool operator==(const attachment&, const attachment&) = default;
};

} // namespace agui::session
