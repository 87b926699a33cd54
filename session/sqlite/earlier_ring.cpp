#include "session/sqlite/earlier_ring.hpp"

#include "session/base/checksum.hpp"
#include "session/base/leb128.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace agui::session {

namespace {

constexpr std::size_t segment_bytes = 64U << 10U;
constexpr std::size_t segment_count = 16;

constexpr std::uint32_t segment_magic = 0x32524741; // "AGR2"

// The head of a segment.
struct segment_head {
    std::uint32_t magic;
    std::uint32_t unused;
    std::uint64_t identity;
    std::uint64_t serial;
    std::uint64_t sum;

    [[nodiscard]] std::uint64_t expected_sum() const noexcept {
        checksum over;
        over.add(identity);
        over.add(serial);
        return over.value();
    }
};
static_assert(sizeof(segment_head) == 32);

// The head of a record. After it in LEB128: run; first sequence; twice the count, plus one if there
// is a commit; if there are both, the size of the entries. Then the entries and the commit.
struct record_head {
    std::uint32_t bytes; ///< Of the whole record; 0: there is none.
    std::uint32_t head_sum;
    std::uint32_t body_sum;
};
static_assert(sizeof(record_head) == 12);

constexpr std::size_t record_alignment = alignof(record_head);

constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + record_alignment - 1) / record_alignment * record_alignment;
}

// Log entries of a run, or a commit, or both.
struct ring_record {
    encoded_slice slice;     // Its count is 0 if there are no entries.
    std::string_view commit; // Empty: none.
};

std::uint32_t head_sum_of(const record_head& head, const ring_record& given) noexcept {
    checksum over;
    over.add(std::uint64_t{head.bytes} << 32U | head.body_sum);
    over.add(static_cast<std::uint64_t>(given.slice.run_number));
    over.add(given.slice.first_sequence);
    over.add(std::uint64_t{given.slice.count});
    over.add(given.slice.bytes.size());
    return checksum::folded(over.value());
}

std::uint32_t body_sum_of(const ring_record& given) noexcept {
    checksum over;
    over.add(checksum_of(given.slice));
    if (!given.commit.empty()) {
        over.add(given.commit);
    }
    return checksum::folded(over.value());
}

template <class Value>
Value load(const char* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// The record whose bytes after the head are `bytes`.
std::optional<ring_record> parse(std::string_view bytes) {
    std::uint64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::uint64_t kind = 0;
    if (!take_leb128(bytes, run_number) || !take_leb128(bytes, first_sequence) ||
        !take_leb128(bytes, kind)) {
        return std::nullopt;
    }
    const std::uint64_t count = kind / 2;
    const bool has_commit = kind % 2 != 0;
    std::uint64_t entries_bytes = has_commit ? 0 : bytes.size();
    if (has_commit && count != 0 && !take_leb128(bytes, entries_bytes)) {
        return std::nullopt;
    }
    if (entries_bytes > bytes.size()) {
        return std::nullopt;
    }
    return ring_record{
        .slice =
            {static_cast<std::int64_t>(run_number), first_sequence,
             static_cast<std::uint32_t>(count), bytes.substr(0, entries_bytes)},
        .commit = bytes.substr(entries_bytes),
    };
}

enum class segment_end {
    blank,  ///< Nothing follows the last record.
    torn,   ///< Part of a record that a killed process was appending.
    unsound ///< Anything else.
};

struct found_record {
    ring_record content;
    bool damaged = false; ///< What follows its numbers is damaged.
};

// The record at `offset`; nullopt: there is none with intact head and numbers.
std::optional<found_record> record_at(const char* segment, std::size_t offset, record_head& head) {
    head = load<record_head>(segment + offset);
    if (head.bytes < sizeof head || head.bytes > segment_bytes - offset) {
        return std::nullopt;
    }
    const auto record = parse({segment + offset + sizeof head, head.bytes - sizeof head});
    if (!record || head_sum_of(head, *record) != head.head_sum) {
        return std::nullopt;
    }
    return found_record{*record, body_sum_of(*record) != head.body_sum};
}

// Appends to `found` the records of a segment, as far as they can be read.
segment_end read_segment(const char* segment, std::uint64_t serial, earlier_ring& found) {
    std::size_t offset = sizeof(segment_head);
    record_head head{};
    while (offset + sizeof head <= segment_bytes) {
        const auto record = record_at(segment, offset, head);
        if (!record) {
            break;
        }
        offset += aligned(head.bytes);
        if (record->content.slice.count != 0) {
            found.entries.push_back({record->content.slice, !record->damaged});
        }
        if (!record->damaged && !record->content.commit.empty()) {
            found.commits.push_back({record->content.commit, serial * segment_bytes + offset});
        }
    }
    const char* const rest = segment + offset;
    const char* const end = segment + segment_bytes;
    if (std::all_of(rest, end, [](char byte) { return byte == 0; })) {
        return segment_end::blank;
    }
    if (offset + sizeof head > segment_bytes || load<std::uint32_t>(rest) != 0) {
        return segment_end::unsound;
    }
    // A record that a killed process was appending has no length yet, and no record follows it.
    for (; offset + sizeof head <= segment_bytes; offset += record_alignment) {
        if (record_at(segment, offset, head)) {
            return segment_end::unsound;
        }
    }
    return segment_end::torn;
}

template <class Unsigned>
Unsigned get(std::string_view bytes, std::size_t offset) noexcept {
    Unsigned value = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        value |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
    }
    return value;
}

} // namespace

std::optional<earlier_ring> read_earlier_ring(std::string_view bytes, std::uint64_t identity) {
    if (bytes.size() != segment_bytes * segment_count) {
        return std::nullopt;
    }
    earlier_ring found;
    std::vector<std::pair<std::uint64_t, const char*>> segments;
    for (std::size_t slot = 0; slot < segment_count; ++slot) {
        const char* const segment = bytes.data() + slot * segment_bytes;
        const auto head = load<segment_head>(segment);
        const bool is_sound = head.magic == segment_magic && head.identity == identity &&
                              head.sum == head.expected_sum() &&
                              head.serial % segment_count == slot;
        if (is_sound) {
            segments.emplace_back(head.serial, segment);
        } else if (head.magic != 0) { // Zero: the segment was released or never used.
            found.unreadable = true;
        }
    }
    if (segments.empty()) {
        return std::nullopt;
    }
    std::ranges::sort(segments);
    std::uint64_t next = segments.front().first;
    bool behind_torn = false;
    for (const auto& [serial, segment] : segments) {
        const std::size_t before = found.entries.size() + found.commits.size();
        const segment_end end = read_segment(segment, serial, found);
        const bool goes_on = behind_torn && found.entries.size() + found.commits.size() > before;
        if (serial != next || end == segment_end::unsound || goes_on) {
            found.unreadable = true;
        }
        behind_torn = behind_torn || end == segment_end::torn;
        next = serial + 1;
    }
    return found;
}

std::optional<std::vector<journal_item>> read_earlier_page(std::string_view page) {
    constexpr std::uint32_t page_magic = 0x324c4741; // "AGL2"
    constexpr std::size_t directory_entry_bytes = 32;
    constexpr std::size_t trailer_bytes = 16;
    if (page.size() < trailer_bytes) {
        return std::nullopt;
    }
    const std::size_t trailer = page.size() - trailer_bytes;
    const std::size_t count = get<std::uint32_t>(page, trailer);
    if (get<std::uint32_t>(page, trailer + 4) != page_magic ||
        count > trailer / directory_entry_bytes) {
        return std::nullopt;
    }
    const std::size_t directory = trailer - count * directory_entry_bytes;
    checksum sum;
    sum.add(page.substr(directory, trailer + 8 - directory));
    if (sum.value() != get<std::uint64_t>(page, trailer + 8)) {
        return std::nullopt;
    }

    std::vector<journal_item> entries;
    entries.reserve(count);
    std::size_t offset = 0;
    for (std::size_t at = directory; at < trailer; at += directory_entry_bytes) {
        const std::size_t bytes = get<std::uint32_t>(page, at + 20);
        if (bytes > directory - offset) {
            return std::nullopt;
        }
        journal_item& read = entries.emplace_back();
        read.entries = {
            .run_number = static_cast<std::int64_t>(get<std::uint64_t>(page, at)),
            .first_sequence = get<std::uint64_t>(page, at + 8),
            .count = get<std::uint32_t>(page, at + 16),
            .bytes = page.substr(offset, bytes),
        };
        read.is_sound = checksum_of(read.entries) == get<std::uint64_t>(page, at + 24);
        offset += bytes;
    }
    return entries;
}

} // namespace agui::session
