#include "gateway/copilotkit/copilotkit_single.hpp"

#include "gateway/copilotkit/copilotkit_reply.hpp"
#include "gateway/http/http_error.hpp"
#include "translator/input/document_reader.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::array<std::string_view, 2> envelope_members{"method", "params"};
constexpr std::array<std::string_view, 1> body_member{"body"};
constexpr std::array<std::string_view, 3> unserved_methods{
    "transcribe", "inspector/metadata", "inspector/learning"
};
constexpr std::string_view resource_method = "resource/request";

struct single_route {
    std::string base;
    router routes;
    http_handler info;
    heavy_work& heavy;
    std::size_t max_json_depth;
};

/// A request below the base, as an envelope describes it.
struct inner_request {
    std::string method = "POST";
    std::string path; ///< Percent-encoded, with the query.
};

using envelope_content = std::variant<inner_request, http_reply>;

/// An id as a percent-encoded segment of a path.
std::string as_segment(std::string_view id) {
    return boost::urls::encode(id, boost::urls::unreserved_chars);
}

http_reply invalid_envelope(std::string_view message) {
    return copilotkit_error(400, "invalid_request", message);
}

/// A parameter of the envelope, a text that is not empty; otherwise `missing` names it.
std::string
parameter(const json::object& params, std::string_view name, std::string_view& missing) {
    const json::value* const found = params.if_contains(name);
    if (found == nullptr || !found->is_string() || found->get_string().empty()) {
        missing = missing.empty() ? name : missing;
        return {};
    }
    return std::string(found->get_string());
}

bool leaves_base(std::string_view path) noexcept {
    const std::string_view steps = path.substr(0, path.find('?'));
    return !steps.starts_with('/') || steps.starts_with("//") ||
           steps.find("/../") != std::string_view::npos || steps.ends_with("/..");
}

bool is_of_threads(std::string_view path) noexcept {
    constexpr std::string_view threads = "/threads";
    const std::string_view rest = path.substr(std::min(path.size(), threads.size()));
    return path.starts_with(threads) &&
           (rest.empty() || rest.front() == '/' || rest.front() == '?');
}

/// The request that the method stands for, or a refusal.
envelope_content read_method(std::string_view method, const json::object& params) {
    inner_request inner;
    std::string_view missing;
    if (method == resource_method) {
        inner.path = parameter(params, "path", missing);
        inner.method = parameter(params, "httpMethod", missing);
        if (missing.empty() && leaves_base(inner.path)) {
            return invalid_envelope("The path must stay below the base");
        }
        if (missing.empty() && !is_of_threads(inner.path)) {
            return copilotkit_error(404, "Not found");
        }
    } else if (method == "agent/stop") {
        inner.path = "/agent/" + as_segment(parameter(params, "agentId", missing)) + "/stop/" +
                     as_segment(parameter(params, "threadId", missing));
    } else if (method == "agent/run" || method == "agent/connect" || method == "agent/suggest") {
        inner.path = "/agent/" + as_segment(parameter(params, "agentId", missing));
        inner.path.append(method.substr(method.find('/')));
    } else if (std::ranges::find(unserved_methods, method) != unserved_methods.end()) {
        return copilotkit_error(404, "Not found");
    } else {
        return invalid_envelope("Unsupported method '" + std::string(method) + "'");
    }
    if (!missing.empty()) {
        return invalid_envelope("Missing or invalid parameter '" + std::string(missing) + "'");
    }
    return inner;
}

asio::awaitable<handler_reply> answer_inner(
    std::shared_ptr<const single_route> single, inner_request inner, http_request& request
) {
    const std::size_t end = std::min(inner.path.find('?'), inner.path.size());
    auto match = single->routes.match(inner.method, single->base + inner.path.substr(0, end));
    if (auto* const found = std::get_if<router::found>(&match); found && found->target != nullptr) {
        // The connection bounds large replies by the route of the request, which is the envelope's.
        if (found->target->large_reply) {
            co_return copilotkit_error(404, "Not found");
        }
        if (const auto refused = found->target->access.refuses(request.sender.get())) {
            co_return to_reply(*refused);
        }
        request.method = inner.method;
        request.query = inner.path.substr(std::min(end + 1, inner.path.size()));
        request.path = std::move(found->path);
        request.path_parameters = std::move(found->path_parameters);
        request.pattern = found->target->pattern;
        request.access = found->target->access;
        const std::size_t most = found->target->max_body_bytes;
        if (most != 0 && request.body.size() > most) {
            co_return to_reply(http_errc::body_too_large, "The body is too large for this path.");
        }
        co_return co_await found->target->handler(request);
    }
    const auto* const other = std::get_if<router::no_such_method>(&match);
    if (other == nullptr) {
        co_return copilotkit_error(404, "Not found");
    }
    http_reply reply = copilotkit_error(405, "Method not allowed");
    reply.headers.emplace_back("Allow", other->methods);
    co_return reply;
}

/// The envelope's own body takes the place of the request's. Returns false if there is no memory
/// for a copy of it.
bool unwrap_body(translator::document& envelope, http_request& request) {
    std::string().swap(request.body);
    memory_share copy(request.memory.budget(), use_of(envelope.text.view().size()));
    if (!copy.grow_to(envelope.text.view().size())) {
        return false;
    }
    if (envelope.has_text && !envelope.text.is_null()) {
        request.body = envelope.text.view();
    }
    envelope.text = json_text();
    return true;
}

/// The request in the envelope, whose body is then that of `request`, or a refusal. nullopt: it
/// asks for `info`. The rest of the envelope is freed on return, because the answer may take long.
asio::awaitable<std::optional<envelope_content>>
open_envelope(std::shared_ptr<const single_route> single, http_request& request) {
    auto read_envelope = [&] {
        translator::document_rules rules;
        rules.max_depth = single->max_json_depth + 1; // The body is one level down.
        rules.built = envelope_members;
        rules.as_text = body_member.front();
        rules.uncounted = body_member;
        rules.budget = request.memory.budget();
        return translator::read_document(request.body, rules);
    };
    auto read = co_await run_heavy(&single->heavy, request.body.size(), read_envelope);
    if (!read) {
        co_return read.error().code == errc::invalid_json ? invalid_envelope(read.error().detail)
                                                          : to_reply(read.error());
    }
    const json::object* const envelope = read->value.if_object();
    const json::value* const method =
        envelope == nullptr ? nullptr : envelope->if_contains("method");
    if (method == nullptr || !method->is_string()) {
        co_return invalid_envelope("Missing method");
    }
    const std::string_view name = method->get_string();
    if (name == "info") {
        co_return std::nullopt;
    }
    static const json::object none;
    const json::value* const params = envelope->if_contains("params");
    auto inner =
        read_method(name, params != nullptr && params->is_object() ? params->get_object() : none);
    const bool needs_body = name != resource_method && name != "agent/stop";
    if (std::holds_alternative<inner_request>(inner) && needs_body && read->text.is_null()) {
        co_return invalid_envelope("Missing body");
    }
    if (!unwrap_body(*read, request)) {
        co_return copilotkit_no_room();
    }
    co_return inner;
}

asio::awaitable<handler_reply>
answer_envelope(std::shared_ptr<const single_route> single, http_request& request) {
    auto content = co_await open_envelope(single, request);
    if (!content) {
        co_return co_await single->info(request);
    }
    if (auto* const refusal = std::get_if<http_reply>(&*content)) {
        co_return std::move(*refusal);
    }
    co_return co_await answer_inner(single, std::get<inner_request>(std::move(*content)), request);
}

} // namespace

route make_single_route(
    const std::string& base, std::vector<route> routes, http_handler info, heavy_work& heavy,
    std::size_t max_json_depth
) {
    const auto single = std::make_shared<const single_route>(
        single_route{base, router({}, std::move(routes)), std::move(info), heavy, max_json_depth}
    );
    return {
        .method = "POST",
        .pattern = base,
        .handler = [single](http_request& request) { return answer_envelope(single, request); },
        // Each request in an envelope needs the scope of its own route.
        .access = route_access::known(),
        .json = true
    };
}

} // namespace agui::gateway
