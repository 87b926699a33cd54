#include "runner/anthropic/anthropic_chat_decoder.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

anthropic_decoder::anthropic_decoder(model_sink& sink, std::string model, std::string provider_name)
    : stream_decoder(own_words, std::move(model), std::move(provider_name)), blocks_(sink) {}

/// Some servers leave out the type, which is the event's name, too.
void anthropic_decoder::read(std::string_view name, const json::object& value, bool torn) {
    const std::string_view type = string_in(value, "type");
    event(type.empty() ? name : type, value, torn);
    if (!blocks_.problem().empty()) {
        fail(std::string(blocks_.problem()));
    }
}

void anthropic_decoder::event(std::string_view type, const json::object& value, bool torn) {
    const json::value* const index_member = value.if_contains("index");
    const std::optional<std::int64_t> index = integer_of(index_member);
    if (type == "content_block_delta") {
        answered_ = true;
        ++chunks_;
        if (const json::object* const delta = object_in(value, "delta")) {
            blocks_.delta(index, *delta, torn);
        }
    } else if (type == "content_block_start") {
        answered_ = true;
        ++chunks_;
        if (const json::object* const block = object_in(value, "content_block")) {
            blocks_.start(index, *block, torn);
        }
    } else if (type == "content_block_stop") {
        ++chunks_;
        blocks_.stop(index);
    } else if (type == "message_start") {
        answered_ = true;
        ++chunks_;
        if (const json::object* const message = object_in(value, "message")) {
            usage_.add(object_in(*message, "usage"));
            note_transformations(*message);
        }
    } else if (type == "message_delta") {
        answered_ = true;
        ++chunks_;
        usage_.add(object_in(value, "usage"));
        note_transformations(value);
        if (const json::object* const delta = object_in(value, "delta")) {
            end_with(*delta);
        }
    } else if (type == "message_stop") {
        stopped_ = true;
    } else if (type == "ping") {
        chunks_ += blocks_.may_be_silent() ? 1 : 0;
    } else if (type == "message") {
        whole_message(value, torn);
    } else if (type == "error" || value.contains("error")) {
        report(value);
    }
}

/// The answer of a server that does not stream.
void anthropic_decoder::whole_message(const json::object& message, bool torn) {
    answered_ = true;
    ++chunks_;
    if (const json::array* const content = array_in(message, "content")) {
        for (const json::value& each : *content) {
            if (const json::object* const block = each.if_object()) {
                blocks_.start(std::nullopt, *block, torn);
                blocks_.stop(std::nullopt);
            }
        }
    }
    usage_.add(object_in(message, "usage"));
    note_transformations(message);
    end_with(message);
    stopped_ = true;
}

/// The list comes at the start, at the end, or twice: the longest counts.
void anthropic_decoder::note_transformations(const json::object& value) {
    const json::array* const list = array_in(value, "input_transformations");
    if (list == nullptr || list->size() <= invalid_blocks_) {
        return;
    }
    invalid_blocks_ = list->size();
    invalid_block_.clear();
    if (const json::object* const first = list->front().if_object()) {
        for (const std::string_view name : {"path", "type", "reason"}) {
            const std::string_view text = string_in(*first, name).substr(0, noise_bytes_max);
            invalid_block_.append(invalid_block_.empty() ? "" : " ").append(to_utf8(text));
        }
    }
}

void anthropic_decoder::end_with(const json::object& delta) {
    has_end_event_ = true;
    const std::string_view name = string_in(delta, "stop_reason");
    if (name.empty()) {
        return;
    }
    reason_ = read_stop_reason(name);
    unknown_reason_.clear();
    if (!reason_) {
        unknown_reason_ = to_utf8(name.substr(0, noise_bytes_max));
        reason_ = finish_reason::stop;
    }
}

void anthropic_decoder::settle() {
    // Some imitations send no `message_delta`. One without a reason tells of a cut.
    if (!reason_ && stopped_ && !has_end_event_ && blocks_.none_cut()) {
        reason_ = finish_reason::stop;
    }
    // An unknown reason may mean anything; an incomplete call shows that the answer was cut.
    if (reason_ == finish_reason::stop && !unknown_reason_.empty() && !blocks_.none_cut()) {
        reason_ = finish_reason::length;
    }
    // The results of calls must come before the model can go on.
    if (reason_ == finish_reason::pause && blocks_.calls() > 0) {
        reason_ = blocks_.none_cut() ? finish_reason::tool_calls : finish_reason::length;
    }
    fit_reason_to_calls(blocks_.calls());
    const bool pauses = reason_ == finish_reason::pause;
    blocks_.finish(
        pauses || reason_ == finish_reason::stop || reason_ == finish_reason::tool_calls
    );
    if (!blocks_.problem().empty()) {
        fail(std::string(blocks_.problem()));
    } else if (reason_ && reason_ != finish_reason::refusal) {
        using ending = anthropic_block_reader::ending;
        const bool is_cut = reason_ == finish_reason::length;
        has_lost_data_ = !blocks_.hand_over_record(
            pauses   ? ending::pause
            : is_cut ? ending::cut
                     : ending::whole
        );
    }
}

void anthropic_decoder::report(const json::object& value) {
    const json::object* const error = object_in(value, "error");
    const int status = error == nullptr ? 0 : status_of_error(string_in(*error, "type"));
    fail_in_stream(stream_error_text(value), status, blocks_.begun());
}

} // namespace agui::runner
