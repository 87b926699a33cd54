#pragma once

#include "gateway/http/http_message.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace agui::gateway {

/// The current version of a file.
struct file_version {
    std::string etag; ///< With its quotes. Strong: it changes with every byte of the file.
    std::chrono::sys_seconds modified;
};

enum class precondition {
    holds,
    not_modified, ///< The client has this version: 304.
    fails,        ///< 412
};

/// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since of a GET or HEAD,
/// in the order of RFC 9110 section 13.2.2.
[[nodiscard]] precondition
check_preconditions(const http_request& request, const file_version& version);

struct whole_file {};
struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t size = 0; ///< At least 1.
    friend bool operator==(const byte_range&, const byte_range&) = default;
};
struct unsatisfiable_range {}; ///< Begins after the file's end (416).

/// The part of a file of `size` bytes that the request asks for (RFC 9110 section 14). The whole
/// file if there is no single valid range of bytes, if the method is not GET, or if If-Range names
/// another version. A date in If-Range never matches, because it has only whole seconds.
[[nodiscard]] std::variant<whole_file, byte_range, unsatisfiable_range>
requested_range(const http_request& request, const file_version& version, std::uint64_t size);

} // namespace agui::gateway
