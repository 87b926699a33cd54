#pragma once

#include "gateway/run/peer_door.hpp"
#include "session/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

// How entries of a run's log travel between gateways: a header line with kind and lengths, then
// that many bytes.
//
//   e SEQUENCE JSON_BYTES VARIANTS_BYTES   an entry: its JSON, then its variants
//   u JSON_BYTES                           an event that ends the log and has no number
//   alive                                  nothing is new
//   ended | moved | cut_off                nothing will follow (entries_end)

inline constexpr std::string_view entries_content_type = "application/x-agui-entries";
inline constexpr std::string_view alive_frame = "alive\n";
inline constexpr std::string_view cut_off_frame = "cut_off\n";

/// How often a stream says that it is alive when nothing is new. One from which nothing comes for
/// three times as long is dead, whatever its connection says.
inline constexpr std::chrono::milliseconds alive_period{5'000};

/// Appends the frames of the entries.
void write_entries(const session::log_slice& slice, std::string& out);
void write_unnumbered(std::string_view json, std::string& out);
/// `end` is one that a gateway says: ended, moved or cut_off.
void write_end(entries_end end, std::string& out);

/// Reads frames that may be cut anywhere. Keeps the rest of the last one, and the events without a
/// number until the end has come.
class entry_frame_reader {
public:
    /// The first entry that comes is the one after `after`.
    explicit entry_frame_reader(std::uint64_t after) : last_(after) {}

    /// Adds what is complete to `out`. False: the bytes make no sense, an entry is missing, or
    /// something follows the end. Then nothing more can be read.
    [[nodiscard]] bool add(std::string_view bytes, run_entries& out);

private:
    enum class step { taken, incomplete, damaged };
    [[nodiscard]] step take(run_entries& out);
    [[nodiscard]] step take_entry(std::string_view line, std::size_t begin, run_entries& out);
    [[nodiscard]] step take_unnumbered(std::string_view line, std::size_t begin);

    std::string rest_;
    std::size_t used_ = 0; ///< How much of `rest_` has been read.
    std::vector<std::string> unnumbered_;
    std::size_t unnumbered_bytes_ = 0;
    std::uint64_t last_;
    bool is_over_ = false;
};

} // namespace agui::gateway
