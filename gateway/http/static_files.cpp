#include "gateway/http/static_files.hpp"

#include "gateway/http/http_error.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t max_file_bytes = 64U << 20U;
constexpr std::string_view index_name = "index.html";

std::string_view content_type(std::string_view name) {
    struct entry {
        std::string_view extension;
        std::string_view type;
    };
    static constexpr std::array<entry, 15> types{{
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".map", "application/json"},
        {".txt", "text/plain; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".gif", "image/gif"},
        {".webp", "image/webp"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".wasm", "application/wasm"},
    }};
    const auto found = std::ranges::find_if(types, [name](const entry& candidate) {
        return name.ends_with(candidate.extension);
    });
    return found == types.end() ? "application/octet-stream" : found->type;
}

http_reply
file_reply(std::string_view name, std::string content, const std::optional<std::string>& csp) {
    http_reply reply;
    reply.content_type = content_type(name);
    reply.headers = {{"Referrer-Policy", "no-referrer"}, {"Cache-Control", "no-cache"}};
    if (!csp) {
        reply.headers.emplace_back("Content-Security-Policy", default_csp);
        reply.headers.emplace_back("X-Frame-Options", "DENY");
    } else if (!csp->empty()) {
        reply.headers.emplace_back("Content-Security-Policy", *csp);
    }
    reply.body = std::move(content);
    return reply;
}

/// Leads to the same path with a '/' at its end, without which the links of a folder's page would
/// lead past the folder. Relative: what a proxy has removed from the path is not known here.
http_reply to_folder(const http_request& request) {
    const std::string_view path = request.path;
    const std::string_view folder = path.substr(path.rfind('/') + 1);
    std::string location = "./" + boost::urls::encode(folder, boost::urls::unreserved_chars) + '/';
    if (!request.query.empty()) {
        location.append("?").append(request.query);
    }
    http_reply reply;
    reply.status = 308;
    reply.content_type = "text/plain; charset=utf-8";
    reply.headers = {{"Location", std::move(location)}, {"Cache-Control", "no-cache"}};
    return reply;
}

http_reply no_file() { return to_reply(http_errc::not_found, "There is nothing at this path."); }

/// The path below the root; nullopt if a segment is empty or begins with a dot.
std::optional<std::string> relative_name(std::string_view path) {
    path.remove_prefix(1);
    std::string name(path);
    if (name.empty() || name.ends_with('/')) {
        name += index_name;
    }
    if (name.front() == '.' || name.front() == '/' || name.find("/.") != std::string::npos ||
        name.find("//") != std::string::npos || name.find('\\') != std::string::npos) {
        return std::nullopt;
    }
    return name;
}

/// The page of a folder, for a name without a '/' at its end.
std::string index_of(const std::string& folder) { return folder + '/' + std::string(index_name); }

struct found_file {
    fs::path path;
    std::size_t size = 0;
};

std::optional<found_file> find_file(const fs::path& root, const std::string& name) {
    std::error_code ec;
    const fs::path file = fs::canonical(root / name, ec);
    if (ec) {
        return std::nullopt;
    }
    // Links are resolved here: the result must still lie below the root.
    const auto [rest, ignored] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
    if (rest != root.end() || !fs::is_regular_file(file, ec)) {
        return std::nullopt;
    }
    const std::uintmax_t size = fs::file_size(file, ec);
    if (ec || size > max_file_bytes) {
        return std::nullopt;
    }
    return found_file{.path = file, .size = static_cast<std::size_t>(size)};
}

std::optional<std::string> read_file(const found_file& file) {
    std::ifstream stream(file.path, std::ios::binary);
    std::string content(file.size, '\0');
    stream.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (stream.gcount() != static_cast<std::streamsize>(content.size())) {
        return std::nullopt;
    }
    return content;
}

bool asks_for_page(const http_request& request) {
    const std::string_view path = request.path;
    return path.substr(path.rfind('/') + 1).find('.') == std::string_view::npos &&
           request.header("accept").find("text/html") != std::string_view::npos;
}

// A handler must return an awaitable, even if it waits for nothing.
asio::awaitable<handler_reply> answer(http_reply reply) { co_return reply; }

} // namespace

http_handler make_static_route(const fs::path& folder, static_settings settings) {
    return [root = fs::canonical(folder), settings = std::move(settings)](http_request& request) {
        auto name = relative_name(request.path);
        auto file = name ? find_file(root, *name) : std::nullopt;
        if (!file && name && find_file(root, index_of(*name))) {
            return answer(to_folder(request));
        }
        if (!file && name && settings.spa && asks_for_page(request)) {
            name = index_name;
            file = find_file(root, *name);
        }
        if (!file) {
            return answer(no_file());
        }
        if (file->size > uncounted_reply_bytes && !request.reply_memory.grow_to(file->size)) {
            return answer(to_reply(
                http_errc::overloaded,
                "There is not enough memory for this file (server.max_memory_bytes)."
            ));
        }
        auto content = read_file(*file);
        return answer(content ? file_reply(*name, std::move(*content), settings.csp) : no_file());
    };
}

http_handler make_static_route(const std::vector<embedded_file>& files) {
    return [&files](http_request& request) {
        const auto find = [&files](const std::string& name) {
            return std::ranges::find(files, name, &embedded_file::name);
        };
        const auto name = relative_name(request.path);
        if (!name) {
            return answer(no_file());
        }
        if (const auto found = find(*name); found != files.end()) {
            return answer(file_reply(found->name, std::string(found->content), std::nullopt));
        }
        return answer(find(index_of(*name)) == files.end() ? no_file() : to_folder(request));
    };
}

} // namespace agui::gateway
