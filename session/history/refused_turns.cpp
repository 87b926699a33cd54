#include "session/history/refused_turns.hpp"

#include "session/history/history_rules.hpp"
#include "session/history/turn_failure.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace agui::session {

namespace {

constexpr std::string_view whole_note = "[left out: the model server refused this message]";
constexpr std::string_view media_note_begin = "[left out: the model server refused this ";

// The user messages that a model was first sent together, and what followed them.
struct refusable {
    std::size_t first = 0;
    std::size_t last = 0; ///< One after the end.
    bool refused = false; ///< And no answer came after that.
    bool media = false;
};

const boost::json::object* media_in(const boost::json::value& part) {
    const boost::json::object* const object = part.if_object();
    const boost::json::value* const type =
        object == nullptr ? nullptr : object->if_contains("type");
    const bool is_text = type != nullptr && type->is_string() && type->get_string() == "text";
    return is_text ? nullptr : object;
}

// The content that a model is sent.
const content& sent(const message& value) {
    return value.for_model ? *value.for_model : value.content;
}

bool has_media(const message& value) {
    const auto* const parts = std::get_if<boost::json::array>(&sent(value));
    return parts != nullptr && std::ranges::any_of(*parts, [](const boost::json::value& part) {
               return media_in(part) != nullptr;
           });
}

bool is_refusable(const message& value) noexcept {
    return is_user(value) || (value.role == role::tool && value.subagent_run_id.empty());
}

std::vector<refusable> divided(const thread_record& thread, const std::vector<node_index>& path) {
    std::vector<refusable> all;
    bool only_users = false; // Nothing has followed them yet.
    for (std::size_t at = 0; at < path.size(); ++at) {
        const message& value = thread.nodes[path[at]].message;
        if (is_user(value) && !only_users) {
            all.push_back({.first = at});
            only_users = true;
        }
        if (all.empty()) {
            continue;
        }
        refusable& last = all.back();
        last.last = at + 1;
        last.media = last.media || (is_refusable(value) && has_media(value));
        if (is_failure_note(value)) {
            last.refused = last.refused || is_refusal_note(value);
            only_users = false;
        } else if (value.role == role::assistant && value.subagent_run_id.empty()) {
            last.refused = false;
            only_users = false;
        }
    }
    return all;
}

} // namespace

std::vector<refused_part>
refused_parts(const thread_record& thread, const std::vector<node_index>& path) {
    std::vector<refused_part> parts(path.size(), refused_part::none);
    const std::vector<refusable> all = divided(thread, path);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        if (!all[i].refused) {
            continue;
        }
        const bool again = all[i + 1].refused;
        const refused_part part =
            again || !all[i].media ? refused_part::whole : refused_part::media;
        for (std::size_t at = all[i].first; at < all[i].last; ++at) {
            if (is_refusable(thread.nodes[path[at]].message)) {
                parts[at] = part;
            }
        }
    }
    return parts;
}

void leave_out(refused_part part, message& value) {
    if (part == refused_part::none) {
        return;
    }
    if (value.for_model) {
        value.content = *value.for_model;
        value.for_model = nullptr;
    }
    if (part == refused_part::whole) {
        value.content = std::string(whole_note);
        if (value.error) {
            value.error = std::string(whole_note);
        }
        return;
    }
    auto* const parts = std::get_if<boost::json::array>(&value.content);
    if (parts == nullptr) {
        return;
    }
    for (boost::json::value& each : *parts) {
        const boost::json::object* const media = media_in(each);
        if (media == nullptr) {
            continue;
        }
        const boost::json::value* const type = media->if_contains("type");
        const bool is_named = type != nullptr && type->is_string();
        const std::string kind(is_named ? std::string_view(type->get_string()) : "part");
        each = {{"type", "text"}, {"text", std::string(media_note_begin) + kind + "]"}};
    }
}

} // namespace agui::session
