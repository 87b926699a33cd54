#include "runner/base/tool_call_assembler.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::runner {

namespace {

// Limits of one answer's calls in memory and in the store. Models make a few calls with a few
// kilobytes; a server that never stops must not use up the process's memory.
constexpr std::size_t calls_max = 128;
constexpr std::size_t argument_bytes_max = 8U << 20U;

} // namespace

tool_call_assembler::status tool_call_assembler::add(const call_fragment& fragment) {
    if (fragment.arguments.size() > argument_bytes_max - argument_bytes_) {
        return status::too_many_bytes;
    }
    argument_bytes_ += fragment.arguments.size();

    call* which = find(fragment);
    if (which == nullptr) {
        if (calls_.size() == calls_max) {
            return status::too_many_calls;
        }
        which = &calls_.emplace_back();
    }
    if (fragment.index && *fragment.index >= 0) {
        which->index = fragment.index;
    }
    if (which->id.empty()) {
        which->id.assign(fragment.id);
    }
    const auto at = static_cast<std::size_t>(which - calls_.data());
    if (which->name.empty() && !fragment.name.empty()) {
        which->name.assign(fragment.name);
        give_place(at);
    }
    if (!keep_extra(*which, fragment)) {
        return status::too_many_bytes;
    }
    std::string_view arguments = fragment.arguments;
    if (fragment.torn || !which->half.empty()) {
        joined_.clear();
        which->half.join(arguments, joined_);
        arguments = joined_;
    }
    const status taken = take_arguments(at, fragment, which->escapes.mend(arguments, mended_));
    if (taken == status::ok) {
        pass_in_order();
    }
    return taken;
}

/// An object that follows the arguments is another call, which the server did not separate: no
/// server sends both as one text.
tool_call_assembler::status tool_call_assembler::take_arguments(
    std::size_t which, const call_fragment& fragment, std::string_view arguments
) {
    std::string rest = calls_[which].arguments.feed(arguments);
    place_follower(which);
    while (!rest.empty()) {
        if (calls_[which].settled) {
            return status::too_late;
        }
        if (calls_.size() == calls_max) {
            return status::too_many_calls;
        }
        call next;
        next.index = calls_[which].index;
        next.name = calls_[which].name;
        next.id = fragment.id == calls_[which].id ? std::string_view() : fragment.id;
        next.follows = which;
        // A character cut at the end of the fragment no longer belongs to the former call.
        next.half = std::exchange(calls_[which].half, {});
        next.escapes = std::exchange(calls_[which].escapes, {});
        rest = next.arguments.feed(rest);
        which = calls_.size();
        calls_.push_back(std::move(next));
        place_follower(which);
    }
    const call& last = calls_[which];
    return last.ended && !last.arguments.ready().empty() ? status::too_late : status::ok;
}

void tool_call_assembler::give_place(std::size_t which) {
    calls_[which].place = named_.size();
    named_.push_back(which);
}

/// Some servers repeat the arguments of a call, or end with a placeholder; neither is another call.
void tool_call_assembler::place_follower(std::size_t which) {
    const call& follower = calls_[which];
    if (follower.follows && !follower.place && !follower.name.empty() &&
        follower.arguments.whole() &&
        follower.arguments.hash() != calls_[*follower.follows].arguments.hash()) {
        give_place(which);
    }
}

bool tool_call_assembler::keep_extra(call& which, const call_fragment& fragment) {
    if (fragment.extra_content == nullptr) {
        return true;
    }
    const std::size_t bytes = boost::json::serialize(*fragment.extra_content).size();
    if (bytes > argument_bytes_max - argument_bytes_) {
        return false;
    }
    argument_bytes_ += bytes;
    which.extra_content = boost::json::object(*fragment.extra_content, boost::json::storage_ptr());
    return true;
}

// True if a later call has arguments. An earlier placeholder was then the arguments: servers that
// send one before the arguments complete each call before the next.
bool tool_call_assembler::followed_by_arguments(std::size_t place) const {
    for (std::size_t later = place + 1; later < named_.size(); ++later) {
        if (!calls_[named_[later]].arguments.ready().empty()) {
            return true;
        }
    }
    return false;
}

void tool_call_assembler::pass(call& which) {
    if (!which.announced) {
        which.announced = true;
        sink_.on_call(*which.place, which.id, which.name);
    }
    if (!which.arguments.ready().empty()) {
        sink_.on_call_arguments(*which.place, which.arguments.ready());
        which.arguments.taken();
    }
}

void tool_call_assembler::pass_in_order() {
    while (current_ < named_.size()) {
        call& which = calls_[named_[current_]];
        if (which.arguments.placeholder() && followed_by_arguments(current_)) {
            which.arguments.settle();
            which.settled = true;
        }
        pass(which);
        if (current_ + 1 == named_.size() || !which.arguments.whole()) {
            return;
        }
        which.ended = true;
        sink_.on_call_end(*which.place);
        ++current_;
    }
}

tool_call_assembler::status tool_call_assembler::finish(bool whole) {
    for (std::size_t at = 0; at < calls_.size(); ++at) {
        call& each = calls_[at];
        std::string rest;
        each.half.finish(rest);
        std::string last(each.escapes.mend(rest, mended_));
        last.append(each.escapes.finish());
        (void)each.arguments.feed(last); // U+FFFD and cut escapes begin no object.
        if (each.follows && !each.place) {
            // A repetition or a placeholder is whole; any other text was cut.
            if (!each.arguments.whole() && !each.arguments.placeholder()) {
                give_place(at);
            }
        } else if (!each.place && (!each.id.empty() || !each.arguments.blank())) {
            // A call with neither name, id nor arguments is ignored; without a name, any other call
            // cannot be executed.
            return status::nameless;
        }
    }
    for (const std::size_t index : named_) {
        call& which = calls_[index];
        which.arguments.finish(whole);
        pass(which);
        if (!which.extra_content.empty()) {
            sink_.on_call_data(*which.place, {{"extra_content", which.extra_content}});
        }
        // In a cut answer, a call that was not whole before stays incomplete.
        if (whole && !which.ended && which.place != named_.size() - 1) {
            which.ended = true;
            sink_.on_call_end(*which.place);
        }
    }
    return status::ok;
}

bool tool_call_assembler::all_whole() const noexcept {
    return std::ranges::all_of(calls_, [](const call& each) {
        return each.arguments.whole() || each.arguments.placeholder();
    });
}

bool tool_call_assembler::none_cut() const noexcept {
    return std::ranges::all_of(calls_, [](const call& each) {
        const argument_text& text = each.arguments;
        return text.whole() || text.placeholder() || text.blank();
    });
}

tool_call_assembler::call* tool_call_assembler::find(const call_fragment& fragment) {
    const bool numbered = fragment.index && *fragment.index >= 0;
    if (numbered) {
        // The latest call with this index: servers that give every call the index 0 continue the
        // last one.
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->index == fragment.index) {
                return begins_anew(*each, fragment) ? nullptr : &*each;
            }
        }
    }
    if (!fragment.id.empty()) {
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->id == fragment.id) {
                // The same id under two indexes, each with a name, means two calls of a server that
                // repeats ids.
                const bool other = numbered && each->index && !fragment.name.empty();
                return other ? nullptr : &*each;
            }
        }
    }
    if (calls_.empty()) {
        return nullptr;
    }
    call& last = calls_.back();
    if (fragment.name.empty()) {
        // Without id and name, the last call continues, unless both have an index and these differ.
        return numbered && last.index ? nullptr : &last;
    }
    if (numbered || !fragment.id.empty()) {
        return nullptr;
    }
    return begins_anew(last, fragment) ? nullptr : &last;
}

bool tool_call_assembler::begins_anew(const call& known, const call_fragment& fragment) {
    if (fragment.name.empty() || known.name.empty()) {
        return false;
    }
    if (!fragment.id.empty() && !known.id.empty()) {
        return fragment.id != known.id;
    }
    if (fragment.name != known.name) {
        return true;
    }
    // The name is the same and ids are missing: some servers repeat the name in every fragment. It
    // is another call only if the known one is complete and another object begins.
    return (known.arguments.whole() || known.arguments.placeholder()) &&
           fragment.arguments.starts_with('{');
}

} // namespace agui::runner
