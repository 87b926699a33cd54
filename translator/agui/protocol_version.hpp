#pragma once

#include "session/base/error.hpp"

#include <optional>
#include <string_view>

namespace agui::translator {

/// The form of events that a reader gets, chosen by the version it declared.
enum class projection {
    /// No version declared: a client before 1.0, or behind a runtime that strips the version.
    undeclared,
    v1_0,
    /// The form in the log. Also for newer minor versions and for declarations that cannot be read.
    v1_1,
};

/// errc::unsupported_protocol_version for a readable version of another major line.
[[nodiscard]] result<projection> choose_projection(const std::optional<std::string_view>& declared);

/// The name under which a run's projection is stored: "undeclared", "1.0", "1.1".
[[nodiscard]] std::string_view to_string(projection value) noexcept;
[[nodiscard]] std::optional<projection> projection_from_string(std::string_view name) noexcept;

} // namespace agui::translator
