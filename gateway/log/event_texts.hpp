#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// The JSON of the events of one run, numbered from 1, in little memory: a delta is kept without
/// the part that it shares with earlier deltas (type and id), so that a token takes its text and a
/// few bytes. write() gives exactly the bytes that were appended. Not synchronized.
class event_texts {
public:
    /// Appends an event. Returns by how many bytes the memory has grown: usually 0.
    std::size_t append(std::string_view json);

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    /// The approximate memory of the events.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return bytes_ + entries_.size() * sizeof(entry);
    }
    /// The approximate size of the events after `from` up to `to`, plus `around` for each; with
    /// `joined`, without the shared parts of deltas and `around`, which joined deltas have only
    /// once. from < to <= size().
    [[nodiscard]] std::size_t bytes_between(
        std::uint64_t from, std::uint64_t to, bool joined, std::size_t around
    ) const noexcept;

    /// Appends the JSON of an event to `out`.
    void write(std::uint64_t sequence, std::string& out) const;

    /// If the last event is a delta, allows joining it with adjacent deltas of its message.
    void let_last_join();
    /// Returns true if the event has a `delta` that is a text.
    [[nodiscard]] bool is_delta(std::uint64_t sequence) const noexcept {
        return entries_[sequence - 1].prefix != 0;
    }
    [[nodiscard]] bool joins(std::uint64_t sequence) const noexcept {
        return entries_[sequence - 1].joins != 0;
    }
    /// The last of the events that `sequence` is joined with: deltas of one message, none after
    /// `last`, with about `max_bytes` of text.
    [[nodiscard]] std::uint64_t
    last_joined(std::uint64_t sequence, std::uint64_t last, std::size_t max_bytes) const noexcept;
    /// Appends the JSON of the events from `from` to `to`, which are joined into one delta.
    void write_joined(std::uint64_t from, std::uint64_t to, std::string& out) const;

private:
    /// A part of the bytes of all events.
    struct block {
        std::unique_ptr<char[]> bytes;
        std::size_t begin = 0; ///< The offset of its first byte.
        std::size_t size = 0;
        std::size_t capacity = 0;
    };
    /// Where an event's own bytes end, and which prefix comes before them.
    struct entry {
        std::uint32_t end;
        std::uint32_t prefix : 31; ///< Its index in prefixes_ plus one; 0 if there is none.
        std::uint32_t joins : 1;
    };

    [[nodiscard]] std::size_t append_bytes(std::string_view bytes);
    [[nodiscard]] std::size_t begin_of(std::uint64_t sequence) const noexcept {
        return sequence == 1 ? 0 : entries_[sequence - 2].end;
    }
    void copy_bytes(std::size_t from, std::size_t to, std::string& out) const;
    [[nodiscard]] bool is_plain_delta(std::uint64_t sequence) const;

    std::vector<block> blocks_;
    std::size_t bytes_ = 0;
    std::vector<entry> entries_; ///< entries_[i] is event i + 1.
    std::vector<std::string> prefixes_;
};

} // namespace agui::gateway
