// Tokens that were changed after they were signed: none is accepted.

#include "gateway/auth/jwt.hpp"
#include "session/base/base64url.hpp"
#include "tests/gateway/auth/token_maker.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using gateway::jws_algorithm;

constexpr std::int64_t signed_at = 1'800'000'000'000;
constexpr int mutations = 20'000;

class JwtMutations : public ::testing::Test {
protected:
    JwtMutations() {
        for (const jws_algorithm each :
             {jws_algorithm::rs256, jws_algorithm::es256, jws_algorithm::eddsa}) {
            const std::string id(to_string(each));
            makers.push_back(std::make_unique<token_maker>(each, id));
            others.push_back(std::make_unique<token_maker>(each, id));
            good.push_back(makers.back()->token(claims_of("ada", signed_at)));
            more.push_back(makers.back()->token(claims_of("eve", signed_at, "admin")));
        }
        keys = gateway::parse_key_set(jwks_of({makers[0].get(), makers[1].get(), makers[2].get()}))
                   .value();
        rules.issuer = "https://id.example";
        rules.audiences = {"agui"};
        rules.algorithms = {jws_algorithm::rs256, jws_algorithm::es256, jws_algorithm::eddsa};
    }

    bool is_accepted(std::string_view token) const {
        return std::holds_alternative<gateway::caller>(
            gateway::check_jwt(token, keys, rules, signed_at)
        );
    }

    std::size_t below(std::size_t limit) { return random() % limit; }

    static std::vector<std::string> parts_of(const std::string& token) {
        const std::size_t first = token.find('.');
        const std::size_t last = token.rfind('.');
        return {
            token.substr(0, first), token.substr(first + 1, last - first - 1),
            token.substr(last + 1)
        };
    }

    std::string with_flipped_bit(std::string token) {
        char& c = token[below(token.size())];
        c = static_cast<char>(c ^ (1 << below(8)));
        return token;
    }

    // The bit is one of the decoded bytes, so that the text stays base64url.
    std::string with_flipped_content(const std::string& token) {
        std::vector<std::string> parts = parts_of(token);
        std::string& part = parts[below(3)];
        std::string bytes = decode_base64url(part).value();
        char& c = bytes[below(bytes.size())];
        c = static_cast<char>(c ^ (1 << below(8)));
        part = encode_base64url(bytes);
        return parts[0] + "." + parts[1] + "." + parts[2];
    }

    std::string with_parts_of_another(std::size_t which) {
        const std::vector<std::string> own = parts_of(good[which]);
        const std::vector<std::string> foreign = parts_of(more[below(more.size())]);
        std::string made;
        for (std::size_t i = 0; i < 3; ++i) {
            made += (i == 0 ? "" : ".") + (below(2) == 0 ? own[i] : foreign[i]);
        }
        return made;
    }

    std::string with_swapped_parts(const std::string& token) {
        std::vector<std::string> parts = parts_of(token);
        std::swap(parts[below(3)], parts[below(3)]);
        return parts[0] + "." + parts[1] + "." + parts[2];
    }

    std::string with_other_text(std::string token) {
        const std::size_t at = below(token.size());
        switch (below(3)) {
        case 0:
            return token.substr(0, at);
        case 1:
            return token.insert(at, 1, static_cast<char>(below(256)));
        default:
            return token.erase(at, 1 + below(8));
        }
    }

    std::string with_other_key(std::size_t which) {
        json::object claims = claims_of("user" + std::to_string(random()), signed_at, "admin");
        return others[which]->token(claims);
    }

    std::string mutate(std::size_t which) {
        switch (below(6)) {
        case 0:
            return with_flipped_bit(good[which]);
        case 1:
            return with_flipped_content(good[which]);
        case 2:
            return with_parts_of_another(which);
        case 3:
            return with_swapped_parts(good[which]);
        case 4:
            return with_other_text(good[which]);
        default:
            return below(8) == 0 ? with_other_key(which) : with_flipped_content(more[which]);
        }
    }

    std::mt19937 random{20'261'129};
    std::vector<std::unique_ptr<token_maker>> makers;
    std::vector<std::unique_ptr<token_maker>> others; ///< Same ids, other keys.
    std::vector<std::string> good;
    std::vector<std::string> more; ///< Valid too, with other claims.
    gateway::key_set keys;
    gateway::jwt_rules rules;
};

TEST_F(JwtMutations, AreNeverAccepted) {
    for (std::size_t i = 0; i < good.size(); ++i) {
        ASSERT_TRUE(is_accepted(good[i]));
        ASSERT_TRUE(is_accepted(more[i]));
    }
    int tried = 0;
    while (tried < mutations) {
        const std::string token = mutate(below(good.size()));
        if (std::ranges::find(good, token) != good.end() ||
            std::ranges::find(more, token) != more.end()) {
            continue; // Nothing was changed.
        }
        ++tried;
        ASSERT_FALSE(is_accepted(token)) << "mutation " << tried << ": " << token;
    }
}

} // namespace
} // namespace agui::test
