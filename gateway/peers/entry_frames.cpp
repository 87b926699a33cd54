#include "gateway/peers/entry_frames.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

// A header line is a word, or a letter and three numbers.
constexpr std::size_t line_bytes_max = 80;
// The limit of one event, and of its variants. No gateway writes events above half of it.
constexpr std::uint64_t event_bytes_max = std::uint64_t{16} << 20U;
// The limit of all unnumbered events, which close open messages and calls, and end a run.
constexpr std::size_t unnumbered_bytes_max = std::size_t{1} << 20U;

// Memory that a reader keeps when it has read everything.
constexpr std::size_t kept_frame_bytes = 4096;

constexpr std::string_view entry_frame = "e ";
constexpr std::string_view unnumbered_frame = "u ";
constexpr std::string_view ended_frame = "ended\n";
constexpr std::string_view moved_frame = "moved\n";

void write_number(std::uint64_t number, std::string& out) {
    char text[20];
    const auto end = std::to_chars(std::begin(text), std::end(text), number).ptr;
    out.append(text, end);
}

// The number at the start of `text`, which is removed with the character after it.
std::optional<std::uint64_t> take_number(std::string_view& text, char after) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end == text.data() + text.size() || *end != after) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return number;
}

std::optional<entries_end> end_of(std::string_view line) {
    if (line == ended_frame) {
        return entries_end::ended;
    }
    if (line == moved_frame) {
        return entries_end::moved;
    }
    return line == cut_off_frame ? std::optional(entries_end::cut_off) : std::nullopt;
}

} // namespace

void write_entries(const session::log_slice& slice, std::string& out) {
    const std::string_view events = slice.events;
    std::size_t begin = 0;
    auto variants = slice.variants.begin();
    for (std::size_t i = 0; i < slice.ends.size(); ++i) {
        const std::string_view json = events.substr(begin, slice.ends[i] - begin);
        begin = slice.ends[i];
        std::string_view others;
        if (variants != slice.variants.end() && variants->first == i) {
            others = (variants++)->second;
        }
        out.append(entry_frame);
        write_number(slice.first_sequence + i, out);
        out.push_back(' ');
        write_number(json.size(), out);
        out.push_back(' ');
        write_number(others.size(), out);
        out.push_back('\n');
        out.append(json).append(others);
    }
}

void write_unnumbered(std::string_view json, std::string& out) {
    out.append(unnumbered_frame);
    write_number(json.size(), out);
    out.push_back('\n');
    out.append(json);
}

void write_end(entries_end end, std::string& out) {
    out.append(
        end == entries_end::ended   ? ended_frame
        : end == entries_end::moved ? moved_frame
                                    : cut_off_frame
    );
}

bool entry_frame_reader::add(std::string_view bytes, run_entries& out) {
    rest_.append(bytes);
    step done = step::taken;
    while (done == step::taken && used_ < rest_.size()) {
        done = is_over_ ? step::damaged : take(out);
    }
    rest_.erase(0, std::exchange(used_, 0));
    if (rest_.empty() && rest_.capacity() > kept_frame_bytes) {
        std::string().swap(rest_);
    }
    return done != step::damaged;
}

entry_frame_reader::step entry_frame_reader::take(run_entries& out) {
    std::string_view line = std::string_view(rest_).substr(used_);
    const std::size_t end = line.find('\n');
    if (end == std::string_view::npos) {
        return line.size() > line_bytes_max ? step::damaged : step::incomplete;
    }
    line = line.substr(0, end + 1);
    const std::size_t begin = used_ + line.size();
    if (line.starts_with(entry_frame)) {
        return take_entry(line.substr(entry_frame.size()), begin, out);
    }
    if (line.starts_with(unnumbered_frame)) {
        return take_unnumbered(line.substr(unnumbered_frame.size()), begin);
    }
    used_ = begin;
    if (line == alive_frame) {
        return step::taken;
    }
    out.end = end_of(line);
    is_over_ = true;
    if (out.end == entries_end::ended) {
        out.unnumbered = std::move(unnumbered_);
    }
    return out.end ? step::taken : step::damaged;
}

entry_frame_reader::step
entry_frame_reader::take_entry(std::string_view line, std::size_t begin, run_entries& out) {
    const auto sequence = take_number(line, ' ');
    const auto json = sequence ? take_number(line, ' ') : std::nullopt;
    const auto variants = json ? take_number(line, '\n') : std::nullopt;
    if (!variants || *sequence != last_ + 1 || *json > event_bytes_max ||
        *variants > event_bytes_max) {
        return step::damaged;
    }
    if (rest_.size() - begin < *json + *variants) {
        return step::incomplete;
    }
    session::log_entry& entry = out.entries.emplace_back();
    entry.sequence = ++last_;
    entry.json.assign(rest_, begin, *json);
    entry.variants.assign(rest_, begin + *json, *variants);
    used_ = begin + *json + *variants;
    return step::taken;
}

entry_frame_reader::step
entry_frame_reader::take_unnumbered(std::string_view line, std::size_t begin) {
    const auto json = take_number(line, '\n');
    if (!json || *json > unnumbered_bytes_max - unnumbered_bytes_) {
        return step::damaged;
    }
    if (rest_.size() - begin < *json) {
        return step::incomplete;
    }
    unnumbered_.emplace_back(rest_, begin, *json);
    unnumbered_bytes_ += *json;
    used_ = begin + *json;
    return step::taken;
}

} // namespace agui::gateway
