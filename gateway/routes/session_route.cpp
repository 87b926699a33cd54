#include "gateway/routes/session_route.hpp"

#include "gateway/auth/session_cookie.hpp"
#include "gateway/http/http_error.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Some clients send an empty object with every POST.
constexpr std::size_t session_body_max = 1024;
constexpr std::string_view session_pattern = "/agui/session";

http_reply no_sessions() {
    return to_reply(http_errc::not_found, "There are no sessions: set auth.session.enabled.");
}

std::string describe(const session_cookies::begun& session) {
    json::object out{{"user", session.who.user}};
    if (!session.who.tenant.empty()) {
        out["tenant"] = session.who.tenant;
    }
    json::array scopes;
    for (const std::string& each : session.who.scopes.texts()) {
        scopes.emplace_back(each);
    }
    out["scopes"] = std::move(scopes);
    out["expires"] = session.ends;
    return json::serialize(out);
}

asio::awaitable<handler_reply>
begin_session(const current_authenticator& auth, const clock& time, http_request& request) {
    const std::shared_ptr<authenticator> checker = auth.get(); // Keeps the sessions.
    const session_cookies* const sessions = checker->sessions();
    if (sessions == nullptr || !request.sender || request.sender->credential.empty()) {
        co_return no_sessions();
    }
    const unix_ms now = time.now();
    const auto begun = sessions->begin(*request.sender, now);
    if (!begun) {
        co_return to_reply(failure{
            errc::invalid_input,
            "A session's cookie cannot hold so many scopes or such long names: browsers store at "
            "most 4 KB. Use a token with fewer scopes."
        });
    }
    request.audited = {.what = audit_event::session_began};
    http_reply reply;
    reply.headers.emplace_back(
        "Set-Cookie", sessions->set_cookie(*begun, request.plain_loopback, now)
    );
    reply.body = describe(*begun);
    co_return reply;
}

asio::awaitable<handler_reply>
end_session(const current_authenticator& auth, const clock& time, http_request& request) {
    const std::shared_ptr<authenticator> checker = auth.get();
    const session_cookies* const sessions = checker->sessions();
    if (sessions == nullptr) {
        co_return no_sessions();
    }
    const presented_head head{.headers = request.headers, .plain_loopback = request.plain_loopback};
    const auto cookie = session_cookies::find(head);
    if (const auto who = sessions->read(cookie.value_or(""), time.now())) {
        request.audited = {.what = audit_event::session_ended, .principal = who->principal};
    }
    http_reply reply;
    reply.status = 204;
    reply.content_type.clear();
    for (std::string& each : sessions->clear_cookies(request.plain_loopback)) {
        reply.headers.emplace_back("Set-Cookie", std::move(each));
    }
    co_return reply;
}

} // namespace

std::vector<route> make_session_routes(const current_authenticator& auth, const clock& time) {
    const auto make = [&](std::string_view method, route_access access, auto handler) {
        return route{
            .method = method,
            .pattern = std::string(session_pattern),
            .handler = [&auth, &time,
                        handler](http_request& request) { return handler(auth, time, request); },
            .access = access,
            .of_sessions = true,
            .max_body_bytes = session_body_max
        };
    };
    return {
        make("POST", route_access::known(), begin_session),
        make("DELETE", route_access::open(), end_session)
    };
}

} // namespace agui::gateway
