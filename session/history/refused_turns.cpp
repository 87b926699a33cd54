#include "session/history/refused_turns.hpp"

#include "session/history/history_rules.hpp"
#include "session/history/turn_failure.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::session {

namespace {

constexpr std::string_view whole_note = "[left out: the model server refused this message]";
constexpr std::string_view media_note_begin = "[left out: the model server refused this ";

// The user messages that a model was first sent together, and the messages that followed them.
struct refusable {
    std::size_t first = 0;
    std::size_t last = 0;     ///< One past the end.
    bool refused = false;     ///< Refused, and no answer came after that.
    std::size_t refusals = 0; ///< Refusals before its first answer: a user may try again.
    bool answered = false;
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
    bool only_users = false; // True until another message follows them.
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
            const bool is_refusal = is_refusal_note(value);
            last.refused = last.refused || is_refusal;
            last.refusals += is_refusal && !last.answered ? 1 : 0;
            only_users = false;
        } else if (value.role == role::assistant && value.subagent_run_id.empty()) {
            const bool answers = !is_withdrawn(value);
            last.refused = last.refused && !answers;
            last.answered = last.answered || answers;
            only_users = false;
        }
    }
    return all;
}

// Counts, for each refused group, the refusals that speak against it: its own, whole as it was sent
// each time, and those of the groups after it, up to the next answer.
std::vector<std::size_t> refusals_of(const std::vector<refusable>& all) {
    std::vector<std::size_t> counts(all.size(), 0);
    std::size_t following = 0;
    for (std::size_t i = all.size(); i-- > 0;) {
        counts[i] = all[i].refused ? following + 1 : 0;
        following = all[i].refusals + (all[i].refused ? following : 0);
    }
    return counts;
}

class suspicion {
public:
    suspicion(const thread_record& thread, const std::vector<node_index>& path)
        : thread_(thread), path_(path), parts_(path.size(), refused_part::none) {}

    /// Adds the groups in their order. `refusals` is the number that speak against it; 0 for the
    /// newest.
    void add(const refusable& group, std::size_t refusals) {
        const bool suspects_own = group.media && refusals > 0;
        if (suspects_own) {
            mark(group.first, group.last, refused_part::media);
            --refusals;
        }
        if (earlier_media_ && refusals > 0) {
            mark(marked_, group.first, refused_part::media);
            marked_ = group.first;
            earlier_media_ = false;
            --refusals;
        }
        if (refusals > 0) {
            mark(group.first, group.last, refused_part::whole);
            --refusals;
        }
        if (refusals > 0) {
            mark_answers(group);
        }
        earlier_media_ = earlier_media_ || (group.media && !suspects_own);
    }

    std::vector<refused_part> take() { return std::move(parts_); }

private:
    const message& at(std::size_t place) const { return thread_.nodes[path_[place]].message; }

    void mark(std::size_t first, std::size_t last, refused_part part) {
        for (std::size_t place = first; place < last; ++place) {
            if (is_refusable(at(place))) {
                parts_[place] = std::max(parts_[place], part);
            }
        }
    }

    void mark_answers(const refusable& group) {
        for (std::size_t place = group.first; place < group.last; ++place) {
            const role who = at(place).role;
            if (who == role::assistant || who == role::reasoning) {
                parts_[place] = refused_part::whole;
            }
        }
    }

    const thread_record& thread_;
    const std::vector<node_index>& path_;
    std::vector<refused_part> parts_;
    bool earlier_media_ = false; ///< True if earlier media are still sent,
    std::size_t marked_ = 0;     ///< from this place on.
};

} // namespace

std::vector<refused_part>
refused_parts(const thread_record& thread, const std::vector<node_index>& path) {
    const std::vector<refusable> all = divided(thread, path);
    const std::vector<std::size_t> refusals = refusals_of(all);
    suspicion found(thread, path);
    for (std::size_t i = 0; i < all.size(); ++i) {
        found.add(all[i], i + 1 < all.size() ? refusals[i] : 0);
    }
    return found.take();
}

void leave_out(refused_part part, message& value) {
    if (part == refused_part::none) {
        return;
    }
    if (value.role == role::assistant) {
        value.origin = nullptr;
        value.encrypted_value.reset();
        value.encrypted_value_type.reset();
        for (tool_call& call : value.tool_calls) {
            call.arguments = "{}";
            call.encrypted_value.reset();
            call.encrypted_value_type.reset();
        }
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
