#include "gateway/http/http_connection.hpp"

#include "gateway/auth/secret_digest.hpp"
#include "gateway/auth/session_cookie.hpp"
#include "gateway/http/own_origin.hpp"
#include "gateway/http/query.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

/// How the audit calls a refusal; empty if it is not the sender's.
std::string_view outcome_of(const auth_error& why) noexcept {
    switch (why.what) {
    case auth_error::kind::missing:
    case auth_error::kind::unnamed:
        return "no_credentials";
    case auth_error::kind::invalid:
        return "wrong_credentials";
    case auth_error::kind::forbidden:
        return "missing_scope";
    case auth_error::kind::unavailable:
        break;
    }
    return {};
}

} // namespace

// Checks whether the sender may use the route. If it returns false, reply_ must be sent.
asio::awaitable<bool> http_connection::admit(const router::found& match, http_request& request) {
    const access_settings& access = services_.access;
    request.pattern = match.target != nullptr ? std::string_view(match.target->pattern) : "";
    if (match.target != nullptr && match.target->access.is_for_peers()) {
        co_return admit_peer(request);
    }
    const bool is_guarded = match.target != nullptr && !match.target->guarded_parameter.empty() &&
                            has_parameter(request.query, match.target->guarded_parameter);
    const bool any_host = match.target != nullptr && match.target->any_host && !is_guarded;
    if (!any_host && !access.allowed_hosts.empty() &&
        !host_allowed(request.header("host"), access.allowed_hosts)) {
        refuse(
            http_errc::wrong_host, "This host name is not allowed: add it to server.allowed_hosts."
        );
        co_return false;
    }
    if (match.target == nullptr) {
        http_reply reply = preflight_reply(request, access.cors_origins, match.methods);
        if (reply.status == 403) {
            services_.refused.report(request.header("origin"));
        }
        reply_ = std::move(reply);
        co_return false;
    }
    // Kept, because a reload may replace it meanwhile.
    const std::shared_ptr<authenticator> checker = services_.auth.get();
    if (!has_right_origin(*match.target, *checker, request)) {
        co_return false;
    }
    const route_access needed =
        is_guarded ? route_access::needs(scope::read) : match.target->access;
    if (!needed.is_open()) {
        // First, because a wrong token is a request, too.
        if (!is_within_rate_of_address(request)) {
            show_rates();
            co_return false;
        }
        const bool is_allowed =
            co_await identify(*checker, needed, request) && is_within_rate_of(request);
        show_rates();
        if (!is_allowed) {
            co_return false;
        }
    }
    std::erase_if(request.headers, [&checker](const auto& each) {
        return checker->reads(each.first);
    });
    if (!match.target->of_sessions) {
        remove_session_cookies(request.headers);
    }
    co_return has_right_type(*match.target, request);
}

presented_head http_connection::head_of(const http_request& request) const {
    return {
        .headers = request.headers,
        .from_proxy = peer_ && is_trusted_proxy(*peer_, services_.trusted_proxies),
        .plain_loopback = request.plain_loopback
    };
}

// Checks what a browser's session needs besides its cookie. Returns true at once for others.
bool http_connection::has_right_origin(
    const route& target, const authenticator& checker, http_request& request
) {
    if (checker.sessions() == nullptr) {
        if (target.of_sessions) {
            refuse(http_errc::not_found, "There is nothing at this path.");
        }
        return !target.of_sessions;
    }
    const bool from_proxy = peer_ && is_trusted_proxy(*peer_, services_.trusted_proxies);
    request.plain_loopback =
        peer_ && is_plain_loopback(*peer_, request, services_.access, from_proxy);
    const bool is_of_page = target.of_sessions && !request.header("origin").empty();
    if (!is_of_page && !session_of(head_of(request))) {
        return true;
    }
    const auto problem = origin_problem(request, services_.access, from_proxy);
    if (problem) {
        services_.refused.report(request.header("origin"));
        audit_failure(request, {.what = audit_event::auth_failed, .outcome = "origin"});
        refuse(http_errc::forbidden, *problem);
    }
    return !problem;
}

// Identifies the caller and checks its scope.
asio::awaitable<bool>
http_connection::identify(authenticator& checker, route_access needed, http_request& request) {
    enter(phase::handling); // It may wait for keys.
    const presented_head head = head_of(request);
    auth_result outcome = co_await checker.authenticate(head);
    enter(phase::head);
    if (!outcome) {
        refuse_sender(request, outcome.error());
        co_return false;
    }
    request.sender = std::move(*outcome);
    request.access = needed;
    if (const auto refused = needed.refuses(request.sender.get())) {
        refuse_sender(request, *refused);
        co_return false;
    }
    co_return true;
}

bool http_connection::is_within_rate_of_address(const http_request& request) {
    rates_.clear();
    if (services_.quota == nullptr || !services_.quota->needs_addresses()) {
        return true;
    }
    return count_rates(services_.quota->count_request_from(
        request.address.counted, std::chrono::steady_clock::now()
    ));
}

bool http_connection::is_within_rate_of(const http_request& request) {
    return services_.quota == nullptr || count_rates(services_.quota->count_request_of(
                                             request.principal(), std::chrono::steady_clock::now()
                                         ));
}

// If it returns false, reply_ must be sent.
bool http_connection::count_rates(std::vector<request_rates::state> states) {
    const auto exceeded = std::ranges::find(states, true, &request_rates::state::exceeded);
    const bool is_within = exceeded == states.end();
    if (!is_within) {
        reply_ = too_many_requests(
            "No more than " + std::to_string(exceeded->limit) +
                " requests a minute are allowed (quotas, per " + std::string(exceeded->name) + ").",
            exceeded->reset
        );
    }
    std::ranges::move(states, std::back_inserter(rates_));
    return is_within;
}

// Adds the headers of whatever reply follows.
void http_connection::show_rates() {
    if (rates_.empty()) {
        return;
    }
    add_rate_headers(rates_, terms_.headers);
    const auto allowed = std::ranges::find_if(terms_.headers, [](const auto& each) {
        return each.first == "Access-Control-Allow-Origin";
    });
    if (allowed != terms_.headers.end()) {
        terms_.headers.emplace_back("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy");
    }
}

// This also prevents cross-site form posts: a form cannot send this type.
bool http_connection::has_right_type(const route& target, const http_request& request) {
    const bool is_patch = target.json_patch && has_json_type(request, json_patch_type);
    if (!target.json || is_patch || has_json_type(request, "application/json")) {
        return true;
    }
    refuse(
        http_errc::unsupported_media_type,
        target.json_patch
            ? "The Content-Type must be application/json or application/json-patch+json, "
              "without a Content-Encoding."
            : "The Content-Type must be application/json, without a Content-Encoding."
    );
    return false;
}

// The secret proves that the request does not come from a page. Only then is the connection exempt.
bool http_connection::admit_peer(const http_request& request) {
    const auto presented = bearer_in({.headers = request.headers});
    if (services_.peer_secret.empty() || !presented ||
        !same_secret(*presented, services_.peer_secret)) {
        refuse_sender(
            request, {presented ? auth_error::kind::invalid : auth_error::kind::missing,
                      "A valid bearer token is required."}
        );
        return false;
    }
    place_->exempt();
    return true;
}

void http_connection::refuse_sender(const http_request& request, const auth_error& why) {
    reply_ = to_reply(why);
    if (const std::string_view outcome = outcome_of(why); !outcome.empty()) {
        audit_failure(request, {.what = audit_event::auth_failed, .outcome = std::string(outcome)});
    }
    // Without credentials, nothing was guessed. A reserve place is not delayed, because others need
    // it soon.
    if (why.what == auth_error::kind::invalid && !place_->is_reserve()) {
        delay_ = services_.wrong.add(address_of_client(request), std::chrono::steady_clock::now());
    }
}

asio::awaitable<void> http_connection::delay_refusal() {
    const auto time = std::exchange(delay_, {});
    if (time.count() == 0) {
        co_return;
    }
    enter(phase::handling);
    asio::steady_timer timer(socket_.get_executor(), time);
    (void)co_await timer.async_wait(as_result);
}

void http_connection::audit_failure(const http_request& request, const audit_note& what) {
    if (services_.failures == nullptr) {
        return;
    }
    services_.failures->add(
        {.what = what.what,
         .principal = request.principal(),
         .address = request.address.whole,
         .owner = what.owner,
         .thread = what.thread,
         .run = what.run,
         .agent = what.agent,
         .outcome = what.outcome,
         .route = request.route_name()},
        address_of_client(request)
    );
}

void http_connection::audit_request(const http_request& request, const handler_reply& reply) {
    if (services_.audit == nullptr) {
        return;
    }
    const auto* const plain = std::get_if<http_reply>(&reply);
    const int status = plain == nullptr ? 200 : plain->status;
    if (!request.audited) {
        if (status == 403) { // find_named_thread()
            audit_failure(request, {.what = audit_event::auth_failed, .outcome = "not_allowed"});
        }
        return;
    }
    audit_note note = *request.audited;
    if (note.outcome.empty()) {
        note.outcome = status >= 400 ? std::to_string(status) : "ok";
    }
    if (note.what == audit_event::auth_failed) {
        audit_failure(request, note);
        return;
    }
    services_.audit->write(
        {.what = note.what,
         .principal = note.principal.empty() ? request.principal() : note.principal,
         .address = request.address.whole,
         .owner = note.owner,
         .thread = note.thread,
         .run = note.run,
         .agent = note.agent,
         .outcome = note.outcome,
         .route = request.route_name()}
    );
}

// In the forms that something needs.
client_address http_connection::address_for_records(const http_request& request) const {
    const bool is_recorded = services_.audit != nullptr || services_.accesses != nullptr;
    const bool is_counted = services_.quota != nullptr && services_.quota->needs_addresses();
    client_address address;
    if (peer_ && is_recorded) {
        address.whole = address_of(*peer_, request, services_.trusted_proxies);
    }
    if (peer_ && is_counted) {
        address.counted = client_of(*peer_, request, services_.trusted_proxies);
    }
    return address;
}

void http_connection::begin_access() {
    if (services_.accesses == nullptr) {
        return;
    }
    access_ = std::make_unique<access_in_progress>();
    access_->since = in_since_;
    access_->sent_before = sent_;
    access_->entry.address = peer_ ? peer_->to_string() : "";
}

void http_connection::describe_access(const http_request& request, std::string_view path) {
    if (!access_) {
        return;
    }
    access_entry& entry = access_->entry;
    entry.address = request.address.whole;
    entry.method = request.method;
    entry.path = path;
    entry.protocol = terms_.http_1_0 ? "HTTP/1.0" : "HTTP/1.1";
    const std::string_view referer = request.header("referer");
    entry.referer = referer.substr(0, referer.find_first_of("?#"));
    entry.user_agent = request.header("user-agent");
}

void http_connection::end_access() {
    if (!access_) {
        return;
    }
    const auto duration = std::chrono::steady_clock::now() - access_->since;
    access_->entry.duration = std::chrono::duration_cast<std::chrono::milliseconds>(duration);
    access_->entry.bytes = sent_ - access_->sent_before;
    services_.accesses->write(access_->entry);
    access_.reset();
}

// Client address for the log, never empty.
std::string http_connection::address_of_client(const http_request& request) const {
    if (!peer_) {
        return "unknown";
    }
    const std::string client = client_of(*peer_, request, services_.trusted_proxies);
    return client.empty() ? peer_->to_string() : client;
}

} // namespace agui::gateway
