#include "runner/provider/answer_body.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace agui::runner {

namespace {

// The limit of an event, too.
constexpr std::size_t object_bytes_max = 16U << 20U;

constexpr std::string_view end_mark = "[DONE]";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

} // namespace

std::string_view answer_body::feed(std::string_view bytes) {
    std::string begin;
    if (form_ == form::unknown) {
        partial_.append(bytes);
        begin.swap(partial_);
        bytes = begin;
        if (!choose_form(bytes)) {
            return {};
        }
    }
    if (form_ == form::objects) {
        return feed_objects(bytes);
    }
    return events_.feed(bytes) ? std::string_view() : "an event of the answer is too long";
}

void answer_body::finish() {
    if (form_ == form::events) {
        events_.finish();
    }
}

/// Chooses the form of the body. Blank lines may also be signs of life before a whole answer.
/// Returns false, and keeps the bytes, if more are needed.
bool answer_body::choose_form(std::string_view& bytes) {
    std::string_view rest = without_blank_begin(bytes);
    if (rest.starts_with(byte_order_mark)) {
        rest = without_blank_begin(rest.substr(byte_order_mark.size()));
    }
    if (rest.empty() || byte_order_mark.starts_with(rest)) {
        partial_.assign(rest.empty() ? std::string_view() : rest);
        return false;
    }
    form_ = rest.front() == '{' ? form::objects : form::events;
    bytes = rest;
    return true;
}

/// Skips bytes between objects: line ends, and perhaps the end mark.
void answer_body::pass_over(std::string_view bytes) {
    between_.append(bytes);
    has_end_mark_ = has_end_mark_ || between_.find(end_mark) != std::string::npos;
    between_.erase(0, between_.size() - std::min(between_.size(), end_mark.size() - 1));
}

std::string_view answer_body::feed_objects(std::string_view bytes) {
    while (!bytes.empty()) {
        if (partial_.empty()) {
            const std::size_t begin = std::min(bytes.find('{'), bytes.size());
            pass_over(bytes.substr(0, begin));
            bytes.remove_prefix(begin);
            brackets_ = {};
        }
        const std::size_t length = brackets_.feed(bytes);
        if (length > object_bytes_max - partial_.size()) {
            return "the answer is too long";
        }
        partial_.append(bytes.substr(0, length));
        bytes.remove_prefix(length);
        if (brackets_.closed()) {
            const std::string object = std::exchange(partial_, {});
            to_.on_event({}, object);
            // Otherwise the thread would hold the megabytes of an answer until its next object.
            drop_json_scratch();
        }
    }
    return {};
}

/// Servers that leave out the empty line between events have one chunk in each data line.
bool answer_body::ends_event(std::string_view more) {
    data_.feed(more);
    return data_.whole() || more.starts_with(end_mark);
}

} // namespace agui::runner
