#include "session/history/part_reference.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

namespace agui::session {

namespace {

namespace json = boost::json;

constexpr std::string_view note_begin = "[Left out: ";
constexpr std::string_view cut_begin = "\n[Shortened: ";
constexpr std::string_view before_digest = " bytes, sha256 ";
constexpr std::size_t digest_size = 64;
/// The longest end of a text that shortened_text() writes.
constexpr std::size_t cut_size_max = cut_begin.size() + 20 + before_digest.size() + digest_size + 1;

std::string_view text_in(const json::value* member) noexcept {
    const json::string* const text = member != nullptr ? member->if_string() : nullptr;
    return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view();
}

/// The digest at the end of a note that begins with `begin`; nullopt: it is no such note.
std::optional<part_digest> digest_in(std::string_view note, std::string_view begin) {
    if (!note.starts_with(begin) || !note.ends_with(']')) {
        return std::nullopt;
    }
    note.remove_suffix(1);
    const std::size_t place = note.rfind(before_digest);
    if (place == std::string_view::npos || place < begin.size()) {
        return std::nullopt;
    }
    const std::string_view sha256 = note.substr(place + before_digest.size());
    std::string_view number = note.substr(begin.size(), place - begin.size());
    number.remove_prefix(std::min(number.rfind(' ') + 1, number.size())); // After the type.
    part_digest digest;
    const auto [end, problem] =
        std::from_chars(number.data(), number.data() + number.size(), digest.bytes);
    if (problem != std::errc{} || end != number.data() + number.size() || !is_sha256(sha256)) {
        return std::nullopt;
    }
    digest.sha256 = sha256;
    return digest;
}

std::optional<part_digest> shortened_digest(std::string_view text) {
    const std::string_view end = text.substr(text.size() - std::min(text.size(), cut_size_max));
    const std::size_t place = end.rfind(cut_begin);
    return place == std::string_view::npos ? std::nullopt : digest_in(end.substr(place), cut_begin);
}

bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

std::string encode_segment(std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (is_unreserved(c)) {
            out.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out.push_back('%');
        out.push_back(hex[byte >> 4U]);
        out.push_back(hex[byte & 0x0FU]);
    }
    return out;
}

/// Clients may write escapes in another way than encode_segment().
std::string decode_segment(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        if (text[i] == '%' && i + 2 < text.size()) {
            const char* const digits = text.data() + i + 1;
            if (std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
                out.push_back(static_cast<char>(value));
                i += 2;
                continue;
            }
        }
        out.push_back(text[i]);
    }
    return out;
}

/// The digest that a link to a part of this thread names; empty: the URL is none.
std::string_view linked_digest(std::string_view url, std::string_view thread_id) {
    constexpr std::string_view threads = "/agui/threads/";
    constexpr std::string_view parts = "/parts/";
    std::string_view path = url.substr(0, url.find_first_of("?#"));
    if (path.size() < digest_size + parts.size()) {
        return {};
    }
    const std::string_view sha256 = path.substr(path.size() - digest_size);
    path.remove_suffix(digest_size);
    if (!is_sha256(sha256) || !path.ends_with(parts)) {
        return {};
    }
    path.remove_suffix(parts.size());
    const std::size_t begin = path.rfind(threads);
    if (begin == std::string_view::npos ||
        decode_segment(path.substr(begin + threads.size())) != thread_id) {
        return {};
    }
    return sha256;
}

std::string_view url_of(const json::value& part) noexcept {
    const json::object* const object = part.if_object();
    const json::value* const source = object != nullptr ? object->if_contains("source") : nullptr;
    const json::object* const fields = source != nullptr ? source->if_object() : nullptr;
    return fields != nullptr && text_in(fields->if_contains("type")) == "url"
               ? text_in(fields->if_contains("value"))
               : std::string_view();
}

/// The text of a text part; empty: it is another kind of part.
std::string_view text_of_part(const json::value& part) noexcept {
    const json::object* const object = part.if_object();
    return object != nullptr && text_in(object->if_contains("type")) == "text"
               ? text_in(object->if_contains("text"))
               : std::string_view();
}

/// What a thread holds, by digest. Each half is read when it is needed.
class thread_parts {
public:
    explicit thread_parts(const thread_record& thread) : thread_(thread) {}

    const json::value* part(std::string_view sha256) {
        if (!parts_) {
            parts_.emplace();
            for_each_content([this](const content& value) {
                const auto* const list = std::get_if<json::array>(&value);
                for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
                    if (const auto data = data_part_of((*list)[i])) {
                        parts_->try_emplace(digest_of(*data).sha256, &(*list)[i]);
                    }
                }
            });
        }
        const auto found = parts_->find(std::string(sha256));
        return found == parts_->end() ? nullptr : found->second;
    }

    /// nullopt: it holds no such text.
    std::optional<std::string_view> text(const part_digest& wanted) {
        std::optional<std::string_view> found;
        const auto look = [&](std::string_view text) {
            if (!found && text.size() == wanted.bytes && digest_of_text(text) == wanted) {
                found = text;
            }
        };
        for_each_content([&](const content& value) {
            if (const auto* const whole = std::get_if<std::string>(&value)) {
                look(*whole);
                return;
            }
            for (const json::value& part : std::get<json::array>(value)) {
                look(text_of_part(part));
            }
        });
        return found;
    }

private:
    template <class Visit>
    void for_each_content(Visit visit) {
        for (std::size_t i = 0; i < thread_.nodes.size(); ++i) {
            visit(thread_.nodes[i].message.content);
        }
    }

    const thread_record& thread_;
    std::optional<std::unordered_map<std::string, const json::value*>> parts_;
};

/// The part that `given` names, with the id and the metadata of `given`.
json::value restored(const json::value& given, const json::value& stored) {
    json::value out(stored, json::storage_ptr());
    const json::object* const object = given.if_object();
    for (const std::string_view name : {"id", "metadata"}) {
        if (const json::value* const own = object->if_contains(name)) {
            out.get_object()[name] = *own;
        }
    }
    return out;
}

void restore_array(
    json::array& parts, thread_parts& held, std::string_view thread_id,
    std::vector<std::string>& warnings
) {
    for (std::size_t i = 0; i < parts.size();) {
        json::value& part = parts[i];
        if (const std::string_view sha256 = linked_digest(url_of(part), thread_id);
            !sha256.empty()) {
            const json::value* const stored = held.part(sha256);
            if (stored == nullptr) {
                warnings.emplace_back("a link to a part that the thread does not hold was dropped");
                parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            part = restored(part, *stored);
        } else if (const auto left_out = digest_in(text_of_part(part), note_begin)) {
            if (const json::value* const stored = held.part(left_out->sha256)) {
                part = restored(part, *stored);
            }
        } else if (const auto cut = shortened_digest(text_of_part(part))) {
            if (const auto text = held.text(*cut)) {
                part.get_object()["text"] = *text;
            }
        }
        ++i;
    }
}

} // namespace

std::string left_out_note(std::string_view mime_type, const part_digest& digest) {
    std::string out(note_begin);
    if (!mime_type.empty()) {
        out.append(mime_type).append(", ");
    }
    out.append(std::to_string(digest.bytes)).append(before_digest).append(digest.sha256);
    out.push_back(']');
    return out;
}

std::string shortened_text(std::string_view text, std::size_t keep) {
    // What is shortened once more still names the whole text.
    const auto before = shortened_digest(text);
    const part_digest digest = before ? *before : digest_of_text(text);
    if (before) {
        text = text.substr(0, text.rfind(cut_begin));
    }
    keep = std::min(keep, text.size());
    while (keep > 0 && keep < text.size() &&
           (static_cast<unsigned char>(text[keep]) & 0xC0U) == 0x80U) {
        --keep;
    }
    std::string out(text.substr(0, keep));
    out.append(cut_begin).append(std::to_string(digest.bytes)).append(before_digest);
    out.append(digest.sha256).push_back(']');
    return out;
}

std::string part_path(std::string_view thread_id, std::string_view sha256) {
    return "/agui/threads/" + encode_segment(thread_id) + "/parts/" + std::string(sha256);
}

void restore_parts(
    std::vector<message>& messages, const thread_record& thread, std::vector<std::string>& warnings
) {
    thread_parts held(thread);
    for (message& each : messages) {
        if (each.role != role::user && each.role != role::tool) {
            continue; // No other is compared, or stored, as the client has it.
        }
        if (auto* const parts = std::get_if<json::array>(&each.content)) {
            restore_array(*parts, held, thread.key.thread_id, warnings);
            continue;
        }
        auto& text = std::get<std::string>(each.content);
        if (const auto cut = shortened_digest(text)) {
            if (const auto whole = held.text(*cut)) {
                text = std::string(*whole);
            }
        }
    }
}

const json::value* find_part(const thread_record& thread, std::string_view sha256) {
    return thread_parts(thread).part(sha256);
}

} // namespace agui::session
