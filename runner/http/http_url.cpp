#include "runner/http/http_url.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <string>

namespace agui::runner {

namespace {

failure unusable(std::string_view reason) {
    failure error;
    error.code = errc::invalid_input;
    error.detail = reason;
    return error;
}

} // namespace

result<http_url> parse_http_url(std::string_view text) {
    namespace urls = boost::urls;
    const auto parsed = urls::parse_uri({text.data(), text.size()});
    if (!parsed) {
        return unusable("the URL is malformed");
    }
    const urls::url_view& url = *parsed;
    if (url.scheme_id() != urls::scheme::http && url.scheme_id() != urls::scheme::https) {
        return unusable("the URL's scheme must be http or https");
    }
    if (url.has_userinfo()) {
        return unusable("the URL must not hold a user name or password");
    }
    if (url.has_fragment()) {
        return unusable("the URL must not have a fragment");
    }
    http_url result;
    result.tls = url.scheme_id() == urls::scheme::https;
    const auto host = url.encoded_host();
    const std::string_view host_text(host.data(), host.size());
    if (host_text.empty() || host_text.find('%') != std::string_view::npos) {
        return unusable("the URL must name a host");
    }
    result.host = host_text;
    if (result.host.front() == '[') {
        result.host = result.host.substr(1, result.host.size() - 2);
    }
    const std::uint16_t usual = result.tls ? 443 : 80;
    result.port = usual;
    if (url.has_port()) {
        // port_number() is zero for a number that does not fit, too.
        result.port = url.port_number();
        if (result.port == 0) {
            return unusable("the URL's port must be between 1 and 65535");
        }
    }
    result.authority = host_text;
    if (result.port != usual) {
        result.authority.push_back(':');
        result.authority.append(std::to_string(result.port));
    }
    const auto path = url.encoded_path();
    result.path.assign(path.data(), path.size());
    if (url.has_query()) {
        const auto query = url.encoded_query();
        result.query.push_back('?');
        result.query.append(query.data(), query.size());
    }
    return result;
}

} // namespace agui::runner
