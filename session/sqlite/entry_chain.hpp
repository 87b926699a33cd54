#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

/// The entries of one run's log as bytes, each without the prefix it shares with the previous one:
/// the deltas of a message differ in little but their text, so a token takes some 30 bytes instead
/// of 150 (session/sqlite/README.md, "Log bytes"). Encoding and decoding keep the same state: after
/// decoding a chain, the same object can continue encoding it.
class entry_chain {
public:
    /// Appends the next entry to `bytes`.
    void encode(std::string_view json, std::string_view variants, std::string& bytes);

    /// Reads the next entry and removes it from the front of `bytes`. False: these are not the
    /// bytes of a valid next entry; then `entry`, `bytes` and this object are unusable.
    [[nodiscard]] bool decode(std::uint64_t sequence, std::string_view& bytes, log_entry& entry);

    /// The next entry is encoded whole. A decoder need not be told.
    void restart() noexcept { last_.clear(); }
    /// True if the entry that `bytes` begin with is encoded whole: a chain may begin here.
    [[nodiscard]] static bool begins_with_whole_entry(std::string_view bytes);

private:
    void remember(std::size_t shared, std::string_view own);

    std::string last_; ///< The part of the last entry with which the next one is compared.
};

/// A chain is restarted after about this many bytes: the least that a reader from the middle must
/// read.
inline constexpr std::size_t chain_bytes_max = 64U << 10U;

/// Appends all entries of the slice.
void encode_entries(const log_slice& slice, entry_chain& chain, std::string& bytes);

} // namespace agui::session
