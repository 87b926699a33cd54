#pragma once

#include <array>
#include <string_view>

namespace agui::gateway {

/// The SHA-256 of a secret. Digests are compared instead of secrets, because they have the same
/// length whatever the secret's length is.
using secret_digest = std::array<unsigned char, 32>;

[[nodiscard]] secret_digest digest_of_secret(std::string_view secret) noexcept;

/// Takes the same time wherever the digests differ.
[[nodiscard]] bool same_digest(const secret_digest& left, const secret_digest& right) noexcept;

/// The same for two secrets. The time depends on their lengths only.
[[nodiscard]] bool same_secret(std::string_view given, std::string_view expected) noexcept;

} // namespace agui::gateway
