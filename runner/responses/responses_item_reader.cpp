#include "runner/responses/responses_item_reader.hpp"

#include "runner/base/generated_media.hpp"
#include "runner/base/json_blanks.hpp"
#include "runner/base/json_members.hpp"
#include "runner/provider/answer_blocks.hpp"
#include "session/base/contains.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

namespace json = boost::json;

namespace {

using kind = answer_blocks::block::kind;

// Limit of an id that is kept to recognize its item. They have some fifty bytes.
constexpr std::size_t id_bytes_max = 256;

kind kind_of(std::string_view type) noexcept {
    return type == "message" ? kind::text : type == "function_call" ? kind::call : kind::other;
}

constexpr std::string_view end_of_calls = "_call";

/// True for members of an item that are stored as text or calls, or say nothing.
bool is_stored_elsewhere(kind what, std::string_view name, const json::value& value) noexcept {
    constexpr std::array<std::string_view, 3> of_text = {"type", "role", "content"};
    constexpr std::array<std::string_view, 4> of_call = {"type", "call_id", "name", "arguments"};
    switch (what) {
    case kind::text:
        return value.is_null() || contains(of_text, name);
    case kind::call:
        return value.is_null() || contains(of_call, name);
    case kind::thinking:
    case kind::other:
        break;
    }
    return false;
}

/// The arguments of a call: a text, or the object of a server that does not write it as one.
std::string arguments_in(const json::object& item) {
    const json::value* const value = item.if_contains("arguments");
    return value != nullptr && value->is_object() ? json::serialize(*value)
                                                  : std::string(text_of(value));
}

/// True for a tool that the server executes. Those that somebody else is to execute have a call_id.
bool is_hosted_tool(const json::object& item) noexcept {
    return string_in(item, "type").ends_with(end_of_calls) && string_in(item, "call_id").empty();
}

/// The name of an MCP server's tool, or else of the kind of tool.
std::string_view name_of_hosted_tool(const json::object& item) noexcept {
    const std::string_view name = string_in(item, "name");
    std::string_view type = string_in(item, "type");
    type.remove_suffix(end_of_calls.size());
    return name.empty() ? type : name;
}

// A larger image does not go back, so that it does not take the room of the turn's other opaque
// data (block_reader). The server, which stores nothing for us, takes no image by its id alone.
constexpr std::size_t sent_image_bytes_max = 512U << 10U;

bool is_image(const json::object& item) noexcept {
    return string_in(item, "type") == "image_generation_call";
}

/// True for a member of an image's item without which the item cannot go back, and that is too
/// large to do so.
bool is_too_large(const json::object& item, std::string_view name) noexcept {
    return is_image(item) && name == "result" &&
           string_in(item, "result").size() > sent_image_bytes_max;
}

/// True for a call of an MCP server's tool that failed.
bool is_error(const json::object& item) noexcept {
    const json::value* const error = item.if_contains("error");
    return error != nullptr && !error->is_null();
}

/// True for a call of a tool that is not ours, such as a custom one, without its output: nobody
/// gives that, and the server refuses the one without the other. Tools of the server have no
/// call_id.
bool is_unanswered(
    const answer_blocks::block& value, const std::vector<answer_blocks::block>& all
) {
    const std::string_view id = string_in(value.members, "call_id");
    return value.what == kind::other && !id.empty() &&
           std::ranges::none_of(all, [id](const answer_blocks::block& each) {
               return each.what == kind::other && string_in(each.members, "call_id") == id &&
                      string_in(each.members, "type").ends_with("_output");
           });
}

/// True for an item that cannot go back: such a call, or an image that is_too_large().
bool is_incomplete(
    const answer_blocks::block& value, const std::vector<answer_blocks::block>& all
) {
    return is_unanswered(value, all) ||
           (is_image(value.members) && string_in(value.members, "result").empty());
}

/// Leaves out such items, and reasoning that stands directly before one. Returns their number.
std::size_t leave_out_incomplete(std::vector<answer_blocks::block>& list) {
    const std::size_t before = list.size();
    bool leaves_out = false;
    for (std::size_t at = list.size(); at-- > 0;) {
        const bool is_reasoning = string_in(list[at].members, "type") == "reasoning";
        leaves_out = is_reasoning ? leaves_out : is_incomplete(list[at], list);
        if (leaves_out) {
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
    return before - list.size();
}

} // namespace

responses_item_reader::position responses_item_reader::named(std::string_view id) const {
    const auto known = std::find_if(ids_.rbegin(), ids_.rend(), [id](const auto& each) {
        return each.first == id;
    });
    return known == ids_.rend() ? position() : known->second;
}

void responses_item_reader::start(position index, const json::object& item, bool torn) {
    end_former_call();
    const block* const last = find(std::nullopt);
    // The record has the items in the order in which they began.
    is_exact_ = is_exact_ && (last == nullptr || !index || *index >= last->index);
    if (block* const former = index ? find(index) : nullptr; former != nullptr && former->open) {
        close(*former);
    }
    const kind what = kind_of(string_in(item, "type"));
    block* const made = add(index, what);
    if (const std::string_view id = string_in(item, "id");
        made != nullptr && !index && !id.empty() && id.size() <= id_bytes_max) {
        ids_.emplace_back(id, made->index);
    }
    if (made != nullptr && what == kind::call && !string_in(item, "name").empty()) {
        begin_call(*made, string_in(item, "call_id"), string_in(item, "name"), torn);
        made->start_input = torn ? std::string() : arguments_in(item);
    } else if (made != nullptr && what == kind::other && is_hosted_tool(item)) {
        begin_hosted(std::to_string(made->index), name_of_hosted_tool(item), torn);
    }
}

void responses_item_reader::text(position index, position part, std::string_view delta, bool torn) {
    if (block* const which = open_for(index, kind::text)) {
        which->part = part.value_or(0);
        say(*which, delta, torn);
    }
}

void responses_item_reader::whole_text(
    position index, position part, std::string_view said, bool torn
) {
    block* const which = open_for(index, kind::text);
    if (which != nullptr && (which->record.bytes == 0 || which->part != part.value_or(0))) {
        which->part = part.value_or(0);
        say(*which, said, torn);
    }
}

void responses_item_reader::thought(
    position index, position part, std::string_view delta, bool torn
) {
    block* const which = open_for(index, kind::other);
    if (which == nullptr || delta.empty()) {
        return;
    }
    if (std::exchange(which->part, part.value_or(0)) != part.value_or(0) &&
        which->record.bytes > 0) {
        say(*which, "\n\n", false);
    }
    say(*which, delta, torn);
}

void responses_item_reader::arguments(position index, std::string_view delta, bool torn) {
    block* const which = find(index);
    if (which == nullptr || which->record.what != kind::call) {
        fail("the answer has arguments outside of a call");
    } else if (which->begun) { // Otherwise the end of the item has the name and the arguments.
        argue(*which, delta, torn);
    }
}

void responses_item_reader::whole_arguments(position index, std::string_view all, bool torn) {
    block* const which = find(index);
    if (which != nullptr && which->record.what == kind::call && which->begun) {
        agree(*which, all, torn);
        if (which->arguments.whole() && which->open) {
            close(*which);
        }
    }
}

/// Takes the arguments at their end: all of them, or those that the deltas made.
void responses_item_reader::agree(block& which, std::string_view all, bool torn) {
    if (is_json_blank(all)) {
        return;
    }
    if (which.blank) {
        which.start_input.clear();
        argue(which, all, torn);
        return;
    }
    object_text whole;
    whole.feed(with_well_formed_text(all));
    const bool both = whole.whole() && which.arguments.whole();
    // An object that the deltas did not complete was cut on its way.
    if (both ? whole.hash() != which.arguments.hash() : whole.whole() || which.arguments.whole()) {
        fail("the arguments of a call differ between their pieces and their end");
    }
}

/// The block of an item that is complete. Some servers send nothing of an item before.
block_reader::block*
responses_item_reader::item_for(position index, const json::object& item, bool torn) {
    block* const known = find(index);
    if (known != nullptr && known->record.what == kind_of(string_in(item, "type"))) {
        if (!known->sealed) {
            return known;
        }
        const std::string_view id = string_in(item, "id");
        if (!id.empty() && id == string_in(known->record.members, "id")) {
            return nullptr; // Sent twice.
        }
    }
    start(index, item, torn);
    return problem().empty() ? find(index) : nullptr;
}

void responses_item_reader::done(position index, const json::object& item, bool torn) {
    block* const which = problem().empty() ? item_for(index, item, torn) : nullptr;
    if (which == nullptr) {
        return;
    }
    which->sealed = true;
    switch (which->record.what) {
    case kind::text:
        complete_message(*which, item, torn);
        break;
    case kind::call:
        complete_call(*which, item, torn);
        break;
    case kind::thinking:
    case kind::other:
        complete_thoughts(*which, item, torn);
        if (is_hosted_tool(item)) {
            const bool failed = string_in(item, "status") == "failed" || is_error(item);
            end_hosted(std::to_string(which->index), failed);
        }
        if (const std::string_view image = string_in(item, "result");
            is_image(item) && !image.empty()) {
            begun_ = true;
            pass_media(sink_, generated_media::kind::image, image);
        }
        break;
    }
    for (const auto& [name, value] : item) {
        if (!is_stored_elsewhere(which->record.what, name, value) && !is_too_large(item, name)) {
            keep(*which, name, value, torn);
        }
    }
    if (which->open) {
        close(*which);
    }
}

void responses_item_reader::complete_message(block& which, const json::object& item, bool torn) {
    const json::array* const content = array_in(item, "content");
    if (content == nullptr || which.record.bytes > 0) {
        return;
    }
    for (const json::value& each : *content) {
        if (const json::object* const part = each.if_object()) {
            say(which, string_in(*part, "text"), torn);
            say(which, string_in(*part, "refusal"), torn);
        }
    }
}

void responses_item_reader::complete_call(block& which, const json::object& item, bool torn) {
    if (!which.begun) {
        begin_call(which, string_in(item, "call_id"), string_in(item, "name"), torn);
    }
    if (problem().empty()) {
        agree(which, arguments_in(item), torn);
    }
}

/// Tells the summary of reasoning, or else its text, if no delta did.
void responses_item_reader::complete_thoughts(block& which, const json::object& item, bool torn) {
    if (string_in(item, "type") != "reasoning" || which.record.bytes > 0) {
        return;
    }
    for (const std::string_view name : {"summary", "content"}) {
        const json::array* const parts = array_in(item, name);
        if (parts == nullptr || parts->empty() || which.record.bytes > 0) {
            continue;
        }
        for (const json::value& each : *parts) {
            const json::object* const part = each.if_object();
            if (part != nullptr && !string_in(*part, "text").empty()) {
                say(which, which.record.bytes > 0 ? "\n\n" : "", false);
                say(which, string_in(*part, "text"), torn);
            }
        }
    }
}

void responses_item_reader::whole(const json::array& output, bool torn) {
    for (const json::value& each : output) {
        if (const json::object* const item = each.if_object()) {
            start(std::nullopt, *item, torn);
            done(std::nullopt, *item, torn);
        }
    }
}

// The server refuses reasoning that it could not decrypt, and items whose ids it knows without the
// reasoning before them. So the ids go back only if all of the reasoning does.
bool responses_item_reader::hand_over_record() {
    std::optional<answer_blocks> all = take_record();
    if (!all) {
        return false;
    }
    std::size_t lost = leave_out_incomplete(all->list);
    lost += std::erase_if(all->list, [](const answer_blocks::block& each) {
        const std::string_view type = string_in(each.members, "type");
        return each.what == kind::other &&
               (type.empty() ||
                (type == "reasoning" && string_in(each.members, "encrypted_content").empty()));
    });
    const bool has_opaque = std::ranges::any_of(all->list, [](const answer_blocks::block& each) {
        return each.what == kind::other;
    });
    for (answer_blocks::block& each : all->list) {
        if (each.what == kind::other) {
            each.bytes = 0; // The item itself has its text.
        } else if (lost > 0 || !has_opaque) {
            each.members.erase("id");
            each.members.erase("status");
        }
    }
    all->thoughts = text_hash().value();
    if (!all->is_plain()) {
        sink_.on_turn_data(record_name, to_json(*all));
    }
    return true;
}

} // namespace agui::runner
