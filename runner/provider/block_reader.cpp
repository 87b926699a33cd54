#include "runner/provider/block_reader.hpp"

#include "runner/base/json_blanks.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
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

constexpr std::string_view nameless_call = "a call of the answer has no name";

} // namespace

void block_reader::begin_call(block& which, std::string_view id, std::string_view name, bool torn) {
    if (!problem_.empty()) {
        return;
    }
    if (name.empty()) {
        fail(nameless_call);
        return;
    }
    if (calls_ == calls_max) {
        fail("the answer has too many calls");
        return;
    }
    which.call = calls_++;
    which.begun = true;
    begun_ = true;
    if (torn) {
        sink_.on_call(which.call, to_utf8(id), to_utf8(name));
    } else {
        sink_.on_call(which.call, id, name);
    }
}

void block_reader::begin_hosted(std::string_view id, std::string_view name, bool torn) {
    if (problem_.empty() && !name.empty()) {
        begun_ = true;
        sink_.on_hosted_tool(id, torn ? to_utf8(name) : std::string(name), hosted_tool::running);
    }
}

void block_reader::end_hosted(std::string_view id, bool failed) {
    if (problem_.empty()) {
        sink_.on_hosted_tool(id, {}, failed ? hosted_tool::failed : hosted_tool::completed);
    }
}

void block_reader::end_former_call() {
    if (!blocks_.empty() && blocks_.back().record.what == kind::call && !blocks_.back().open) {
        end_call(blocks_.back());
    }
}

std::optional<answer_blocks> block_reader::take_record() {
    if (!is_exact_ || !problem_.empty()) {
        return std::nullopt;
    }
    answer_blocks all{.list = {}, .text = text_.value(), .thoughts = thoughts_.value()};
    for (block& each : blocks_) {
        all.list.push_back(std::move(each.record));
    }
    blocks_.clear();
    return all;
}

void block_reader::close(block& which) {
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
void block_reader::flush(block& which) {
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
void block_reader::end_call(block& which) {
    if (which.ended || !problem_.empty()) {
        return;
    }
    if (!which.begun) {
        fail(nameless_call);
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

void block_reader::finish(bool complete) {
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

bool block_reader::none_cut() const noexcept {
    return std::ranges::all_of(blocks_, [](const block& each) {
        return each.record.what != kind::call || each.blank || each.arguments.whole();
    });
}

bool block_reader::may_be_silent() const noexcept {
    return std::ranges::any_of(blocks_, [](const block& each) {
        return each.open && (each.record.what == kind::thinking || each.record.what == kind::other);
    });
}

/// The latest block of that index.
block_reader::block* block_reader::find(std::optional<std::int64_t> index) noexcept {
    for (auto each = blocks_.rbegin(); each != blocks_.rend(); ++each) {
        if (!index || each->index == *index) {
            return &*each;
        }
    }
    return nullptr;
}

/// Null, with a problem, if there are too many blocks.
block_reader::block* block_reader::add(std::optional<std::int64_t> index, kind what) {
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
block_reader::block* block_reader::open_for(std::optional<std::int64_t> index, kind what) {
    block* const known = find(index);
    if (known != nullptr && known->record.what == what && known->open) {
        return known;
    }
    return add(index, what);
}

/// Keeps a member of a block, to be sent back. What cannot be written again as it came makes the
/// record useless: servers refuse changed blocks.
void block_reader::keep(block& which, std::string_view name, const json::value& value, bool torn) {
    is_exact_ = is_exact_ && !torn && session::is_finite(value) &&
                count_bytes(json::serialize(value).size());
    if (is_exact_) {
        which.record.members[name] = json::value(value, json::storage_ptr());
        begun_ = begun_ || which.record.what == kind::thinking;
    }
}

bool block_reader::count_bytes(std::size_t bytes) noexcept {
    member_bytes_ += std::min(bytes, members_bytes_max + 1);
    return member_bytes_ <= members_bytes_max;
}

void block_reader::say(block& which, std::string_view text, bool torn) {
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

void block_reader::tell(block& which, std::string_view text) {
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

void block_reader::argue(block& which, std::string_view text, bool torn) {
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

void block_reader::pass_arguments(block& which, std::string_view text) {
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

void block_reader::fail(std::string_view problem) noexcept {
    if (problem_.empty()) {
        problem_ = problem;
    }
}

} // namespace agui::runner
