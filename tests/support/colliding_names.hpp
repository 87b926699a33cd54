#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

// Names as an attacker would choose them. Boost.JSON hashes the names of an object with FNV-1a,
// salted with an address whose low byte is nearly always `usual_salt`. No other byte of the salt
// matters for names of one length.

inline constexpr std::uint64_t usual_salt = 0x10;

/// The digest of Boost.JSON.
[[nodiscard]] std::uint64_t boost_digest(std::string_view name, std::uint64_t salt) noexcept;

/// 2^bits names of six letters whose digests agree in the lowest `bits`, which select the bucket in
/// an object of so many members. At most 18 bits.
[[nodiscard]] std::vector<std::string> names_of_one_bucket(unsigned bits);

/// Up to 2^15 names that share one digest of 64 bits.
[[nodiscard]] std::vector<std::string> names_of_one_digest(std::size_t count);

/// Up to 2^15 texts that share one std::hash of libstdc++.
[[nodiscard]] std::vector<std::string> texts_of_one_hash(std::size_t count);

/// `{"<name>":0,…}`
[[nodiscard]] std::string object_text(const std::vector<std::string>& names);

/// The largest number of members that share a bucket of the object, which has more than 18 members.
/// A search takes so many comparisons.
[[nodiscard]] std::size_t longest_chain(const boost::json::object& of);

} // namespace agui::test
