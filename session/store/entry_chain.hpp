#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

/// The entries of one run's log as bytes, each without the prefix that it shares with the previous
/// one: the deltas of a message differ in little but their text, so a token takes its text and
/// about five bytes (session/sqlite/FORMAT.md). Encoding and decoding keep the same
/// state: an object that has decoded a chain can continue to encode it.
class entry_chain {
public:
    /// once: the form that readers of all versions of agui.db expect. twice: an entry may also
    /// share bytes after its text, which halves a delta that has a time. Decoding reads both.
    enum class sharing : std::uint8_t { once, twice };
    explicit entry_chain(sharing how = sharing::once) noexcept
        : shares_twice_(how == sharing::twice) {}

    /// Appends the next entry to `bytes`.
    void encode(std::string_view json, std::string_view variants, std::string& bytes);

    /// Reads the next entry and removes it from the front of `bytes`. Returns false if `bytes` does
    /// not begin with a valid next entry; `entry`, `bytes` and this object are then unusable.
    [[nodiscard]] bool decode(std::uint64_t sequence, std::string_view& bytes, log_entry& entry);

    /// Makes encode() write the next entry whole. Decoding needs no such call.
    void restart() noexcept { last_.clear(); }
    /// True if the first entry in `bytes` is encoded whole, so that a chain may begin with it.
    [[nodiscard]] static bool begins_with_whole_entry(std::string_view bytes);

private:
    void remember(std::size_t shared, std::string_view own);
    [[nodiscard]] std::string_view rest_of_last(std::size_t shared) const noexcept;

    bool shares_twice_;
    std::string last_; ///< The part of the last entry with which the next one is compared.
};

/// A chain is restarted after about this many bytes: a reader that starts in the middle of a log
/// decodes at most about as much before its first entry.
inline constexpr std::size_t chain_bytes_max = 64U << 10U;

/// Appends all entries of the slice.
void encode_entries(const log_slice& slice, entry_chain& chain, std::string& bytes);

} // namespace agui::session
