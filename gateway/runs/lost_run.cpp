#include "gateway/runs/lost_run.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <variant>

namespace agui::gateway {

namespace {

std::string_view text_at(const boost::json::object& event, std::string_view key) {
    const boost::json::value* found = event.if_contains(key);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

void append(session::content& to, std::string_view text) { std::get<std::string>(to).append(text); }

} // namespace

const lost_run::bracket lost_run::kinds[] = {
    {"TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "messageId"},
    {"TOOL_CALL_START", "TOOL_CALL_END", "toolCallId"},
    {"REASONING_START", "REASONING_END", "messageId"},
    {"REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "messageId"},
};

void lost_run::read(std::string_view json) {
    boost::system::error_code ec;
    const boost::json::value event = boost::json::parse(json, ec);
    const boost::json::object* object = ec ? nullptr : event.if_object();
    if (object != nullptr) {
        follow_brackets(text_at(*object, "type"), *object);
        follow_messages(text_at(*object, "type"), *object);
    }
}

void lost_run::follow_brackets(std::string_view type, const boost::json::object& event) {
    for (const bracket& kind : kinds) {
        if (type == kind.start) {
            open_.push_back({&kind, std::string(text_at(event, kind.id))});
        } else if (type == kind.end) {
            const std::string_view id = text_at(event, kind.id);
            std::erase_if(open_, [&](const open_bracket& one) {
                return one.kind == &kind && one.id == id;
            });
        }
    }
}

void lost_run::follow_messages(std::string_view type, const boost::json::object& event) {
    const std::string_view delta = text_at(event, "delta");
    if (type == "TEXT_MESSAGE_CONTENT") {
        append(message_of(text_at(event, "messageId"), session::role::assistant).content, delta);
    } else if (type == "REASONING_MESSAGE_CONTENT") {
        append(message_of(text_at(event, "messageId"), session::role::reasoning).content, delta);
    } else if (type == "TOOL_CALL_START") {
        const std::string_view id = text_at(event, "toolCallId");
        if (find_call(id) == nullptr) {
            session::tool_call call;
            call.id = id;
            call.name = text_at(event, "toolCallName");
            message_of(text_at(event, "parentMessageId"), session::role::assistant)
                .tool_calls.push_back(std::move(call));
        }
    } else if (type == "TOOL_CALL_ARGS") {
        if (session::tool_call* call = find_call(text_at(event, "toolCallId"))) {
            call->arguments.append(delta);
        }
    }
}

session::message& lost_run::message_of(std::string_view id, session::role role) {
    const auto found = std::ranges::find(messages_, id, &session::message::id);
    if (found != messages_.end()) {
        return *found;
    }
    session::message begun;
    begun.id = id;
    begun.role = role;
    begun.content = std::string();
    return messages_.emplace_back(std::move(begun));
}

session::tool_call* lost_run::find_call(std::string_view id) {
    for (session::message& one : messages_) {
        const auto found = std::ranges::find(one.tool_calls, id, &session::tool_call::id);
        if (found != one.tool_calls.end()) {
            return &*found;
        }
    }
    return nullptr;
}

void lost_run::close(translator::event_writer& writer, std::vector<std::string>& out) const {
    for (auto one = open_.rbegin(); one != open_.rend(); ++one) {
        writer.begin(one->kind->end);
        writer.member(one->kind->id, one->id);
        out.emplace_back(writer.end());
    }
}

} // namespace agui::gateway
