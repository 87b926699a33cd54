#include "runner/openai_chat.hpp"

#include "runner/json_members.hpp"
#include "runner/json_scratch.hpp"
#include "runner/sse_parser.hpp"
#include "runner/tool_call_assembler.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// A whole answer of a server that does not stream: as much as one event may hold.
constexpr std::size_t whole_body_bytes_max = 16U << 20U;

// What of an upstream's text goes into a failure's detail.
constexpr std::size_t detail_bytes_max = 2048;

std::optional<std::int64_t> integer_of(const json::value* member) noexcept {
    if (member == nullptr) {
        return std::nullopt;
    }
    if (const std::int64_t* const number = member->if_int64()) {
        return *number;
    }
    // Servers written in JavaScript or Lua may print counts as 12.0.
    const double* const number = member->if_double();
    constexpr double exact_max = 9007199254740992.0;
    if (number != nullptr && std::abs(*number) <= exact_max && std::floor(*number) == *number) {
        return static_cast<std::int64_t>(*number);
    }
    return std::nullopt;
}

std::optional<std::int64_t> integer_in(const json::object& object, std::string_view key) noexcept {
    return integer_of(object.if_contains(key));
}

/// True for what servers put into `error` when there is none.
bool says_nothing(const json::value& error) noexcept {
    return error.is_null() || (error.is_bool() && !error.get_bool()) ||
           (error.is_string() && error.get_string().empty()) ||
           (error.is_object() && error.get_object().empty());
}

std::string bounded(std::string_view text) {
    return std::string(text.substr(0, detail_bytes_max));
}

std::string error_text(const json::value& error) {
    const json::object* const object = error.if_object();
    if (object != nullptr && !string_in(*object, "message").empty()) {
        return bounded(string_in(*object, "message"));
    }
    if (error.is_string()) {
        return bounded(std::string_view(error.get_string().data(), error.get_string().size()));
    }
    return bounded(json::serialize(error));
}

std::optional<token_usage>
read_usage(const json::object& source, std::string_view provider, std::string_view model) {
    token_usage usage;
    usage.input_tokens = integer_in(source, "prompt_tokens");
    usage.output_tokens = integer_in(source, "completion_tokens");
    if (const json::object* const details = object_in(source, "prompt_tokens_details")) {
        usage.cached_input_tokens = integer_in(*details, "cached_tokens");
    }
    if (const json::object* const details = object_in(source, "completion_tokens_details")) {
        usage.reasoning_tokens = integer_in(*details, "reasoning_tokens");
    }
    if (!usage.input_tokens && !usage.output_tokens) {
        return std::nullopt;
    }
    usage.provider = provider;
    usage.model = model;
    return usage;
}

/// A `finish_reason`; names outside the dialect ("eos", "end_turn") all say that the model stopped.
finish_reason reason_from_string(std::string_view name) noexcept {
    if (name == "tool_calls" || name == "function_call") {
        return finish_reason::tool_calls;
    }
    if (name == "length" || name == "max_tokens") {
        return finish_reason::length;
    }
    if (name == "content_filter") {
        return finish_reason::content_filter;
    }
    return finish_reason::stop;
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

    void on_sse(std::string_view event, std::string_view data) override;
    void chunk(const json::value& value);
    void choice(const json::object& value);
    void delta(const json::object& value, bool whole_message);
    void content(const json::value& value);
    void say(std::string_view text);
    void think(std::string_view text);
    void tool_call(const json::object& value, std::optional<std::int64_t> position);
    void call_status(tool_call_assembler::status status);
    void fail(std::string detail);
    void settle();

    model_sink& sink;
    std::string model;
    std::string provider_name;
    sse_parser parser;
    tool_call_assembler calls;
    form body = form::unknown;
    std::string whole;       ///< Body of a server that does not stream.
    bool answered = false;   ///< Something of the dialect was seen.
    bool end_marker = false; ///< `[DONE]`, or the end of a whole answer.
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
    if (s.body == state::form::unknown) {
        // Blank lines may come first, also as signs of life before a whole answer.
        const std::size_t first = bytes.find_first_not_of(" \t\r\n");
        if (first == std::string_view::npos) {
            return true;
        }
        bytes.remove_prefix(first);
        s.body = bytes.front() == '{' ? state::form::whole : state::form::events;
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
                                 : "the body holds no answer"
        };
    }
    model_answer answer{.reason = *s.reason, .usage = std::move(s.usage)};
    // Some servers say "stop" although the model calls tools, or the other way round.
    if (answer.reason == finish_reason::stop && s.calls.count() > 0) {
        answer.reason = finish_reason::tool_calls;
    } else if (answer.reason == finish_reason::tool_calls && s.calls.count() == 0) {
        answer.reason = finish_reason::stop;
    }
    return answer;
}

/// What can only be done once the body has ended.
void openai_decoder::state::settle() {
    if (failure) {
        return;
    }
    if (body == form::whole && !end_marker) {
        // Not the scratch memory: the thread would keep the megabytes until its next chunk.
        boost::system::error_code ec;
        const json::value value = json::parse(whole, ec);
        if (ec) {
            failure = model_failure{
                .what = model_failure::kind::lost,
                .status = 0,
                .detail = "the answer is not whole, or not JSON"
            };
            return;
        }
        end_marker = true;
        chunk(value);
    } else if (body == form::events) {
        parser.finish();
    }
    if (failure) {
        return;
    }
    // The end marker without a finish_reason: some servers leave it null throughout. A call that is
    // not whole cannot be told from a cut one.
    if (!reason && end_marker && answered && calls.all_closed()) {
        reason = finish_reason::stop;
    }
    call_status(calls.finish(
        reason == finish_reason::stop || reason == finish_reason::tool_calls
    ));
}

void openai_decoder::state::fail(std::string detail) {
    if (!failure) {
        failure = model_failure{
            .what = model_failure::kind::unavailable, .status = 0, .detail = std::move(detail)
        };
    }
}

void openai_decoder::state::on_sse(std::string_view event, std::string_view data) {
    if (failure || end_marker || data.empty()) {
        return;
    }
    if (data.starts_with("[DONE]")) {
        end_marker = true;
        return;
    }
    if (event == "error") {
        fail(bounded(data));
        return;
    }
    const json::value* const value = parse_json_scratch(data);
    if (value == nullptr) {
        fail("a chunk of the answer is not JSON");
        return;
    }
    chunk(*value);
}

void openai_decoder::state::chunk(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        fail("a chunk of the answer is not an object");
        return;
    }
    static constexpr std::array<std::string_view, 4> names = {"error", "object", "choices", "usage"};
    const auto [error, kind, choices, use] = members_of(*object, names);
    if (error != nullptr && !says_nothing(*error)) {
        fail(error_text(*error));
        return;
    }
    if (text_of(kind) == "error") {
        fail(error_text(value));
        return;
    }
    if (const json::array* const list = array_of(choices)) {
        answered = true;
        for (const json::value& each : *list) {
            if (each.is_object()) {
                choice(each.get_object());
            }
        }
    }
    if (const json::object* const source = object_of(use)) {
        if (std::optional<token_usage> read = read_usage(*source, provider_name, model)) {
            usage = std::move(read);
        }
    }
}

void openai_decoder::state::choice(const json::object& value) {
    static constexpr std::array<std::string_view, 4> names = {
        "index", "delta", "message", "finish_reason"};
    const auto [index, part, message, end] = members_of(value, names);
    if (integer_of(index).value_or(0) != 0) {
        return; // One answer was asked for; a server that sends more alternatives would mix them.
    }
    if (object_of(part) != nullptr) {
        delta(part->get_object(), false);
    } else if (object_of(message) != nullptr) {
        delta(message->get_object(), true);
    }
    const std::string_view name = text_of(end);
    if (name == "error") {
        fail("the answer ended with finish_reason error");
    } else if (
        // A later "stop" does not take back that something is missing.
        !name.empty() && reason != finish_reason::length && reason != finish_reason::content_filter
    ) {
        reason = reason_from_string(name);
    }
}

void openai_decoder::state::delta(const json::object& value, bool whole_message) {
    // Two names for one thing; servers that send both send the same text in both.
    static constexpr std::array<std::string_view, 6> names = {
        "reasoning_content", "reasoning", "content", "refusal", "tool_calls", "function_call"};
    const auto [reasoning_content, reasoning, text, refusal, tool_calls, function_call] =
        members_of(value, names);
    think(text_of(reasoning_content).empty() ? text_of(reasoning) : text_of(reasoning_content));
    if (text != nullptr) {
        content(*text);
    }
    say(text_of(refusal));
    if (const json::array* const list = array_of(tool_calls)) {
        std::int64_t position = 0;
        for (const json::value& each : *list) {
            if (each.is_object()) {
                // Calls of a whole message need no number of their own.
                tool_call(
                    each.get_object(),
                    whole_message ? std::optional<std::int64_t>(position) : std::nullopt
                );
            }
            ++position;
        }
    }
    if (const json::object* const function = object_of(function_call)) {
        // The dialect before parallel calls: the function object alone, at most one.
        tool_call({{"index", 0}, {"function", *function}}, std::nullopt);
    }
}

/// A string, or a list of parts as Mistral's servers send it: text, or thinking that holds text parts.
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
            for (const json::value& thought : *thoughts) {
                const json::object* const inner = thought.if_object();
                think(inner == nullptr ? std::string_view() : string_in(*inner, "text"));
            }
        }
    }
}

void openai_decoder::state::say(std::string_view text) {
    if (!text.empty()) {
        calls.settle();
        sink.on_text(text);
    }
}

void openai_decoder::state::think(std::string_view text) {
    if (!text.empty()) {
        calls.settle();
        sink.on_reasoning(text);
    }
}

void openai_decoder::state::tool_call(
    const json::object& value, std::optional<std::int64_t> position
) {
    if (failure) {
        return;
    }
    call_fragment fragment;
    fragment.index = position ? position : integer_in(value, "index");
    fragment.id = string_in(value, "id");
    std::string serialized;
    if (const json::object* const function = object_in(value, "function")) {
        fragment.name = string_in(*function, "name");
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
        fail("arguments of a tool call came after the answer had gone on without them");
        return;
    case tool_call_assembler::status::nameless:
        fail("a tool call of the answer has no name");
        return;
    }
}

} // namespace agui::runner
