#include "gateway/log/thread_naming.hpp"

#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"

#include <algorithm>

namespace agui::gateway {

namespace {

constexpr std::size_t sha256_digits = 64;

bool begins_or_ends_run(std::string_view event) noexcept {
    return event.starts_with(R"({"type":"RUN_STARTED")") ||
           event.starts_with(R"({"type":"RUN_FINISHED")");
}

// The end of the JSON string whose text begins there.
std::size_t end_of_text(std::string_view json, std::size_t at) noexcept {
    while (at < json.size() && json[at] != '"') {
        at += json[at] == '\\' ? 2 : 1;
    }
    return std::min(at, json.size());
}

// Only numbers and types, which hold no text of a client, come before the member.
void rename_id(const thread_naming& naming, std::size_t json_at, std::string& out) {
    constexpr std::string_view member = R"("threadId":")";
    const std::size_t found = out.find(member, json_at);
    if (found == std::string::npos) {
        return;
    }
    const std::size_t begin = found + member.size();
    out.replace(begin, end_of_text(out, begin) - begin, naming.shown_id);
}

bool is_in_token(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

// The end of a link whose digest begins there.
std::size_t end_of_link(std::string_view json, std::size_t digest_at) noexcept {
    constexpr std::string_view query = "?token=";
    std::size_t end = digest_at + sha256_digits;
    if (json.substr(end).starts_with(query)) {
        end += query.size();
        while (end < json.size() && is_in_token(json[end])) {
            ++end;
        }
    }
    return end;
}

void replace_links(const thread_naming& naming, std::size_t json_at, std::string& out) {
    if (naming.own_links.empty()) {
        return;
    }
    for (std::size_t at = out.find(naming.own_links, json_at); at != std::string::npos;) {
        const std::size_t digest_at = at + naming.own_links.size();
        const std::string digest = out.substr(digest_at, sha256_digits);
        std::size_t next = digest_at;
        if (session::is_sha256(digest)) { // Otherwise it is the text of a message.
            const std::string link = naming.link(digest);
            out.replace(at, end_of_link(out, digest_at) - at, link);
            next = at + link.size();
        }
        at = out.find(naming.own_links, next);
    }
}

} // namespace

void rename_thread(const thread_naming& naming, std::size_t json_at, std::string& out) {
    if (begins_or_ends_run(std::string_view(out).substr(json_at))) {
        rename_id(naming, json_at, out);
    }
    replace_links(naming, json_at, out);
}

} // namespace agui::gateway
