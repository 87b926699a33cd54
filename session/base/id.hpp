#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui {

/// The most bytes of a threadId, runId, message id or call id: ids become keys, and each request
/// repeats them.
inline constexpr std::size_t id_bytes_max = 512;

/// True for an id of at most `bytes_max` bytes that holds nothing that could break a line or change
/// how the text around it is shown: no control characters (C0, DEL, C1), no line or paragraph
/// separator (U+2028, U+2029), no bidirectional controls (U+202A to U+202E, U+2066 to U+2069). The
/// empty id is sound.
[[nodiscard]] bool is_sound_id(std::string_view id, std::size_t bytes_max = id_bytes_max) noexcept;

/// The length in bytes of the first character of `text` (not empty) if it is one that an id must
/// not hold and a log line must not show; otherwise 0.
[[nodiscard]] std::size_t unsound_character(std::string_view text) noexcept;

/// Bytes from the system's random generator, fit for keys. Throws std::runtime_error if it fails.
[[nodiscard]] std::string random_bytes(std::size_t count);

/// Source of identifiers. Safe to call from any thread.
class id_source {
public:
    virtual ~id_source() = default;

    /// An id that no other call returns. `kind` names its use (`msg`, `call`); the id need not
    /// contain it.
    [[nodiscard]] virtual std::string next(std::string_view kind) = 0;
};

/// UUIDs of version 7 (RFC 9562): 48 bits of milliseconds, then 74 random bits from the system's
/// generator. So ids cannot be guessed and never repeat, whatever thread or process makes them;
/// those of a later millisecond sort after earlier ones. Some clients (the Rust SDK) parse message
/// ids as UUIDs. Throws std::runtime_error if the system's generator fails.
class uuid_ids final : public id_source {
public:
    [[nodiscard]] std::string next(std::string_view kind) override;
};

/// `msg_1`, `msg_2`, …: one counter for all kinds; for tests and replayed fixtures.
class sequential_ids final : public id_source {
public:
    [[nodiscard]] std::string next(std::string_view kind) override;

private:
    std::atomic<std::uint64_t> count_{0};
};

} // namespace agui
