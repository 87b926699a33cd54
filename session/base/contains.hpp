#pragma once

#include <algorithm>
#include <iterator>

namespace agui {

/// True if one of `values` equals `value` (std::ranges::contains of C++23).
template <class Values, class Value>
[[nodiscard]] constexpr bool contains(const Values& values, const Value& value) {
    return std::ranges::find(values, value) != std::ranges::end(values);
}

} // namespace agui
