#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

// A request may continue an interrupted run under that run's own id. For a store each part is a run
// of its own, a segment: the first has the client's runId, the later ones that id with a suffix
// that no client's id can have. Clients see one run, whose events are numbered on.

/// A run's id as stored, in parts.
struct run_segment {
    std::string_view run_id;  ///< The client's id; a part of the stored one.
    std::uint32_t number = 1; ///< Counted from 1.
};

[[nodiscard]] run_segment segment_of(std::string_view stored_id) noexcept;
/// The stored id.
[[nodiscard]] std::string segment_id(std::string_view run_id, std::uint32_t number);

/// The id of a stored run as clients know it.
[[nodiscard]] inline std::string_view client_run_id(std::string_view stored_id) noexcept {
    return segment_of(stored_id).run_id;
}

/// How many segments a run may have. A request under the run's id is compared with all of them.
inline constexpr std::uint32_t segments_max = 100;

/// What clients see as the number of an event is its number in its segment plus this for each
/// segment before it. No segment has so many events.
inline constexpr std::uint64_t segment_span = 1'000'000'000;

/// The number before the first event of a stored run, as clients see it.
[[nodiscard]] inline std::uint64_t first_number(std::string_view stored_id) noexcept {
    return (segment_of(stored_id).number - 1) * segment_span;
}

} // namespace agui::session
