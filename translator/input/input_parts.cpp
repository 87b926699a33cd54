#include "translator/input/input_parts.hpp"

#include "session/base/text_map.hpp"
#include "session/conversation/media_part.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/input/input_fields.hpp"
#include "translator/schema/type_tables.hpp"

#include <algorithm>
#include <optional>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;
using notes_type = std::vector<std::string>;

/// A part, or nothing if it is dropped.
using kept = std::optional<object>;

/// Copies a text member, which may be missing unless the protocol requires it.
result<void>
copy_text(const object& from, const tables::member_rule& rule, std::string_view path, object& to) {
    const auto text = read_text(from, rule.name, path);
    if (!text) {
        return text.error();
    }
    if (*text) {
        to.emplace(rule.name, **text);
    } else if (rule.is_required()) {
        return read_required_text(from, rule.name, path).error();
    }
    return {};
}

result<kept> read_source(const value& given, const std::string& path, notes_type& notes) {
    const auto source = read_object(given, path);
    if (!source) {
        return source.error();
    }
    const auto type = read_required_text(**source, "type", path);
    if (!type) {
        return type.error();
    }
    const tables::shape* known = tables::find_named(tables::source_type.shapes, *type);
    if (known == nullptr) {
        add_note(notes, path, "unknown kind of source, its part is dropped");
        return kept();
    }
    object out{{"type", *type}};
    for (const tables::member_rule& rule : known->members) {
        if (auto copied = copy_text(**source, rule, path, out); !copied) {
            return copied.error();
        }
    }
    return kept(std::move(out));
}

result<kept> upgrade_binary(const object& part, const std::string& path, notes_type& notes) {
    const auto mime_type = read_required_text(part, "mimeType", path);
    if (!mime_type) {
        return mime_type.error();
    }
    const auto data = read_text(part, "data", path);
    const auto url = read_text(part, "url", path);
    const auto filename = read_text(part, "filename", path);
    for (const auto* text : {&data, &url, &filename}) {
        if (!*text) {
            return text->error();
        }
    }
    object source;
    if (*data && !(*data)->empty()) {
        source = {{"type", "data"}, {"value", **data}, {"mimeType", *mime_type}};
    } else if (*url && !(*url)->empty()) {
        source = {{"type", "url"}, {"value", **url}, {"mimeType", *mime_type}};
    } else {
        add_note(notes, path, "a binary part without data and url is dropped");
        return kept();
    }
    object out{{"type", session::part_type_of(*mime_type)}, {"source", std::move(source)}};
    if (*filename) {
        out.emplace("metadata", object{{"filename", **filename}});
    }
    return kept(std::move(out));
}

result<kept> read_part(const value& given, const std::string& path, notes_type& notes) {
    const auto part = read_object(given, path);
    if (!part) {
        return part.error();
    }
    const auto type = read_required_text(**part, "type", path);
    if (!type) {
        return type.error();
    }
    if (*type == "binary") {
        return upgrade_binary(**part, path, notes);
    }
    const tables::shape* known = tables::find_named(tables::part_type.shapes, *type);
    if (known == nullptr) {
        add_note(notes, path, "unknown kind of part, dropped");
        return kept();
    }
    object out{{"type", *type}};
    for (const tables::member_rule& rule : known->members) {
        const value* member = find_member(**part, rule.name);
        if (rule.kind == tables::text) {
            if (auto copied = copy_text(**part, rule, path, out); !copied) {
                return copied.error();
            }
        } else if (rule.kind == tables::value && member != nullptr) {
            out.emplace(rule.name, *member);
        } else if (rule.kind == tables::nested) {
            if (member == nullptr) {
                return invalid_input(joined(path, rule.name), "is required and must be an object");
            }
            auto source = read_source(*member, joined(path, rule.name), notes);
            if (!source) {
                return source.error();
            }
            if (!*source) {
                return kept();
            }
            out.emplace(rule.name, std::move(**source));
        }
    }
    return kept(std::move(out));
}

/// A media part's content as one text, which is equal for parts that repeat each other.
std::string essence(const object& part) {
    std::string out(part.at("type").get_string());
    if (const value* source = part.if_contains("source")) {
        append_json(out, *source);
    }
    return out;
}

struct read_list {
    boost::json::array parts;
    std::vector<bool> upgraded; ///< The part with the same index was a `binary` part.
};

/// Some clients send a file in both the old and the modern form; the modern one is kept.
boost::json::array without_repeats(read_list&& read, std::string_view path, notes_type& notes) {
    if (std::find(read.upgraded.begin(), read.upgraded.end(), true) == read.upgraded.end()) {
        return std::move(read.parts);
    }
    text_set modern;
    for (std::size_t index = 0; index < read.parts.size(); ++index) {
        if (!read.upgraded[index]) {
            modern.insert(essence(read.parts[index].get_object()));
        }
    }
    boost::json::array out;
    for (std::size_t index = 0; index < read.parts.size(); ++index) {
        if (read.upgraded[index] && modern.contains(essence(read.parts[index].get_object()))) {
            add_note(notes, path, "a binary part that repeats another part is dropped");
        } else {
            out.push_back(std::move(read.parts[index]));
        }
    }
    return out;
}

} // namespace

result<boost::json::array>
read_parts(const boost::json::array& given, std::string_view path, notes_type& notes) {
    read_list read;
    for (std::size_t index = 0; index < given.size(); ++index) {
        auto part = read_part(given[index], indexed(path, index), notes);
        if (!part) {
            return part.error();
        }
        if (*part) {
            const value* type = given[index].get_object().if_contains("type");
            read.upgraded.push_back(type->get_string() == "binary");
            read.parts.emplace_back(std::move(**part));
        }
    }
    return without_repeats(std::move(read), path, notes);
}

} // namespace agui::translator
