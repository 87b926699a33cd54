#include "runner/provider/stream_decoder.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_scratch.hpp"
#include "runner/base/refusing_status.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/value.hpp>

#include <utility>
#include <vector>

namespace agui::runner {

namespace {

constexpr std::string_view done_mark = "[DONE]";

} // namespace

bool stream_decoder::feed(std::string_view bytes) {
    if (over()) {
        return false;
    }
    if (const std::string_view wrong = body_.feed(bytes); !wrong.empty()) {
        fail(std::string(wrong));
    }
    return !over();
}

void stream_decoder::on_event(std::string_view name, std::string_view data) {
    const std::string_view text = text_of_event(name, data);
    if (text.empty() || holds(text)) {
        return;
    }
    const parsed_json parsed = parse_json_scratch(text);
    if (const boost::json::object* const part = object_in_part(parsed.value)) {
        read(name, *part, parsed.torn);
    }
}

std::shared_ptr<void> stream_decoder::deliver_large() {
    auto all = std::make_shared<std::vector<parsed_large_json>>(waiting_.take());
    for (const parsed_large_json& each : *all) {
        if (failure_ || stopped_) {
            break;
        }
        if (each.no_memory) {
            fail("there is not enough memory for " + std::string(words_.part) + " of the answer");
            failure_->what = model_failure::kind::memory;
        } else if (const auto* const part = object_in_part(each.value ? &*each.value : nullptr)) {
            read({}, *part, each.torn);
        }
    }
    return all;
}

void stream_decoder::end() {
    if (!failure_ && !std::exchange(ended_, true)) {
        body_.finish();
    }
}

model_outcome stream_decoder::finish() {
    end();
    if (large() > 0) {
        parse_large(nullptr);
        (void)deliver_large();
    }
    if (!failure_) {
        answered_ = answered_ || body_.is_cut();
        settle();
    }
    if (failure_) {
        return std::move(*failure_);
    }
    if (!reason_) {
        return model_failure{
            .what = answered_ ? model_failure::kind::lost : model_failure::kind::unavailable,
            .status = 0,
            .detail = answered_ ? "the answer ended without " + std::string(words_.end)
                                : "the body holds no answer",
            .upstream = std::move(noise_)
        };
    }
    return model_answer{
        .reason = *reason_,
        .usage = take_usage(),
        .unknown_reason = std::move(unknown_reason_),
        .invalid_blocks = invalid_blocks_,
        .invalid_block = std::move(invalid_block_),
        .has_lost_data = has_lost_data_
    };
}

std::string_view stream_decoder::text_of_event(std::string_view name, std::string_view data) {
    if (over()) {
        return {};
    }
    data = without_blank_begin(data);
    if (data.starts_with('{')) {
        return data;
    }
    if (data.starts_with(done_mark)) {
        done_ = words_.ends_with_done;
    } else if (name == "error" && !data.empty()) {
        fail("the stream holds an error", to_utf8(data.substr(0, error_text_max)));
    } else if (noise_.empty()) {
        // Such as `ping`. It is reported if no other data comes.
        noise_ = to_utf8(data.substr(0, noise_bytes_max));
    }
    return {};
}

const boost::json::object* stream_decoder::object_in_part(const boost::json::value* parsed) {
    // A cut within a part is the same loss as one between two parts.
    if (parsed == nullptr && (!ended_ || !answered_)) {
        fail(std::string(words_.part) + " of the answer is not JSON");
    }
    return parsed == nullptr ? nullptr : parsed->if_object();
}

void stream_decoder::fail(std::string detail, std::string upstream) {
    if (!failure_) {
        failure_ = std::make_unique<model_failure>(model_failure{
            .what = model_failure::kind::unavailable,
            .status = 0,
            .detail = std::move(detail),
            .upstream = std::move(upstream)
        });
    }
}

void stream_decoder::fail_in_stream(std::string upstream, int status, bool begun) {
    fail("the stream holds an error", std::move(upstream));
    failure_->status = status;
    if (is_refusing_status(status) && !begun) {
        failure_->what = model_failure::kind::rejected;
    }
}

void stream_decoder::fit_reason_to_calls(std::size_t calls) noexcept {
    if (reason_ == finish_reason::stop && calls > 0) {
        reason_ = finish_reason::tool_calls;
    } else if (reason_ == finish_reason::tool_calls && calls == 0) {
        reason_ = finish_reason::stop;
    }
}

bool stream_decoder::hold(std::string_view text) {
    if (!waiting_.hold(text)) {
        fail("the answer is too long");
    }
    return true;
}

} // namespace agui::runner
