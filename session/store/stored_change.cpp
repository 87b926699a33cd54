#include "session/store/stored_change.hpp"

#include "session/conversation/change_check.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

std::optional<std::string> serialized(const std::optional<json::array>& value) {
    return value ? std::optional(json::serialize(*value)) : std::nullopt;
}

std::optional<std::string_view> text_of(const std::optional<json_text>& document) {
    return document ? std::optional(document->view()) : std::nullopt;
}

} // namespace

stored_change::stored_change(changes given)
    : change(std::move(given)),
      metadata(text_of(change.metadata)),
      state(text_of(change.state)),
      offered_tools(serialized(change.offered_tools)),
      context(serialized(change.context)) {
    messages.reserve(change.messages.size());
    for (const stored_message& added : change.messages) {
        messages.push_back(json::serialize(to_stored_json(added.message)));
        message_bytes += messages.back().size();
    }
    for (const session_event& event : change.events) {
        events.push_back(json::serialize(event.data));
    }
}

thread_position stored_change::after(const thread_position& before) const {
    check_change(before.size, change);
    thread_position next = before;
    next.size = size_after(before.size, change);
    next.version += changes_conversation(change) ? 1 : 0;
    next.event_count += events.size();
    next.documents.state = state ? state->size() : before.documents.state;
    next.documents.offered_tools =
        offered_tools ? offered_tools->size() : before.documents.offered_tools;
    next.documents.context = context ? context->size() : before.documents.context;
    next.bytes = before.bytes - before.documents.total() + next.documents.total() + message_bytes;
    return next;
}

thread_position stored_change::after_creation(std::int64_t thread) const {
    thread_position made = after({});
    made.thread = thread;
    made.version = first_version(thread);
    return made;
}

} // namespace agui::session
