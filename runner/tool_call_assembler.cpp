#include "runner/tool_call_assembler.hpp"

namespace agui::runner {

namespace {

// What one answer may make the process hold and store. Models emit a handful of calls and a few
// kilobytes; a server that goes on without end must not take the process with it.
constexpr std::size_t calls_max = 128;
constexpr std::size_t argument_bytes_max = 8U << 20U;

// What some servers send as the arguments of a call before its real arguments.
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
        pass_held();
        which = &calls_.emplace_back();
    }
    if (fragment.index && *fragment.index >= 0) {
        which->index = fragment.index;
    }
    if (which->id.empty()) {
        which->id.assign(fragment.id);
    }
    if (which->name.empty()) {
        which->name.assign(fragment.name);
    }
    if (!which->number && !which->name.empty()) {
        announce(*which);
    }
    pass_arguments(*which, fragment.arguments);
    return status::ok;
}

// A call that another one follows is complete: what looked like a placeholder was meant.
void tool_call_assembler::pass_held() {
    for (call& each : calls_) {
        if (each.number && !each.held.empty()) {
            each.started = true;
            sink_.on_call_arguments(*each.number, each.held);
            each.held.clear();
        }
    }
}

tool_call_assembler::status tool_call_assembler::finish() {
    for (call& each : calls_) {
        if (!each.number) {
            // An entry of empty members is noise; anything more is a call that nobody can execute.
            if (!each.id.empty() || !each.held.empty()) {
                return status::nameless;
            }
        } else if (!each.held.empty()) {
            sink_.on_call_arguments(*each.number, each.held);
            each.held.clear();
        }
    }
    return status::ok;
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
        // The latest call of this index: servers that give every call the index 0 go on with the last.
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->index == fragment.index) {
                return begins_anew(*each, fragment) ? nullptr : &*each;
            }
        }
    }
    if (!fragment.id.empty()) {
        for (auto each = calls_.rbegin(); each != calls_.rend(); ++each) {
            if (each->id == fragment.id) {
                // One id under two numbers, each with a name: two calls of a server that makes bad ids.
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
        // Nothing that names a call: the last one goes on, unless both have numbers, which differ.
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
    // The same name without an id: repeated by a server that repeats it always, unless the call is
    // whole and this is the beginning of another object.
    return known.brackets.closed() && fragment.arguments.starts_with('{');
}

void tool_call_assembler::announce(call& which) {
    which.number = announced_++;
    sink_.on_call(*which.number, which.id, which.name);
    if (!which.held.empty() && which.held != placeholder) {
        which.started = true;
        sink_.on_call_arguments(*which.number, which.held);
        which.held.clear();
    }
}

void tool_call_assembler::pass_arguments(call& which, std::string_view arguments) {
    if (arguments.empty()) {
        return;
    }
    if (!which.started && which.held == placeholder && arguments.starts_with('{')) {
        which.held.clear();
        which.brackets = {};
    }
    which.brackets.feed(arguments);
    if (!which.number || (!which.started && which.held.empty() && arguments == placeholder)) {
        which.held.append(arguments);
        return;
    }
    if (!which.held.empty()) {
        sink_.on_call_arguments(*which.number, which.held);
        which.held.clear();
    }
    which.started = true;
    sink_.on_call_arguments(*which.number, arguments);
}

} // namespace agui::runner
