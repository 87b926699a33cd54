#include "gateway/http/response_head.hpp"

#include "gateway/http/access_rules.hpp"
#include "gateway/http/http_error.hpp"
#include "session/base/ascii.hpp"
#include "session/base/http_date.hpp"

#include <algorithm>
#include <chrono>

namespace agui::gateway {
namespace {

/// The current second; formatted once per second and thread.
const std::string& current_date() {
    thread_local std::chrono::sys_seconds second{};
    thread_local std::string text;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (now != second) {
        text = format_http_date(now);
        second = now;
    }
    return text;
}

void add(std::string& head, std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
}

std::string begin_head(int status, const reply_terms& terms) {
    std::string head;
    head.reserve(512);
    head.append(terms.http_1_0 ? "HTTP/1.0 " : "HTTP/1.1 ");
    head.append(std::to_string(status)).append(" ").append(reason_phrase(status)).append("\r\n");
    add(head, "Date", current_date());
    if (!terms.keep_alive) {
        add(head, "Connection", "close");
    } else if (terms.http_1_0) {
        add(head, "Connection", "keep-alive");
    }
    for (const auto& [name, value] : terms.headers) {
        add(head, name, value);
    }
    add(head, "X-Content-Type-Options", "nosniff");
    return head;
}

} // namespace

std::string write_reply_head(const http_reply& reply, const reply_terms& terms) {
    std::string head = begin_head(reply.status, terms);
    const bool has_cache_control = std::ranges::any_of(reply.headers, [](const auto& field) {
        return equal_ignoring_case(field.first, "Cache-Control");
    });
    for (const auto& [name, value] : reply.headers) {
        add(head, name, value);
    }
    if (!has_cache_control) {
        add(head, "Cache-Control", "no-store");
    }
    if (reply.status != 204 && reply.status != 304) {
        add(head, "Content-Type", reply.content_type);
        add(head, "Content-Length",
            std::to_string(reply.file ? reply.file->size() : reply.body.size()));
    }
    head.append("\r\n");
    return head;
}

std::string write_stream_head(
    std::string_view content_type, std::string_view header, const reply_terms& terms
) {
    std::string head = begin_head(200, terms);
    add(head, "Content-Type", content_type);
    add(head, "Cache-Control", "no-cache, no-store, no-transform");
    add(head, "X-Accel-Buffering", "no");
    if (!header.empty()) {
        head.append(header).append("\r\n");
    }
    if (!terms.http_1_0) {
        add(head, "Transfer-Encoding", "chunked");
    }
    head.append("\r\n");
    return head;
}

} // namespace agui::gateway
