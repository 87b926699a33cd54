#include "runner/loop/reply_items.hpp"

#include "runner/base/json_escapes.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

const json::string* text_in(const json::object& object, std::string_view key) {
    const json::value* const value = object.if_contains(key);
    return value == nullptr ? nullptr : value->if_string();
}

const json::array* list_in(const json::value& document) {
    if (const json::array* const list = document.if_array()) {
        return list;
    }
    const json::object* const object = document.if_object();
    const json::value* const items = object == nullptr ? nullptr : object->if_contains("items");
    return items == nullptr ? nullptr : items->if_array();
}

const json::string* text_of_segment(const json::object& segment) {
    if (const json::string* const text = text_in(segment, "text")) {
        return text;
    }
    const json::value* const data = segment.if_contains("data");
    const json::object* const members = data == nullptr ? nullptr : data->if_object();
    return members == nullptr ? nullptr : text_in(*members, "text");
}

class reader {
public:
    void item(const json::value& value) {
        const json::object* const object = value.if_object();
        const json::string* const type = object == nullptr ? nullptr : text_in(*object, "type");
        const json::value* const content =
            object == nullptr ? nullptr : object->if_contains("content");
        if (type != nullptr && content != nullptr && *type == "thought" && content->is_string()) {
            thought(content->get_string());
        } else if (type != nullptr && content != nullptr && *type == "chat" &&
                   (content->is_string() || content->is_array())) {
            chat(*content);
        } else {
            ++out_.odd;
        }
    }

    [[nodiscard]] reply_items take() { return std::move(out_); }

private:
    void thought(std::string_view text) {
        if (text.empty()) {
            return;
        }
        if (!out_.thoughts.empty()) {
            out_.thoughts.append("\n\n");
        }
        out_.thoughts.append(text);
    }

    void chat(const json::value& content) {
        if (std::exchange(out_.has_chat, true)) {
            ++out_.more_chats;
            return;
        }
        if (const json::string* const text = content.if_string()) {
            add_text(*text);
            return;
        }
        for (const json::value& each : content.get_array()) {
            segment(each);
        }
    }

    void segment(const json::value& value) {
        if (const json::string* const plain = value.if_string()) {
            add_text(*plain);
            return;
        }
        const json::object* const object = value.if_object();
        const json::string* const type = object == nullptr ? nullptr : text_in(*object, "type");
        const bool is_other = type != nullptr && *type != "text";
        const json::string* const text = type == nullptr ? nullptr : text_of_segment(*object);
        if (is_other) {
            out_.segments.emplace_back(*object);
        } else if (text != nullptr) {
            add_text(*text);
        } else {
            ++out_.odd;
        }
    }

    void add_text(std::string_view text) {
        if (text.empty()) {
            return;
        }
        auto* const last =
            out_.segments.empty() ? nullptr : std::get_if<std::string>(&out_.segments.back());
        if (last != nullptr) {
            last->append(text);
        } else {
            out_.segments.emplace_back(std::string(text));
        }
    }

    reply_items out_;
};

} // namespace

std::optional<reply_items> read_reply_items(std::string_view text) {
    result<json::value> document = parse_json(text);
    if (!document && document.error().code == errc::invalid_json) {
        std::string mended(text);
        replace_unpaired_surrogates(mended);
        document = parse_json(mended);
    }
    const json::array* const list = document ? list_in(*document) : nullptr;
    if (list == nullptr) {
        return std::nullopt;
    }
    reader items;
    for (const json::value& each : *list) {
        items.item(each);
    }
    return items.take();
}

std::string_view reply_items_schema() noexcept {
    return R"({"type":"object","properties":{"items":{"type":"array","items":{"anyOf":[)"
           R"({"type":"object","properties":{"type":{"type":"string","enum":["thought"]},)"
           R"("content":{"type":"string"}},"required":["type","content"],)"
           R"("additionalProperties":false},)"
           R"({"type":"object","properties":{"type":{"type":"string","enum":["chat"]},)"
           R"("content":{"anyOf":[{"type":"string"},{"type":"array","items":)"
           R"({"type":"object","properties":{"type":{"type":"string","enum":["text"]},)"
           R"("text":{"type":"string"}},"required":["type","text"],)"
           R"("additionalProperties":false}}]}},"required":["type","content"],)"
           R"("additionalProperties":false}]}}},"required":["items"],)"
           R"("additionalProperties":false})";
}

} // namespace agui::runner
