#include "gateway/auth/token_list.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// Digests are compared, because they have the same length whatever the token's length is.
using token_digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

token_digest token_digest_of(std::string_view token) {
    token_digest made;
    SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), made.data());
    return made;
}

class open_authenticator final : public authenticator {
public:
    asio::awaitable<auth_result> authenticate(const presented_head& /*head*/) override {
        co_return everybody();
    }
    bool reads(std::string_view /*header*/) const noexcept override { return false; }
};

class token_authenticator final : public authenticator {
public:
    token_authenticator(std::vector<listed_token> tokens, const clock& time) : time_(time) {
        for (listed_token& each : tokens) {
            listed_.push_back(
                {token_digest_of(each.token), std::make_shared<const caller>(std::move(each.who))}
            );
        }
    }

    asio::awaitable<auth_result> authenticate(const presented_head& head) override {
        co_return check(head);
    }
    bool reads(std::string_view header) const noexcept override {
        return header == "authorization";
    }

private:
    struct listed {
        token_digest digest;
        std::shared_ptr<const caller> who;
    };

    auth_result check(const presented_head& head) const {
        const auto token = bearer_in(head);
        if (!token) {
            const bool none = !head.has("authorization");
            return auth_error{
                none ? auth_error::kind::missing : auth_error::kind::invalid,
                "A valid bearer token is required."
            };
        }
        const token_digest given = token_digest_of(*token);
        const std::shared_ptr<const caller>* found = nullptr;
        for (const listed& each : listed_) { // All of them, so that the time tells nothing.
            if (CRYPTO_memcmp(each.digest.data(), given.data(), given.size()) == 0) {
                found = &each.who;
            }
        }
        if (found == nullptr) {
            return auth_error{auth_error::kind::invalid, "A valid bearer token is required."};
        }
        if ((*found)->expires && time_.now() >= *(*found)->expires) {
            return auth_error{auth_error::kind::invalid, "The token has expired."};
        }
        return *found;
    }

    const clock& time_;
    std::vector<listed> listed_;
};

} // namespace

std::shared_ptr<authenticator> make_open_authenticator() {
    return std::make_shared<open_authenticator>();
}

std::shared_ptr<authenticator>
make_token_authenticator(std::vector<listed_token> tokens, const clock& time) {
    return std::make_shared<token_authenticator>(std::move(tokens), time);
}

} // namespace agui::gateway
