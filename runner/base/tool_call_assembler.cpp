#include "runner/base/tool_call_assembler.hpp"

#include <boost/json/serialize.hpp>

namespace agui::runner {

namespace {

// Limits of what one answer may make the process hold and store. Models make a few calls with a few
// kilobytes; a server that never stops must not use up the process's memory.
constexpr std::size_t calls_max = 128;
constexpr std::size_t argument_bytes_max = 8U << 20U;

// Sent by some servers as the arguments of a call before the real ones.
constexpr std::string_view placeholder = "{}";

} // namespace

void tool_call_assembler::bracket_counter::feed(std::string_view text) noexcept {
    for (const char c : text) {
        if (in_string_) {
            if (escaped_) {
                escaped_ = false;
            } else if (c == '\\') {
                escaped_ = true;
            } else if (c == '"') {
                in_string_ = false;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            begun_ = true;
            ++depth_;
        } else if (c == '}' || c == ']') {
            --depth_;
        } else if (c == '"') {
            begun_ = true;
            in_string_ = true;
        }
    }
}

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
    if (which->name.empty() && !fragment.name.empty()) {
        which->name.assign(fragment.name);
        which->place = named_.size();
        named_.push_back(static_cast<std::size_t>(which - calls_.data()));
    }
    if (!keep_extra(*which, fragment)) {
        return status::too_many_bytes;
    }
    if (fragment.torn || !which->half.empty()) {
        std::string joined;
        which->half.join(fragment.arguments, joined);
        hold(*which, joined);
    } else {
        hold(*which, fragment.arguments);
    }
    if (which->emptied && !which->held.empty()) {
        return status::too_late;
    }
    pass_in_order();
    return status::ok;
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

bool tool_call_assembler::is_placeholder(std::string_view arguments) noexcept {
    return arguments == placeholder;
}

void tool_call_assembler::hold(call& which, std::string_view arguments) {
    const bool is_blank = arguments.find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (is_blank && (which.blank || which.brackets.closed())) {
        return; // White space around the arguments is not part of them.
    }
    if (is_placeholder(which.held) && arguments.starts_with('{')) {
        which.held.clear();
        which.brackets = {};
    }
    which.blank = which.blank && is_blank;
    which.brackets.feed(arguments);
    which.held.append(arguments);
}

// True if the arguments are a whole object, and the sink has all of it.
bool tool_call_assembler::complete(const call& which) noexcept {
    return which.held.empty() && which.brackets.closed();
}

// True if a later call has arguments. A `{}` before them was then no placeholder: servers that send
// one complete a call before the next.
bool tool_call_assembler::followed_by_arguments(std::size_t place) const {
    for (std::size_t later = place + 1; later < named_.size(); ++later) {
        const call& each = calls_[named_[later]];
        if (!each.held.empty() && !is_placeholder(each.held)) {
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
    if (!which.held.empty()) {
        sink_.on_call_arguments(*which.place, which.held);
        which.held.clear();
    }
}

void tool_call_assembler::pass_in_order() {
    // Late arguments of calls before the current one.
    for (std::size_t place = 0; place < current_; ++place) {
        pass(calls_[named_[place]]);
    }
    while (current_ < named_.size()) {
        call& which = calls_[named_[current_]];
        if (!which.announced && !which.held.empty() && is_placeholder(which.held)) {
            which.announced = true;
            sink_.on_call(*which.place, which.id, which.name);
        }
        if (is_placeholder(which.held) && followed_by_arguments(current_)) {
            which.emptied = true;
            pass(which);
        } else if (!is_placeholder(which.held)) {
            pass(which);
        }
        if (current_ + 1 == named_.size() || !complete(which)) {
            return;
        }
        ++current_;
    }
}

void tool_call_assembler::settle() {
    for (; current_ < named_.size(); ++current_) {
        call& which = calls_[named_[current_]];
        which.emptied = is_placeholder(which.held);
        pass(which);
    }
}

tool_call_assembler::status tool_call_assembler::finish(bool whole) {
    for (const call& each : calls_) {
        // A call with neither a name nor anything else means nothing; any other cannot be executed.
        if (!each.place && (!each.id.empty() || !each.held.empty())) {
            return status::nameless;
        }
    }
    for (const std::size_t index : named_) {
        call& which = calls_[index];
        std::string rest;
        which.half.finish(rest);
        hold(which, rest);
        if (which.blank && whole) {
            which.held = placeholder;
        }
        pass(which);
        if (!which.extra_content.empty()) {
            sink_.on_call_data(*which.place, {{"extra_content", which.extra_content}});
        }
    }
    return status::ok;
}

bool tool_call_assembler::all_whole() const noexcept {
    for (const call& each : calls_) {
        if (!each.brackets.closed()) {
            return false;
        }
    }
    return true;
}

bool tool_call_assembler::all_closed() const noexcept {
    for (const call& each : calls_) {
        if (!each.brackets.empty() && !each.brackets.closed()) {
            return false;
        }
    }
    return true;
}

tool_call_assembler::call* tool_call_assembler::find(const call_fragment& fragment) {
    const bool numbered = fragment.index && *fragment.index >= 0;
    if (numbered) {
        // The latest call with this index: servers that give every call the index 0 continue the
        // last.
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->index == fragment.index) {
                return begins_anew(*each, fragment) ? nullptr : &*each;
            }
        }
    }
    if (!fragment.id.empty()) {
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->id == fragment.id) {
                // One id under two numbers, each with a name: two calls from a server that repeats
                // ids.
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
        // Nothing names a call: the last one continues, unless both have numbers and these differ.
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
    // The same name, and no ids to compare: some servers repeat the name in every fragment. It is
    // another call only if the known one is complete and another object begins.
    return known.brackets.closed() && fragment.arguments.starts_with('{');
}

} // namespace agui::runner
