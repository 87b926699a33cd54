#include "translator/agui/snapshot_limit.hpp"

#include "runner/base/json_text.hpp"
#include "session/base/json_member.hpp"
#include "session/history/part_reference.hpp"
#include "translator/agui/event_writer.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace agui::translator {

namespace {

namespace json = boost::json;

/// A smaller part is about as large as its link or note.
constexpr std::size_t small_part = 1024;
/// Bytes of a text that stay, in successive passes.
constexpr std::size_t kept_bytes[] = {65'536, 4'096, 256, 0};
/// A text that is hardly longer than its note is not shortened.
constexpr std::size_t note_bytes = 128;

/// Replaces the data parts of a message by links. A part without a link becomes a note, or stays if
/// `or_stays`. Returns whether there was such a part.
bool leave_out_parts(json::object& message, const part_link& link, bool or_stays) {
    bool changed = false;
    json::value* const content = message.if_contains("content");
    json::array* const parts = content != nullptr ? content->if_array() : nullptr;
    for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
        json::value& part = (*parts)[i];
        const auto data = session::data_part_of(part);
        if (!data || data->value.size() <= small_part) {
            continue;
        }
        const session::part_digest digest = session::digest_of(*data);
        const std::string url = link ? link(digest.sha256) : std::string();
        if (or_stays && url.empty()) {
            continue;
        }
        changed = true;
        part = session::named(part, digest, url);
    }
    return changed;
}

class snapshot_limit {
public:
    snapshot_limit(json::array& messages, std::size_t bytes_max, const part_link& link)
        : messages_(messages), bytes_max_(bytes_max), link_(link) {}

    void apply() {
        sizes_.reserve(messages_.size());
        for (const json::value& each : messages_) {
            sizes_.push_back(size_of(each));
            total_ += sizes_.back();
        }
        in_each([this](json::object& message) { return leave_out_parts(message, link_, false); });
        for (const std::size_t keep : kept_bytes) {
            in_each([&](json::object& message) {
                return string_in(message, "role") == "tool" && shorten_content(message, keep);
            });
            in_each([&](json::object& message) {
                const bool shorter = shorten_content(message, keep);
                return shorten_arguments(message, keep) || shorter;
            });
        }
        in_each([](json::object& message) {
            for (const std::string_view name : {"metadata", "encryptedValue", "error"}) {
                message.stable_erase(name);
            }
            if (json::value* const content = message.if_contains("content");
                content != nullptr && !content->is_string()) {
                if (content->is_object()) {
                    content->emplace_object();
                } else {
                    content->emplace_array();
                }
            }
            return true;
        });
        leave_out_oldest();
    }

private:
    static std::size_t size_of(const json::value& value) {
        std::string text;
        append_json(text, value);
        return text.size() + 1; // Includes a comma.
    }

    /// Calls `change` with the messages from the oldest on, until all are small enough. `change`
    /// returns true if it has changed a message.
    template <class Change>
    void in_each(Change change) {
        for (std::size_t i = 0; i < messages_.size() && total_ > bytes_max_; ++i) {
            json::object* const message = messages_[i].if_object();
            if (message == nullptr || sizes_[i] <= note_bytes || !change(*message)) {
                continue;
            }
            total_ -= sizes_[i];
            sizes_[i] = size_of(messages_[i]);
            total_ += sizes_[i];
        }
    }

    static bool shorten(json::value& text, std::size_t keep) {
        const json::string* const whole = text.if_string();
        if (whole == nullptr || whole->size() <= keep + note_bytes) {
            return false;
        }
        text = json::string(session::shortened_text({whole->data(), whole->size()}, keep));
        return true;
    }

    static bool shorten_content(json::object& message, std::size_t keep) {
        json::value* const content = message.if_contains("content");
        if (content == nullptr) {
            return false;
        }
        bool changed = shorten(*content, keep);
        json::array* const parts = content->if_array();
        for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
            json::object* const part = (*parts)[i].if_object();
            if (json::value* const text = part != nullptr ? part->if_contains("text") : nullptr) {
                changed = shorten(*text, keep) || changed;
            }
        }
        return changed;
    }

    /// Arguments stay JSON, for the clients that read them.
    static bool shorten_arguments(json::object& message, std::size_t keep) {
        bool changed = false;
        json::value* const calls = message.if_contains("toolCalls");
        json::array* const list = calls != nullptr ? calls->if_array() : nullptr;
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
            json::object* const call = (*list)[i].if_object();
            json::value* const made = call != nullptr ? call->if_contains("function") : nullptr;
            json::object* const function = made != nullptr ? made->if_object() : nullptr;
            if (function == nullptr) {
                continue;
            }
            const std::string_view whole = string_in(*function, "arguments");
            if (whole.size() <= keep + note_bytes) {
                continue;
            }
            std::string arguments = R"({"shortened":)";
            runner::append_json_string(arguments, session::shortened_text(whole, 0));
            arguments.push_back('}');
            (*function)["arguments"] = json::string(arguments);
            changed = true;
        }
        return changed;
    }

    void leave_out_oldest() {
        std::size_t count = 0;
        while (total_ > bytes_max_ && count < messages_.size()) {
            total_ -= sizes_[count++];
        }
        messages_.erase(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count));
    }

    json::array& messages_;
    const std::size_t bytes_max_;
    const part_link& link_;
    std::vector<std::size_t> sizes_; ///< Size of each message as JSON.
    std::size_t total_ = 0;
};

} // namespace

void limit_messages(json::array& messages, std::size_t bytes_max, const part_link& link) {
    snapshot_limit(messages, bytes_max, link).apply();
}

void link_parts(json::array& messages, const part_link& link) {
    for (json::value& each : messages) {
        if (json::object* const message = each.if_object()) {
            leave_out_parts(*message, link, true);
        }
    }
}

} // namespace agui::translator
