#include "gateway/http/static_files.hpp"

#include "gateway/http/conditional_request.hpp"
#include "gateway/http/http_error.hpp"
#include "session/base/http_date.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

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

/// The reply for a file, without its content.
http_reply page_reply(std::string_view name, const std::optional<std::string>& csp) {
    http_reply reply;
    reply.content_type = content_type(name);
    reply.headers = {{"Referrer-Policy", "no-referrer"}, {"Cache-Control", "no-cache"}};
    if (!csp) {
        reply.headers.emplace_back("Content-Security-Policy", default_csp);
        reply.headers.emplace_back("X-Frame-Options", "DENY");
    } else if (!csp->empty()) {
        reply.headers.emplace_back("Content-Security-Policy", *csp);
    }
    return reply;
}

/// Redirects to the same path with a '/' at its end, without which the relative links of a folder's
/// page would miss the folder. The redirect is relative, because a proxy may have removed a part of
/// the path.
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

/// The file's resolved path; nullopt if there is no such file below the root.
std::optional<fs::path> find_file(const fs::path& root, const std::string& name) {
    std::error_code ec;
    fs::path file = fs::canonical(root / name, ec);
    if (ec) {
        return std::nullopt;
    }
    // Links are resolved here: the result must still lie below the root.
    const auto [rest, ignored] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
    if (rest != root.end() || !fs::is_regular_file(file, ec)) {
        return std::nullopt;
    }
    return file;
}

/// The tag holds the times of the last change of the file and its inode, to the nanosecond. The
/// time of modification alone is the same in all versions from a reproducible build.
file_version version_of(const struct stat& facts) {
    char tag[96];
    const int size = std::snprintf(
        tag, sizeof(tag), "\"%llx-%llx.%lx-%llx.%lx\"",
        static_cast<unsigned long long>(facts.st_size),
        static_cast<unsigned long long>(facts.st_mtim.tv_sec),
        static_cast<unsigned long>(facts.st_mtim.tv_nsec),
        static_cast<unsigned long long>(facts.st_ctim.tv_sec),
        static_cast<unsigned long>(facts.st_ctim.tv_nsec)
    );
    // Must not be later than the reply's Date (RFC 9110 section 8.8.2.1), and must be a parsable
    // date.
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::chrono::sys_seconds modified(std::chrono::seconds(facts.st_mtim.tv_sec));
    return {
        {tag, static_cast<std::size_t>(size)},
        std::max(std::min(modified, now), std::chrono::sys_seconds{})
    };
}

http_reply part_of(
    http_reply reply, file_body file, const http_request& request, const file_version& version
) {
    const std::uint64_t size = file.size();
    const auto range = requested_range(request, version, size);
    if (std::holds_alternative<unsatisfiable_range>(range)) {
        reply = to_reply(http_errc::range_not_satisfiable, "The file is shorter than that.");
        reply.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
        return reply;
    }
    if (const auto* part = std::get_if<byte_range>(&range)) {
        reply.status = 206;
        reply.headers.emplace_back(
            "Content-Range", "bytes " + std::to_string(part->first) + '-' +
                                 std::to_string(part->first + part->size - 1) + '/' +
                                 std::to_string(size)
        );
        file.keep(part->first, part->size);
    }
    reply.file = std::move(file);
    return reply;
}

/// The file, or the part that the request asks for.
http_reply file_reply(
    const http_request& request, const fs::path& path, std::string_view name,
    const std::optional<std::string>& csp
) {
    // The file may have been replaced by a pipe since it was found; opening must not wait for a
    // writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0) {
        return errno == EMFILE || errno == ENFILE
                   ? to_reply(http_errc::overloaded, "Too many files are open.")
                   : no_file();
    }
    file_body file(descriptor, 0);
    struct stat facts{};
    if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return no_file();
    }
    file.keep(0, static_cast<std::uint64_t>(facts.st_size));
    const file_version version = version_of(facts);
    const precondition checked = check_preconditions(request, version);
    if (checked == precondition::fails) {
        return to_reply(http_errc::precondition_failed, "The file has changed.");
    }
    http_reply reply = page_reply(name, csp);
    reply.headers.emplace_back("ETag", version.etag);
    reply.headers.emplace_back("Last-Modified", format_http_date(version.modified));
    if (checked == precondition::not_modified) {
        reply.status = 304;
        return reply;
    }
    reply.headers.emplace_back("Accept-Ranges", "bytes");
    return part_of(std::move(reply), std::move(file), request, version);
}

// A handler must return an awaitable, even if it waits for nothing.
asio::awaitable<handler_reply> answer(http_reply reply) { co_return reply; }

} // namespace

bool asks_for_page(const http_request& request) {
    const std::string_view path = request.path;
    return path.substr(path.rfind('/') + 1).find('.') == std::string_view::npos &&
           request.header("accept").find("text/html") != std::string_view::npos;
}

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
        return answer(file_reply(request, *file, *name, settings.csp));
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
            http_reply reply = page_reply(found->name, std::nullopt);
            reply.body = found->content;
            return answer(std::move(reply));
        }
        return answer(find(index_of(*name)) == files.end() ? no_file() : to_folder(request));
    };
}

} // namespace agui::gateway
