#include "session/sqlite/log_page.hpp"

#include "session/base/checksum.hpp"

#include <cassert>

namespace agui::session {

namespace {

constexpr std::uint32_t page_magic = 0x324c4741; // "AGL2"
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

} // namespace

std::uint64_t last_sequence(const log_slice& slice) noexcept {
    return slice.first_sequence + slice.ends.size() - 1;
}

void append_entries(log_slice& slice, const log_slice& next) {
    assert(slice.run_number == next.run_number);
    assert(slice.first_sequence + slice.ends.size() == next.first_sequence);
    const auto bytes_before = static_cast<std::uint32_t>(slice.events.size());
    const auto entries_before = static_cast<std::uint32_t>(slice.ends.size());
    slice.events += next.events;
    for (const std::uint32_t end : next.ends) {
        slice.ends.push_back(bytes_before + end);
    }
    for (const auto& [index, text] : next.variants) {
        slice.variants.emplace_back(entries_before + index, text);
    }
}

std::uint64_t checksum_of(const encoded_slice& slice) noexcept {
    checksum sum;
    sum.add(static_cast<std::uint64_t>(slice.run_number));
    sum.add(slice.first_sequence);
    sum.add(std::uint64_t{slice.count});
    sum.add(slice.bytes);
    return sum.value();
}

void log_page_writer::add(const encoded_slice& slice) {
    bytes_ += slice.bytes;
    directory_.push_back({
        .run_number = slice.run_number,
        .first_sequence = slice.first_sequence,
        .count = slice.count,
        .bytes = static_cast<std::uint32_t>(slice.bytes.size()),
        .checksum = checksum_of(slice),
    });
}

std::string_view log_page_writer::finish() {
    const std::size_t begin = bytes_.size();
    for (const directory_entry& entry : directory_) {
        put(bytes_, static_cast<std::uint64_t>(entry.run_number));
        put(bytes_, entry.first_sequence);
        put(bytes_, entry.count);
        put(bytes_, entry.bytes);
        put(bytes_, entry.checksum);
    }
    put(bytes_, static_cast<std::uint32_t>(directory_.size()));
    put(bytes_, page_magic);
    checksum sum;
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
    checksum sum;
    sum.add(page.substr(directory, trailer + 8 - directory));
    if (sum.value() != get<std::uint64_t>(page, trailer + 8)) {
        return std::nullopt;
    }

    std::vector<page_slice> slices;
    slices.reserve(count);
    std::size_t offset = 0;
    for (std::size_t at = directory; at < trailer; at += directory_entry_bytes) {
        const std::size_t bytes = get<std::uint32_t>(page, at + 20);
        if (bytes > directory - offset) {
            return std::nullopt;
        }
        page_slice& read = slices.emplace_back();
        read.slice = {
            .run_number = static_cast<std::int64_t>(get<std::uint64_t>(page, at)),
            .first_sequence = get<std::uint64_t>(page, at + 8),
            .count = get<std::uint32_t>(page, at + 16),
            .bytes = page.substr(offset, bytes),
        };
        read.damaged = checksum_of(read.slice) != get<std::uint64_t>(page, at + 24);
        offset += bytes;
    }
    return slices;
}

} // namespace agui::session
