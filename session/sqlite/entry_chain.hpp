#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

/// The entries of one run's log as bytes, one after the other, each without what it shares with the
/// one before it: the deltas of a message differ in little but their text, so that a token takes
/// some 30 bytes instead of 150 (session/sqlite/README.md, "Log bytes"). Encoding and decoding keep
/// the same state: who has decoded a chain can go on encoding it.
class entry_chain {
public:
    /// Appends the next entry to `bytes`.
    void encode(std::string_view json, std::string_view variants, std::string& bytes);

    /// Takes the next entry off the front of `bytes`. False: these are not the bytes of an entry
    /// that can follow; `entry`, `bytes` and this are then of no more use.
    [[nodiscard]] bool decode(std::uint64_t sequence, std::string_view& bytes, log_entry& entry);

    /// The next entry is encoded whole. A decoder need not know.
    void restart() noexcept { last_.clear(); }
    /// True if the entry that `bytes` begin with is encoded whole: a chain may begin here.
    [[nodiscard]] static bool begins_with_whole_entry(std::string_view bytes);

private:
    void remember(std::size_t shared, std::string_view own);

    std::string last_; ///< Of the last entry, as far as the next one is compared with it.
};

/// About after how many bytes a chain is restarted: what a reader from the middle has to read at
/// least.
inline constexpr std::size_t chain_bytes_max = 64U << 10U;

/// Appends all entries of the slice.
void encode_entries(const log_slice& slice, entry_chain& chain, std::string& bytes);

} // namespace agui::session
