#pragma once

#include "session/base/keyed_hash.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace agui {

/// Hashes texts with keyed_hash(). std::hash has no key, so a client that knows the library can
/// choose ids that all fall into one bucket.
struct text_hash {
    using is_transparent = void;

    // Not noexcept: libstdc++ then keeps each hash in the table instead of computing it again.
    [[nodiscard]] std::size_t operator()(std::string_view text) const { return keyed_hash(text); }
};

// The tables for ids and names from outside. Their order differs from process to process.

template <class Value>
using text_map = std::unordered_map<std::string, Value, text_hash, std::equal_to<>>;
using text_set = std::unordered_set<std::string, text_hash, std::equal_to<>>;
/// Like text_map, but the keys are views: the table does not own their texts.
template <class Value>
using view_map = std::unordered_map<std::string_view, Value, text_hash, std::equal_to<>>;
using view_set = std::unordered_set<std::string_view, text_hash, std::equal_to<>>;

} // namespace agui
