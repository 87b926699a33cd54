#include "tests/gateway/auth/token_maker.hpp"

#include "session/base/base64url.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

namespace agui::test {

namespace json = boost::json;
using gateway::jws_algorithm;

namespace {

EVP_PKEY* draw(jws_algorithm algorithm, unsigned bits) {
    switch (algorithm) {
    case jws_algorithm::rs256:
        return EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits));
    case jws_algorithm::es256:
        return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "prime256v1");
    case jws_algorithm::eddsa:
        return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    }
    return nullptr;
}

std::string bytes_of_number(const BIGNUM* number, int size) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), size);
    return bytes;
}

std::string number_param(EVP_PKEY* key, const char* name, int size = 0) {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key, name, &number);
    std::string text =
        encode_base64url(bytes_of_number(number, size == 0 ? BN_num_bytes(number) : size));
    BN_free(number);
    return text;
}

// The two numbers of an ECDSA signature, 32 bytes each.
std::string raw_signature(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* const pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string raw =
        bytes_of_number(ECDSA_SIG_get0_r(pair), 32) + bytes_of_number(ECDSA_SIG_get0_s(pair), 32);
    ECDSA_SIG_free(pair);
    return raw;
}

} // namespace

token_maker::token_maker(jws_algorithm algorithm, std::string id, unsigned bits)
    : algorithm_(algorithm), id_(std::move(id)), key_(draw(algorithm, bits), EVP_PKEY_free) {}

json::object token_maker::jwk() const {
    json::object out{{"kid", id_}, {"alg", to_string(algorithm_)}, {"use", "sig"}};
    std::array<unsigned char, 32> raw{};
    std::size_t size = raw.size();
    switch (algorithm_) {
    case jws_algorithm::rs256:
        out["kty"] = "RSA";
        out["n"] = number_param(key_.get(), OSSL_PKEY_PARAM_RSA_N);
        out["e"] = number_param(key_.get(), OSSL_PKEY_PARAM_RSA_E);
        break;
    case jws_algorithm::es256:
        out["kty"] = "EC";
        out["crv"] = "P-256";
        out["x"] = number_param(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32);
        out["y"] = number_param(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32);
        break;
    case jws_algorithm::eddsa:
        EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &size);
        out["kty"] = "OKP";
        out["crv"] = "Ed25519";
        out["x"] = encode_base64url(std::string(reinterpret_cast<const char*>(raw.data()), size));
        break;
    }
    return out;
}

std::string token_maker::jwks() const { return jwks_of({this}); }

json::object token_maker::header() const {
    return {{"alg", to_string(algorithm_)}, {"kid", id_}, {"typ", "JWT"}};
}

std::string token_maker::token(const json::object& claims) const {
    return sign(json::serialize(header()), json::serialize(claims));
}

std::string token_maker::sign(std::string_view header, std::string_view claims) const {
    const std::string text = encode_base64url(header) + "." + encode_base64url(claims);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
        EVP_MD_CTX_new(), EVP_MD_CTX_free
    );
    const EVP_MD* const digest = algorithm_ == jws_algorithm::eddsa ? nullptr : EVP_sha256();
    EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get());
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
    std::string signature(size, '\0');
    if (EVP_DigestSign(
            context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
            text.size()
        ) != 1) {
        throw std::runtime_error("the token could not be signed");
    }
    signature.resize(size);
    if (algorithm_ == jws_algorithm::es256) {
        signature = raw_signature(signature);
    }
    return text + "." + encode_base64url(signature);
}

std::string jwks_of(std::initializer_list<const token_maker*> makers) {
    json::array keys;
    for (const token_maker* each : makers) {
        keys.emplace_back(each->jwk());
    }
    return json::serialize(json::object{{"keys", std::move(keys)}});
}

json::object claims_of(std::string_view user, std::int64_t now, std::string_view scopes) {
    const std::int64_t seconds = now / 1000;
    return {{"iss", "https://id.example"},
            {"aud", "agui"},
            {"sub", user},
            {"iat", seconds - 60},
            {"nbf", seconds - 60},
            {"exp", seconds + 3600},
            {"scope", scopes}};
}

} // namespace agui::test
