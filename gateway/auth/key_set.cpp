#include "gateway/auth/key_set.hpp"

#include "session/base/base64url.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

// NIST SP 800-131A: shorter keys can be factored within reach. Longer ones than the upper limit
// only make each check slow.
constexpr int rsa_bits_min = 2048;
constexpr int rsa_bits_max = 8192;
constexpr std::size_t exponent_bytes_max = 8;
constexpr std::size_t p256_bytes = 32;
constexpr std::size_t ed25519_bytes = 32;

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* what) const noexcept {
        Free(what);
    }
};
using big_number = std::unique_ptr<BIGNUM, freed_by<BN_free>>;
using param_builder = std::unique_ptr<OSSL_PARAM_BLD, freed_by<OSSL_PARAM_BLD_free>>;
using param_list = std::unique_ptr<OSSL_PARAM, freed_by<OSSL_PARAM_free>>;
using key_context = std::unique_ptr<EVP_PKEY_CTX, freed_by<EVP_PKEY_CTX_free>>;
using digest_context = std::unique_ptr<EVP_MD_CTX, freed_by<EVP_MD_CTX_free>>;
using ecdsa_signature = std::unique_ptr<ECDSA_SIG, freed_by<ECDSA_SIG_free>>;
using shared_key = std::shared_ptr<EVP_PKEY>;

const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}

big_number number_of(std::string_view bytes) {
    return big_number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

/// The text of a member; empty if it is missing or no text.
std::string_view text_in(const json::object& from, std::string_view name) {
    const json::value* const found = from.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

/// The bytes of a member in base64url; empty if it has none.
std::string bytes_in(const json::object& from, std::string_view name) {
    return decode_base64url(text_in(from, name)).value_or(std::string());
}

/// Null if OpenSSL refuses the parameters.
shared_key make_key(const char* type, OSSL_PARAM_BLD& builder) {
    const param_list params(OSSL_PARAM_BLD_to_param(&builder));
    const key_context context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* made = nullptr;
    if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
        return nullptr;
    }
    shared_key key(made, freed_by<EVP_PKEY_free>());
    const key_context check(EVP_PKEY_CTX_new_from_pkey(nullptr, made, nullptr));
    return check && EVP_PKEY_public_check(check.get()) == 1 ? key : nullptr;
}

shared_key make_rsa(const json::object& from) {
    const std::string exponent = bytes_in(from, "e");
    const big_number n = number_of(bytes_in(from, "n"));
    const big_number e = number_of(exponent);
    const param_builder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || !builder || exponent.size() > exponent_bytes_max ||
        BN_num_bits(n.get()) < rsa_bits_min || BN_num_bits(n.get()) > rsa_bits_max ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
        return nullptr;
    }
    return make_key("RSA", *builder);
}

shared_key make_p256(const json::object& from) {
    const std::string x = bytes_in(from, "x");
    const std::string y = bytes_in(from, "y");
    const std::string point = "\x04" + x + y; // Uncompressed.
    const param_builder builder(OSSL_PARAM_BLD_new());
    if (!builder || x.size() != p256_bytes || y.size() != p256_bytes ||
        OSSL_PARAM_BLD_push_utf8_string(
            builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0
        ) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(
            builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()
        ) != 1) {
        return nullptr;
    }
    return make_key("EC", *builder);
}

// True for a point whose y is not below the prime, or whose order is 1, 2, 4 or 8: without a
// private key, anybody can make signatures that fit it. OpenSSL accepts both.
bool is_weak_ed25519(std::string_view point) {
    // Numbers with the first byte first. The y of the points of the orders 1, 4, 2 and 8 are 1, 0,
    // -1 and these two.
    constexpr std::string_view order_8 =
        "\x05\xFC\x53\x6D\x88\x02\x38\xB1\x39\x33\xC6\xD3\x05\xAC\xDF\xD5"
        "\xF0\x98\xEF\xF2\x89\xF4\xC3\x45\xB0\x27\xB2\xC2\x8F\x95\xE8\x26";
    constexpr std::string_view other_order_8 =
        "\x7A\x03\xAC\x92\x77\xFD\xC7\x4E\xC6\xCC\x39\x2C\xFA\x53\x20\x2A"
        "\x0F\x67\x10\x0D\x76\x0B\x3C\xBA\x4F\xD8\x4D\x3D\x70\x6A\x17\xC7";
    const std::string minus_one = "\x7F" + std::string(ed25519_bytes - 2, '\xFF') + "\xEC";
    const std::string one = std::string(ed25519_bytes - 1, '\0') + '\1';
    std::string y(point.rbegin(), point.rend());
    y[0] = static_cast<char>(static_cast<unsigned char>(y[0]) & 0x7FU); // Without the sign of x.
    return y <= one || y >= minus_one || y == order_8 || y == other_order_8;
}

shared_key make_ed25519(const json::object& from) {
    const std::string x = bytes_in(from, "x");
    EVP_PKEY* const made =
        x.size() == ed25519_bytes && !is_weak_ed25519(x)
            ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size())
            : nullptr;
    return made == nullptr ? nullptr : shared_key(made, freed_by<EVP_PKEY_free>());
}

bool is_for_signatures(const json::object& from) {
    if (from.contains("use") && text_in(from, "use") != "sig") {
        return false;
    }
    const json::value* const uses = from.if_contains("key_ops");
    return uses == nullptr ||
           (uses->is_array() && std::ranges::any_of(uses->get_array(), [](const json::value& each) {
                return each.is_string() && each.get_string() == "verify";
            }));
}

std::optional<verification_key> read_key(const json::object& from) {
    if (!is_for_signatures(from) || from.contains("d")) {
        return std::nullopt;
    }
    const std::string_view type = text_in(from, "kty");
    const std::string_view curve = text_in(from, "crv");
    jws_algorithm algorithm = jws_algorithm::rs256;
    shared_key key;
    if (type == "RSA") {
        key = make_rsa(from);
    } else if (type == "EC" && curve == "P-256") {
        algorithm = jws_algorithm::es256;
        key = make_p256(from);
    } else if (type == "OKP" && curve == "Ed25519") {
        algorithm = jws_algorithm::eddsa;
        key = make_ed25519(from);
    }
    const bool is_other =
        from.contains("alg") && jws_algorithm_named(text_in(from, "alg")) != algorithm;
    if (!key || is_other || (from.contains("kid") && text_in(from, "kid").empty())) {
        return std::nullopt;
    }
    return verification_key(std::string(text_in(from, "kid")), algorithm, std::move(key));
}

/// The DER form of a signature that is two numbers (RFC 7518, 3.4); empty for any other.
std::string der_of(std::string_view signature) {
    if (signature.size() != 2 * p256_bytes) {
        return {};
    }
    big_number r = number_of(signature.substr(0, p256_bytes));
    big_number s = number_of(signature.substr(p256_bytes));
    const ecdsa_signature pair(ECDSA_SIG_new());
    if (!r || !s || !pair || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) {
        return {};
    }
    (void)r.release(); // The pair owns both.
    (void)s.release();
    unsigned char* made = nullptr;
    const int size = i2d_ECDSA_SIG(pair.get(), &made);
    std::string der;
    if (size > 0) {
        der.assign(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
    }
    OPENSSL_free(made);
    return der;
}

failure unusable_set(std::string detail) {
    return {errc::invalid_input, std::move(detail), {}, {}};
}

} // namespace

std::string_view to_string(jws_algorithm algorithm) noexcept {
    switch (algorithm) {
    case jws_algorithm::rs256:
        return "RS256";
    case jws_algorithm::es256:
        return "ES256";
    case jws_algorithm::eddsa:
        return "EdDSA";
    }
    return "";
}

std::optional<jws_algorithm> jws_algorithm_named(std::string_view name) noexcept {
    for (const jws_algorithm each :
         {jws_algorithm::rs256, jws_algorithm::es256, jws_algorithm::eddsa}) {
        if (name == to_string(each)) {
            return each;
        }
    }
    return name == "Ed25519" ? std::optional(jws_algorithm::eddsa) : std::nullopt;
}

verification_key::verification_key(
    std::string id, jws_algorithm algorithm, std::shared_ptr<EVP_PKEY> key
)
    : id_(std::move(id)), algorithm_(algorithm), key_(std::move(key)) {}

bool verification_key::verifies(std::string_view text, std::string_view signature) const {
    std::string der;
    if (algorithm_ == jws_algorithm::es256) {
        der = der_of(signature);
        signature = der;
    }
    if (signature.empty()) {
        return false;
    }
    // Ed25519 hashes by itself.
    const EVP_MD* const digest = algorithm_ == jws_algorithm::eddsa ? nullptr : EVP_sha256();
    const digest_context context(EVP_MD_CTX_new());
    return context &&
           EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(
               context.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()
           ) == 1;
}

result<key_set> parse_key_set(std::string_view text) {
    if (text.size() > key_set_bytes_max) {
        return unusable_set("is longer than 256 KB");
    }
    const auto value = parse_json(text);
    const json::object* const set = value ? value->if_object() : nullptr;
    const json::value* const listed = set != nullptr ? set->if_contains("keys") : nullptr;
    if (listed == nullptr || !listed->is_array() || listed->get_array().size() > key_set_keys_max) {
        return unusable_set("must be a JWK Set of at most 100 keys: {\"keys\":[…]}");
    }
    key_set made;
    for (const json::value& each : listed->get_array()) {
        std::optional<verification_key> key;
        if (const json::object* const fields = each.if_object()) {
            key = read_key(*fields);
        }
        if (key) {
            made.keys.push_back(std::move(*key));
        } else {
            ++made.unusable;
        }
    }
    if (made.keys.empty()) {
        return unusable_set("holds no RSA, P-256 or Ed25519 key for signatures");
    }
    return made;
}

} // namespace agui::gateway
