#include "runner/openai/openai_message_reader.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Limit of the data to be sent back with the turn: a signature has some kilobytes.
constexpr std::size_t extra_bytes_max = 1U << 20U;

/// An object that is stored and sent back. Null if it cannot be written again unchanged.
const json::object* kept_object(const json::value* member) noexcept {
    const json::object* const object = object_of(member);
    return object != nullptr && session::is_finite(*member) ? object : nullptr;
}

std::string_view describe(tool_call_assembler::status status) noexcept {
    switch (status) {
    case tool_call_assembler::status::ok:
        return "";
    case tool_call_assembler::status::too_many_calls:
        return "the answer holds too many tool calls";
    case tool_call_assembler::status::too_many_bytes:
        return "the arguments of the answer's tool calls are too long";
    case tool_call_assembler::status::too_late:
        return "more arguments arrived for a tool call that had already ended";
    case tool_call_assembler::status::nameless:
        return "the answer has a tool call without a name";
    }
    return "the answer has a tool call that cannot be read";
}

} // namespace

/// Some servers end a stream with the whole message: it repeats what was streamed.
void openai_message_reader::read(const json::object& value, bool whole_message, bool torn) {
    torn_ = torn;
    static constexpr std::array<std::string_view, 8> names = {"reasoning_content", "reasoning",
                                                              "content",           "refusal",
                                                              "tool_calls",        "function_call",
                                                              "reasoning_details", "extra_content"};
    const auto
        [reasoning_content, reasoning_text, text, refusal, tool_calls, function_call, blocks,
         extra] = members_of(value, names);
    const bool repeats_text = whole_message && said_;
    const bool repeats_calls = whole_message && calls_.any();
    if (!whole_message || !thought_) {
        reasoning(reasoning_content, reasoning_text);
        if (const json::array* const pieces = array_of(blocks); pieces != nullptr && !torn_) {
            details_.add(*pieces);
        }
    }
    if (const json::object* const object = kept_object(extra);
        object != nullptr && !torn_ && json::serialize(*object).size() <= extra_bytes_max) {
        extra_content_ = json::value(*object, json::storage_ptr());
    }
    if (text != nullptr && !repeats_text) {
        content(*text);
    }
    if (!repeats_text) {
        say(text_of(refusal));
    }
    if (const json::array* const list = array_of(tool_calls); list != nullptr && !repeats_calls) {
        std::int64_t position = 0;
        for (const json::value& each : *list) {
            if (each.is_object()) {
                // Calls of a whole message need no index.
                tool_call(
                    each.get_object(),
                    whole_message ? std::optional<std::int64_t>(position) : std::nullopt
                );
            }
            ++position;
        }
    }
    if (const json::object* const function = object_of(function_call);
        function != nullptr && !repeats_calls) {
        // The dialect before parallel calls: the function object alone, at most one.
        tool_call({{"index", 0}, {"function", *function}}, std::nullopt);
    }
}

/// Two names for the same thing; servers that send both send the same text in both. The name is
/// kept, because the server expects its reasoning back under it.
void openai_message_reader::reasoning(
    const json::value* reasoning_content, const json::value* reasoning_text
) {
    std::string_view text = text_of(reasoning_content);
    std::string_view name = "reasoning_content";
    if (text.empty() && !text_of(reasoning_text).empty()) {
        text = text_of(reasoning_text);
        name = "reasoning";
    }
    // DeepSeek requires the member even if it was empty.
    const bool there = reasoning_content != nullptr && reasoning_content->is_string();
    if (name != reasoning_name_ && (!text.empty() || (there && reasoning_name_.empty()))) {
        reasoning_name_ = name;
        sink_.on_turn_data("reasoning", json::string(name));
    }
    think(text);
}

/// A string, or a list of parts as Mistral's servers send: text, or thinking that contains text
/// parts.
void openai_message_reader::content(const json::value& value) {
    if (const json::string* const text = value.if_string()) {
        say(std::string_view(text->data(), text->size()));
        return;
    }
    const json::array* const parts = value.if_array();
    if (parts == nullptr) {
        return;
    }
    for (const json::value& each : *parts) {
        const json::object* const part = each.if_object();
        if (part == nullptr) {
            continue;
        }
        say(string_in(*part, "text"));
        if (const json::array* const thoughts = array_in(*part, "thinking")) {
            for (const json::value& piece : *thoughts) {
                const json::object* const inner = piece.if_object();
                think(inner == nullptr ? std::string_view() : string_in(*inner, "text"));
            }
        }
    }
}

void openai_message_reader::say(std::string_view text) {
    said_ = said_ || !text.empty();
    pass(text_half_, text, &model_sink::on_text);
}

void openai_message_reader::think(std::string_view text) {
    thought_ = thought_ || !text.empty();
    pass(reasoning_half_, text, &model_sink::on_reasoning);
}

void openai_message_reader::pass(
    utf8_joiner& half, std::string_view text, void (model_sink::*to)(std::string_view)
) {
    std::string joined;
    if (!text.empty() && (torn_ || !half.empty())) {
        half.join(text, joined);
        text = joined;
    }
    if (!text.empty()) {
        (sink_.*to)(text);
    }
}

/// The rest of a split character will not come any more.
void openai_message_reader::end_halves() {
    for (const auto& [half, to] :
         {std::pair{&reasoning_half_, &model_sink::on_reasoning},
          std::pair{&text_half_, &model_sink::on_text}}) {
        std::string rest;
        half->finish(rest);
        if (!rest.empty()) {
            (sink_.*to)(rest);
        }
    }
}

void openai_message_reader::tool_call(
    const json::object& value, std::optional<std::int64_t> position
) {
    if (!problem_.empty()) {
        return;
    }
    end_halves(); // A call ends the text before it.
    call_fragment fragment;
    fragment.index = position ? position : integer_of(value.if_contains("index"));
    fragment.torn = torn_;
    const std::string id = torn_ ? to_utf8(string_in(value, "id")) : std::string();
    fragment.id = torn_ ? std::string_view(id) : string_in(value, "id");
    fragment.extra_content = torn_ ? nullptr : kept_object(value.if_contains("extra_content"));
    std::string name;
    std::string serialized;
    if (const json::object* const function = object_in(value, "function")) {
        fragment.name = string_in(*function, "name");
        if (torn_) {
            name = to_utf8(fragment.name);
            fragment.name = name;
        }
        fragment.arguments = string_in(*function, "arguments");
        const json::object* const object = object_in(*function, "arguments");
        if (object != nullptr) {
            serialized = json::serialize(*object);
            fragment.arguments = serialized;
        }
    }
    note(calls_.add(fragment));
}

void openai_message_reader::note(tool_call_assembler::status status) {
    if (problem_.empty()) {
        problem_ = describe(status);
    }
}

void openai_message_reader::hand_over_data() {
    if (!details_.blocks().empty()) {
        sink_.on_turn_data("reasoning_details", details_.blocks());
    }
    if (!extra_content_.is_null()) {
        sink_.on_turn_data("extra_content", extra_content_);
    }
}

void openai_message_reader::end_calls(bool complete, bool explained) {
    const tool_call_assembler::status last = calls_.finish(complete);
    if (!explained) {
        note(last);
    }
}

} // namespace agui::runner
