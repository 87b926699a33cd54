#include "session/log_page.hpp"

#include <algorithm>
#include <cassert>

namespace agui::session {

namespace {

constexpr std::uint32_t page_magic = 0x314c4741; // "AGL1"
constexpr std::size_t directory_entry_bytes = 32;
constexpr std::size_t page_trailer_bytes = 16;

template <class Unsigned>
void put(std::string& bytes, Unsigned value) {
    char encoded[sizeof(Unsigned)];
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        encoded[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
    bytes.append(encoded, sizeof(Unsigned));
}

template <class Unsigned>
Unsigned get(std::string_view bytes, std::size_t offset) noexcept {
    Unsigned value = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        value |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
    }
    return value;
}

// A word at a time with a multiplication each: finds damage, not forgery.
class hash {
public:
    void add(std::uint64_t word) noexcept {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 32U;
    }

    void add(std::string_view bytes) noexcept {
        std::size_t offset = 0;
        for (; offset + 8 <= bytes.size(); offset += 8) {
            add(get<std::uint64_t>(bytes, offset));
        }
        std::uint64_t rest = 0;
        for (std::size_t i = 0; offset + i < bytes.size(); ++i) {
            rest |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
        }
        add(rest);
        add(bytes.size());
    }

    [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

private:
    std::uint64_t state_ = 0x6c62272e07bb0142U;
};

std::size_t begin_of(const log_slice& slice, std::size_t index) noexcept {
    return index == 0 ? 0 : slice.ends[index - 1];
}

} // namespace

std::uint64_t last_sequence(const log_slice& slice) noexcept {
    return slice.first_sequence + slice.ends.size() - 1;
}

void append_entries(log_slice& slice, const log_slice& next) {
    assert(slice.run_number == next.run_number);
    assert(slice.first_sequence + slice.ends.size() == next.first_sequence);
    const auto bytes_before = static_cast<std::uint32_t>(slice.frames.size());
    const auto entries_before = static_cast<std::uint32_t>(slice.ends.size());
    slice.frames += next.frames;
    for (const std::uint32_t end : next.ends) {
        slice.ends.push_back(bytes_before + end);
    }
    for (const auto& [index, text] : next.variants) {
        slice.variants.emplace_back(entries_before + index, text);
    }
}

log_slice part_of(const log_slice& slice, std::size_t first, std::size_t last) {
    log_slice part;
    part.run_number = slice.run_number;
    part.first_sequence = slice.first_sequence + first;
    const std::size_t begin = begin_of(slice, first);
    part.frames = slice.frames.substr(begin, begin_of(slice, last) - begin);
    part.ends.reserve(last - first);
    for (std::size_t i = first; i < last; ++i) {
        part.ends.push_back(slice.ends[i] - static_cast<std::uint32_t>(begin));
    }
    for (const auto& [index, text] : slice.variants) {
        if (index >= first && index < last) {
            part.variants.emplace_back(index - static_cast<std::uint32_t>(first), text);
        }
    }
    return part;
}

void copy_entries(
    const log_slice& slice, std::uint64_t after, std::size_t limit, std::vector<log_entry>& entries
) {
    const std::size_t first = after < slice.first_sequence
                                  ? 0
                                  : static_cast<std::size_t>(after - slice.first_sequence + 1);
    auto variant = std::ranges::find_if(slice.variants, [first](const auto& held) {
        return held.first >= first;
    });
    for (std::size_t i = first; i < slice.ends.size() && entries.size() < limit; ++i) {
        log_entry& entry = entries.emplace_back();
        entry.sequence = slice.first_sequence + i;
        const std::size_t begin = begin_of(slice, i);
        entry.frame = slice.frames.substr(begin, slice.ends[i] - begin);
        if (variant != slice.variants.end() && variant->first == i) {
            entry.variants = variant->second;
            ++variant;
        }
    }
}

void append_payload(std::string& bytes, const log_slice& slice) {
    for (const std::uint32_t end : slice.ends) {
        put(bytes, end);
    }
    put(bytes, static_cast<std::uint32_t>(slice.variants.size()));
    for (const auto& [index, text] : slice.variants) {
        put(bytes, index);
        put(bytes, static_cast<std::uint32_t>(text.size()));
    }
    for (const auto& [index, text] : slice.variants) {
        bytes += text;
    }
    bytes += slice.frames;
}

std::optional<log_slice> slice_from_payload(
    std::int64_t run_number, std::uint64_t first_sequence, std::uint32_t count,
    std::string_view payload
) {
    log_slice slice;
    slice.run_number = run_number;
    slice.first_sequence = first_sequence;
    const std::size_t ends_bytes = std::size_t{count} * 4;
    if (payload.size() < ends_bytes + 4) {
        return std::nullopt;
    }
    slice.ends.reserve(count);
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto next = get<std::uint32_t>(payload, i * 4);
        if (next < end) {
            return std::nullopt;
        }
        end = next;
        slice.ends.push_back(end);
    }

    const std::size_t variants = get<std::uint32_t>(payload, ends_bytes);
    std::size_t table = ends_bytes + 4;
    if (variants > (payload.size() - table) / 8) {
        return std::nullopt;
    }
    std::size_t offset = table + variants * 8;
    for (std::size_t i = 0; i < variants; ++i, table += 8) {
        const auto index = get<std::uint32_t>(payload, table);
        const std::size_t size = get<std::uint32_t>(payload, table + 4);
        const bool in_order = slice.variants.empty() || slice.variants.back().first < index;
        if (index >= count || !in_order || size > payload.size() - offset) {
            return std::nullopt;
        }
        slice.variants.emplace_back(index, payload.substr(offset, size));
        offset += size;
    }
    if (payload.size() - offset != end) {
        return std::nullopt;
    }
    slice.frames = payload.substr(offset);
    return slice;
}

std::uint64_t slice_checksum(
    std::int64_t run_number, std::uint64_t first_sequence, std::uint32_t count,
    std::string_view payload
) noexcept {
    hash sum;
    sum.add(static_cast<std::uint64_t>(run_number));
    sum.add(first_sequence);
    sum.add(std::uint64_t{count});
    sum.add(payload);
    return sum.value();
}

void log_page_writer::add(const log_slice& slice) {
    const std::size_t begin = bytes_.size();
    append_payload(bytes_, slice);
    const std::string_view payload = std::string_view(bytes_).substr(begin);
    const auto count = static_cast<std::uint32_t>(slice.ends.size());
    directory_.push_back({
        .run_number = slice.run_number,
        .first_sequence = slice.first_sequence,
        .count = count,
        .payload_bytes = static_cast<std::uint32_t>(payload.size()),
        .checksum = slice_checksum(slice.run_number, slice.first_sequence, count, payload),
    });
}

std::string_view log_page_writer::finish() {
    const std::size_t begin = bytes_.size();
    for (const directory_entry& entry : directory_) {
        put(bytes_, static_cast<std::uint64_t>(entry.run_number));
        put(bytes_, entry.first_sequence);
        put(bytes_, entry.count);
        put(bytes_, entry.payload_bytes);
        put(bytes_, entry.checksum);
    }
    put(bytes_, static_cast<std::uint32_t>(directory_.size()));
    put(bytes_, page_magic);
    hash sum;
    sum.add(std::string_view(bytes_).substr(begin));
    put(bytes_, sum.value());
    return bytes_;
}

void log_page_writer::clear() noexcept {
    directory_.clear();
    bytes_.clear();
}

std::optional<std::vector<page_slice>> read_log_page(std::string_view page) {
    if (page.size() < page_trailer_bytes) {
        return std::nullopt;
    }
    const std::size_t trailer = page.size() - page_trailer_bytes;
    const std::size_t count = get<std::uint32_t>(page, trailer);
    if (get<std::uint32_t>(page, trailer + 4) != page_magic ||
        count > trailer / directory_entry_bytes) {
        return std::nullopt;
    }
    const std::size_t directory = trailer - count * directory_entry_bytes;
    hash sum;
    sum.add(page.substr(directory, trailer + 8 - directory));
    if (sum.value() != get<std::uint64_t>(page, trailer + 8)) {
        return std::nullopt;
    }

    std::vector<page_slice> slices;
    slices.reserve(count);
    std::size_t offset = 0;
    for (std::size_t at = directory; at < trailer; at += directory_entry_bytes) {
        const auto run_number = static_cast<std::int64_t>(get<std::uint64_t>(page, at));
        const auto first_sequence = get<std::uint64_t>(page, at + 8);
        const auto entries = get<std::uint32_t>(page, at + 16);
        const std::size_t bytes = get<std::uint32_t>(page, at + 20);
        page_slice& read = slices.emplace_back();
        read.run_number = run_number;
        if (bytes > directory - offset) {
            return std::nullopt;
        }
        const std::string_view payload = page.substr(offset, bytes);
        offset += bytes;
        if (slice_checksum(run_number, first_sequence, entries, payload) ==
            get<std::uint64_t>(page, at + 24)) {
            read.slice = slice_from_payload(run_number, first_sequence, entries, payload);
        }
    }
    return slices;
}

} // namespace agui::session
