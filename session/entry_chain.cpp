#include "session/entry_chain.hpp"

#include "session/leb128.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace agui::session {

namespace {

// What deltas share is a type and an id or two; a state or a history in between costs no more memory.
constexpr std::size_t compared_bytes_max = 512;

// Flags below the number of shared bytes.
constexpr std::uint64_t has_variants = 1;
constexpr std::uint64_t is_verbatim = 2; // No frame of the usual form.
constexpr unsigned flag_bits = 2;

constexpr std::string_view data_field = "\ndata: ";
constexpr std::string_view frame_end = "\n\n";

bool take_bytes(std::string_view& bytes, std::string_view& taken) {
    std::uint64_t size = 0;
    if (!take_leb128(bytes, size) || size > bytes.size()) {
        return false;
    }
    taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return true;
}

// `id: 7\ndata: `
class frame_begin {
public:
    explicit frame_begin(std::uint64_t sequence) {
        char* end = std::ranges::copy(std::string_view("id: "), text_.data()).out;
        end = std::to_chars(end, text_.data() + text_.size(), sequence).ptr;
        end = std::ranges::copy(data_field, end).out;
        size_ = static_cast<std::size_t>(end - text_.data());
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, 40> text_{}; // Holds every 64-bit number.
    std::size_t size_ = 0;
};

// Eight bytes at a time: the texts of deltas agree in a hundred.
std::size_t common_prefix(std::string_view one, std::string_view other) noexcept {
    const std::size_t end = std::min(one.size(), other.size());
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
        if (std::memcmp(one.data() + at, other.data() + at, sizeof(std::uint64_t)) != 0) {
            break;
        }
    }
    while (at < end && one[at] == other[at]) {
        ++at;
    }
    return at;
}

} // namespace

void entry_chain::encode(
    std::uint64_t sequence, std::string_view frame, std::string_view variants, std::string& bytes
) {
    const frame_begin begin(sequence);
    const bool usual = frame.size() >= begin.text().size() + frame_end.size() &&
                       frame.starts_with(begin.text()) && frame.ends_with(frame_end);
    if (usual) {
        frame.remove_prefix(begin.text().size());
        frame.remove_suffix(frame_end.size());
    }
    const std::size_t shared = common_prefix(frame, last_);
    const std::string_view own = frame.substr(shared);
    put_leb128(
        bytes, std::uint64_t{shared} << flag_bits | (usual ? 0 : is_verbatim) |
                   (variants.empty() ? 0 : has_variants)
    );
    put_leb128(bytes, own.size());
    bytes += own;
    if (!variants.empty()) {
        put_leb128(bytes, variants.size());
        bytes += variants;
    }
    remember(shared, own);
}

bool entry_chain::decode(std::uint64_t sequence, std::string_view& bytes, log_entry& entry) {
    std::uint64_t head = 0;
    std::string_view own;
    if (!take_leb128(bytes, head) || !take_bytes(bytes, own)) {
        return false;
    }
    const std::uint64_t shared = head >> flag_bits;
    if (shared > last_.size()) {
        return false;
    }
    std::string_view variants;
    if ((head & has_variants) != 0 && !take_bytes(bytes, variants)) {
        return false;
    }
    const bool usual = (head & is_verbatim) == 0;
    entry.sequence = sequence;
    entry.variants = variants;
    entry.frame.clear();
    if (usual) {
        entry.frame += frame_begin(sequence).text();
    }
    entry.frame.append(last_, 0, shared).append(own);
    if (usual) {
        entry.frame += frame_end;
    }
    remember(shared, own);
    return true;
}

bool entry_chain::begins_with_whole_entry(std::string_view bytes) {
    std::uint64_t head = 0;
    return take_leb128(bytes, head) && head >> flag_bits == 0;
}

void entry_chain::remember(std::size_t shared, std::string_view own) {
    last_.resize(shared);
    last_ += own.substr(0, compared_bytes_max - std::min(shared, compared_bytes_max));
}

void encode_entries(const log_slice& slice, entry_chain& chain, std::string& bytes) {
    std::size_t begin = 0;
    auto variant = slice.variants.begin();
    for (std::uint32_t i = 0; i < slice.ends.size(); ++i) {
        const std::string_view frame =
            std::string_view(slice.frames).substr(begin, slice.ends[i] - begin);
        std::string_view variants;
        if (variant != slice.variants.end() && variant->first == i) {
            variants = variant->second;
            ++variant;
        }
        chain.encode(slice.first_sequence + i, frame, variants, bytes);
        begin = slice.ends[i];
    }
}

} // namespace agui::session
