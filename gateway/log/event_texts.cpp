#include "gateway/log/event_texts.hpp"

#include "translator/agui/delta_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace agui::gateway {

using translator::delta_end;
using translator::delta_member;

namespace {

// Blocks grow with the log: a short run stays small, a long one needs few blocks.
constexpr std::size_t first_block_bytes = 512;
constexpr std::size_t largest_block_bytes = 16U << 10U;
constexpr std::size_t first_entries = 16;

// The types of events whose texts may be joined.
constexpr std::array<std::string_view, 3> joined_types = {
    R"({"type":"TEXT_MESSAGE_CONTENT",)", R"({"type":"REASONING_MESSAGE_CONTENT",)",
    R"({"type":"TOOL_CALL_ARGS",)"
};

} // namespace

std::size_t event_texts::append(std::string_view json) {
    std::size_t taken = 0;
    std::uint32_t prefix = static_cast<std::uint32_t>(prefixes_.size());
    if (prefixes_.empty() || !json.starts_with(prefixes_.back())) {
        const std::size_t delta = json.find(delta_member);
        if (delta == std::string_view::npos) {
            prefix = 0;
        } else {
            prefixes_.emplace_back(json.substr(0, delta + delta_member.size()));
            taken += sizeof(std::string) + prefixes_.back().size();
            ++prefix;
        }
    }
    if (prefix > 0) {
        json.remove_prefix(prefixes_.back().size());
    }
    taken += append_bytes(json);
    if (entries_.size() == entries_.capacity()) {
        // Doubling would leave up to half of it unused in every kept log.
        const std::size_t more = std::max(first_entries, entries_.size() / 4);
        taken += more * sizeof(entry);
        entries_.reserve(entries_.size() + more);
    }
    entries_.push_back({static_cast<std::uint32_t>(bytes_), prefix, 0});
    return taken;
}

std::size_t event_texts::append_bytes(std::string_view bytes) {
    std::size_t taken = 0;
    while (!bytes.empty()) {
        if (blocks_.empty() || blocks_.back().size == blocks_.back().capacity) {
            const std::size_t capacity =
                std::clamp(bytes_ / 4, first_block_bytes, largest_block_bytes);
            taken += sizeof(block) + capacity;
            blocks_.push_back(
                {std::make_unique_for_overwrite<char[]>(capacity), bytes_, 0, capacity}
            );
        }
        block& last = blocks_.back();
        const std::size_t count = std::min(bytes.size(), last.capacity - last.size);
        std::memcpy(last.bytes.get() + last.size, bytes.data(), count);
        last.size += count;
        bytes_ += count;
        bytes.remove_prefix(count);
    }
    return taken;
}

void event_texts::copy_bytes(std::size_t from, std::size_t to, std::string& out) const {
    // Readers are usually at the end of the log, so the last block is checked first.
    std::size_t index = blocks_.size();
    while (index > 1 && blocks_[index - 1].begin > from) {
        --index;
    }
    while (from < to) {
        const block& part = blocks_[index - 1];
        const std::size_t inside = from - part.begin;
        const std::size_t count = std::min(part.size - inside, to - from);
        out.append(part.bytes.get() + inside, count);
        from += count;
        ++index;
    }
}

void event_texts::write(std::uint64_t sequence, std::string& out) const {
    const entry& event = entries_[sequence - 1];
    if (event.prefix > 0) {
        out.append(prefixes_[event.prefix - 1]);
    }
    copy_bytes(begin_of(sequence), event.end, out);
}

std::size_t event_texts::bytes_between(
    std::uint64_t from, std::uint64_t to, bool joined, std::size_t around
) const noexcept {
    const std::size_t own = entries_[to - 1].end - begin_of(from + 1);
    if (joined) {
        return own;
    }
    const std::size_t shared = prefixes_.empty() ? 0 : prefixes_.back().size();
    return own + (to - from) * (shared + around);
}

// Returns true for a delta with only its text after the prefix.
bool event_texts::is_plain_delta(std::uint64_t sequence) const {
    const entry& event = entries_[sequence - 1];
    if (event.prefix == 0) {
        return false;
    }
    const std::string_view prefix = prefixes_[event.prefix - 1];
    const bool is_delta = std::ranges::any_of(joined_types, [prefix](std::string_view type) {
        return prefix.starts_with(type);
    });
    if (!is_delta) {
        return false;
    }
    std::string own;
    copy_bytes(begin_of(sequence), event.end, own);
    return translator::plain_delta_text(own).has_value();
}

void event_texts::let_last_join() {
    entries_.back().joins = is_plain_delta(entries_.size()) ? 1 : 0;
}

std::uint64_t event_texts::last_joined(
    std::uint64_t sequence, std::uint64_t last, std::size_t max_bytes
) const noexcept {
    const std::uint32_t prefix = entries_[sequence - 1].prefix;
    std::size_t text = 0;
    std::uint64_t joined = sequence;
    for (std::uint64_t next = sequence; next <= last; ++next) {
        const entry& event = entries_[next - 1];
        if (event.joins == 0 || event.prefix != prefix || text >= max_bytes) {
            break;
        }
        text += event.end - begin_of(next) - delta_end.size();
        joined = next;
    }
    return joined;
}

void event_texts::write_joined(std::uint64_t from, std::uint64_t to, std::string& out) const {
    out.append(prefixes_[entries_[from - 1].prefix - 1]);
    for (std::uint64_t sequence = from; sequence <= to; ++sequence) {
        copy_bytes(begin_of(sequence), entries_[sequence - 1].end - delta_end.size(), out);
    }
    out.append(delta_end);
}

} // namespace agui::gateway
