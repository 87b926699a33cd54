#include "runner/openai/openai_chat.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_scratch.hpp"
#include "runner/base/refusing_status.hpp"
#include "runner/base/utf8.hpp"
#include "runner/openai/openai_fields.hpp"
#include "runner/openai/openai_message_reader.hpp"
#include "runner/openai/repeated_chunk.hpp"
#include "runner/provider/answer_body.hpp"
#include "runner/provider/large_chunks.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Kept length of a line that is neither a chunk nor an error: enough to recognize it.
constexpr std::size_t noise_bytes_max = 200;

constexpr std::string_view end_word = "[DONE]";

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

struct openai_decoder::state final : answer_body::reader {
    state(
        model_sink& to, std::string model_name, std::string provider, std::string_view reasoning_tag
    )
        : model(std::move(model_name)),
          provider_name(std::move(provider)),
          body(*this),
          message(to, reasoning_tag) {}

    void on_event(std::string_view name, std::string_view data) override;
    void on_object(std::string_view text) override;
    void chunk_text(std::string_view text);
    void chunk_of(const json::value* value, bool is_torn);
    void end_body();
    void chunk(const json::value& value);
    void finish_with(std::string_view name);
    void choice(const json::object& value);
    void count(const json::object* source);
    void finish_as_native();
    void report(const json::value& error);
    void check_message();
    void fail(std::string detail, std::string upstream = {});
    void settle();

    std::string model;
    std::string provider_name;
    answer_body body;
    openai_message_reader message;
    large_chunks waiting;
    std::string noise;         ///< The first line that is neither a chunk nor an error.
    std::size_t chunks = 0;    ///< Number of chunks of the dialect.
    bool answered = false;     ///< Some part of the dialect came.
    bool end_marker = false;   ///< `[DONE]`, or the end of a whole answer.
    bool whole_answer = false; ///< The body is an object that holds the message, not its deltas.
    bool torn = false;         ///< The current chunk was cut in the middle of a character.
    bool only_text = false;    ///< The current chunk did nothing but add a text.
    repeated_chunk repeated;
    bool ended = false; ///< The body has ended. An event that comes later lacked its empty line.
    std::string unknown_reason;
    bool usage_at_end = false; ///< Usage came with the finish_reason or after it.
    std::optional<finish_reason> reason;
    /// Reason of the model's server, if another server translates the reasons.
    std::string native_reason;
    // Allocated separately, because a running stream has neither.
    std::unique_ptr<token_usage> usage;
    std::unique_ptr<model_failure> failure;
};

openai_decoder::openai_decoder(
    model_sink& sink, std::string model, std::string provider_name, std::string_view reasoning_tag
)
    : state_(
          std::make_unique<state>(sink, std::move(model), std::move(provider_name), reasoning_tag)
      ) {}

openai_decoder::~openai_decoder() = default;

bool openai_decoder::feed(std::string_view bytes) {
    state& s = *state_;
    if (s.failure || s.end_marker) {
        return false;
    }
    if (const std::string_view wrong = s.body.feed(bytes); !wrong.empty()) {
        s.fail(std::string(wrong));
    }
    return !s.failure && !s.end_marker;
}

bool openai_decoder::ending() const noexcept { return state_->reason.has_value(); }

bool openai_decoder::complete() const noexcept { return state_->reason && state_->usage_at_end; }

bool openai_decoder::failed() const noexcept { return state_->failure != nullptr; }

bool openai_decoder::begun() const noexcept {
    // If the first object is incomplete, it may be the whole answer.
    return state_->message.begun() || (state_->body.is_cut() && state_->chunks == 0);
}

bool openai_decoder::whole() const noexcept { return state_->body.has_objects(); }

std::size_t openai_decoder::chunks() const noexcept { return state_->chunks; }

std::size_t openai_decoder::kept() const noexcept {
    return state_->body.kept() + state_->waiting.bytes();
}

std::size_t openai_decoder::large() const noexcept { return state_->waiting.bytes(); }

void openai_decoder::parse_large(memory_budget* budget) { state_->waiting.parse(budget); }

std::shared_ptr<void> openai_decoder::deliver_large() {
    state& s = *state_;
    auto all = std::make_shared<std::vector<parsed_large_json>>(s.waiting.take());
    for (const parsed_large_json& each : *all) {
        if (s.failure) {
            break;
        }
        if (each.no_memory) {
            s.fail("there is not enough memory for a chunk of the answer");
            s.failure->what = model_failure::kind::memory;
        } else {
            s.chunk_of(each.value ? &*each.value : nullptr, each.torn);
        }
    }
    return all;
}

void openai_decoder::end() { state_->end_body(); }

model_outcome openai_decoder::finish() {
    state& s = *state_;
    s.end_body();
    if (large() > 0) {
        parse_large(nullptr);
        (void)deliver_large();
    }
    s.settle();
    if (s.failure) {
        return std::move(*s.failure);
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
        .usage = s.usage ? std::optional(std::move(*s.usage)) : std::nullopt,
        .unknown_reason = std::move(s.unknown_reason)
    };
    // Some servers say "stop" although the model calls tools, or the reverse.
    if (answer.reason == finish_reason::stop && s.message.calls().count() > 0) {
        answer.reason = finish_reason::tool_calls;
    } else if (answer.reason == finish_reason::tool_calls && s.message.calls().count() == 0) {
        answer.reason = finish_reason::stop;
    }
    return answer;
}

void openai_decoder::state::end_body() {
    if (!failure && !std::exchange(ended, true)) {
        body.finish();
    }
}

/// Takes the steps that need the end of the body.
void openai_decoder::state::settle() {
    if (failure) {
        return;
    }
    answered = answered || body.is_cut();
    end_marker = end_marker || ((whole_answer || body.has_end_mark()) && !body.is_cut());
    message.end_text();
    // An end marker without a finish_reason is accepted, because some servers leave it null
    // throughout. An incomplete call cannot be told from a cut one.
    if (!reason && end_marker && answered && message.calls().none_cut()) {
        reason = finish_reason::stop;
    }
    finish_as_native();
    if (failure) {
        return;
    }
    // An unknown name may mean anything; an incomplete call shows that the answer was cut.
    if (!unknown_reason.empty() && reason == finish_reason::stop && !message.calls().all_whole()) {
        reason = finish_reason::length;
    }
    const bool complete = reason == finish_reason::stop || reason == finish_reason::tool_calls;
    message.end_calls(complete, !reason);
    check_message();
    message.hand_over_data();
}

void openai_decoder::state::fail(std::string detail, std::string upstream) {
    if (!failure) {
        failure = std::make_unique<model_failure>(model_failure{
            .what = model_failure::kind::unavailable,
            .status = 0,
            .detail = std::move(detail),
            .upstream = std::move(upstream)
        });
    }
}

/// Reports an error in place of an answer. Gateways of model servers put into `code` the status
/// with which the model server refused the request.
void openai_decoder::state::report(const json::value& error) {
    fail("the answer holds an error", error_text(error));
    const json::object* const object = error.if_object();
    const auto code = object == nullptr ? std::nullopt : status_in(*object);
    if (code && is_refusing_status(*code) && !message.begun()) {
        failure->what = model_failure::kind::rejected;
        failure->status = static_cast<int>(*code);
    }
}

void openai_decoder::state::check_message() {
    if (!message.problem().empty()) {
        fail(std::string(message.problem()));
    }
}

void openai_decoder::state::on_event(std::string_view name, std::string_view data) {
    if (failure || end_marker) {
        return;
    }
    data = without_blank_begin(data);
    if (data.empty()) {
        return;
    }
    if (data.starts_with(end_word)) {
        end_marker = true;
        return;
    }
    if (name == "error") {
        fail("the stream holds an error", to_utf8(data.substr(0, error_text_max)));
        return;
    }
    if (data.front() != '{') {
        // Such as `ping`. It is reported if no other data comes.
        if (noise.empty()) {
            noise = to_utf8(data.substr(0, noise_bytes_max));
        }
        return;
    }
    chunk_text(data);
}

void openai_decoder::state::on_object(std::string_view text) {
    if (!failure) {
        chunk_text(text);
        // Otherwise the thread would hold the megabytes of an answer until its next chunk.
        drop_json_scratch();
    }
}

void openai_decoder::state::chunk_text(std::string_view text) {
    if (waiting.must_hold(text)) {
        if (!waiting.hold(text)) {
            fail("the answer is too long");
        }
        return;
    }
    if (const std::string_view added = repeated.text_in(text); !added.empty()) {
        answered = true;
        ++chunks;
        message.read_text(added);
        check_message();
        return;
    }
    const parsed_json read = parse_json_scratch(text);
    only_text = false;
    chunk_of(read.value, read.torn);
    if (only_text) {
        repeated.learn(text);
    }
}

void openai_decoder::state::chunk_of(const json::value* value, bool is_torn) {
    if (value == nullptr) {
        // A cut within an event is the same loss as one between two events.
        if (!ended || !answered) {
            fail("a chunk of the answer is not JSON");
        }
        return;
    }
    torn = is_torn;
    chunk(*value);
}

void openai_decoder::state::chunk(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        fail("a chunk of the answer is not an object");
        return;
    }
    static constexpr std::array<std::string_view, 6> names = {"error",   "object",
                                                              "choices", "usage",
                                                              "x_groq",  "prompt_eval_count"};
    const auto [error, kind, choices, use, groq, ollama] = members_of(*object, names);
    if (error != nullptr && !says_nothing(*error)) {
        report(*error);
        return;
    }
    if (text_of(kind) == "error") {
        report(value);
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
        only_text = only_text && list->size() == 1;
    }
    count(object_of(use));
    if (const json::object* const of_groq = object_of(groq)) {
        count(object_in(*of_groq, "usage"));
    }
    count(ollama == nullptr ? nullptr : object);
}

/// Merges counts that arrive in several parts for one answer.
void openai_decoder::state::count(const json::object* source) {
    std::optional<token_usage> read =
        source == nullptr ? std::nullopt : read_usage(*source, provider_name, model);
    if (!read) {
        return;
    }
    only_text = false;
    if (usage) {
        keep_counts(*read, *usage);
    }
    usage = std::make_unique<token_usage>(*std::move(read));
    usage_at_end = reason.has_value();
}

void openai_decoder::state::choice(const json::object& value) {
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
        inner_use = message.read(part->get_object(), false, torn);
        only_text = message.was_only_text() && text_of(native).empty() && text_of(end).empty();
    } else if (object_of(whole_message) != nullptr) {
        whole_answer = whole_answer || body.has_objects();
        inner_use = message.read(whole_message->get_object(), true, torn);
    }
    check_message();
    if (!text_of(native).empty()) {
        native_reason = to_utf8(text_of(native).substr(0, noise_bytes_max));
    }
    if (!text_of(end).empty()) {
        finish_with(text_of(end));
    }
    count(inner_use);
    count(object_of(use));
}

/// Gateways of model servers translate unknown reasons to "stop". For an answer that says something
/// that is good enough; an answer that says nothing ended for its native reason.
void openai_decoder::state::finish_as_native() {
    if (reason != finish_reason::stop || message.says_something() || native_reason.empty()) {
        return;
    }
    const finish_class what = classify_finish_reason(native_reason);
    if (what == finish_class::failed) {
        fail("the native_finish_reason reports a failure", native_reason);
    } else if (what == finish_class::length || what == finish_class::content_filter) {
        finish_with(native_reason);
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

} // namespace agui::runner
