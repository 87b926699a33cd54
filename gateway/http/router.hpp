#pragma once

#include "gateway/auth/route_access.hpp"
#include "gateway/http/http_message.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {

/// One row of the server's table of routes. A pattern is a path below base_path whose segments are
/// literal or `{name}`; `/*` at its end matches any rest. A trailing slash in a path is ignored.
struct route {
    std::string_view method;
    std::string pattern;
    http_handler handler;
    route_access access;
    bool any_host = false; ///< Served whatever the Host header says: probes use addresses.
    /// A request with this query parameter is not for any host and needs scope::read, even if the
    /// route is open; empty if there is none.
    std::string_view guarded_parameter = {};
    /// Begins or ends sessions of browsers. It exists only while there are any, its handler sees
    /// their cookies, and an Origin is checked as if the request had one.
    bool of_sessions = false;
    bool probe = false;      ///< Also served on connections of the reserve (place_limits).
    bool passable = false;   ///< Other gateways may pass on requests for it (http_request::passed).
    bool json = false;       ///< Takes a JSON body, so Content-Type is checked.
    bool json_patch = false; ///< Takes a JSON Patch (json_patch_type), too.
    /// Its reply may take much memory, so only a few are made at a time, and only if there is
    /// memory.
    bool large_reply = false;
    /// The smaller of this and server.max_body_bytes applies; 0 means the latter.
    std::size_t max_body_bytes = 0;
    /// Added to that limit, for data sent along with another request's body.
    std::size_t more_body_bytes = 0;
};

/// Refusals below a path whose clients expect another form than that of to_reply().
struct refusal_form {
    std::string path; ///< Below base_path. This path and all below it have the form.
    /// Puts a reply into the form. Replies that are no refusals, or have the form already, must
    /// stay as they are. Called from any thread.
    std::function<http_reply(http_reply)> write;
};

/// Chooses the route of a request. HEAD is served where GET is. Immutable, so any thread may use
/// it.
class router {
public:
    router(std::string base_path, std::vector<route> routes, std::vector<refusal_form> forms = {});

    struct found {
        const route* target = nullptr;
        std::string methods;                      ///< All methods that the path serves, for Allow.
        std::string path;                         ///< Decoded, below base_path.
        std::vector<std::string> path_parameters; ///< Decoded.
    };
    struct no_such_path {};
    struct no_such_method {
        std::string methods; ///< "GET, HEAD, OPTIONS"
    };
    using match_result = std::variant<found, no_such_path, no_such_method>;

    /// `path` is percent-encoded, without the query. OPTIONS matches every known path; its target
    /// is null, unless a route serves it.
    [[nodiscard]] match_result match(std::string_view method, std::string_view path) const;

    /// The form of all refusals of requests for `path` (percent-encoded, without the query), those
    /// of handlers included. Null for that of to_reply().
    [[nodiscard]] const refusal_form* form_of(std::string_view path) const;

    [[nodiscard]] const std::vector<route>& rows() const noexcept { return routes_; }
    /// Returns null if there is no such row.
    [[nodiscard]] const route* find(std::string_view method, std::string_view pattern) const;

private:
    std::string base_path_;
    std::vector<route> routes_;
    std::vector<refusal_form> forms_;
};

} // namespace agui::gateway
