#include "gateway/run/part_links.hpp"

#include "session/base/base64url.hpp"
#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace agui::gateway {

namespace {

constexpr unix_ms day_ms = 86'400'000;
constexpr std::size_t token_bytes_max = 4096;

/// Each field with its length, so that no two lists of fields give the same text.
void add_field(std::string& out, std::string_view field) {
    out.append(std::to_string(field.size())).append(":").append(field);
}

} // namespace

std::string part_links::signature(
    const session::thread_key& key, std::string_view sha256, std::string_view expiry
) const {
    std::string signed_text;
    for (const std::string_view field :
         {std::string_view("part"), std::string_view(key.principal),
          std::string_view(key.thread_id), sha256, expiry}) {
        add_field(signed_text, field);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (HMAC(
            EVP_sha256(), settings_.key.data(), static_cast<int>(settings_.key.size()),
            reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
            digest.data(), &size
        ) == nullptr) {
        throw std::runtime_error("cannot sign a link");
    }
    return encode_base64url({reinterpret_cast<const char*>(digest.data()), size});
}

std::string
part_links::link(const session::thread_key& key, std::string_view sha256, unix_ms now) const {
    if (settings_.base_url.empty() || settings_.key.empty()) {
        return {};
    }
    const auto valid =
        std::chrono::duration_cast<std::chrono::milliseconds>(settings_.valid).count();
    const std::string expiry = std::to_string((now + valid) / day_ms + 1); // Days since 1970.
    return settings_.base_url + session::part_path(key.thread_id, sha256) + "?token=" + expiry +
           '.' + encode_base64url(key.principal) + '.' + signature(key, sha256, expiry);
}

std::optional<std::string> part_links::principal_of(
    std::string_view thread_id, std::string_view sha256, std::string_view token, unix_ms now
) const {
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (settings_.key.empty() || token.size() > token_bytes_max || first == last) {
        return std::nullopt;
    }
    const std::string_view expiry = token.substr(0, first);
    const auto principal = session::decode_base64(token.substr(first + 1, last - first - 1));
    if (!principal) {
        return std::nullopt;
    }
    const std::string_view given = token.substr(last + 1);
    const std::string right = signature({*principal, std::string(thread_id)}, sha256, expiry);
    if (given.size() != right.size() ||
        CRYPTO_memcmp(given.data(), right.data(), right.size()) != 0) {
        return std::nullopt;
    }
    unix_ms days = 0; // Signed by this server, so it is a number.
    (void)std::from_chars(expiry.data(), expiry.data() + expiry.size(), days);
    return now < days * day_ms ? principal : std::nullopt;
}

} // namespace agui::gateway
