#include "runner/loop/reply_reader.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/loop/reply_items.hpp"
#include "session/base/lean_append.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace agui::runner {

void reply_reader::on_text(std::string_view delta) {
    turn_.on_held_text();
    bytes_ += delta.size();
    if (bytes_ <= reply_bytes_max) {
        lean_append(held_, delta);
    } else {
        std::string().swap(held_);
    }
}

std::string_view reply_reader::finish() {
    if (bytes_ > reply_bytes_max) {
        return "a model's reply is too long and was not shown";
    }
    if (is_json_blank(held_)) {
        return {}; // The answer has only calls.
    }
    const std::optional<reply_items> reply = read_reply_items(held_);
    if (!reply) {
        return "a model's reply is not the JSON that its agent expects";
    }
    if (!reply->thoughts.empty()) {
        turn_.show_thoughts(reply->thoughts);
    }
    for (const reply_items::segment& each : reply->segments) {
        if (const auto* const text = std::get_if<std::string>(&each)) {
            turn_.on_text(*text);
        } else {
            turn_.show_segment(std::get<boost::json::object>(each));
        }
    }
    turn_.set_written(std::move(held_));
    if (reply->more_chats > 0) {
        return "a model's reply has several chat items: only the first was shown";
    }
    if (reply->odd > 0) {
        return "a model's reply has items that are neither thoughts nor chat";
    }
    return {}; // Without a chat item, the model chose to say nothing.
}

} // namespace agui::runner
