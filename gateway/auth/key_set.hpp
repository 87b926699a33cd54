#pragma once

#include "session/base/error.hpp"

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// The algorithms of signatures that are accepted (RFC 7518, 3.1; RFC 8037, 3.1). All others are
/// refused, `none` and those with a shared secret among them.
enum class jws_algorithm : std::uint8_t { rs256, es256, eddsa };

[[nodiscard]] std::string_view to_string(jws_algorithm algorithm) noexcept;
/// Reads the exact name: `RS256`, `ES256`, or `EdDSA` (also `Ed25519`, RFC 9864).
[[nodiscard]] std::optional<jws_algorithm> jws_algorithm_named(std::string_view name) noexcept;

/// A public key that verifies signatures of one algorithm, which its type decides. Immutable.
class verification_key {
public:
    verification_key(std::string id, jws_algorithm algorithm, std::shared_ptr<EVP_PKEY> key);

    [[nodiscard]] const std::string& id() const noexcept { return id_; } ///< `kid`; may be empty.
    [[nodiscard]] jws_algorithm algorithm() const noexcept { return algorithm_; }
    /// True if the signature is that of the text. Safe to call from any thread.
    [[nodiscard]] bool verifies(std::string_view text, std::string_view signature) const;

private:
    std::string id_;
    jws_algorithm algorithm_;
    std::shared_ptr<EVP_PKEY> key_;
};

/// The usable keys of a JWK Set.
struct key_set {
    std::vector<verification_key> keys;
    std::size_t unusable = 0; ///< Keys of other types or uses, and weak ones.
};

inline constexpr std::size_t key_set_bytes_max = 262'144;
inline constexpr std::size_t key_set_keys_max = 100;

/// Reads a JWK Set (RFC 7517, 5). Ignored are keys of other types than RSA of 2048 to 8192 bits,
/// P-256 and Ed25519; those whose `use`, `key_ops` or `alg` says something else; and those that
/// hold a private key. So are Ed25519 keys that are no canonical point or have a small order.
/// errc::invalid_input if no key is usable, or the text is not a set within the limits.
[[nodiscard]] result<key_set> parse_key_set(std::string_view text);

} // namespace agui::gateway
