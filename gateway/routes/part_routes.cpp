#include "gateway/routes/part_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

http_reply no_part() { return to_reply(http_errc::not_found, "There is nothing at this link."); }

/// Types that a browser shows without executing anything. SVG is a document with scripts.
bool is_shown_in_place(std::string_view type) {
    static constexpr std::array<std::string_view, 8> images{"image/png",  "image/jpeg",
                                                            "image/gif",  "image/webp",
                                                            "image/avif", "image/bmp",
                                                            "image/apng", "image/x-icon"};
    return type.starts_with("audio/") || type.starts_with("video/") ||
           std::ranges::find(images, type) != images.end();
}

/// The registered name of the client's type, if it may become a header.
std::string sound_type(std::string_view given) {
    std::string type = session::media_type(given);
    const bool sound = type.size() <= 128 && type.find('/') != std::string_view::npos &&
                       std::ranges::all_of(type, [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' ||
                                  c == '-' || c == '.' || c == '+';
                       });
    return sound ? type : "application/octet-stream";
}

http_reply part_reply(std::string bytes, std::string_view type) {
    http_reply reply;
    const bool in_place = is_shown_in_place(type);
    reply.content_type = in_place ? type : std::string_view("application/octet-stream");
    reply.headers = {
        {"Content-Disposition", in_place ? "inline" : "attachment"},
        {"Content-Security-Policy", "sandbox; default-src 'none'"},
        {"Referrer-Policy", "no-referrer"},
        // A link always names the same bytes, but other users of a shared cache do not have the
        // link.
        {"Cache-Control", "private, max-age=86400, immutable"},
    };
    reply.body = std::move(bytes);
    return reply;
}

asio::awaitable<handler_reply> show_part(
    session::store& store, const part_links& links, const clock& time, http_request& request
) {
    const auto query = parse_query(request.query);
    const std::string* const token = query ? query->find("token") : nullptr;
    const std::string thread_id = request.path_parameters.at(0);
    const std::string sha256 = request.path_parameters.at(1);
    if (token == nullptr || !session::is_sha256(sha256)) {
        co_return no_part();
    }
    auto principal = links.principal_of(thread_id, sha256, *token, time.now());
    if (!principal) {
        co_return no_part();
    }
    // A link of a shared thread is its reader's, and opens the thread as long as the reader may.
    const auto named = co_await find_thread_of(store, std::move(*principal), thread_id);
    if (!named) {
        co_return to_reply(named.error());
    }
    const session::thread_key& key = named->key;
    const auto thread = co_await store.load(key);
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const boost::json::value* const part =
        thread->has_value() ? session::find_part(**thread, sha256) : nullptr;
    const auto data = part != nullptr ? session::data_part_of(*part) : std::nullopt;
    if (!data) {
        auto attached = co_await store.find_attachment(key, sha256);
        if (!attached) {
            co_return to_reply(attached.error());
        }
        if (!attached->has_value()) {
            co_return no_part();
        }
        co_return part_reply(std::move((*attached)->bytes), sound_type((*attached)->mime_type));
    }
    auto bytes = session::decode_base64(data->value);
    co_return part_reply(
        bytes ? std::move(*bytes) : std::string(data->value), sound_type(data->mime_type)
    );
}

asio::awaitable<handler_reply> keep_part(
    session::store& store, const part_links& links, const clock& time, input_parser& parser,
    quotas* limits, std::uint64_t max_thread_bytes, http_request& request
) {
    const auto thread = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    if (thread->is_closed) {
        co_return to_reply(session::no_such_thread());
    }
    if (limits != nullptr) {
        const auto has_room = co_await limits->check_bytes(thread->key.principal);
        if (!has_room) {
            co_return to_reply(has_room.error());
        }
    }
    const unix_ms now = time.now();
    translator::part_link link = [&links, key = key_for_links(*thread, request),
                                  now](std::string_view sha256) {
        return links.link(key, sha256, now);
    };
    auto read = co_await parser.read_part(
        std::move(request.body), std::move(request.memory), std::move(link)
    );
    if (!read) {
        co_return to_reply(read.error());
    }
    session::attachment kept = std::move(read->part.file);
    kept.kept_at = now;
    const auto done =
        co_await store.keep_attachment(thread->key, std::move(kept), max_thread_bytes);
    if (!done) {
        co_return to_reply(done.error());
    }
    http_reply reply;
    reply.body = std::move(read->part.named);
    co_return reply;
}

} // namespace

route make_attachment_route(
    session::store& store, const part_links& links, const clock& time, input_parser& parser,
    quotas* limits, std::uint64_t max_thread_bytes
) {
    return {
        .method = "POST",
        .pattern = "/agui/threads/{threadId}/parts",
        .handler =
            [&store, &links, &time, &parser, limits, max_thread_bytes](http_request& request) {
                return keep_part(store, links, time, parser, limits, max_thread_bytes, request);
            },
        .access = route_access::needs_for_agent_of_thread(scope::run),
        .json = true,
    };
}

route make_part_route(session::store& store, const part_links& links, const clock& time) {
    return {
        .method = "GET",
        .pattern = "/agui/threads/{threadId}/parts/{sha256}",
        .handler = [&store, &links, &time](http_request& request
                   ) { return show_part(store, links, time, request); },
        .access = route_access::open(), // The token is the authentication.
        .large_reply = true,
    };
}

} // namespace agui::gateway
