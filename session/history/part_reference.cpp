#include "session/history/part_reference.hpp"

#include "session/base/text_map.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
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

/// The digest at the end of a note that begins with `begin`; nullopt if it is no such note.
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
    number.remove_prefix(std::min(number.rfind(' ') + 1, number.size())); // Skips the type.
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

std::string_view url_of(const json::value& part) noexcept {
    const json::object* const object = part.if_object();
    const json::value* const source = object != nullptr ? object->if_contains("source") : nullptr;
    const json::object* const fields = source != nullptr ? source->if_object() : nullptr;
    return fields != nullptr && text_in(fields->if_contains("type")) == "url"
               ? text_in(fields->if_contains("value"))
               : std::string_view();
}

/// Places in a thread by their digest. Messages are read in order, and only until the digest is
/// found: later ones need not be hashed.
class digest_index {
public:
    struct place {
        std::size_t node = 0;
        std::size_t part = 0;
        std::size_t bytes = 0;
    };
    using digests_of = const std::vector<placed_digest>& (node_list::*)(std::size_t) const;

    digest_index(const node_list& nodes, digests_of which) : nodes_(nodes), which_(which) {}

    const place* find(std::string_view sha256) {
        auto found = places_.find(sha256);
        while (found == places_.end() && read_ < nodes_.size()) {
            read(read_++);
            found = places_.find(sha256);
        }
        return found == places_.end() ? nullptr : &found->second;
    }

private:
    void read(std::size_t node) {
        for (const auto& [part, digest] : (nodes_.*which_)(node)) {
            places_.try_emplace(digest.sha256, place{node, part, digest.bytes});
        }
    }

    const node_list& nodes_;
    const digests_of which_;
    std::size_t read_ = 0; ///< Number of messages in `places_`.
    view_map<place> places_;
};

/// The contents of a thread, by digest. Its messages must not change meanwhile.
class thread_parts {
public:
    explicit thread_parts(const thread_record& thread) : nodes_(thread.nodes) {}

    const json::value* part(std::string_view sha256) {
        const digest_index::place* const found = data_.find(sha256);
        return found == nullptr ? nullptr : &parts_of(*found)[found->part];
    }

    /// nullopt if it holds no such text.
    std::optional<std::string_view> text(const part_digest& wanted) {
        const digest_index::place* const found = texts_.find(wanted.sha256);
        if (found == nullptr || found->bytes != wanted.bytes) {
            return std::nullopt;
        }
        const auto* const whole = std::get_if<std::string>(&nodes_[found->node].message.content);
        return whole != nullptr ? std::string_view(*whole)
                                : text_of_part(parts_of(*found)[found->part]);
    }

private:
    const json::array& parts_of(const digest_index::place& where) const {
        return std::get<json::array>(nodes_[where.node].message.content);
    }

    const node_list& nodes_;
    digest_index data_{nodes_, &node_list::data_digests};
    digest_index texts_{nodes_, &node_list::text_digests};
};

/// The digest of the part that `part` names; empty if it names none.
std::string named_part(const json::value& part, std::string_view thread_id) {
    if (const std::string_view sha256 = linked_digest(url_of(part), thread_id); !sha256.empty()) {
        return std::string(sha256);
    }
    const auto left_out = digest_in(text_of_part(part), note_begin);
    return left_out ? left_out->sha256 : std::string();
}

/// The part that `given` names. Its id and its metadata are those of `given`, and so is its kind,
/// unless it is a note.
json::value restored(const json::value& given, const json::value& stored) {
    const json::object& old = given.get_object();
    json::object out(old.contains("source") ? old : stored.get_object(), json::storage_ptr());
    out["source"] = stored.at("source");
    for (const std::string_view name : {"id", "metadata"}) {
        if (const json::value* const own = old.if_contains(name)) {
            out[name] = *own;
        }
    }
    return out;
}

class restoring {
public:
    restoring(
        const thread_record& thread, const parts_by_digest& attached, std::uint64_t bytes_max,
        memory_share& memory
    )
        : thread_id_(thread.key.thread_id),
          held_(thread),
          attached_(attached),
          bytes_max_(bytes_max),
          memory_(memory) {}

    result<void> in(content& value) {
        if (auto* const text = std::get_if<std::string>(&value)) {
            if (const auto whole = whole_text(*text)) {
                const auto room = take(whole->size());
                if (!room) {
                    return room.error();
                }
                *text = std::string(*whole);
            }
            return result<void>();
        }
        return in_parts(std::get<json::array>(value));
    }

    [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

private:
    result<void> in_parts(json::array& parts) {
        std::size_t kept = 0;
        for (json::value& part : parts) {
            const auto stays = in_part(part);
            if (!stays) {
                return stays.error();
            }
            if (*stays && &parts[kept] != &part) {
                parts[kept] = std::move(part);
            }
            kept += *stays ? 1 : 0;
        }
        dropped_ += parts.size() - kept;
        parts.resize(kept);
        return result<void>();
    }

    /// Returns false if the part leads nowhere.
    result<bool> in_part(json::value& part) {
        const std::string sha256 = named_part(part, thread_id_);
        if (sha256.empty()) {
            return in_text(part);
        }
        const bool is_note = url_of(part).empty();
        const json::value* const stored = find(sha256);
        if (stored == nullptr) {
            return is_note; // A user may have written a note.
        }
        const auto room = take(stored_size(is_note ? *stored : stored->at("source")));
        if (!room) {
            return room.error();
        }
        part = restored(part, *stored);
        return true;
    }

    result<bool> in_text(json::value& part) {
        const auto whole = whole_text(text_of_part(part));
        if (!whole) {
            return true;
        }
        const auto room = take(whole->size());
        if (!room) {
            return room.error();
        }
        part.get_object()["text"] = *whole;
        return true;
    }

    /// Call it before copying: a name has a hundred bytes and may stand for millions.
    result<void> take(std::size_t bytes) {
        bytes_ += bytes;
        if (bytes_ > bytes_max_) {
            return failure{
                errc::body_too_large,
                "the parts that the messages refer to would take more than " +
                    std::to_string(bytes_max_) + " bytes: start a new thread",
                "messages",
                {}
            };
        }
        if (!memory_.grow_to(memory_.held() + bytes)) {
            return failure{errc::overloaded, "there is not enough memory for this request"};
        }
        return result<void>();
    }

    const json::value* find(const std::string& sha256) {
        if (const json::value* const stored = held_.part(sha256)) {
            return stored;
        }
        const auto found = attached_.find(sha256);
        return found == attached_.end() ? nullptr : &found->second;
    }

    std::optional<std::string_view> whole_text(std::string_view text) {
        const auto cut = shortened_digest(text);
        return cut ? held_.text(*cut) : std::nullopt;
    }

    const std::string& thread_id_;
    thread_parts held_;
    const parts_by_digest& attached_;
    const std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    memory_share& memory_;
    std::size_t dropped_ = 0;
};

/// Assistants' messages are neither compared nor stored as a client has them.
bool may_name_parts(const message& value) noexcept {
    return value.role == role::user || value.role == role::tool;
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

json::value named(const json::value& part, const part_digest& digest, std::string_view url) {
    const data_part data = data_part_of(part).value();
    if (url.empty()) {
        return {{"type", "text"}, {"text", left_out_note(data.mime_type, digest)}};
    }
    json::object source{{"type", "url"}, {"value", url}};
    if (!data.mime_type.empty()) {
        source["mimeType"] = data.mime_type;
    }
    json::object out;
    for (const auto& [name, value] : part.get_object()) {
        if (name != "source") {
            out[name] = value;
        }
    }
    out["source"] = std::move(source);
    return out;
}

std::string shortened_text(std::string_view text, std::size_t keep) {
    // A text that is shortened again still names the whole one.
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

std::string part_path(std::string_view thread_id, std::string_view sha256) {
    return "/agui/threads/" + encode_segment(thread_id) + "/parts/" + std::string(sha256);
}

std::set<std::string>
missing_parts(const std::vector<message>& messages, const thread_record& thread, std::size_t most) {
    thread_parts held(thread);
    std::set<std::string> missing;
    for (auto each = messages.rbegin(); each != messages.rend(); ++each) {
        const auto* const parts = std::get_if<json::array>(&each->content);
        for (std::size_t i = 0; may_name_parts(*each) && parts != nullptr && i < parts->size();
             ++i) {
            if (missing.size() == most) {
                return missing;
            }
            std::string sha256 = named_part((*parts)[i], thread.key.thread_id);
            if (!sha256.empty() && held.part(sha256) == nullptr) {
                missing.insert(std::move(sha256));
            }
        }
    }
    return missing;
}

result<void> restore_parts(
    std::vector<message>& messages, const thread_record& thread, const parts_by_digest& attached,
    std::uint64_t bytes_max, memory_share& memory, std::vector<std::string>& warnings
) {
    restoring names(thread, attached, bytes_max, memory);
    for (message& each : messages) {
        if (!may_name_parts(each)) {
            continue;
        }
        if (const auto done = names.in(each.content); !done) {
            return done.error();
        }
    }
    if (names.dropped() > 0) {
        warnings.push_back(
            "links to parts that the thread does not hold were dropped: " +
            std::to_string(names.dropped())
        );
    }
    return result<void>();
}

const json::value* find_part(const thread_record& thread, std::string_view sha256) {
    return thread_parts(thread).part(sha256);
}

} // namespace agui::session
