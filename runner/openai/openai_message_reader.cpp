#include "runner/openai/openai_message_reader.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/parse_json.hpp"
#include "session/base/white_space.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Limit of the data to be sent back with the turn: a signature has some kilobytes.
constexpr std::size_t extra_bytes_max = 1U << 20U;

// Each stretch of reasoning is a message of its own, which costs eight events together with the
// text after it, and a place in the thread. Models think a few dozen times in an answer.
constexpr std::uint32_t changes_max = 1000;

/// An object to be stored and sent back, or null if it cannot be written again unchanged.
const json::object* kept_object(const json::value* member) noexcept {
    const json::object* const object = object_of(member);
    return object != nullptr && session::is_finite(*member) ? object : nullptr;
}

/// The value with U+FFFD in place of invalid UTF-8, and with joined halves of characters.
json::value in_utf8(const json::value& torn) {
    result<json::value> whole = parse_json(to_utf8(json::serialize(torn)));
    return whole ? std::move(*whole) : json::value();
}

/// True if none of the members says anything. Some servers send all of them in every delta.
bool are_empty(std::initializer_list<const json::value*> members) noexcept {
    return std::ranges::all_of(members, [](const json::value* member) {
        return member == nullptr || member->is_null() ||
               (member->is_string() && member->get_string().empty()) ||
               (member->is_array() && member->get_array().empty());
    });
}

/// The text of a part's member: a string, or a list of strings and of parts with text.
std::string text_in(const json::object& part, std::string_view key) {
    std::string text(string_in(part, key));
    if (const json::array* const pieces = array_in(part, key)) {
        for (const json::value& piece : *pieces) {
            const json::object* const inner = piece.if_object();
            text.append(inner == nullptr ? text_of(&piece) : string_in(*inner, "text"));
        }
    }
    return text;
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

/// Some servers end a stream with the whole message, which repeats the deltas.
const json::object*
openai_message_reader::read(const json::object& value, bool whole_message, bool torn) {
    torn_ = torn;
    static constexpr std::array<std::string_view, 13> names = {
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "thinking",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "reasoning_details",
        "extra_content",
        "usage",
        "audio",
        "images"
    };
    const auto
        [content_name, plain_name, text_name, thinking_name, text, refusal, tool_calls,
         function_call, blocks, extra, usage, audio, images] = members_of(value, names);
    was_only_text_ = !whole_message && !torn && !text_of(text).empty() &&
                     are_empty(
                         {content_name, plain_name, text_name, thinking_name, refusal, tool_calls,
                          function_call, blocks, extra, usage, audio, images}
                     );
    const bool repeats_text = whole_message && said_;
    const bool repeats_calls = whole_message && calls_.any();
    if (!whole_message || !thought_) {
        reasoning({content_name, plain_name, text_name, thinking_name});
        details(array_of(blocks));
    }
    if (const json::object* const object = kept_object(extra);
        object != nullptr && json::serialize(*object).size() <= extra_bytes_max) {
        extra_content_ = torn_ ? in_utf8(*extra) : json::value(*object, json::storage_ptr());
    }
    if (text != nullptr && !repeats_text) {
        has_content_ = has_content_ || !text_of(text).empty();
        content(*text);
    }
    if (audio != nullptr || images != nullptr) {
        if (!media_) {
            media_ = std::make_unique<openai_generated>(sink_);
        }
        const std::string_view transcript = media_->read(audio, images, whole_message);
        if (!has_content_ && !repeats_text) {
            say(transcript);
        }
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
        // The dialect before parallel calls had the function object alone, at most one.
        tool_call({{"index", 0}, {"function", *function}}, std::nullopt);
    }
    return object_of(usage);
}

void openai_message_reader::read_text(std::string_view text) {
    torn_ = false;
    say(text);
}

/// Reads reasoning under one of its several names; servers that send two send the same text in
/// both. The name is kept, because the server expects its reasoning back under it.
void openai_message_reader::reasoning(const std::array<const json::value*, 4>& members) {
    static constexpr std::array<std::string_view, 4> names = {
        "reasoning_content", "reasoning", "reasoning_text", "thinking"
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (const std::string_view text = text_of(members[i]); !text.empty()) {
            told_plainly_ = true;
            name_reasoning(names[i]);
            think(text);
            return;
        }
    }
    // DeepSeek requires the member even if it was empty.
    if (members[0] != nullptr && members[0]->is_string() && reasoning_name_.empty()) {
        name_reasoning(names[0]);
    }
}

void openai_message_reader::name_reasoning(std::string_view name) {
    if (name != reasoning_name_) {
        reasoning_name_ = name;
        sink_.on_turn_data("reasoning", json::string(name));
    }
}

/// Most servers repeat the text of the blocks under one of the plain names.
void openai_message_reader::details(const json::array* pieces) {
    if (pieces == nullptr) {
        return;
    }
    details_.add(*pieces);
    details_torn_ = details_torn_ || torn_;
    for (const json::value& each : *pieces) {
        const json::object* const piece = each.if_object();
        if (piece == nullptr || told_plainly_) {
            continue;
        }
        if (string_in(*piece, "type") == "reasoning.text") {
            think(string_in(*piece, "text"));
        } else if (string_in(*piece, "type") == "reasoning.summary") {
            think(string_in(*piece, "summary"));
        }
    }
}

/// The content is a string, a list of parts (Mistral's servers), or one part.
void openai_message_reader::content(const json::value& value) {
    if (const json::string* const text = value.if_string()) {
        say(std::string_view(text->data(), text->size()));
    } else if (const json::object* const part = value.if_object()) {
        content_part(*part);
    } else if (const json::array* const parts = value.if_array()) {
        for (const json::value& each : *parts) {
            if (each.is_object()) {
                content_part(each.get_object());
            }
        }
    }
}

void openai_message_reader::content_part(const json::object& part) {
    const std::string_view type = string_in(part, "type");
    if (!type.starts_with("thinking") && !type.starts_with("reasoning")) {
        say(string_in(part, "text"));
        return;
    }
    for (const std::string_view key : {"thinking", "reasoning", "summary", "content", "text"}) {
        if (const std::string text = text_in(part, key); !text.empty()) {
            name_reasoning("content");
            think(text);
            return;
        }
    }
}

void openai_message_reader::say(std::string_view text) {
    if (text.empty()) {
        return;
    }
    said_ = true;
    end_half(reasoning_half_, &openai_message_reader::pass_reasoning);
    if (torn_ || !text_half_.empty()) {
        std::string joined;
        text_half_.join(text, joined);
        pass_text(joined);
    } else {
        pass_text(text);
    }
}

void openai_message_reader::think(std::string_view text) {
    if (text.empty()) {
        return;
    }
    thought_ = true;
    if (torn_ || !reasoning_half_.empty()) {
        std::string joined;
        reasoning_half_.join(text, joined);
        pass_reasoning(joined);
    } else {
        pass_reasoning(text);
    }
}

void openai_message_reader::pass_text(std::string_view text) {
    if (text.empty()) {
        return;
    }
    if (tags_ == nullptr || tags_->done()) {
        tell(text);
        return;
    }
    std::string thoughts;
    std::string said;
    tags_->feed(text, thoughts, said);
    pass_tagged(thoughts, said);
}

void openai_message_reader::pass_tagged(std::string_view thoughts, std::string_view text) {
    if (!thoughts.empty()) {
        name_reasoning(tags_->opening());
        pass_reasoning(thoughts);
    }
    if (!text.empty()) {
        tell(text);
    }
}

void openai_message_reader::tell(std::string_view text) {
    spoken_ = spoken_ || !is_blank(text);
    if (may_tell(true)) {
        sink_.on_text(text);
    }
}

void openai_message_reader::pass_reasoning(std::string_view text) {
    if (!text.empty() && may_tell(false)) {
        sink_.on_reasoning(text);
    }
}

/// Returns false if text and reasoning alternated too often.
bool openai_message_reader::may_tell(bool is_text) {
    if (std::exchange(tells_text_, is_text) != is_text) {
        ++changes_;
    }
    const bool may = changes_ <= changes_max;
    if (!may && problem_.empty()) {
        problem_ = "the answer changes between text and reasoning too often";
    }
    return may;
}

/// Ends a split character whose rest will not come.
void openai_message_reader::end_half(
    utf8_joiner& half, void (openai_message_reader::*pass)(std::string_view)
) {
    if (!half.empty()) {
        std::string rest;
        half.finish(rest);
        (this->*pass)(rest);
    }
}

void openai_message_reader::end_halves() {
    end_half(reasoning_half_, &openai_message_reader::pass_reasoning);
    end_half(text_half_, &openai_message_reader::pass_text);
}

void openai_message_reader::end_text() {
    end_halves();
    if (tags_ != nullptr) {
        std::string thoughts;
        std::string text;
        tags_->finish(thoughts, text);
        pass_tagged(thoughts, text);
    }
}

void openai_message_reader::tool_call(
    const json::object& value, std::optional<std::int64_t> position
) {
    if (!problem_.empty()) {
        return;
    }
    // Text may continue after the call, but earlier thoughts are over.
    end_half(reasoning_half_, &openai_message_reader::pass_reasoning);
    if (tags_ != nullptr) {
        std::string text;
        tags_->interrupt(text);
        pass_tagged({}, text);
    }
    call_fragment fragment;
    fragment.index = position ? position : integer_of(value.if_contains("index"));
    fragment.torn = torn_;
    const std::string id = torn_ ? to_utf8(string_in(value, "id")) : std::string();
    fragment.id = torn_ ? std::string_view(id) : string_in(value, "id");
    const json::value* const extra = value.if_contains("extra_content");
    const json::value mended = torn_ && extra != nullptr ? in_utf8(*extra) : json::value();
    fragment.extra_content = kept_object(torn_ ? &mended : extra);
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
        const json::value blocks(details_.blocks());
        sink_.on_turn_data("reasoning_details", details_torn_ ? in_utf8(blocks) : blocks);
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
