#include "session/sqlite/log_chunk.hpp"

#include "session/base/checksum.hpp"
#include "session/base/lean_append.hpp"

#include <iterator>
#include <utility>

namespace agui::session {

std::uint64_t checksum_of(const encoded_slice& slice) noexcept {
    checksum sum;
    sum.add(static_cast<std::uint64_t>(slice.run_number));
    sum.add(slice.first_sequence);
    sum.add(std::uint64_t{slice.count});
    sum.add(slice.bytes);
    return sum.value();
}

bool decode_entries(
    const encoded_slice& slice, std::uint64_t after, std::size_t limit,
    std::vector<log_entry>& entries
) {
    entry_chain chain;
    std::string_view rest = slice.bytes;
    log_entry entry;
    for (std::uint32_t i = 0; i < slice.count && entries.size() < limit; ++i) {
        const std::uint64_t sequence = slice.first_sequence + i;
        if (!chain.decode(sequence, rest, entry)) {
            return false;
        }
        if (sequence > after) {
            entries.push_back(entry);
        }
    }
    return true;
}

void chunk_list::append(const log_slice& slice, std::string& encoded) {
    const bool begins_chunk = chunks_.empty() || chunks_.back().bytes.size() >= chain_bytes_max;
    if (begins_chunk) {
        chain_.restart();
    }
    encoded.clear();
    try {
        encode_entries(slice, chain_, encoded);
        if (begins_chunk) {
            chunks_.push_back({slice.first_sequence, 0, {}});
        }
        lean_append(chunks_.back().bytes, encoded);
    } catch (...) {
        // The chain must not continue from an entry that is not in the list.
        chain_.restart();
        if (!chunks_.empty() && chunks_.back().count == 0) {
            chunks_.pop_back();
        }
        throw;
    }
    log_chunk& open = chunks_.back();
    last_count_ = static_cast<std::uint32_t>(slice.ends.size());
    last_bytes_ = encoded.size();
    open.count += last_count_;
    bytes_ += last_bytes_;
}

void chunk_list::undo_append() noexcept {
    log_chunk& open = chunks_.back();
    open.bytes.resize(open.bytes.size() - last_bytes_);
    open.count -= last_count_;
    bytes_ -= last_bytes_;
    if (open.count == 0) {
        chunks_.pop_back();
    }
    last_count_ = 0;
    last_bytes_ = 0;
    chain_.restart();
}

void chunk_list::append(chunk_list&& next) {
    if (next.empty()) {
        return;
    }
    chunks_.reserve(chunks_.size() + next.chunks_.size());
    std::move(next.chunks_.begin(), next.chunks_.end(), std::back_inserter(chunks_));
    bytes_ += next.bytes_;
    chain_ = std::move(next.chain_);
    next.clear();
}

void chunk_list::clear() noexcept {
    chain_.restart();
    chunks_.clear();
    bytes_ = 0;
}

} // namespace agui::session
