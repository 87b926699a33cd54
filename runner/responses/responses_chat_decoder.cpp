#include "runner/responses/responses_chat_decoder.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"
#include "runner/responses/responses_fields.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::string_view prefix = "response.";

/// True for the events of reasoning with a delta: summaries, and the text of open models.
bool is_thought(std::string_view type) noexcept {
    return type.starts_with("reasoning") && type.ends_with(".delta");
}

} // namespace

responses_decoder::responses_decoder(model_sink& sink, std::string model, std::string provider_name)
    : stream_decoder(own_words, std::move(model), std::move(provider_name)), items_(sink) {}

/// Some servers leave out the type, which is the event's name, too.
void responses_decoder::read(std::string_view name, const json::object& event, bool torn) {
    static constexpr std::array<std::string_view, 5> names = {
        "type", "delta", "content_index", "summary_index", "object"
    };
    const auto [type_member, delta, content, summary, object] = members_of(event, names);
    std::string_view type = text_of(type_member).empty() ? name : text_of(type_member);
    if (!type.starts_with(prefix)) {
        if (text_of(object) == "response") { // The answer of a server that does not stream.
            answered_ = true;
            ++chunks_;
            end_with({}, event, torn);
        } else if (type == "error" || (event.contains("error") && type.empty())) {
            const json::value* const error = event.if_contains("error");
            report(error == nullptr || error->is_null() ? json::value(event) : *error);
        } else {
            chunks_ += items_.may_be_silent() ? 1 : 0;
        }
        return;
    }
    type.remove_prefix(prefix.size());
    answered_ = true;
    ++chunks_;
    const position at = place_of(event);
    if (type == "output_text.delta" || type == "refusal.delta") {
        items_.text(at, integer_of(content), text_of(delta), torn);
    } else if (type == "function_call_arguments.delta") {
        items_.arguments(at, text_of(delta), torn);
    } else if (is_thought(type)) {
        const json::value* const part = summary == nullptr ? content : summary;
        items_.thought(at, integer_of(part), text_of(delta), torn);
    } else {
        item_event(type, at, event, torn);
    }
    if (!items_.problem().empty()) {
        fail(std::string(items_.problem()));
    }
}

/// llama.cpp sends no index, and ends all items together after the last one: there only the id
/// tells which item ends.
responses_decoder::position responses_decoder::place_of(const json::object& event) const {
    if (const position index = integer_of(event.if_contains("output_index"))) {
        return index;
    }
    const json::object* const item = object_in(event, "item");
    return items_.named(item == nullptr ? string_in(event, "item_id") : string_in(*item, "id"));
}

void responses_decoder::item_event(
    std::string_view type, position at, const json::object& event, bool torn
) {
    const auto part = integer_of(event.if_contains("content_index"));
    const json::object* const item = object_in(event, "item");
    const json::object* const response = object_in(event, "response");
    if (type == "output_item.added" && item != nullptr) {
        // A further item, even if an earlier one has its id.
        items_.start(integer_of(event.if_contains("output_index")), *item, torn);
    } else if (type == "output_item.done" && item != nullptr) {
        items_.done(at, *item, torn);
    } else if (type == "function_call_arguments.done") {
        items_.whole_arguments(at, string_in(event, "arguments"), torn);
    } else if (type == "output_text.done") {
        items_.whole_text(at, part, string_in(event, "text"), torn);
    } else if (type == "refusal.done") {
        items_.whole_text(at, part, string_in(event, "refusal"), torn);
    } else if (type == "completed" || type == "incomplete" || type == "failed" ||
               type == "cancelled") {
        end_with(type, response == nullptr ? event : *response, torn);
    }
}

/// `type` is that of the last event, which some servers send as `completed` whatever happened.
void responses_decoder::end_with(std::string_view type, const json::object& response, bool torn) {
    const json::array* const output = array_in(response, "output");
    if (output != nullptr && !items_.has_items()) {
        items_.whole(*output, torn);
    }
    usage_ = read_responses_usage(object_in(response, "usage"), provider_, model_);
    const std::string_view said = string_in(response, "status");
    const std::string_view status = type.empty() || type == "completed" ? said : type;
    if (status == "failed" || status == "cancelled") {
        const json::value* const error = response.if_contains("error");
        report(error == nullptr || error->is_null() ? json::value(status) : *error);
    } else if (status == "incomplete") {
        const json::object* const details = object_in(response, "incomplete_details");
        const std::string_view why =
            details == nullptr ? std::string_view() : string_in(*details, "reason");
        reason_ = read_incomplete_reason(why);
        if (!reason_) {
            unknown_reason_ = to_utf8(why.substr(0, noise_bytes_max));
            reason_ = finish_reason::length;
        }
    } else {
        reason_ = finish_reason::stop;
    }
    stopped_ = true;
}

void responses_decoder::settle() {
    fit_reason_to_calls(items_.calls());
    items_.finish(reason_ == finish_reason::stop || reason_ == finish_reason::tool_calls);
    if (!items_.problem().empty()) {
        fail(std::string(items_.problem()));
    } else if (reason_ && reason_ != finish_reason::content_filter) {
        has_lost_data_ = !items_.hand_over_record();
    }
}

void responses_decoder::report(const json::value& error) {
    responses_error read = read_responses_error(error);
    fail_in_stream(std::move(read.text), read.status, items_.begun());
}

} // namespace agui::runner
