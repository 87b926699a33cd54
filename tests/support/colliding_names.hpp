#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

// Names as an attacker chooses them. Boost.JSON hashes the names of an object with FNV-1a, salted
// with an address whose low byte is nearly always `usual_salt`; no other byte of it matters for
// names of one length.

inline constexpr std::uint64_t usual_salt = 0x10;

/// The digest of Boost.JSON.
[[nodiscard]] std::uint64_t boost_digest(std::string_view name, std::uint64_t salt) noexcept;

/// 2^bits names of six letters whose digests agree in the lowest `bits`, which are the bucket in an
/// object of so many members. At most 18 bits.
[[nodiscard]] std::vector<std::string> names_of_one_bucket(unsigned bits);

/// Up to 2^15 names that have one digest, all 64 bits of it.
[[nodiscard]] std::vector<std::string> names_of_one_digest(std::size_t count);

/// Up to 2^15 texts that have one std::hash in libstdc++.
[[nodiscard]] std::vector<std::string> texts_of_one_hash(std::size_t count);

/// `{"<name>":0,…}`
[[nodiscard]] std::string object_text(const std::vector<std::string>& names);

/// How many members of the object, which has more than 18, share a bucket at most. A search takes
/// so many comparisons.
[[nodiscard]] std::size_t longest_chain(const boost::json::object& of);

} // namespace agui::test
