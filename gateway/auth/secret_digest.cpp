#include "gateway/auth/secret_digest.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace agui::gateway {

secret_digest digest_of_secret(std::string_view secret) noexcept {
    secret_digest made;
    static_assert(made.size() == SHA256_DIGEST_LENGTH);
    SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), made.data());
    return made;
}

bool same_digest(const secret_digest& left, const secret_digest& right) noexcept {
    return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

bool same_secret(std::string_view given, std::string_view expected) noexcept {
    return same_digest(digest_of_secret(given), digest_of_secret(expected));
}

} // namespace agui::gateway
