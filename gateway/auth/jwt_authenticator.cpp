#include "gateway/auth/jwt_authenticator.hpp"

#include "gateway/auth/secret_digest.hpp"
#include "gateway/auth/verified_tokens.hpp"

#include <string>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// Each remembered caller takes about 500 bytes (5 MB in all), or 2 KB with many scopes.
constexpr std::size_t remembered_half = 5'000;

auth_error invalid_token(std::string_view why) {
    return {auth_error::kind::invalid, std::string(why)};
}

class jwt_authenticator final : public authenticator {
public:
    jwt_authenticator(jwt_rules rules, std::shared_ptr<key_source> keys, const clock& time)
        : rules_(std::move(rules)), source_(std::move(keys)), time_(time) {}

    asio::awaitable<auth_result> authenticate(const presented_head& head) override {
        const auto token = bearer_in(head);
        if (!token) {
            const bool none = !head.has("authorization");
            co_return auth_error{
                none ? auth_error::kind::missing : auth_error::kind::invalid,
                "A valid bearer token is required."
            };
        }
        if (token->size() > jwt_bytes_max) {
            co_return invalid_token("The token is longer than 8 KB.");
        }
        const std::shared_ptr<const key_set> keys = source_->get();
        auth_result outcome = check(*token, keys);
        if (!is_unknown(outcome)) {
            co_return outcome;
        }
        const bool is_certain = co_await source_->refresh();
        const std::shared_ptr<const key_set> newer = source_->get();
        if (newer != keys) { // A token without `kid` is tried with several keys.
            outcome = check(*token, newer);
        }
        if (is_unknown(outcome) && is_certain && newer) {
            co_return invalid_token("The token was signed with an unknown key.");
        }
        co_return outcome;
    }

    bool reads(std::string_view header) const noexcept override {
        return header == "authorization";
    }
    asio::awaitable<void> renew() override { return source_->renew(); }
    // The token is not checked again, but a session ends when the rules change that it met.
    auth_result recall(caller remembered) const override {
        if (rules_.credential.empty() || remembered.credential != rules_.credential) {
            return authenticator::recall(std::move(remembered));
        }
        return std::make_shared<const caller>(std::move(remembered));
    }

private:
    static bool is_unknown(const auth_result& outcome) noexcept {
        return !outcome && outcome.error().what == auth_error::kind::unavailable;
    }

    // auth_error::kind::unavailable: no known key fits.
    auth_result check(std::string_view token, const std::shared_ptr<const key_set>& keys) {
        const unix_ms now = time_.now();
        if (!keys) {
            return unavailable();
        }
        const secret_digest digest = digest_of_secret(token);
        if (auto found = verified_.find(digest, keys, now)) {
            return found;
        }
        jwt_outcome outcome = check_jwt(token, *keys, rules_, now);
        if (std::holds_alternative<jwt_key_unknown>(outcome)) {
            return unavailable();
        }
        if (const auto* refused = std::get_if<jwt_refused>(&outcome)) {
            return invalid_token(refused->why);
        }
        auto who = std::make_shared<caller>(std::move(std::get<caller>(outcome)));
        who->credential = rules_.credential;
        verified_.add(digest, keys, who);
        return who;
    }

    static auth_error unavailable() {
        return {
            auth_error::kind::unavailable, "The issuer's keys are unavailable: try again later."
        };
    }

    const jwt_rules rules_;
    const std::shared_ptr<key_source> source_;
    const clock& time_;
    verified_tokens verified_{remembered_half};
};

} // namespace

std::shared_ptr<authenticator>
make_jwt_authenticator(jwt_rules rules, std::shared_ptr<key_source> keys, const clock& time) {
    return std::make_shared<jwt_authenticator>(std::move(rules), std::move(keys), time);
}

} // namespace agui::gateway
