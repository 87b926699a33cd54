#include "gateway/auth/token_list.hpp"

#include "gateway/auth/secret_digest.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

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
                {digest_of_secret(each.token), std::make_shared<const caller>(std::move(each.who))}
            );
        }
    }

    asio::awaitable<auth_result> authenticate(const presented_head& head) override {
        co_return check(head);
    }
    bool reads(std::string_view header) const noexcept override {
        return header == "authorization";
    }
    auth_result recall(caller remembered) const override {
        const auto found = std::ranges::find_if(listed_, [&remembered](const listed& each) {
            return !each.who->credential.empty() && each.who->credential == remembered.credential;
        });
        if (found == listed_.end() || has_expired(*found->who)) {
            return authenticator::recall(std::move(remembered));
        }
        auto now = std::make_shared<caller>(*found->who); // Its scopes may have changed.
        if (!now->expires || (remembered.expires && *remembered.expires < *now->expires)) {
            now->expires = remembered.expires;
        }
        return now;
    }

private:
    struct listed {
        secret_digest digest;
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
        const secret_digest given = digest_of_secret(*token);
        const std::shared_ptr<const caller>* found = nullptr;
        for (const listed& each : listed_) { // All of them, so that the time tells nothing.
            if (same_digest(each.digest, given)) {
                found = &each.who;
            }
        }
        if (found == nullptr) {
            return auth_error{auth_error::kind::invalid, "A valid bearer token is required."};
        }
        if (has_expired(**found)) {
            return auth_error{auth_error::kind::invalid, "The token has expired."};
        }
        return *found;
    }

    bool has_expired(const caller& who) const { return who.expires && time_.now() >= *who.expires; }

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
