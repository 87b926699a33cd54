#include "gateway/auth/jwt.hpp"
#include "gateway/auth/key_set.hpp"
#include "session/base/base64url.hpp"
#include "tests/gateway/auth/token_maker.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <openssl/hmac.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using gateway::check_jwt;
using gateway::jws_algorithm;
using gateway::key_set;
using gateway::parse_key_set;

constexpr std::int64_t now = 1'800'000'000'000;

// RFC 7515, A.2 and A.3, and RFC 8037, A.4.
constexpr const char* joe_claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
    "fQ";
constexpr const char* rsa_key =
    R"({"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPC)"
    R"(JrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-)"
    R"(bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9k)"
    R"(G4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",)"
    R"("e":"AQAB"})";
constexpr const char* rsa_signature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5j"
    "ujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L"
    "07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEU"
    "ipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
constexpr const char* p256_key =
    R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
constexpr const char* p256_signature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
constexpr const char* ed25519_key =
    R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})";
constexpr const char* ed25519_signature =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

key_set set_of(const std::string& keys) {
    return parse_key_set(R"({"keys":[)" + keys + "]}").value();
}

gateway::jwt_rules rules() {
    gateway::jwt_rules made;
    made.issuer = "https://id.example";
    made.audiences = {"other", "agui"};
    made.algorithms = {jws_algorithm::rs256, jws_algorithm::es256, jws_algorithm::eddsa};
    made.leeway = std::chrono::seconds(30);
    return made;
}

/// Why a token is refused; empty if it is accepted.
std::string refusal(
    std::string_view token, const key_set& keys, std::int64_t at = now,
    const gateway::jwt_rules& with = rules()
) {
    const auto outcome = check_jwt(token, keys, with, at);
    if (const auto* refused = std::get_if<gateway::jwt_refused>(&outcome)) {
        return std::string(refused->why);
    }
    return std::holds_alternative<gateway::caller>(outcome) ? "" : "unknown key";
}

const token_maker& maker_of(jws_algorithm algorithm) {
    static const token_maker rsa(jws_algorithm::rs256, "rsa");
    static const token_maker p256(jws_algorithm::es256, "p256");
    static const token_maker ed25519(jws_algorithm::eddsa, "ed25519");
    return algorithm == jws_algorithm::rs256   ? rsa
           : algorithm == jws_algorithm::es256 ? p256
                                               : ed25519;
}

constexpr jws_algorithm algorithms[]{
    jws_algorithm::rs256, jws_algorithm::es256, jws_algorithm::eddsa
};

const key_set& all_keys() {
    static const key_set keys =
        parse_key_set(jwks_of(
                          {&maker_of(jws_algorithm::rs256), &maker_of(jws_algorithm::es256),
                           &maker_of(jws_algorithm::eddsa)}
                      ))
            .value();
    return keys;
}

class Jwt : public ::testing::Test {
protected:
    /// The reason for refusing claims that `change` has changed.
    std::string refusal_of(const std::function<void(json::object&)>& change) const {
        json::object claims = claims_of("ada", now);
        change(claims);
        return refusal(maker.token(claims), all_keys());
    }
    std::string refusal_of_header(const std::function<void(json::object&)>& change) const {
        json::object header = maker.header();
        change(header);
        return refusal(
            maker.sign(json::serialize(header), json::serialize(claims_of("ada", now))), all_keys()
        );
    }

    const token_maker& maker = maker_of(jws_algorithm::eddsa);
};

TEST(JwtKeys, VerifyTheSignaturesOfTheStandards) {
    const std::string joe = std::string(".") + joe_claims;
    struct vector {
        const char* key;
        std::string text;
        const char* signature;
    };
    for (const vector& each : std::vector<vector>{
             {rsa_key, "eyJhbGciOiJSUzI1NiJ9" + joe, rsa_signature},
             {p256_key, "eyJhbGciOiJFUzI1NiJ9" + joe, p256_signature},
             {ed25519_key, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
              ed25519_signature},
         }) {
        const key_set keys = set_of(each.key);
        ASSERT_EQ(keys.keys.size(), 1U);
        std::string signature = decode_base64url(each.signature).value();
        EXPECT_TRUE(keys.keys[0].verifies(each.text, signature)) << each.key;
        EXPECT_FALSE(keys.keys[0].verifies(each.text + "x", signature));
        EXPECT_FALSE(keys.keys[0].verifies(each.text, signature + "x"));
        EXPECT_FALSE(keys.keys[0].verifies(each.text, {}));
        signature.front() = static_cast<char>(signature.front() ^ 1);
        EXPECT_FALSE(keys.keys[0].verifies(each.text, signature));
    }
}

// The points of the orders 1, 2, 4 and 8, and three whose y is not below the prime; each with both
// signs of x.
TEST(JwtKeys, Ed25519PointsThatNeedNoPrivateKeyAreIgnored) {
    for (const char* point :
         {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA",
          "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
          "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA",
          "7P_______________________________________38",
          "7P________________________________________8",
          "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU",
          "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU",
          "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o",
          "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_o",
          "7f_______________________________________38",
          "7f________________________________________8",
          "7v_______________________________________38",
          "7v________________________________________8",
          "8P_______________________________________38",
          "8P________________________________________8"}) {
        const std::string key =
            R"({"kty":"OKP","crv":"Ed25519","x":")" + std::string(point) + "\"}";
        EXPECT_FALSE(parse_key_set(R"({"keys":[)" + key + "]}")) << point;
    }
}

TEST(JwtKeys, WeakAndForeignOnesAreIgnored) {
    const token_maker weak(jws_algorithm::rs256, "weak", 1024);
    const std::string rsa = rsa_key;
    const auto with = [](std::string key, const std::string& member) {
        return key.insert(key.size() - 1, "," + member);
    };

    const key_set keys = set_of(
        rsa + "," + json::serialize(weak.jwk()) + "," + with(rsa, R"("use":"enc")") + "," +
        with(rsa, R"("alg":"PS256")") + "," + with(rsa, R"("alg":"HS256")") + "," +
        with(rsa, R"("key_ops":["sign"])") + "," + with(rsa, R"("d":"AQAB")") + "," +
        with(rsa, R"("kid":1)") + R"(,{"kty":"oct","k":"AAAA"},{"kty":"EC","crv":"P-384"},7,)" +
        // Not on the curve.
        R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
        R"("y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"})"
    );

    EXPECT_EQ(keys.keys.size(), 1U);
    EXPECT_EQ(keys.unusable, 11U);
    for (const std::string& text :
         {std::string(), std::string("{}"), std::string("[]"), std::string(R"({"keys":{}})"),
          std::string(R"({"keys":[]})"), weak.jwks(),
          std::string(gateway::key_set_bytes_max + 1, ' ')}) {
        EXPECT_FALSE(parse_key_set(text)) << text.substr(0, 100);
    }
}

TEST_F(Jwt, NamesItsCaller) {
    gateway::jwt_rules with = rules();
    with.tenant_claim = "https://example.com/org";
    with.user_claim = "user.name";
    with.scopes.add("approve");
    json::object claims = claims_of("ignored", now, "openid read agents:a:run");
    claims["https://example.com/org"] = "acme";
    claims["user"] = {{"name", "ada"}};
    claims["aud"] = {"x", "agui"};

    for (const jws_algorithm each : algorithms) {
        const auto outcome = check_jwt(maker_of(each).token(claims), all_keys(), with, now);

        ASSERT_TRUE(std::holds_alternative<gateway::caller>(outcome)) << to_string(each);
        const auto& who = std::get<gateway::caller>(outcome);
        EXPECT_EQ(who.principal, "acme/ada");
        EXPECT_THAT(who.scopes.texts(), ::testing::ElementsAre("agents:a:run", "approve", "read"));
        EXPECT_EQ(who.expires, now + 3'600'000 + 30'000);
    }
}

TEST_F(Jwt, ScopesMayBeAList) {
    json::object claims = claims_of("ada", now);
    claims["scope"] = json::array{"read", 7, "fly", "run"};

    const auto outcome = check_jwt(maker.token(claims), all_keys(), rules(), now);

    EXPECT_THAT(
        std::get<gateway::caller>(outcome).scopes.texts(), ::testing::ElementsAre("read", "run")
    );
}

TEST_F(Jwt, GivesNoScopesWithoutAScopeClaim) {
    gateway::jwt_rules with = rules();
    with.scope_claim.clear();
    json::object claims = claims_of("ada", now);
    claims[""] = "admin";

    const auto outcome = check_jwt(maker.token(claims), all_keys(), with, now);

    EXPECT_TRUE(std::get<gateway::caller>(outcome).scopes.empty());
}

TEST_F(Jwt, IsValidForItsTimeOnly) {
    const std::string token = maker.token(claims_of("ada", now));

    EXPECT_EQ(refusal(token, all_keys(), now), "");
    EXPECT_EQ(refusal(token, all_keys(), now + 3'629'999), "") << "within the leeway";
    EXPECT_EQ(refusal(token, all_keys(), now + 3'630'000), "The token has expired.");
    EXPECT_EQ(refusal(token, all_keys(), now - 90'000), "");
    EXPECT_EQ(refusal(token, all_keys(), now - 90'001), "The token is not valid yet.");
    EXPECT_EQ(
        refusal_of([](json::object& claims) { claims["iat"] = now / 1000 + 31; }),
        "The token is not valid yet."
    );
    for (const char* name : {"exp", "nbf", "iat"}) {
        for (const json::value& wrong :
             {json::value("1800003600"), json::value(-1), json::value(1e300), json::value(nullptr)
             }) {
            EXPECT_NE(refusal_of([&](json::object& claims) { claims[name] = wrong; }), "") << name;
        }
    }
    EXPECT_NE(refusal_of([](json::object& claims) { claims.erase("exp"); }), "");
    EXPECT_EQ(refusal_of([](json::object& claims) { claims["exp"] = now / 1000 + 0.5; }), "");
}

TEST_F(Jwt, IsForThisGatewayAndFromItsIssuer) {
    const auto erased = [this](const char* name) {
        return refusal_of([name](json::object& claims) { claims.erase(name); });
    };
    const auto changed = [this](const char* name, const json::value& to) {
        return refusal_of([&](json::object& claims) { claims[name] = to; });
    };

    for (const char* name : {"iss", "aud", "sub"}) {
        EXPECT_NE(erased(name), "") << name;
    }
    EXPECT_EQ(changed("iss", "https://id.example/"), "The token is from another issuer.");
    EXPECT_EQ(changed("aud", "Agui"), "The token is for another audience.");
    EXPECT_EQ(changed("aud", json::array{"x", 7}), "The token is for another audience.");
    EXPECT_EQ(changed("aud", json::array{}), "The token is for another audience.");
    EXPECT_NE(changed("sub", ""), "");
    EXPECT_NE(changed("sub", 7), "");
    EXPECT_NE(changed("sub", "a\nb"), "");
}

TEST_F(Jwt, OfAnotherFormIsRefused) {
    const std::string good = maker.token(claims_of("ada", now));
    ASSERT_EQ(refusal(good, all_keys()), "");
    for (const std::string& token :
         {std::string(), std::string("."), std::string(".."), std::string("a.b"), good + ".",
          good + ".x", "." + good, good + "=", good + "\n", " " + good,
          good.substr(0, good.rfind('.')), good.substr(0, good.rfind('.') + 1),
          good + std::string(gateway::jwt_bytes_max, 'A')}) {
        EXPECT_NE(refusal(token, all_keys()), "") << token.substr(0, 100);
    }
    const std::string header = json::serialize(maker.header());
    const std::string claims = json::serialize(claims_of("ada", now));
    EXPECT_NE(refusal(maker.sign("[]", claims), all_keys()), "");
    EXPECT_NE(refusal(maker.sign(header, "[]"), all_keys()), "");
    EXPECT_NE(refusal(maker.sign(header, claims + "x"), all_keys()), "");
    // Some parsers take the first of two equal names, others the last.
    const std::string twice = R"({"sub":"eve",)" + claims.substr(1);
    EXPECT_NE(refusal(maker.sign(header, twice), all_keys()), "");
    EXPECT_NE(refusal(maker.sign(R"({"alg":"EdDSA",)" + header.substr(1), claims), all_keys()), "");
    EXPECT_NE(
        refusal(maker.sign(header, R"({"a":[{"x":1,"x":2}],)" + claims.substr(1)), all_keys()), ""
    );
    EXPECT_EQ(
        refusal(maker.sign(header, R"({"a":[{"x":1},{"x":2}],)" + claims.substr(1)), all_keys()), ""
    );
}

TEST_F(Jwt, MembersOfItsHeaderAreRestrictedOrIgnored) {
    EXPECT_NE(refusal_of_header([](auto& header) { header["crit"] = {"exp"}; }), "");
    EXPECT_NE(refusal_of_header([](auto& header) { header["typ"] = "secevent+jwt"; }), "");
    EXPECT_NE(refusal_of_header([](auto& header) { header["typ"] = 1; }), "");
    EXPECT_NE(refusal_of_header([](auto& header) { header["kid"] = 1; }), "");
    EXPECT_NE(refusal_of_header([](auto& header) { header.erase("alg"); }), "");
    for (const char* type : {"JWT", "jwt", "at+jwt", "application/at+jwt", "application/jwt"}) {
        EXPECT_EQ(refusal_of_header([type](auto& header) { header["typ"] = type; }), "") << type;
    }
    EXPECT_EQ(refusal_of_header([](auto& header) { header.erase("typ"); }), "");
    EXPECT_EQ(refusal_of_header([](auto& header) { header.erase("kid"); }), "");
    EXPECT_EQ(refusal_of_header([](auto& header) { header["alg"] = "Ed25519"; }), "");
    // A key that the token brings along.
    const token_maker own(jws_algorithm::eddsa, "own");
    json::object header = own.header();
    header["jwk"] = own.jwk();
    header["jku"] = "https://evil.example/keys";
    header["x5u"] = "https://evil.example/chain";
    const std::string claims = json::serialize(claims_of("ada", now));
    EXPECT_EQ(refusal(own.sign(json::serialize(header), claims), all_keys()), "unknown key");
    header["kid"] = "ed25519";
    EXPECT_NE(refusal(own.sign(json::serialize(header), claims), all_keys()), "");
}

// RFC 8725, 2.1: the public key as the secret of an HMAC, and no signature at all.
TEST_F(Jwt, KeysAreNotConfused) {
    const std::string claims = encode_base64url(json::serialize(claims_of("ada", now)));
    for (const char* algorithm : {"none", "None", "NONE", "nOnE", ""}) {
        const std::string head =
            encode_base64url(json::serialize(json::object{{"alg", algorithm}}));
        EXPECT_NE(refusal(head + "." + claims + ".", all_keys()), "") << algorithm;
        EXPECT_NE(refusal(head + "." + claims + ".AAAA", all_keys()), "");
    }
    const std::string secret = json::serialize(maker_of(jws_algorithm::rs256).jwk());
    const std::string text = encode_base64url(R"({"alg":"HS256","kid":"rsa"})") + "." + claims;
    std::string mac(32, '\0');
    HMAC(
        EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
        reinterpret_cast<const unsigned char*>(text.data()), text.size(),
        reinterpret_cast<unsigned char*>(mac.data()), nullptr
    );
    EXPECT_NE(refusal(text + "." + encode_base64url(mac), all_keys()), "");
    // The header names the algorithm of one key and the id of another.
    for (const jws_algorithm of_key : algorithms) {
        for (const jws_algorithm named : algorithms) {
            json::object header = maker_of(of_key).header();
            header["alg"] = to_string(named);
            const std::string token = maker_of(of_key).sign(
                json::serialize(header), json::serialize(claims_of("ada", now))
            );
            EXPECT_EQ(refusal(token, all_keys()).empty(), of_key == named);
        }
    }
}

TEST_F(Jwt, OnlyListedAlgorithmsAreAccepted) {
    gateway::jwt_rules with = rules();
    with.algorithms = {jws_algorithm::es256};
    const json::object claims = claims_of("ada", now);

    for (const jws_algorithm each : algorithms) {
        EXPECT_EQ(
            refusal(maker_of(each).token(claims), all_keys(), now, with).empty(),
            each == jws_algorithm::es256
        );
    }
}

TEST_F(Jwt, OfAnUnknownKeyMayBeOfANewerOne) {
    const token_maker fresh(jws_algorithm::eddsa, "fresh");
    const std::string token = fresh.token(claims_of("ada", now));

    EXPECT_EQ(refusal(token, all_keys()), "unknown key");
    EXPECT_EQ(refusal(token, parse_key_set(fresh.jwks()).value()), "");
    // The id of a known key: no newer set would help.
    const token_maker same(jws_algorithm::eddsa, "ed25519");
    EXPECT_EQ(
        refusal(same.token(claims_of("ada", now)), all_keys()), "The token's signature is wrong."
    );
}

} // namespace
} // namespace agui::test
