#include "gateway/http/router.hpp"

#include "gateway/http/framing_check.hpp"
#include "runner/base/utf8.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace agui::gateway {
namespace {

/// The next segment of a path that begins with '/', removed from it.
std::string_view take_segment(std::string_view& path) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    return segment;
}

bool is_catch_all(std::string_view pattern) noexcept { return pattern.ends_with("/*"); }

/// The parameters of the path; nullopt if it does not match the pattern. The path is split before
/// it is decoded, so that an encoded '/' stays a part of an id.
std::optional<std::vector<std::string>> fit(std::string_view pattern, std::string_view path) {
    std::vector<std::string> parameters;
    while (!pattern.empty() && !path.empty()) {
        if (pattern == "/*") {
            return parameters;
        }
        const std::string_view expected = take_segment(pattern);
        const std::string_view given = take_segment(path);
        const bool is_parameter = expected.starts_with('{');
        if (!is_parameter && given.find('%') == std::string_view::npos) {
            if (expected != given) {
                return std::nullopt;
            }
            continue;
        }
        std::string decoded;
        if (!decode_path(given, decoded)) {
            return std::nullopt;
        }
        if (is_parameter) {
            // JSON bodies are in UTF-8, so nothing has an id that is not, and no reply could hold
            // it.
            if (decoded.empty() || !runner::is_utf8(decoded)) {
                return std::nullopt;
            }
            parameters.push_back(std::move(decoded));
        } else if (expected != decoded) {
            return std::nullopt;
        }
    }
    // Clients append paths to a base URL that ends with a slash, or add one.
    if (!pattern.empty() || !(path.empty() || path == "/")) {
        return std::nullopt;
    }
    return parameters;
}

void add_method(std::string& methods, std::string_view method) {
    methods.append(methods.empty() ? "" : ", ").append(method);
    if (method == "GET") {
        methods.append(", HEAD");
    }
}

} // namespace

router::router(std::string base_path, std::vector<route> routes, std::vector<refusal_form> forms)
    : base_path_(std::move(base_path)), routes_(std::move(routes)), forms_(std::move(forms)) {}

router::match_result router::match(std::string_view method, std::string_view path) const {
    if (!path.starts_with(base_path_)) {
        return no_such_path{};
    }
    path.remove_prefix(base_path_.size());
    if (!path.starts_with('/')) {
        return no_such_path{};
    }
    found result;
    if (!decode_path(path, result.path)) {
        return no_such_path{};
    }
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    for (const route& candidate : routes_) {
        // A catch-all serves files, and a path that another route serves is not a file.
        if (is_catch_all(candidate.pattern) && !result.methods.empty()) {
            continue;
        }
        auto parameters = fit(candidate.pattern, path);
        if (!parameters) {
            continue;
        }
        if (candidate.method == wanted && result.target == nullptr) {
            result.target = &candidate;
            result.path_parameters = std::move(*parameters);
        }
        if (!is_catch_all(candidate.pattern) || candidate.method == wanted) {
            add_method(result.methods, candidate.method);
        }
    }
    if (result.methods.empty()) {
        return no_such_path{};
    }
    result.methods.append(", OPTIONS");
    if (result.target == nullptr && method != "OPTIONS") {
        return no_such_method{std::move(result.methods)};
    }
    return result;
}

const refusal_form* router::form_of(std::string_view path) const {
    if (!path.starts_with(base_path_)) {
        return nullptr;
    }
    path.remove_prefix(base_path_.size());
    const auto found = std::ranges::find_if(forms_, [path](const refusal_form& each) {
        return path.starts_with('/') && (fit(each.path, path) || fit(each.path + "/*", path));
    });
    return found == forms_.end() ? nullptr : &*found;
}

const route* router::find(std::string_view method, std::string_view pattern) const {
    const auto found = std::ranges::find_if(routes_, [&](const route& each) {
        return each.method == method && each.pattern == pattern;
    });
    return found == routes_.end() ? nullptr : &*found;
}

} // namespace agui::gateway
