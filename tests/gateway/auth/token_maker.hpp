#pragma once

#include "gateway/auth/key_set.hpp"

#include <boost/json/object.hpp>
#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

namespace agui::test {

/// A private key that signs tokens as an issuer does.
class token_maker {
public:
    /// Draws a key for the algorithm. RSA keys have `bits` bits.
    explicit token_maker(gateway::jws_algorithm algorithm, std::string id, unsigned bits = 2048);

    /// The public key as a JWK with `kid`, `alg` and `use`.
    [[nodiscard]] boost::json::object jwk() const;
    /// The JWK Set of this key alone.
    [[nodiscard]] std::string jwks() const;

    /// A token with the header's `alg` and `kid`.
    [[nodiscard]] std::string token(const boost::json::object& claims) const;
    /// A token whose header and claims are these texts, signed as they are.
    [[nodiscard]] std::string sign(std::string_view header, std::string_view claims) const;
    [[nodiscard]] boost::json::object header() const;

private:
    gateway::jws_algorithm algorithm_;
    std::string id_;
    std::shared_ptr<EVP_PKEY> key_;
};

/// The set of several keys.
[[nodiscard]] std::string jwks_of(std::initializer_list<const token_maker*> makers);

/// Claims that are valid for the issuer `https://id.example` and the audience `agui`, with a `sub`,
/// from a minute before `now` to an hour after it.
[[nodiscard]] boost::json::object
claims_of(std::string_view user, std::int64_t now, std::string_view scopes = "run read");

} // namespace agui::test
