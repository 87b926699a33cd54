#include "runner/openai/openai_chat_decoder.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_scratch.hpp"
#include "runner/base/refusing_status.hpp"
#include "runner/base/utf8.hpp"
#include "runner/openai/openai_fields.hpp"

#include <boost/json/array.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

/// The `code` of an error if it is a number, perhaps written as a text.
std::optional<std::int64_t> status_in(const json::object& error) noexcept {
    const json::value* const code = error.if_contains("code");
    const std::string_view text = text_of(code);
    std::int64_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number =
        !text.empty() && wrong == std::errc() && end == text.data() + text.size();
    return is_number ? number : integer_of(code);
}

} // namespace

openai_decoder::openai_decoder(
    model_sink& sink, std::string model, std::string provider_name, std::string_view reasoning_tag
)
    : stream_decoder(own_words, std::move(model), std::move(provider_name)),
      message_(sink, reasoning_tag) {}

void openai_decoder::on_event(std::string_view name, std::string_view data) {
    const std::string_view text = text_of_event(name, data);
    if (name == "error" && !text.empty()) {
        fail("the stream holds an error", to_utf8(text.substr(0, error_text_max)));
        return;
    }
    if (text.empty() || holds(text)) {
        return;
    }
    if (const std::string_view added = repeated_.text_in(text); !added.empty()) {
        answered_ = true;
        ++chunks_;
        message_.read_text(added);
        check_message();
        return;
    }
    const parsed_json parsed = parse_json_scratch(text);
    only_text_ = false;
    if (const json::object* const chunk = object_in_part(parsed.value)) {
        read(name, *chunk, parsed.torn);
    }
    if (only_text_) {
        repeated_.learn(text);
    }
}

void openai_decoder::read(std::string_view /*name*/, const json::object& chunk, bool torn) {
    static constexpr std::array<std::string_view, 6> names = {"error",   "object",
                                                              "choices", "usage",
                                                              "x_groq",  "prompt_eval_count"};
    const auto [error, kind, choices, use, groq, ollama] = members_of(chunk, names);
    if (error != nullptr && !says_nothing(*error)) {
        report(*error);
        return;
    }
    if (text_of(kind) == "error") {
        report(chunk);
        return;
    }
    if (const json::array* const list = array_of(choices)) {
        answered_ = true;
        ++chunks_;
        for (const json::value& each : *list) {
            if (each.is_object()) {
                choice(each.get_object(), torn);
            }
        }
        only_text_ = only_text_ && list->size() == 1;
    }
    count(object_of(use));
    if (const json::object* const of_groq = object_of(groq)) {
        count(object_in(*of_groq, "usage"));
    }
    count(ollama == nullptr ? nullptr : &chunk);
}

std::optional<token_usage> openai_decoder::take_usage() {
    return usage_ ? std::optional(std::move(*usage_)) : std::nullopt;
}

/// Takes the steps that need the end of the body.
void openai_decoder::settle() {
    const bool has_end = done_ || ((whole_answer_ || body().has_end_mark()) && !body().is_cut());
    message_.end_text();
    // An end marker without a finish_reason is accepted, because some servers leave it null
    // throughout. An incomplete call cannot be told from a cut one.
    if (!reason_ && has_end && answered_ && message_.calls().none_cut()) {
        reason_ = finish_reason::stop;
    }
    finish_as_native();
    if (failure_) {
        return;
    }
    // An unknown name may mean anything; an incomplete call shows that the answer was cut.
    if (!unknown_reason_.empty() && reason_ == finish_reason::stop &&
        !message_.calls().all_whole()) {
        reason_ = finish_reason::length;
    }
    const bool complete = reason_ == finish_reason::stop || reason_ == finish_reason::tool_calls;
    if (complete || reason_ == finish_reason::length) {
        message_.end_media();
    }
    message_.end_calls(complete, !reason_);
    check_message();
    message_.hand_over_data();
    fit_reason_to_calls(message_.calls().count());
}

/// Reports an error in place of an answer. Gateways of model servers put into `code` the status
/// with which the model server refused the request.
void openai_decoder::report(const json::value& error) {
    fail("the answer holds an error", error_text(error));
    const json::object* const object = error.if_object();
    const auto code = object == nullptr ? std::nullopt : status_in(*object);
    if (code && is_refusing_status(*code) && !message_.begun()) {
        failure_->what = model_failure::kind::rejected;
        failure_->status = static_cast<int>(*code);
    }
}

void openai_decoder::check_message() {
    if (!message_.problem().empty()) {
        fail(std::string(message_.problem()));
    }
}

/// Merges counts that arrive in several parts for one answer.
void openai_decoder::count(const json::object* source) {
    std::optional<token_usage> read =
        source == nullptr ? std::nullopt : read_usage(*source, provider_, model_);
    if (!read) {
        return;
    }
    only_text_ = false;
    if (usage_) {
        keep_counts(*read, *usage_);
    }
    usage_ = std::make_unique<token_usage>(*std::move(read));
    usage_at_end_ = reason_.has_value();
}

void openai_decoder::choice(const json::object& value, bool torn) {
    static constexpr std::array<std::string_view, 6> names = {
        "index", "delta", "message", "finish_reason", "native_finish_reason", "usage"
    };
    const auto [index, part, whole_message, end, native, use] = members_of(value, names);
    if (integer_of(index).value_or(0) != 0) {
        // One answer was requested. Further alternatives of a server would be mixed into it.
        return;
    }
    const json::object* inner_use = nullptr;
    if (object_of(part) != nullptr) {
        inner_use = message_.read(part->get_object(), false, torn);
        only_text_ = message_.was_only_text() && text_of(native).empty() && text_of(end).empty();
    } else if (object_of(whole_message) != nullptr) {
        whole_answer_ = whole_answer_ || body().has_objects();
        inner_use = message_.read(whole_message->get_object(), true, torn);
    }
    check_message();
    if (!text_of(native).empty()) {
        native_reason_ = to_utf8(text_of(native).substr(0, noise_bytes_max));
    }
    if (!text_of(end).empty()) {
        finish_with(text_of(end));
    }
    count(inner_use);
    count(object_of(use));
}

/// Gateways of model servers translate unknown reasons to "stop". For an answer that says something
/// that is good enough; an answer that says nothing ended for its native reason.
void openai_decoder::finish_as_native() {
    if (reason_ != finish_reason::stop || message_.says_something() || native_reason_.empty()) {
        return;
    }
    const finish_class what = classify_finish_reason(native_reason_);
    if (what == finish_class::failed) {
        fail("the native_finish_reason reports a failure", native_reason_);
    } else if (what == finish_class::length || what == finish_class::content_filter) {
        finish_with(native_reason_);
    }
}

void openai_decoder::finish_with(std::string_view name) {
    const finish_class what = classify_finish_reason(name);
    if (what == finish_class::failed) {
        fail("the finish_reason reports a failure", to_utf8(name.substr(0, noise_bytes_max)));
        return;
    }
    if (reason_ == finish_reason::length || reason_ == finish_reason::content_filter) {
        return; // A later "stop" does not undo a cut.
    }
    unknown_reason_.clear();
    switch (what) {
    case finish_class::tool_calls:
        reason_ = finish_reason::tool_calls;
        break;
    case finish_class::length:
        reason_ = finish_reason::length;
        break;
    case finish_class::content_filter:
        reason_ = finish_reason::content_filter;
        break;
    case finish_class::unknown:
        unknown_reason_ = to_utf8(name.substr(0, noise_bytes_max));
        [[fallthrough]];
    case finish_class::stop:
    case finish_class::failed:
        reason_ = finish_reason::stop;
        break;
    }
}

} // namespace agui::runner
