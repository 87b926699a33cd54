#pragma once

#include "session/base/error.hpp"
#include "session/base/json_patch.hpp"
#include "session/base/json_text.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace agui::session {

/// The largest state document. It is one event of a stream, and clients read no event above 10 MB.
inline constexpr std::size_t state_bytes_max = 1U << 20U;

/// A change of a thread's state document. It is applied to the document that is stored when its
/// turn comes, so of two writers at once the later one changes what the earlier one has left.
struct state_change {
    /// A JSON Patch (RFC 6902). A thread without a state is patched like `{}`.
    std::optional<boost::json::value> patch{};
    json_text whole{}; ///< Without a patch: the new document; null removes the state.
    /// Refuses a new document by returning a failure. May be empty.
    std::function<result<void>(const boost::json::value& document)> check{};
};

/// A document after a change.
struct changed_state {
    json_text state;
    /// The JSON Patch that turns the earlier document into this one, for readers who hold that one.
    /// Empty if they need the whole document.
    std::string patch;
    bool is_changed = true; ///< False if both documents are the same; then `patch` is empty, too.
};

/// Applies the change to `before`. Pure. Failures: those of apply_patch() and of the check;
/// state_too_large() above state_bytes_max; internal if `before` is damaged.
[[nodiscard]] result<changed_state>
change_document(const json_text& before, const state_change& change);

/// Up to this size, documents are compared by their values. It is the largest state that a model is
/// told, which would be told again.
inline constexpr std::size_t compared_bytes_max = 65'536;

/// True if both are the same to a client (is_same_json()), whatever the order of their members.
/// Above compared_bytes_max, only if their texts are equal: as values they take much memory.
[[nodiscard]] bool is_same_document(const json_text& left, const json_text& right);

/// The error for a document above state_bytes_max.
[[nodiscard]] failure state_too_large();

} // namespace agui::session
