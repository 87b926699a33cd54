#pragma once

#include <cstdint>

namespace agui::runner {

/// True for the HTTP statuses with which model servers refuse the content of a request (RFC 9110,
/// 15.5: bad request, content too large, unsupported media type, unprocessable content).
[[nodiscard]] constexpr bool is_refusing_status(std::int64_t status) noexcept {
    return status == 400 || status == 413 || status == 415 || status == 422;
}

} // namespace agui::runner
