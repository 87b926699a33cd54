#include "session/store/entry_chain.hpp"

#include "session/base/leb128.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace agui::session {

namespace {

// Deltas share little: a type and an id or two. With this limit, a large entry between them (a
// state, a history) takes no more memory.
constexpr std::size_t compared_bytes_max = 512;

// Flags below the number of shared bytes.
constexpr std::uint64_t has_variants = 1;
constexpr std::uint64_t shares_more = 2;
constexpr unsigned flag_bits = 2;
// A shorter shared part does not pay for its two lengths.
constexpr std::size_t least_shared_again = 4;

void put_bytes(std::string& to, std::string_view bytes) {
    put_leb128(to, bytes.size());
    to += bytes;
}

bool take_bytes(std::string_view& bytes, std::string_view& taken) {
    std::uint64_t size = 0;
    if (!take_leb128(bytes, size) || size > bytes.size()) {
        return false;
    }
    taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return true;
}

// Compares eight bytes at a time: deltas agree in about a hundred.
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

// Members after the text of a delta differ in the last digits of a time. The decoder finds where
// they begin in the last entry by itself: at the first quotation mark after the shared bytes.
std::string_view entry_chain::rest_of_last(std::size_t shared) const noexcept {
    return std::string_view(last_).substr(std::min(last_.find('"', shared), last_.size()));
}

void entry_chain::encode(std::string_view json, std::string_view variants, std::string& bytes) {
    const std::size_t shared = common_prefix(json, last_);
    const std::string_view own = json.substr(shared);
    const std::size_t text = std::min(shares_twice_ ? own.find('"') : own.npos, own.size());
    const std::size_t again = common_prefix(own.substr(text), rest_of_last(shared));
    const bool is_shared_again = again >= least_shared_again;
    put_leb128(
        bytes, std::uint64_t{shared} << flag_bits | (variants.empty() ? 0 : has_variants) |
                   (is_shared_again ? shares_more : 0)
    );
    put_bytes(bytes, own.substr(0, is_shared_again ? text : own.npos));
    if (is_shared_again) {
        put_leb128(bytes, again);
        put_bytes(bytes, own.substr(text + again));
    }
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
    std::string_view again;
    std::string_view end;
    if ((head & shares_more) != 0) {
        std::uint64_t size = 0;
        again = rest_of_last(shared);
        if (!take_leb128(bytes, size) || size > again.size() || !take_bytes(bytes, end)) {
            return false;
        }
        again = again.substr(0, size);
    }
    std::string_view variants;
    if ((head & has_variants) != 0 && !take_bytes(bytes, variants)) {
        return false;
    }
    entry.sequence = sequence;
    entry.variants = variants;
    entry.json.assign(last_, 0, shared).append(own).append(again).append(end);
    remember(shared, std::string_view(entry.json).substr(shared));
    return true;
}

bool entry_chain::begins_with_whole_entry(std::string_view bytes) {
    std::uint64_t head = 0;
    return take_leb128(bytes, head) && head >> flag_bits == 0 && (head & shares_more) == 0;
}

void entry_chain::remember(std::size_t shared, std::string_view own) {
    last_.resize(shared);
    last_ += own.substr(0, compared_bytes_max - std::min(shared, compared_bytes_max));
}

void encode_entries(const log_slice& slice, entry_chain& chain, std::string& bytes) {
    std::size_t begin = 0;
    auto variant = slice.variants.begin();
    for (std::uint32_t i = 0; i < slice.ends.size(); ++i) {
        const std::string_view json =
            std::string_view(slice.events).substr(begin, slice.ends[i] - begin);
        std::string_view variants;
        if (variant != slice.variants.end() && variant->first == i) {
            variants = variant->second;
            ++variant;
        }
        chain.encode(json, variants, bytes);
        begin = slice.ends[i];
    }
}

} // namespace agui::session
