#include "runner/loop/model_turn.hpp"

#include "runner/base/call_ids.hpp"
#include "runner/base/json_blanks.hpp"
#include "session/base/lean_append.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace agui::runner {

using session::turn_block;

model_turn::model_turn(
    run_sink& out, id_source& ids, call_naming name_call, std::string_view provider,
    std::string_view model
)
    : out_(out), message_id_(ids.next("msg")), ids_(ids), name_call_(std::move(name_call)) {
    origin_.provider = provider;
    origin_.model = model;
}

/// The current block if it is of that kind, or a new one.
turn_block& model_turn::block(turn_block::kind what, bool anew) {
    std::vector<turn_block>& all = origin_.blocks;
    if (anew || all.empty() || all.back().what != what) {
        all.emplace_back().what = what;
    }
    return all.back();
}

void model_turn::on_text(std::string_view delta) {
    // Shown first, then kept: text that could not be shown does not count as said.
    last_is_call_ = false;
    out_.emit(text_delta{message_id_, delta});
    lean_append(text_, delta);
    block(turn_block::kind::text, false).bytes += delta.size();
}

void model_turn::on_reasoning(std::string_view delta) {
    const turn_block& current = block(turn_block::kind::reasoning, false);
    if (reasoning_.empty() || reasoning_.back().id != current.id) {
        reasoning_.push_back({ids_.next("rsn"), {}});
        origin_.blocks.back().id = reasoning_.back().id;
    }
    last_is_call_ = false;
    out_.emit(reasoning_delta{reasoning_.back().id, delta});
    lean_append(reasoning_.back().text, delta);
}

void model_turn::show_thoughts(std::string_view text) {
    // Without a block in the origin, it is not sent to a model again.
    reasoning& made = reasoning_.emplace_back(reasoning{ids_.next("rsn"), {}});
    out_.emit(reasoning_delta{made.id, text});
    made.text = text;
}

void model_turn::show_segment(const boost::json::object& segment) {
    out_.emit(reply_segment{message_id_, &segment});
}

void model_turn::on_call(std::size_t index, std::string_view id, std::string_view name) {
    if (index != calls_.size()) {
        throw std::logic_error("calls of an answer are numbered in order");
    }
    calls_.push_back(name_call_(id, name));
    last_is_call_ = true;
    const call& made = calls_.back();
    block(turn_block::kind::call, true).id = made.id;
    out_.emit(
        call_started{made.id, made.name, message_id_, made.owner == session::call_owner::external}
    );
}

void model_turn::on_call_arguments(std::size_t index, std::string_view delta) {
    call& made = calls_.at(index);
    last_is_call_ = true;
    out_.emit(call_arguments{made.id, delta});
    made.arguments.append(delta);
}

void model_turn::on_call_end(std::size_t index) {
    fill_in_arguments(index);
    out_.emit(call_ended{calls_.at(index).id});
}

void model_turn::fill_in_arguments(std::size_t index) {
    if (is_json_blank(calls_.at(index).arguments)) {
        on_call_arguments(index, "{}");
    }
}

void model_turn::on_turn_data(std::string_view key, const boost::json::value& value) {
    origin_.data[key] = boost::json::value(value, boost::json::storage_ptr());
}

void model_turn::on_call_data(std::size_t index, const boost::json::value& value) {
    const std::string& id = calls_.at(index).id;
    for (turn_block& each : origin_.blocks) {
        if (each.what == turn_block::kind::call && each.id == id) {
            each.data = boost::json::value(value, boost::json::storage_ptr());
        }
    }
}

/// Text and calls in the usual order need no origin, unless an id has a meaning for its server
/// alone (call_ids).
bool model_turn::has_origin() const {
    const auto is_unusual = [this](const turn_block& each) {
        return each.what == turn_block::kind::reasoning || !each.data.is_null() ||
               (each.what == turn_block::kind::call && !is_common_call_id(each.id)) ||
               (each.what == turn_block::kind::text && &each != origin_.blocks.data());
    };
    if (origin_.end != session::turn_end::complete) {
        return true;
    }
    if (origin_.provider.empty()) {
        return origin_.tokens > 0; // Without a provider, the origin keeps no data.
    }
    return keeps_provider_ || origin_.tokens > 0 || !origin_.data.empty() ||
           std::ranges::any_of(origin_.blocks, is_unusual);
}

std::size_t model_turn::bytes() const noexcept {
    std::size_t sum = text_.size();
    for (const reasoning& each : reasoning_) {
        sum += each.text.size();
    }
    for (const call& each : calls_) {
        sum += each.name.size() + each.arguments.size();
    }
    return sum;
}

void model_turn::complete_calls() {
    for (std::size_t index = 0; index < calls_.size(); ++index) {
        fill_in_arguments(index);
    }
}

std::vector<session::message> model_turn::take_messages() {
    std::vector<session::message> messages;
    for (reasoning& each : reasoning_) {
        session::message& message = messages.emplace_back();
        message.id = std::move(each.id);
        message.role = session::role::reasoning;
        message.content = std::move(each.text);
    }
    const bool speaks = !text_.empty() || written_ || !calls_.empty();
    if (has_media_ && !speaks && origin_.end == session::turn_end::complete) {
        origin_.end = session::turn_end::media;
    }
    const bool is_kept_silent =
        origin_.end == session::turn_end::paused || origin_.end == session::turn_end::media;
    if (speaks || is_kept_silent) {
        session::message& assistant = messages.emplace_back();
        assistant.id = message_id_;
        assistant.role = session::role::assistant;
        assistant.content = std::move(text_);
        assistant.for_model = std::move(written_);
        for (call& made : calls_) {
            assistant.tool_calls.push_back({made.id, made.name, std::move(made.arguments), {}, {}});
        }
        if (has_origin()) {
            if (origin_.provider.empty()) {
                session::turn_origin without_data;
                without_data.tokens = origin_.tokens;
                without_data.end = origin_.end;
                origin_ = std::move(without_data);
            }
            assistant.origin = std::make_shared<const session::turn_origin>(std::move(origin_));
        }
    }
    return messages;
}

} // namespace agui::runner
