#include "translator/agui/canonical_writer.hpp"

#include "runner/base/json_text.hpp"
#include "session/base/parse_json.hpp"
#include "session/base/work_count.hpp"
#include "translator/agui/event_writer.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>

namespace agui::translator {

void canonical_writer::begin_value() {
    count_work();
    if (frames_.empty() || frames_.back().is_object) {
        return;
    }
    frame& array = frames_.back();
    if (array.count++ > 0) {
        text_.push_back(',');
    }
}

void canonical_writer::begin_object() {
    begin_value();
    frames_.push_back(
        {.is_object = true, .begin = here(), .first_member = members_.size(), .key = {}}
    );
}

// Members are written one after the other; separators are added when they are sorted.
bool canonical_writer::key(std::string_view name) {
    frame& object = frames_.back();
    object.key.assign(name);
    if (!object.dropped.empty() && object.dropped.contains(object.key)) {
        runner::append_json_string(duplicate_, name);
        return false;
    }
    close_member();
    const std::uint32_t begin = here();
    runner::append_json_string(text_, name);
    members_.push_back({begin, here(), 0});
    text_.push_back(':');
    return true;
}

void canonical_writer::close_member() {
    if (members_.size() > frames_.back().first_member && members_.back().end == 0) {
        members_.back().end = here();
    }
}

void canonical_writer::drop_member() {
    frame& object = frames_.back();
    object.dropped.insert(object.key);
    text_.resize(members_.back().begin);
    members_.pop_back();
}

bool canonical_writer::end_object() {
    close_member();
    frame& object = frames_.back();
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(object.first_member);
    const auto before = [this](const member& left, const member& right) {
        return key_of(left) < key_of(right);
    };
    const bool is_sorted = std::is_sorted(first, members_.end(), before);
    if (!is_sorted) {
        std::sort(first, members_.end(), before);
    }
    const auto repeated =
        std::adjacent_find(first, members_.end(), [this](const member& left, const member& right) {
            return key_of(left) == key_of(right);
        });
    if (repeated != members_.end()) {
        duplicate_ = std::string(key_of(*repeated));
        object.key = parse_json_string(duplicate_).value_or(std::string());
        return false;
    }
    sort_members(object);
    members_.resize(object.first_member);
    frames_.pop_back();
    return true;
}

void canonical_writer::sort_members(const frame& of) {
    std::string sorted;
    sorted.reserve(text_.size() - of.begin + members_.size() - of.first_member + 2);
    sorted.push_back('{');
    for (std::size_t i = of.first_member; i < members_.size(); ++i) {
        if (i > of.first_member) {
            sorted.push_back(',');
        }
        sorted.append(text_, members_[i].begin, members_[i].end - members_[i].begin);
    }
    sorted.push_back('}');
    text_.replace(of.begin, std::string::npos, sorted);
}

void canonical_writer::begin_array() {
    begin_value();
    frames_.push_back(
        {.is_object = false, .begin = here(), .first_member = members_.size(), .key = {}}
    );
    text_.push_back('[');
}

void canonical_writer::end_array() {
    text_.push_back(']');
    frames_.pop_back();
}

void canonical_writer::string(std::string_view text) {
    begin_value();
    runner::append_json_string(text_, text);
}

void canonical_writer::integer(std::int64_t number) {
    begin_value();
    text_.append(std::to_string(number));
}

void canonical_writer::integer(std::uint64_t number) {
    begin_value();
    text_.append(std::to_string(number));
}

// Equal numbers give equal text: in JavaScript, 1, 1.0 and 1e0 are the same number, and a client
// may write any of them.
void canonical_writer::number(double number) {
    constexpr double int64_end = 9223372036854775808.0;   // 2^63
    constexpr double uint64_end = 18446744073709551616.0; // 2^64
    if (std::trunc(number) != number || number < -int64_end || number >= uint64_end) {
        begin_value();
        append_json(text_, boost::json::value(number));
    } else if (number < 0) {
        integer(static_cast<std::int64_t>(number));
    } else {
        integer(static_cast<std::uint64_t>(number));
    }
}

void canonical_writer::literal(std::string_view word) {
    begin_value();
    text_.append(word);
}

std::string canonical_writer::path() const {
    std::string path;
    for (const frame& one : frames_) {
        const bool is_inner = &one == &frames_.back();
        if (one.is_object) {
            if (!path.empty() && !one.key.empty()) {
                path.push_back('.');
            }
            path.append(one.key);
        } else {
            path.append("[" + std::to_string(is_inner ? one.count : one.count - 1) + "]");
        }
    }
    return path;
}

} // namespace agui::translator
