#include "gateway/auth/proxy_headers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

auth_error unnamed(std::string detail) { return {auth_error::kind::unnamed, std::move(detail)}; }

class proxy_authenticator final : public authenticator {
public:
    explicit proxy_authenticator(proxy_header_names names) : names_(std::move(names)) {}

    asio::awaitable<auth_result> authenticate(const presented_head& head) override {
        co_return check(head);
    }
    bool reads(std::string_view header) const noexcept override {
        return header == names_.user || (!names_.tenant.empty() && header == names_.tenant) ||
               (!names_.groups.empty() && header == names_.groups);
    }

private:
    auth_result check(const presented_head& head) const {
        if (!head.from_proxy) {
            return unnamed("Requests are accepted only from the proxy that authenticates users.");
        }
        caller made;
        const auto user = head.only(names_.user);
        if (!user || !is_caller_name(*user)) {
            return unnamed("The proxy has named no user.");
        }
        made.user = *user;
        if (!names_.tenant.empty()) {
            const auto tenant = head.only(names_.tenant);
            if (!tenant || !is_caller_name(*tenant)) {
                return unnamed("The proxy has named no tenant.");
            }
            made.tenant = *tenant;
        }
        made.principal = principal_of(made.tenant, made.user);
        made.scopes = names_.scopes;
        if (!names_.groups.empty() && head.has(names_.groups)) {
            const auto groups = head.only(names_.groups);
            if (!groups) { // One of them may be the client's own.
                return unnamed("The proxy has sent the groups twice.");
            }
            add_groups(*groups, made.scopes);
        }
        return std::make_shared<const caller>(std::move(made));
    }

    void add_groups(std::string_view list, scope_set& to) const {
        while (!list.empty()) {
            const std::size_t end = std::min(list.find(','), list.size());
            std::string_view group = list.substr(0, end);
            group.remove_prefix(std::min(group.find_first_not_of(" \t"), group.size()));
            group = group.substr(0, group.find_last_not_of(" \t") + 1);
            if (const auto found = names_.group_scopes.find(group);
                found != names_.group_scopes.end()) {
                to.add_list(found->second);
            }
            list.remove_prefix(std::min(end + 1, list.size()));
        }
    }

    const proxy_header_names names_;
};

} // namespace

std::shared_ptr<authenticator> make_proxy_authenticator(proxy_header_names names) {
    return std::make_shared<proxy_authenticator>(std::move(names));
}

} // namespace agui::gateway
