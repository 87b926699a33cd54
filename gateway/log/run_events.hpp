#pragma once

#include "gateway/log/event_texts.hpp"
#include "gateway/log/stream_form.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/protocol_version.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The events of one run, numbered from 1, with their forms for older projections and the
/// unnumbered events that may end the log. Counts their memory. It does not know which events are
/// visible, so each reader passes the number of the last one. Not synchronized.
class run_events {
public:
    struct settings {
        memory_budget* budget = nullptr; ///< Counts the memory; may be null.
        std::size_t copies = 1;   ///< How many times the memory counts, until release_copies().
        bool join_deltas = false; ///< See event_log::settings.
    };

    explicit run_events(const settings& options);

    void append(const translator::wire_event& event);
    /// Appends an event from the store. std::runtime_error: the entry is damaged.
    void restore(const session::log_entry& entry);
    /// Sets the events without a number, as JSON. Readers get them after the numbered ones.
    void end_with(std::vector<std::string> unnumbered) noexcept {
        unnumbered_ = std::move(unnumbered);
    }
    /// From here on the memory counts once.
    void release_copies() noexcept { share_.shrink_to(held_bytes_); }

    /// The number of events, which is the number of the last.
    [[nodiscard]] std::uint64_t size() const noexcept { return texts_.size(); }
    /// The approximate memory of the events.
    [[nodiscard]] std::size_t bytes() const noexcept { return texts_.bytes(); }
    /// True if the budget had no room for all of them. (They are kept nevertheless.)
    [[nodiscard]] bool over_budget() const noexcept { return over_budget_; }
    /// The approximate size of the events after `from` up to `to`. from < to <= size().
    [[nodiscard]] std::size_t bytes_between(std::uint64_t from, std::uint64_t to) const noexcept {
        return texts_.bytes_between(from, to, false, 0);
    }
    [[nodiscard]] bool are_deltas(std::uint64_t first, std::uint64_t last) const noexcept;
    [[nodiscard]] const std::vector<std::string>& unnumbered() const noexcept {
        return unnumbered_;
    }

    /// Appends the JSON of an event to `out`.
    void write(std::uint64_t sequence, std::string& out) const { texts_.write(sequence, out); }
    /// Writes the events from `first` to `last` as the store keeps them, to an empty slice.
    void write_entries(std::uint64_t first, std::uint64_t last, session::log_slice& slice) const;
    /// Writes the log_slice::variants entry of an event: its forms for older projections, each
    /// nullopt if it is the same as for the newest.
    [[nodiscard]] static std::string write_variants(
        const std::optional<std::string>& v1_0, const std::optional<std::string>& undeclared
    );

    /// A reader's place, seen through a projection.
    struct cursor {
        translator::projection projection = translator::projection::v1_1;
        std::uint64_t after = 0;    ///< Sequence number of the last event read.
        std::uint64_t offset = 0;   ///< Added to the numbers that are written.
        std::size_t tail_read = 0;  ///< How many unnumbered events were read.
        std::uint64_t split_at = 0; ///< No joined event spans this number.
        /// Skips results of earlier calls right after RUN_STARTED, because the reader has them.
        bool knows_earlier_results = false;
    };

    /// Appends the next events up to the number `visible`, and then the unnumbered ones, to `out`
    /// in the given form, and moves the cursor past them: about `max_bytes` of the numbered ones at
    /// most, but no less than one if there is one.
    void read(
        cursor& at, const stream_form& form, std::uint64_t visible, std::size_t max_bytes,
        std::string& out
    ) const;
    /// The same for numbered events as the store keeps them, to an empty slice.
    void read_entries(
        cursor& at, std::uint64_t visible, std::size_t max_bytes, session::log_slice& slice
    ) const;
    /// The approximate number of bytes in that form that are still to be read up to `visible`.
    [[nodiscard]] std::size_t
    backlog_bytes(const cursor& at, const stream_form& form, std::uint64_t visible) const noexcept;

private:
    /// The JSON of an event for older projections: nullopt if it is the same as for the newest,
    /// empty if the event is left out.
    struct variant_entry {
        std::uint64_t sequence;
        std::optional<std::string> v1_0;
        std::optional<std::string> undeclared;
    };

    void append_text(std::string_view json);
    void count(std::size_t bytes) noexcept;
    [[nodiscard]] const std::optional<std::string>*
    older_form(translator::projection seen, std::uint64_t sequence) const;
    [[nodiscard]] bool is_earlier_result(std::uint64_t sequence) const;

    const std::size_t copies_;
    const bool join_deltas_;
    event_texts texts_;
    std::vector<variant_entry> variants_; ///< In order; few events have any.
    std::vector<std::string> unnumbered_;
    memory_share share_;
    std::size_t held_bytes_ = 0; ///< The approximate memory of texts_ and variants_.
    bool over_budget_ = false;
};

} // namespace agui::gateway
