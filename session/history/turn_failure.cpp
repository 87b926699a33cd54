#include "session/history/turn_failure.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace agui::session {

namespace {

constexpr std::string_view code_member = "code";
constexpr std::string_view message_member = "message";
constexpr std::string_view refused_member = "refused";

} // namespace

message failure_note(std::string about, const turn_failure& failure) {
    message note;
    note.id = std::move(about);
    note.role = role::activity;
    note.activity_type = failure_member;
    note.activity = {{code_member, failure.code}, {message_member, failure.message}};
    if (failure.refused) {
        note.activity.emplace(refused_member, true);
    }
    return note;
}

bool is_failure_note(const message& value) noexcept {
    return value.role == role::activity && value.activity_type == failure_member;
}

bool is_refusal_note(const message& value) noexcept {
    return is_failure_note(value) && value.activity.contains(refused_member);
}

void show_failure(const message& note, message& about) {
    boost::json::object shown = note.activity;
    shown.erase(refused_member);
    if (!about.metadata) {
        about.metadata.emplace();
    }
    (*about.metadata)[failure_member] = std::move(shown);
}

void drop_failure(message& given) {
    if (!given.metadata || given.metadata->erase(failure_member) == 0) {
        return;
    }
    if (given.metadata->empty()) {
        given.metadata.reset();
    }
}

} // namespace agui::session
