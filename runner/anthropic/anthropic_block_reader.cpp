#include "runner/anthropic/anthropic_block_reader.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

// The type of such a call tells who executes it: server_tool_use, mcp_tool_use.
constexpr std::string_view end_of_hosted_calls = "_tool_use";

answer_blocks::block::kind kind_of(std::string_view type) noexcept {
    using kind = answer_blocks::block::kind;
    return type == "text"       ? kind::text
           : type == "thinking" ? kind::thinking
           : type == "tool_use" ? kind::call
                                : kind::other;
}

/// True for members of a block that are stored as text, reasoning or calls.
bool is_stored_elsewhere(answer_blocks::block::kind what, std::string_view name) noexcept {
    using kind = answer_blocks::block::kind;
    switch (what) {
    case kind::text:
        return name == "type" || name == "text";
    case kind::thinking:
        return name == "type" || name == "thinking";
    case kind::call:
        return name == "type" || name == "id" || name == "name" || name == "input";
    case kind::other:
        break;
    }
    return false;
}

/// True for a result that is an error, of which MCP and the other tools have different forms.
bool is_failure(const json::object& result) {
    const json::object* const content = object_in(result, "content");
    const json::value* const is_error = result.if_contains("is_error");
    return (is_error != nullptr && *is_error == true) ||
           (content != nullptr && string_in(*content, "type").ends_with("_error"));
}

/// True if the answer has a call of a tool of the server without its result.
bool waits_for_server(const std::vector<answer_blocks::block>& list) {
    return std::ranges::any_of(list, [&list](const answer_blocks::block& call) {
        const std::string_view id = string_in(call.members, "id");
        return string_in(call.members, "type").ends_with(end_of_hosted_calls) &&
               std::ranges::none_of(list, [id](const answer_blocks::block& each) {
                   return string_in(each.members, "tool_use_id") == id;
               });
    });
}

} // namespace

void anthropic_block_reader::start(
    std::optional<std::int64_t> index, const json::object& value, bool torn
) {
    end_former_call();
    if (block* const former = index ? find(index) : nullptr; former != nullptr && former->open) {
        close(*former);
    }
    const kind what = kind_of(string_in(value, "type"));
    block* const made = add(index, what);
    if (made == nullptr) {
        return;
    }
    keep_members(*made, value, torn);
    if (what == kind::text) {
        say(*made, string_in(value, "text"), torn);
    } else if (what == kind::thinking) {
        say(*made, string_in(value, "thinking"), torn);
    } else if (what == kind::call) {
        start_call(*made, value, torn);
    } else if (string_in(value, "type").ends_with(end_of_hosted_calls)) {
        begin_hosted(string_in(value, "id"), string_in(value, "name"), torn);
    } else if (const std::string_view id = string_in(value, "tool_use_id"); !id.empty()) {
        end_hosted(id, is_failure(value));
    }
}

void anthropic_block_reader::start_call(block& which, const json::object& value, bool torn) {
    begin_call(which, string_in(value, "id"), string_in(value, "name"), torn);
    // The dialect sends an empty object here and the arguments in deltas.
    if (const json::object* const input = object_in(value, "input");
        input != nullptr && !input->empty() && !torn && session::is_finite(*input)) {
        which.start_input = json::serialize(*input);
    }
}

void anthropic_block_reader::delta(
    std::optional<std::int64_t> index, const json::object& value, bool torn
) {
    if (!problem().empty()) {
        return;
    }
    const std::string_view type = string_in(value, "type");
    const block* const known = find(index);
    if (known != nullptr && known->record.what == kind::other) {
        add_to_other(*find(index), type, value, torn);
    } else if (type == "text_delta") {
        if (block* const which = open_for(index, kind::text)) {
            say(*which, string_in(value, "text"), torn);
        }
    } else if (type == "thinking_delta") {
        if (block* const which = open_for(index, kind::thinking)) {
            say(*which, string_in(value, "thinking"), torn);
        }
    } else if (type == "input_json_delta") {
        block* const which = find(index);
        if (which == nullptr || which->record.what != kind::call) {
            fail("the answer has arguments outside of a call");
            return;
        }
        argue(*which, string_in(value, "partial_json"), torn);
    } else if (type == "signature_delta") {
        block* const which = find(index);
        const std::string_view signature = string_in(value, "signature");
        if (which != nullptr && which->record.what == kind::thinking && !signature.empty()) {
            keep(*which, "signature", json::string(signature), torn);
        }
    } else if (type == "citations_delta") {
        block* const which = find(index);
        const json::value* const citation = value.if_contains("citation");
        if (which != nullptr && which->record.what == kind::text && citation != nullptr) {
            json::array all;
            if (const json::array* const former = array_in(which->record.members, "citations")) {
                all = *former;
            }
            all.push_back(*citation);
            keep(*which, "citations", all, torn);
        }
    } else if (known != nullptr && known->record.what != kind::text) {
        is_exact_ = false; // Something of a block is lost.
    }
}

/// Adds a delta to a block that goes back as it came. Deltas of other blocks' kinds may occur.
void anthropic_block_reader::add_to_other(
    block& which, std::string_view type, const json::object& value, bool torn
) {
    const auto append = [&](std::string_view name, std::string_view more) {
        std::string whole(string_in(which.record.members, name));
        keep(which, name, json::string(whole.append(more)), torn);
    };
    if (type == "input_json_delta") {
        const std::string_view piece = string_in(value, "partial_json");
        is_exact_ = is_exact_ && count_bytes(piece.size()) && !torn;
        which.input.append(is_exact_ ? piece : std::string_view());
    } else if (type == "text_delta") {
        append("text", string_in(value, "text"));
    } else {
        is_exact_ = false;
    }
}

void anthropic_block_reader::stop(std::optional<std::int64_t> index) {
    block* const which = find(index);
    if (which != nullptr && which->open && problem().empty()) {
        close(*which);
    }
}

bool anthropic_block_reader::hand_over_record(ending how) {
    std::optional<answer_blocks> all = take_record();
    // The server refuses a call of its own tool without a result, which a cut answer never gets.
    if (!all || (how == ending::cut && waits_for_server(all->list))) {
        return all.has_value();
    }
    for (answer_blocks::block& each : all->list) {
        // Without a signature, thoughts do not go back, and nothing about them needs to be kept.
        if (each.what == kind::thinking && !each.members.contains("signature")) {
            each.members.clear();
        }
    }
    if (how == ending::pause || !all->is_plain()) {
        sink_.on_turn_data(record_name, to_json(*all));
    }
    return true;
}

void anthropic_block_reader::keep_members(block& which, const json::object& value, bool torn) {
    for (const auto& [name, member] : value) {
        // A signature is empty at the start, and so are citations.
        const bool is_empty =
            which.record.what != kind::other &&
            (member.is_null() || (member.is_string() && member.get_string().empty()) ||
             (member.is_array() && member.get_array().empty()));
        if (!is_empty && !is_stored_elsewhere(which.record.what, name)) {
            keep(which, name, member, torn);
        }
    }
}

} // namespace agui::runner
