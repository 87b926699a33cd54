#include "runner/anthropic/anthropic_block_reader.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_members.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Limits of one answer in memory and in the store; a server that never stops must not use up the
// process's memory. Models make a few dozen blocks, with a few kilobytes of arguments each.
constexpr std::size_t blocks_max = 1024;
constexpr std::size_t calls_max = 128;
constexpr std::size_t argument_bytes_max = 8U << 20U;

// Limit of all opaque data of one answer, which is stored and sent again: signatures have some
// kilobytes, the results of a server's own search tool some hundred.
constexpr std::size_t members_bytes_max = 1U << 20U;

// Each stretch of reasoning is a message of its own, which costs eight events together with the
// text after it, and a place in the thread.
constexpr std::uint32_t changes_max = 1000;

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

} // namespace

void anthropic_block_reader::start(
    std::optional<std::int64_t> index, const json::object& value, bool torn
) {
    // The model goes on after a call, so the call was not cut.
    if (!blocks_.empty() && blocks_.back().record.what == kind::call && !blocks_.back().open) {
        end_call(blocks_.back());
    }
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
    }
}

void anthropic_block_reader::start_call(block& which, const json::object& value, bool torn) {
    const std::string name =
        torn ? to_utf8(string_in(value, "name")) : std::string(string_in(value, "name"));
    if (name.empty()) {
        fail("a call of the answer has no name");
        return;
    }
    if (calls_ == calls_max) {
        fail("the answer has too many calls");
        return;
    }
    which.call = calls_++;
    begun_ = true;
    const std::string id =
        torn ? to_utf8(string_in(value, "id")) : std::string(string_in(value, "id"));
    sink_.on_call(which.call, id, name);
    // The dialect sends an empty object here and the arguments in deltas.
    if (const json::object* const input = object_in(value, "input");
        input != nullptr && !input->empty() && !torn && session::is_finite(*input)) {
        which.start_input = json::serialize(*input);
    }
}

void anthropic_block_reader::delta(
    std::optional<std::int64_t> index, const json::object& value, bool torn
) {
    if (!problem_.empty()) {
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
    if (which != nullptr && which->open && problem_.empty()) {
        close(*which);
    }
}

void anthropic_block_reader::close(block& which) {
    which.open = false;
    flush(which);
    switch (which.record.what) {
    case kind::call:
        if (which.blank && !which.start_input.empty()) {
            pass_arguments(which, std::exchange(which.start_input, {}));
        }
        // Without arguments it may have been cut before them.
        if (which.arguments.whole()) {
            end_call(which);
        }
        break;
    case kind::other: {
        begun_ = true;
        if (which.input.empty()) {
            break;
        }
        result<json::value> input = parse_json(which.input, {.max_depth = 64});
        if (input && session::is_finite(*input)) {
            which.record.members["input"] = std::move(*input);
        } else {
            is_exact_ = false;
        }
        std::string().swap(which.input);
        break;
    }
    case kind::text:
    case kind::thinking:
        break;
    }
}

/// Passes on the ends of split characters and escapes, which will not be completed.
void anthropic_block_reader::flush(block& which) {
    std::string rest;
    which.half.finish(rest);
    if (which.record.what != kind::call) {
        tell(which, rest);
        return;
    }
    std::string last(which.escapes.mend(rest, mended_));
    last.append(which.escapes.finish());
    pass_arguments(which, last);
}

/// Ends a call that was not cut. Arguments that are no object stay as they are: the reader of the
/// call judges them.
void anthropic_block_reader::end_call(block& which) {
    if (which.ended || !problem_.empty()) {
        return;
    }
    if (which.blank) {
        pass_arguments(which, "{}");
    }
    if (which.arguments.whole()) {
        which.ended = true;
        sink_.on_call_end(which.call);
    }
}

void anthropic_block_reader::finish(bool complete) {
    if (!problem_.empty()) {
        return;
    }
    for (block& each : blocks_) {
        if (each.open && complete) {
            close(each);
        } else if (each.open) {
            flush(each);
        }
        if (complete && each.record.what == kind::call) {
            end_call(each);
        }
    }
}

void anthropic_block_reader::hand_over_record() {
    if (!is_exact_ || !problem_.empty()) {
        return;
    }
    answer_blocks all{.list = {}, .text = text_.value(), .thoughts = thoughts_.value()};
    for (block& each : blocks_) {
        // Without a signature, thoughts do not go back, and nothing about them needs to be kept.
        if (each.record.what == kind::thinking && !each.record.members.contains("signature")) {
            each.record.members.clear();
        }
        all.list.push_back(std::move(each.record));
    }
    blocks_.clear();
    if (!all.is_plain()) {
        sink_.on_turn_data(answer_blocks::key, to_json(all));
    }
}

bool anthropic_block_reader::none_cut() const noexcept {
    return std::ranges::all_of(blocks_, [](const block& each) {
        return each.record.what != kind::call || each.blank || each.arguments.whole();
    });
}

bool anthropic_block_reader::may_be_silent() const noexcept {
    return std::ranges::any_of(blocks_, [](const block& each) {
        return each.open && (each.record.what == kind::thinking || each.record.what == kind::other);
    });
}

/// The latest block of that index.
anthropic_block_reader::block* anthropic_block_reader::find(std::optional<std::int64_t> index
) noexcept {
    for (auto each = blocks_.rbegin(); each != blocks_.rend(); ++each) {
        if (!index || each->index == *index) {
            return &*each;
        }
    }
    return nullptr;
}

/// Null, with a problem, if there are too many blocks.
anthropic_block_reader::block*
anthropic_block_reader::add(std::optional<std::int64_t> index, kind what) {
    if (!problem_.empty()) {
        return nullptr;
    }
    if (blocks_.size() == blocks_max) {
        fail("the answer has too many blocks");
        return nullptr;
    }
    const std::int64_t next = blocks_.empty() ? 0 : blocks_.back().index + 1;
    block& made = blocks_.emplace_back();
    made.index = index.value_or(next);
    made.record.what = what;
    return &made;
}

/// The block of that index for a delta of text or thoughts; one is made for a server that starts
/// none, or goes on after it has stopped it.
anthropic_block_reader::block*
anthropic_block_reader::open_for(std::optional<std::int64_t> index, kind what) {
    block* const known = find(index);
    if (known != nullptr && known->record.what == what && known->open) {
        return known;
    }
    return add(index, what);
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

/// Keeps a member of a block, to be sent back. What cannot be written again as it came makes the
/// record useless: servers refuse changed blocks.
void anthropic_block_reader::keep(
    block& which, std::string_view name, const json::value& value, bool torn
) {
    is_exact_ = is_exact_ && !torn && session::is_finite(value) &&
                count_bytes(json::serialize(value).size());
    if (is_exact_) {
        which.record.members[name] = json::value(value, json::storage_ptr());
        begun_ = begun_ || which.record.what == kind::thinking;
    }
}

bool anthropic_block_reader::count_bytes(std::size_t bytes) noexcept {
    member_bytes_ += std::min(bytes, members_bytes_max + 1);
    return member_bytes_ <= members_bytes_max;
}

void anthropic_block_reader::say(block& which, std::string_view text, bool torn) {
    if (text.empty()) {
        return;
    }
    if (torn || !which.half.empty()) {
        joined_.clear();
        which.half.join(text, joined_);
        text = joined_;
    }
    tell(which, text);
}

void anthropic_block_reader::tell(block& which, std::string_view text) {
    if (text.empty() || !problem_.empty()) {
        return;
    }
    const kind what = which.record.what;
    if (std::exchange(last_told_, what) != what && ++changes_ > changes_max) {
        fail("the answer changes between text and reasoning too often");
        return;
    }
    // The record tells the pieces of the whole text by their lengths alone.
    const bool is_last =
        std::none_of(&which + 1, blocks_.data() + blocks_.size(), [&](auto& later) {
            return later.record.what == what && later.record.bytes > 0;
        });
    is_exact_ = is_exact_ && is_last;
    which.record.bytes += text.size();
    begun_ = true;
    if (what == kind::text) {
        text_.add(text);
        sink_.on_text(text);
    } else {
        thoughts_.add(text);
        sink_.on_reasoning(text);
    }
}

void anthropic_block_reader::argue(block& which, std::string_view text, bool torn) {
    if (text.empty()) {
        return;
    }
    if (which.ended) {
        fail("the answer has arguments after the end of a call");
        return;
    }
    if (torn || !which.half.empty()) {
        joined_.clear();
        which.half.join(text, joined_);
        text = joined_;
    }
    pass_arguments(which, which.escapes.mend(text, mended_));
}

void anthropic_block_reader::pass_arguments(block& which, std::string_view text) {
    if (text.empty() || !problem_.empty()) {
        return;
    }
    if (text.size() > argument_bytes_max - argument_bytes_) {
        fail("the arguments of the answer's calls are too long");
        return;
    }
    argument_bytes_ += text.size();
    which.blank = which.blank && is_json_blank(text);
    which.arguments.feed(text);
    sink_.on_call_arguments(which.call, text);
}

void anthropic_block_reader::fail(std::string_view problem) noexcept {
    if (problem_.empty()) {
        problem_ = problem;
    }
}

} // namespace agui::runner
