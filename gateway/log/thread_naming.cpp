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

// The length of the JSON escape that begins with the backslash there, or of the rest of one.
std::size_t rest_of_escape(std::string_view json, std::size_t backslash) noexcept {
    constexpr std::size_t unicode_escape = 6; // \u0041
    const std::size_t first = json.substr(0, backslash + 1).find_last_not_of('\\') + 1;
    if ((backslash - first) % 2 == 1) {
        return 1; // It is the second one of an escaped backslash.
    }
    return json.substr(backslash + 1).starts_with('u') ? unicode_escape : 2;
}

// The beginning of the URL whose path begins there: host and base path hold none of these.
std::size_t
begin_of_link(std::string_view json, std::size_t path_at, std::size_t json_at) noexcept {
    const std::size_t before = json.substr(0, path_at).find_last_of("\"\\ ()<>[]");
    if (before == std::string_view::npos || before < json_at) {
        return json_at;
    }
    return std::min(before + (json[before] == '\\' ? rest_of_escape(json, before) : 1), path_at);
}

void replace_links(const thread_naming& naming, std::size_t json_at, std::string& out) {
    for (std::size_t at = out.find(naming.own_path, json_at); at != std::string::npos;) {
        const std::size_t digest_at = at + naming.own_path.size();
        const std::string digest = out.substr(digest_at, sha256_digits);
        std::size_t next = digest_at;
        if (session::is_sha256(digest)) { // Otherwise it is the text of a message.
            const std::size_t begin = begin_of_link(out, at, json_at);
            const std::string link = naming.link(digest);
            out.replace(begin, end_of_link(out, digest_at) - begin, link);
            next = begin + link.size();
        }
        at = out.find(naming.own_path, next);
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
