#include "runner/anthropic/anthropic_block_reader.hpp"
#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/anthropic/anthropic_fields.hpp"
#include "runner/base/json_blanks.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_scratch.hpp"
#include "runner/base/refusing_status.hpp"
#include "runner/base/utf8.hpp"
#include "runner/provider/answer_body.hpp"
#include "runner/provider/large_chunks.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Kept length of a line that is no event: enough to recognize it.
constexpr std::size_t noise_bytes_max = 200;

// Some imitations of the dialect end like those of another.
constexpr std::string_view done_mark = "[DONE]";

} // namespace

struct anthropic_decoder::state final : answer_body::reader {
    state(model_sink& to, std::string model_name, std::string provider)
        : model(std::move(model_name)),
          provider_name(std::move(provider)),
          body(*this),
          blocks(to) {}

    void on_event(std::string_view name, std::string_view data) override;
    void on_object(std::string_view text) override;
    void event_text(std::string_view name, std::string_view text);
    void event_of(std::string_view name, const json::value* value, bool torn);
    void event(std::string_view type, const json::object& value, bool torn);
    void whole_message(const json::object& message, bool torn);
    void end_with(const json::object& delta);
    void report(const json::object& value);
    void end_body();
    void settle();
    void fail(std::string detail, std::string upstream = {});

    std::string model;
    std::string provider_name;
    answer_body body;
    anthropic_block_reader blocks;
    anthropic_usage usage;
    large_chunks waiting;
    std::string noise;          ///< The first line that is no event.
    std::size_t chunks = 0;     ///< Number of events that are not signs of life.
    bool answered = false;      ///< Some event of an answer came.
    bool ended = false;         ///< The body has ended.
    bool stopped = false;       ///< `message_stop`, or the end of a whole message.
    bool has_end_event = false; ///< `message_delta` came, perhaps without a reason.
    std::optional<finish_reason> reason;
    std::string unknown_reason;
    std::unique_ptr<model_failure> failure; ///< Allocated separately: a stream seldom has one.
};

anthropic_decoder::anthropic_decoder(model_sink& sink, std::string model, std::string provider_name)
    : state_(std::make_unique<state>(sink, std::move(model), std::move(provider_name))) {}

anthropic_decoder::~anthropic_decoder() = default;

bool anthropic_decoder::feed(std::string_view bytes) {
    state& s = *state_;
    if (s.failure || s.stopped) {
        return false;
    }
    if (const std::string_view wrong = s.body.feed(bytes); !wrong.empty()) {
        s.fail(std::string(wrong));
    }
    return !s.failure && !s.stopped;
}

bool anthropic_decoder::begun() const noexcept {
    // If the first object is incomplete, it may be the whole message.
    return state_->blocks.begun() || (state_->body.is_cut() && state_->chunks == 0);
}

bool anthropic_decoder::ending() const noexcept {
    return state_->reason.has_value() || state_->stopped;
}

bool anthropic_decoder::complete() const noexcept { return state_->stopped; }

bool anthropic_decoder::failed() const noexcept { return state_->failure != nullptr; }

bool anthropic_decoder::whole() const noexcept { return state_->body.has_objects(); }

std::size_t anthropic_decoder::chunks() const noexcept { return state_->chunks; }

std::size_t anthropic_decoder::kept() const noexcept {
    return state_->body.kept() + state_->waiting.bytes();
}

std::size_t anthropic_decoder::large() const noexcept { return state_->waiting.bytes(); }

void anthropic_decoder::parse_large(memory_budget* budget) { state_->waiting.parse(budget); }

std::shared_ptr<void> anthropic_decoder::deliver_large() {
    state& s = *state_;
    auto all = std::make_shared<std::vector<parsed_large_json>>(s.waiting.take());
    for (const parsed_large_json& each : *all) {
        if (s.failure || s.stopped) {
            break;
        }
        if (each.no_memory) {
            s.fail("there is not enough memory for an event of the answer");
            s.failure->what = model_failure::kind::memory;
        } else {
            s.event_of({}, each.value ? &*each.value : nullptr, each.torn);
        }
    }
    return all;
}

void anthropic_decoder::end() { state_->end_body(); }

model_outcome anthropic_decoder::finish() {
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
        const bool answered = s.answered || s.body.is_cut();
        return model_failure{
            .what = answered ? model_failure::kind::lost : model_failure::kind::unavailable,
            .status = 0,
            .detail =
                answered ? "the answer ended without a stop_reason" : "the body holds no answer",
            .upstream = std::move(s.noise)
        };
    }
    return model_answer{
        .reason = *s.reason,
        .usage = s.usage.counts(s.provider_name, s.model),
        .unknown_reason = std::move(s.unknown_reason)
    };
}

void anthropic_decoder::state::end_body() {
    if (!failure && !std::exchange(ended, true)) {
        body.finish();
    }
}

/// Takes the steps that need the end of the body.
void anthropic_decoder::state::settle() {
    if (failure) {
        return;
    }
    // Some imitations send no `message_delta`. One without a reason tells of a cut.
    if (!reason && stopped && !has_end_event && blocks.none_cut()) {
        reason = finish_reason::stop;
    }
    // An unknown reason may mean anything; an incomplete call shows that the answer was cut.
    if (reason == finish_reason::stop && !unknown_reason.empty() && !blocks.none_cut()) {
        reason = finish_reason::length;
    }
    if (reason == finish_reason::stop && blocks.calls() > 0) {
        reason = finish_reason::tool_calls;
    } else if (reason == finish_reason::tool_calls && blocks.calls() == 0) {
        reason = finish_reason::stop;
    }
    blocks.finish(reason == finish_reason::stop || reason == finish_reason::tool_calls);
    if (!blocks.problem().empty()) {
        fail(std::string(blocks.problem()));
    } else if (reason && reason != finish_reason::content_filter) {
        blocks.hand_over_record();
    }
}

void anthropic_decoder::state::fail(std::string detail, std::string upstream) {
    if (!failure) {
        failure = std::make_unique<model_failure>(model_failure{
            .what = model_failure::kind::unavailable,
            .status = 0,
            .detail = std::move(detail),
            .upstream = std::move(upstream)
        });
    }
}

void anthropic_decoder::state::report(const json::object& value) {
    fail("the stream holds an error", stream_error_text(value));
    const json::object* const error = object_in(value, "error");
    const int status = error == nullptr ? 0 : status_of_error(string_in(*error, "type"));
    failure->status = status;
    if (is_refusing_status(status) && !blocks.begun()) {
        failure->what = model_failure::kind::rejected;
    }
}

void anthropic_decoder::state::on_event(std::string_view name, std::string_view data) {
    if (failure || stopped) {
        return;
    }
    data = without_blank_begin(data);
    if (data.empty() || data.starts_with(done_mark)) {
        return;
    }
    if (data.front() == '{') {
        event_text(name, data);
    } else if (name == "error") {
        fail("the stream holds an error", to_utf8(data.substr(0, error_text_max)));
    } else if (noise.empty()) {
        noise = to_utf8(data.substr(0, noise_bytes_max));
    }
}

void anthropic_decoder::state::on_object(std::string_view text) {
    if (!failure && !stopped) {
        event_text({}, text);
        // Otherwise the thread would hold the megabytes of an answer until its next event.
        drop_json_scratch();
    }
}

void anthropic_decoder::state::event_text(std::string_view name, std::string_view text) {
    if (waiting.must_hold(text)) {
        if (!waiting.hold(text)) {
            fail("the answer is too long");
        }
        return;
    }
    const parsed_json read = parse_json_scratch(text);
    event_of(name, read.value, read.torn);
}

/// `name` is the event's name in the stream, for servers that leave out its `type`.
void anthropic_decoder::state::event_of(
    std::string_view name, const json::value* value, bool torn
) {
    if (value == nullptr) {
        // A cut within an event is the same loss as one between two events.
        if (!ended || !answered) {
            fail("an event of the answer is not JSON");
        }
        return;
    }
    const json::object* const object = value->if_object();
    if (object == nullptr) {
        return;
    }
    const std::string_view type = string_in(*object, "type");
    event(type.empty() ? name : type, *object, torn);
    if (!blocks.problem().empty()) {
        fail(std::string(blocks.problem()));
    }
}

void anthropic_decoder::state::event(std::string_view type, const json::object& value, bool torn) {
    const json::value* const index_member = value.if_contains("index");
    const std::optional<std::int64_t> index = integer_of(index_member);
    if (type == "content_block_delta") {
        answered = true;
        ++chunks;
        if (const json::object* const delta = object_in(value, "delta")) {
            blocks.delta(index, *delta, torn);
        }
    } else if (type == "content_block_start") {
        answered = true;
        ++chunks;
        if (const json::object* const block = object_in(value, "content_block")) {
            blocks.start(index, *block, torn);
        }
    } else if (type == "content_block_stop") {
        ++chunks;
        blocks.stop(index);
    } else if (type == "message_start") {
        answered = true;
        ++chunks;
        if (const json::object* const message = object_in(value, "message")) {
            usage.add(object_in(*message, "usage"));
        }
    } else if (type == "message_delta") {
        answered = true;
        ++chunks;
        usage.add(object_in(value, "usage"));
        if (const json::object* const delta = object_in(value, "delta")) {
            end_with(*delta);
        }
    } else if (type == "message_stop") {
        stopped = true;
    } else if (type == "ping") {
        chunks += blocks.may_be_silent() ? 1 : 0;
    } else if (type == "message") {
        whole_message(value, torn);
    } else if (type == "error" || value.contains("error")) {
        report(value);
    }
}

/// The answer of a server that does not stream.
void anthropic_decoder::state::whole_message(const json::object& message, bool torn) {
    answered = true;
    ++chunks;
    if (const json::array* const content = array_in(message, "content")) {
        for (const json::value& each : *content) {
            if (const json::object* const block = each.if_object()) {
                blocks.start(std::nullopt, *block, torn);
                blocks.stop(std::nullopt);
            }
        }
    }
    usage.add(object_in(message, "usage"));
    end_with(message);
    stopped = true;
}

void anthropic_decoder::state::end_with(const json::object& delta) {
    has_end_event = true;
    const std::string_view name = string_in(delta, "stop_reason");
    if (name.empty()) {
        return;
    }
    reason = read_stop_reason(name);
    unknown_reason.clear();
    if (!reason) {
        unknown_reason = to_utf8(name.substr(0, noise_bytes_max));
        reason = finish_reason::stop;
    }
}

} // namespace agui::runner
