#pragma once

#include "session/base/error.hpp"

#include <optional>
#include <string_view>

namespace agui::translator {

/// The form of a reader's events, chosen by its declared protocol version.
enum class projection {
    /// For version 0.x or none: a client before 1.0, or one behind a runtime that removes the
    /// version.
    undeclared,
    v1_0,
    /// The form in the log. Also used for newer minor versions and unparsable declarations.
    v1_1,
};

/// The projection for a declared version. errc::unsupported_protocol_version: its major version is
/// 2 or higher.
[[nodiscard]] result<projection> choose_projection(const std::optional<std::string_view>& declared);

/// The name under which a run's projection is stored: "undeclared", "1.0" or "1.1".
[[nodiscard]] std::string_view to_string(projection value) noexcept;
[[nodiscard]] std::optional<projection> projection_from_string(std::string_view name) noexcept;

} // namespace agui::translator
