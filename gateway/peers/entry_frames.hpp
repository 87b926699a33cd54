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

// Format of log entries sent between gateways: a header line with kind and lengths, then that many
// bytes.
//
//   e SEQUENCE JSON_BYTES VARIANTS_BYTES   an entry: its JSON, then its variants
//   u JSON_BYTES                           an event that ends the log and has no number
//   alive                                  nothing is new
//   ended | moved | cut_off                nothing will follow (entries_end)

inline constexpr std::string_view entries_content_type = "application/x-agui-entries";
inline constexpr std::string_view alive_frame = "alive\n";
inline constexpr std::string_view cut_off_frame = "cut_off\n";

/// How often a stream without new entries sends an alive frame. A stream that is silent for three
/// times as long is dead, whatever state its connection has.
inline constexpr std::chrono::milliseconds alive_period{5'000};

/// Appends the frames of the entries.
void write_entries(const session::log_slice& slice, std::string& out);
void write_unnumbered(std::string_view json, std::string& out);
/// `end` must be one that gateways send: ended, moved or cut_off.
void write_end(entries_end end, std::string& out);

/// Reads frames from bytes that may be cut anywhere. Keeps an incomplete frame, and unnumbered
/// events until the end arrives.
class entry_frame_reader {
public:
    /// The first entry must be the one after `after`.
    explicit entry_frame_reader(std::uint64_t after) : last_(after) {}

    /// Adds complete frames to `out`. Returns false if the bytes are malformed, an entry is
    /// missing, or something follows the end. Then nothing more can be read.
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
