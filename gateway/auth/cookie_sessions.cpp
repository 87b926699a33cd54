#include "gateway/auth/cookie_sessions.hpp"

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

class session_authenticator final : public authenticator {
public:
    session_authenticator(
        std::shared_ptr<authenticator> checker, std::shared_ptr<const session_cookies> cookies,
        const clock& time
    )
        : checker_(std::move(checker)), cookies_(std::move(cookies)), time_(time) {}

    asio::awaitable<auth_result> authenticate(const presented_head& head) override {
        const auto cookie = session_of(head);
        if (!cookie) {
            co_return co_await checker_->authenticate(head);
        }
        auto remembered = cookies_->read(*cookie, time_.now());
        if (!remembered) {
            co_return remembered.error();
        }
        co_return checker_->recall(std::move(*remembered));
    }
    bool reads(std::string_view header) const noexcept override { return checker_->reads(header); }
    asio::awaitable<void> renew() override { return checker_->renew(); }
    const session_cookies* sessions() const noexcept override { return cookies_.get(); }

private:
    const std::shared_ptr<authenticator> checker_;
    const std::shared_ptr<const session_cookies> cookies_;
    const clock& time_;
};

} // namespace

std::shared_ptr<authenticator> make_session_authenticator(
    std::shared_ptr<authenticator> checker, std::shared_ptr<const session_cookies> cookies,
    const clock& time
) {
    return std::make_shared<session_authenticator>(std::move(checker), std::move(cookies), time);
}

} // namespace agui::gateway
