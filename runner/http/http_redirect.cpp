#include "runner/http/http_redirect.hpp"

#include "session/base/ascii.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <boost/url/url_view.hpp>

#include <optional>
#include <string>

namespace agui::runner {

namespace urls = boost::urls;

namespace {

std::string_view scheme_of(const http_url& url) noexcept { return url.tls ? "https" : "http"; }

transport_failure refused(int status, std::string_view reason, std::string_view location) {
    transport_failure failed{
        .what = transport_failure::kind::redirect,
        .detail =
            "it answered with the redirect " + std::to_string(status) + " " + std::string(reason)
    };
    if (!location.empty()) {
        failed.detail.append(", Location: ").append(location);
    }
    return failed;
}

/// The absolute form of a Location without its fragment; nullopt if it is no URL.
std::optional<urls::url> resolve(const http_url& from, std::string_view location) {
    const std::string base = std::string(scheme_of(from)) + "://" + from.authority +
                             (from.path.empty() ? "/" : from.path) + from.query;
    const auto base_url = urls::parse_uri({base.data(), base.size()});
    const auto reference = urls::parse_uri_reference({location.data(), location.size()});
    urls::url absolute;
    if (!base_url || !reference || !urls::resolve(*base_url, *reference, absolute)) {
        return std::nullopt;
    }
    absolute.remove_fragment();
    return absolute;
}

bool is_same_place(const http_url& from, const http_url& to) noexcept {
    return equal_ignoring_case(from.host, to.host) &&
           (from.tls == to.tls ? from.port == to.port : to.tls);
}

} // namespace

bool is_redirect(int status) noexcept {
    return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

transport_result<http_url> follow_redirect(const http_url& from, const redirect& answer) {
    std::optional<urls::url> absolute = resolve(from, answer.location);
    if (!absolute) {
        return refused(answer.status, "whose Location is not a URL", {});
    }
    const result<http_url> to = parse_http_url(std::string_view(absolute->buffer()));
    absolute->remove_userinfo();
    absolute->remove_query();
    const std::string_view shown = absolute->buffer();
    if (!to) {
        return refused(answer.status, "whose Location is not a URL for requests", shown);
    }
    if (!is_same_place(from, *to)) {
        return refused(answer.status, "to another origin, which is not followed", shown);
    }
    const bool keeps_method = answer.status == 307 || answer.status == 308;
    const bool is_read = answer.method == http_method::get && answer.status != 303;
    if (!keeps_method && !is_read) {
        return refused(answer.status, "which does not keep the method and is not followed", shown);
    }
    return *to;
}

} // namespace agui::runner
