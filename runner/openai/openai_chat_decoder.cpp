#include "runner/openai/openai_chat.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_scratch.hpp"
#include "runner/base/tool_call_assembler.hpp"
#include "runner/base/utf8.hpp"
#include "runner/http/sse_parser.hpp"
#include "runner/openai/openai_fields.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Limit of the answer of a server that does not stream: the same as of one event.
constexpr std::size_t whole_body_bytes_max = 16U << 20U;

// How much is kept of a line that is neither a chunk nor an error: enough to recognise it.
constexpr std::size_t noise_bytes_max = 200;

// Limit of the data to be sent back with the turn: a signature has some kilobytes.
constexpr std::size_t extra_bytes_max = 1U << 20U;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view blank = " \t\r\n";

std::string_view without_blank_begin(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
    return text;
}

/// An object that is stored and sent back. Null if it cannot be written again unchanged.
const json::object* kept_object(const json::value* member) noexcept {
    const json::object* const object = object_of(member);
    return object != nullptr && session::is_finite(*member) ? object : nullptr;
}

} // namespace

struct openai_decoder::state final : sse_parser::handler {
    state(model_sink& to, std::string model_name, std::string provider)
        : sink(to),
          model(std::move(model_name)),
          provider_name(std::move(provider)),
          parser(*this),
          calls(to) {}

    enum class form { unknown, events, whole };

    bool choose_form(std::string_view& bytes);
    void on_sse(std::string_view event, std::string_view data) override;
    void chunk(const json::value& value);
    void finish_with(std::string_view name);
    void choice(const json::object& value);
    void delta(const json::object& value, bool whole_message);
    void reasoning(const json::value* reasoning_content, const json::value* reasoning);
    void content(const json::value& value);
    void say(std::string_view text);
    void think(std::string_view text);
    void pass(utf8_joiner& half, std::string_view text, void (model_sink::*to)(std::string_view));
    void end_halves();
    void hand_over_data();
    void tool_call(const json::object& value, std::optional<std::int64_t> position);
    void call_status(tool_call_assembler::status status);
    void fail(std::string detail, std::string upstream = {});
    void settle();

    model_sink& sink;
    std::string model;
    std::string provider_name;
    sse_parser parser;
    tool_call_assembler calls;
    form body = form::unknown;
    std::string whole;       ///< Body of a server that does not stream.
    std::string noise;       ///< The first line that is neither a chunk nor an error.
    std::size_t chunks = 0;  ///< Of the dialect.
    bool answered = false;   ///< Something of the dialect was seen.
    bool end_marker = false; ///< `[DONE]`, or the end of a whole answer.
    bool torn = false;       ///< The current chunk was cut in the middle of a character.
    bool ended =
        false; ///< The body has ended: an event delivered after that lacked its empty line.
    bool said = false;
    bool thought = false;
    std::string_view reasoning_name; ///< Of the member; a literal.
    utf8_joiner text_half;
    utf8_joiner reasoning_half;
    reasoning_details details;
    json::value extra_content; ///< Of the turn; null: none.
    std::string unknown_reason;
    bool usage_at_end = false; ///< Usage came with the finish_reason or after it.
    std::optional<finish_reason> reason;
    std::optional<token_usage> usage;
    std::optional<model_failure> failure;
};

openai_decoder::openai_decoder(model_sink& sink, std::string model, std::string provider_name)
    : state_(std::make_unique<state>(sink, std::move(model), std::move(provider_name))) {}

openai_decoder::~openai_decoder() = default;

bool openai_decoder::feed(std::string_view bytes) {
    state& s = *state_;
    if (s.failure || s.end_marker) {
        return false;
    }
    std::string begin;
    if (s.body == state::form::unknown) {
        s.whole.append(bytes);
        begin.swap(s.whole);
        bytes = begin;
        if (!s.choose_form(bytes)) {
            return true;
        }
    }
    if (s.body == state::form::whole) {
        if (bytes.size() > whole_body_bytes_max - s.whole.size()) {
            s.fail("the answer is too long");
        } else {
            s.whole.append(bytes);
        }
    } else if (!s.parser.feed(bytes)) {
        s.fail("an event of the answer is too long");
    }
    return !s.failure && !s.end_marker;
}

bool openai_decoder::ending() const noexcept { return state_->reason.has_value(); }

bool openai_decoder::complete() const noexcept { return state_->reason && state_->usage_at_end; }

bool openai_decoder::failed() const noexcept { return state_->failure.has_value(); }

bool openai_decoder::whole() const noexcept { return state_->body == state::form::whole; }

std::size_t openai_decoder::chunks() const noexcept { return state_->chunks; }

model_outcome openai_decoder::finish() {
    state& s = *state_;
    s.settle();
    if (s.failure) {
        return *std::move(s.failure);
    }
    if (!s.reason) {
        return model_failure{
            .what = s.answered ? model_failure::kind::lost : model_failure::kind::unavailable,
            .status = 0,
            .detail = s.answered ? "the answer ended without a finish_reason"
                                 : "the body holds no answer",
            .upstream = std::move(s.noise)
        };
    }
    model_answer answer{
        .reason = *s.reason,
        .usage = std::move(s.usage),
        .unknown_reason = std::move(s.unknown_reason)
    };
    // Some servers say "stop" although the model calls tools, or the reverse.
    if (answer.reason == finish_reason::stop && s.calls.count() > 0) {
        answer.reason = finish_reason::tool_calls;
    } else if (answer.reason == finish_reason::tool_calls && s.calls.count() == 0) {
        answer.reason = finish_reason::stop;
    }
    return answer;
}

/// Blank lines may come first, also as signs of life before a whole answer, and a byte order mark.
/// False: more bytes are needed; `bytes` is kept.
bool openai_decoder::state::choose_form(std::string_view& bytes) {
    std::string_view rest = without_blank_begin(bytes);
    if (rest.starts_with(byte_order_mark)) {
        rest = without_blank_begin(rest.substr(byte_order_mark.size()));
    }
    if (rest.empty() || byte_order_mark.starts_with(rest)) {
        whole.assign(rest.empty() ? std::string_view() : rest);
        return false;
    }
    body = rest.front() == '{' ? form::whole : form::events;
    bytes = rest;
    return true;
}

/// The steps that need the end of the body.
void openai_decoder::state::settle() {
    if (failure) {
        return;
    }
    if (body == form::whole && !end_marker) {
        // Not in the scratch memory: the thread would hold the megabytes until its next chunk.
        boost::system::error_code ec;
        const json::value value = json::parse(whole, ec);
        end_marker = true;
        if (!ec) {
            chunk(value);
        } else if (const parsed_json lenient = parse_json_scratch(whole);
                   lenient.value != nullptr) {
            torn = true;
            chunk(*lenient.value);
            drop_json_scratch();
        } else {
            failure = model_failure{
                .what = model_failure::kind::lost,
                .status = 0,
                .detail = "the answer is not whole, or not JSON",
                .upstream = {}
            };
            return;
        }
    } else if (body == form::events) {
        ended = true;
        parser.finish();
    }
    if (failure) {
        return;
    }
    end_halves();
    // The end marker without a finish_reason: some servers leave it null throughout. An incomplete
    // call cannot be told from a cut one.
    if (!reason && end_marker && answered && calls.all_closed()) {
        reason = finish_reason::stop;
    }
    // An unknown name may mean anything; an incomplete call shows that it was a cut.
    if (!unknown_reason.empty() && reason == finish_reason::stop && !calls.all_whole()) {
        reason = finish_reason::length;
    }
    const tool_call_assembler::status last =
        calls.finish(reason == finish_reason::stop || reason == finish_reason::tool_calls);
    if (reason) {
        call_status(last); // If the answer was cut, that explains a call without a name.
    }
    hand_over_data();
}

void openai_decoder::state::hand_over_data() {
    if (!details.blocks().empty()) {
        sink.on_turn_data("reasoning_details", details.blocks());
    }
    if (!extra_content.is_null()) {
        sink.on_turn_data("extra_content", extra_content);
    }
}

void openai_decoder::state::fail(std::string detail, std::string upstream) {
    if (!failure) {
        failure = model_failure{
            .what = model_failure::kind::unavailable,
            .status = 0,
            .detail = std::move(detail),
            .upstream = std::move(upstream)
        };
    }
}

void openai_decoder::state::on_sse(std::string_view event, std::string_view data) {
    if (failure || end_marker) {
        return;
    }
    data = without_blank_begin(data);
    if (data.empty()) {
        return;
    }
    if (data.starts_with("[DONE]")) {
        end_marker = true;
        return;
    }
    if (event == "error") {
        fail("the stream holds an error", to_utf8(data.substr(0, error_text_max)));
        return;
    }
    if (data.front() != '{') {
        // `ping` and the like. If nothing else comes, it is reported.
        if (noise.empty()) {
            noise = to_utf8(data.substr(0, noise_bytes_max));
        }
        return;
    }
    const parsed_json parsed = parse_json_scratch(data);
    if (parsed.value == nullptr) {
        // A cut within an event is the same loss as one between two events.
        if (!ended || !answered) {
            fail("a chunk of the answer is not JSON");
        }
        return;
    }
    torn = parsed.torn;
    chunk(*parsed.value);
}

void openai_decoder::state::chunk(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        fail("a chunk of the answer is not an object");
        return;
    }
    static constexpr std::array<std::string_view, 4> names = {
        "error", "object", "choices", "usage"
    };
    const auto [error, kind, choices, use] = members_of(*object, names);
    if (error != nullptr && !says_nothing(*error)) {
        fail("the answer holds an error", error_text(*error));
        return;
    }
    if (text_of(kind) == "error") {
        fail("the answer holds an error", error_text(value));
        return;
    }
    if (const json::array* const list = array_of(choices)) {
        answered = true;
        ++chunks;
        for (const json::value& each : *list) {
            if (each.is_object()) {
                choice(each.get_object());
            }
        }
    }
    if (const json::object* const source = object_of(use)) {
        if (std::optional<token_usage> read = read_usage(*source, provider_name, model)) {
            usage = std::move(read);
            usage_at_end = reason.has_value();
        }
    }
}

void openai_decoder::state::choice(const json::object& value) {
    static constexpr std::array<std::string_view, 4> names = {
        "index", "delta", "message", "finish_reason"
    };
    const auto [index, part, message, end] = members_of(value, names);
    if (integer_of(index).value_or(0) != 0) {
        return; // One answer was asked for; a server that sends more alternatives would mix them.
    }
    if (object_of(part) != nullptr) {
        delta(part->get_object(), false);
    } else if (object_of(message) != nullptr) {
        delta(message->get_object(), true);
    }
    if (!text_of(end).empty()) {
        finish_with(text_of(end));
    }
}

void openai_decoder::state::finish_with(std::string_view name) {
    const finish_class what = classify_finish_reason(name);
    if (what == finish_class::failed) {
        fail("the finish_reason reports a failure", to_utf8(name.substr(0, noise_bytes_max)));
        return;
    }
    if (reason == finish_reason::length || reason == finish_reason::content_filter) {
        return; // A later "stop" does not undo a cut.
    }
    unknown_reason.clear();
    switch (what) {
    case finish_class::tool_calls:
        reason = finish_reason::tool_calls;
        break;
    case finish_class::length:
        reason = finish_reason::length;
        break;
    case finish_class::content_filter:
        reason = finish_reason::content_filter;
        break;
    case finish_class::unknown:
        unknown_reason = to_utf8(name.substr(0, noise_bytes_max));
        [[fallthrough]];
    case finish_class::stop:
    case finish_class::failed:
        reason = finish_reason::stop;
        break;
    }
}

/// Some servers end a stream with the whole message: it repeats what was streamed.
void openai_decoder::state::delta(const json::object& value, bool whole_message) {
    static constexpr std::array<std::string_view, 8> names = {"reasoning_content", "reasoning",
                                                              "content",           "refusal",
                                                              "tool_calls",        "function_call",
                                                              "reasoning_details", "extra_content"};
    const auto
        [reasoning_content, reasoning_text, text, refusal, tool_calls, function_call, blocks,
         extra] = members_of(value, names);
    const bool repeats_text = whole_message && said;
    const bool repeats_calls = whole_message && calls.any();
    if (!whole_message || !thought) {
        reasoning(reasoning_content, reasoning_text);
        if (const json::array* const pieces = array_of(blocks); pieces != nullptr && !torn) {
            details.add(*pieces);
        }
    }
    if (const json::object* const object = kept_object(extra);
        object != nullptr && !torn && json::serialize(*object).size() <= extra_bytes_max) {
        extra_content = json::value(*object, json::storage_ptr());
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
void openai_decoder::state::reasoning(
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
    if (name != reasoning_name && (!text.empty() || (there && reasoning_name.empty()))) {
        reasoning_name = name;
        sink.on_turn_data("reasoning", json::string(name));
    }
    think(text);
}

/// A string, or a list of parts as Mistral's servers send: text, or thinking that contains text
/// parts.
void openai_decoder::state::content(const json::value& value) {
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

void openai_decoder::state::say(std::string_view text) {
    said = said || !text.empty();
    pass(text_half, text, &model_sink::on_text);
}

void openai_decoder::state::think(std::string_view text) {
    thought = thought || !text.empty();
    pass(reasoning_half, text, &model_sink::on_reasoning);
}

void openai_decoder::state::pass(
    utf8_joiner& half, std::string_view text, void (model_sink::*to)(std::string_view)
) {
    std::string joined;
    if (!text.empty() && (torn || !half.empty())) {
        half.join(text, joined);
        text = joined;
    }
    if (!text.empty()) {
        calls.settle();
        (sink.*to)(text);
    }
}

/// The rest of a split character will not come any more.
void openai_decoder::state::end_halves() {
    for (const auto& [half, to] :
         {std::pair{&reasoning_half, &model_sink::on_reasoning},
          std::pair{&text_half, &model_sink::on_text}}) {
        std::string rest;
        half->finish(rest);
        if (!rest.empty()) {
            calls.settle();
            (sink.*to)(rest);
        }
    }
}

void openai_decoder::state::tool_call(
    const json::object& value, std::optional<std::int64_t> position
) {
    if (failure) {
        return;
    }
    end_halves(); // A call ends the text before it.
    call_fragment fragment;
    fragment.index = position ? position : integer_of(value.if_contains("index"));
    fragment.torn = torn;
    const std::string id = torn ? to_utf8(string_in(value, "id")) : std::string();
    fragment.id = torn ? std::string_view(id) : string_in(value, "id");
    fragment.extra_content = torn ? nullptr : kept_object(value.if_contains("extra_content"));
    std::string name;
    std::string serialized;
    if (const json::object* const function = object_in(value, "function")) {
        fragment.name = string_in(*function, "name");
        if (torn) {
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
    call_status(calls.add(fragment));
}

void openai_decoder::state::call_status(tool_call_assembler::status status) {
    switch (status) {
    case tool_call_assembler::status::ok:
        return;
    case tool_call_assembler::status::too_many_calls:
        fail("the answer holds too many tool calls");
        return;
    case tool_call_assembler::status::too_many_bytes:
        fail("the arguments of the answer's tool calls are too long");
        return;
    case tool_call_assembler::status::too_late:
        fail("more arguments arrived for a tool call that had already ended");
        return;
    case tool_call_assembler::status::nameless:
        fail("the answer has a tool call without a name");
        return;
    }
}

} // namespace agui::runner
