#pragma once

#include "session/store/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The texts of notifications: words with one space in between. Whoever may connect to the database
// may send anything, so that each is read with care.

[[nodiscard]] std::vector<std::string_view> words_of(std::string_view payload);
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view word);

struct sent_stop {
    std::int64_t gateway = 0; ///< That has sent it.
    stop_request request;
};
[[nodiscard]] std::string payload_of(const stop_request& request, std::int64_t gateway);
/// Nullopt: it is none.
[[nodiscard]] std::optional<sent_stop> stop_in(std::string_view payload);

} // namespace agui::session
