#pragma once

#include "session/base/error.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>

namespace agui {

// JSON Patch (RFC 6902). Patches come from clients, tools and models, so each function is bounded
// by limits. Pure; recursive, as deep as patch_limits::max_depth.

struct patch_limits {
    std::size_t max_operations = 1000; ///< A larger change is better sent as a whole document.
    /// The depth of the patched document; a text or a number has the depth 1.
    std::size_t max_depth = 64;
    /// The approximate bytes that a patch may add (json_size()). `copy` could otherwise double a
    /// document with each operation.
    std::size_t max_added_bytes = 8U << 20U;
    /// How many values may move: those of a `move`, about, and the elements and members that move
    /// because others are inserted or removed. They take about 0.1 s.
    std::size_t max_moves = 20'000'000;
};

/// Applies all operations of the patch, or changes nothing. The document's values stay in its
/// memory resource. Failures:
/// - errc::invalid_input: the patch is malformed or exceeds the limits. `path` names the place in
///   the patch, as `[2].path`.
/// - errc::patch_conflict: an operation does not apply to this document, or its `test` fails.
/// `path` is
///   as above, and the detail names the JSON Pointer.
/// Members of an operation that RFC 6902 does not define are ignored, as it demands.
[[nodiscard]] result<void> apply_patch(
    boost::json::value& document, const boost::json::value& patch, const patch_limits& limits = {}
);

/// A patch that turns `from` into `to`: empty if they are the same (is_same_json()). nullopt if
/// `to` should be sent as a whole, because the patch would not be smaller, would have too many
/// operations, or would have a path that clients refuse. Elements of an array that are equal at its
/// start and at its end stay; those in between are compared one by one. Takes time proportional to
/// the size of both, times the depth of their arrays.
[[nodiscard]] std::optional<boost::json::array> diff_json(
    const boost::json::value& from, const boost::json::value& to, const patch_limits& limits = {}
);

} // namespace agui
