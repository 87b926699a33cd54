#include "gateway/http/http_error.hpp"

#include "session/conversation/run_segment.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace agui::gateway {
namespace {

struct answer {
    int status;
    std::int64_t retry_after_seconds = 0; ///< 0 if a retry does not help.
};

answer answer_to(errc code) noexcept {
    switch (code) {
    case errc::invalid_json:
    case errc::bad_cursor:
        return {400};
    case errc::invalid_input:
    case errc::unsupported_protocol_version:
    case errc::unknown_tool_call:
    case errc::tool_name_mismatch:
    case errc::partial_tool_answers:
    case errc::tool_name_clash:
    case errc::tool_not_allowed:
        return {422};
    case errc::pending_tool_calls:
    case errc::run_id_reused:
    case errc::claimed:
    case errc::patch_conflict:
    case errc::run_ended:
        return {409};
    case errc::thread_busy:
        return {409, 1};
    case errc::queue_full:
        return {429, 2};
    case errc::quota_exceeded:
        return {429}; // failure::retry_after
    case errc::run_expired:
    case errc::cursor_expired:
        return {410};
    case errc::body_too_large:
        return {413};
    case errc::not_found:
        return {404};
    case errc::overloaded:
    case errc::conflict:
    case errc::lease_lost:
    case errc::store_unavailable:
        return {503, 2};
    case errc::draining:
        return {503, 5};
    case errc::internal:
        return {500};
    }
    return {500};
}

struct named_answer {
    std::string_view code;
    answer what;
};

named_answer answer_to(http_errc code) noexcept {
    switch (code) {
    case http_errc::bad_framing:
        return {"bad_framing", {400}};
    case http_errc::unauthorized:
        return {"unauthorized", {401}};
    case http_errc::forbidden:
        return {"forbidden", {403}};
    case http_errc::not_found:
        return {"not_found", {404}};
    case http_errc::method_not_allowed:
        return {"method_not_allowed", {405}};
    case http_errc::request_timeout:
        return {"request_timeout", {408}};
    case http_errc::precondition_failed:
        return {"precondition_failed", {412}};
    case http_errc::body_too_large:
        return {"body_too_large", {413}};
    case http_errc::unsupported_media_type:
        return {"unsupported_media_type", {415}};
    case http_errc::range_not_satisfiable:
        return {"range_not_satisfiable", {416}};
    case http_errc::wrong_host:
        return {"wrong_host", {421}};
    case http_errc::rate_limited:
        return {"rate_limited", {429, 2}};
    case http_errc::headers_too_large:
        return {"headers_too_large", {431}};
    case http_errc::internal:
        return {"internal", {500}};
    case http_errc::overloaded:
        return {"overloaded", {503, 2}};
    case http_errc::auth_unavailable:
        return {"auth_unavailable", {503, 2}};
    }
    return {"internal", {500}};
}

http_errc code_of(auth_error::kind what) noexcept {
    switch (what) {
    case auth_error::kind::missing:
    case auth_error::kind::unnamed:
    case auth_error::kind::invalid:
        return http_errc::unauthorized;
    case auth_error::kind::forbidden:
        return http_errc::forbidden;
    case auth_error::kind::unavailable:
        return http_errc::auth_unavailable;
    }
    return http_errc::internal;
}

http_reply make_reply(answer what, boost::json::object error) {
    http_reply reply;
    reply.status = what.status;
    if (what.retry_after_seconds > 0) {
        reply.headers.emplace_back("Retry-After", std::to_string(what.retry_after_seconds));
    }
    boost::json::object body;
    body["error"] = std::move(error);
    reply.body = boost::json::serialize(body);
    return reply;
}

} // namespace

http_reply to_reply(const failure& error) {
    boost::json::object body{{"code", to_string(error.code)}};
    // Details of internal errors go to the log only (P12).
    body["message"] = error.code == errc::internal || error.detail.empty()
                          ? boost::json::string(to_string(error.code))
                          : boost::json::string(error.detail);
    if (!error.path.empty()) {
        body["path"] = error.path;
    }
    if (!error.active_run_id.empty()) {
        body["activeRunId"] = session::client_run_id(error.active_run_id);
    }
    answer what = answer_to(error.code);
    if (error.retry_after > 0) {
        what.retry_after_seconds = error.retry_after;
    }
    http_reply reply = make_reply(what, std::move(body));
    if (error.code == errc::overloaded) {
        reply.no_room = error.detail;
    }
    return reply;
}

http_reply to_reply(http_errc code, std::string_view message) {
    const named_answer found = answer_to(code);
    http_reply reply = make_reply(found.what, {{"code", found.code}, {"message", message}});
    if (code == http_errc::unauthorized) {
        reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    }
    if (code == http_errc::overloaded) {
        reply.no_room = message;
    }
    return reply;
}

http_reply too_many_requests(std::string_view message, std::int64_t retry_after_seconds) {
    const named_answer found = answer_to(http_errc::rate_limited);
    return make_reply(
        {found.what.status, retry_after_seconds}, {{"code", found.code}, {"message", message}}
    );
}

http_reply to_reply(const auth_error& error) {
    const named_answer found = answer_to(code_of(error.what));
    http_reply reply = make_reply(found.what, {{"code", found.code}, {"message", error.detail}});
    std::string challenge = challenge_of(error);
    if ((found.what.status == 401 || found.what.status == 403) && !challenge.empty()) {
        reply.headers.emplace_back("WWW-Authenticate", std::move(challenge));
    }
    return reply;
}

std::string_view reason_phrase(int status) noexcept {
    switch (status) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 206:
        return "Partial Content";
    case 304:
        return "Not Modified";
    case 308:
        return "Permanent Redirect";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 410:
        return "Gone";
    case 412:
        return "Precondition Failed";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 416:
        return "Range Not Satisfiable";
    case 421:
        return "Misdirected Request";
    case 422:
        return "Unprocessable Content";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    default:
        return "Unknown";
    }
}

} // namespace agui::gateway
