#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui {

/// Bytes of a threadId, runId, message or call id: they become keys, and each request repeats them.
inline constexpr std::size_t id_bytes_max = 512;

/// True for an id without control characters that is not longer than `bytes_max`.
[[nodiscard]] bool is_sound_id(std::string_view id, std::size_t bytes_max = id_bytes_max) noexcept;

/// Source of identifiers. Safe to call from any thread.
class id_source {
public:
    virtual ~id_source() = default;

    /// `prefix` followed by '_' and characters of [0-9A-Za-z]: `msg_4fK…`.
    [[nodiscard]] virtual std::string next(std::string_view prefix) = 0;
};

/// 95 random bits (16 characters) from the system's generator, so that ids of all threads, processes
/// and restarts differ and cannot be guessed.
class random_ids final : public id_source {
public:
    [[nodiscard]] std::string next(std::string_view prefix) override;
};

/// `msg_1`, `msg_2`, …: one counter for all prefixes; for tests and replayed fixtures.
class sequential_ids final : public id_source {
public:
    [[nodiscard]] std::string next(std::string_view prefix) override;

private:
    std::atomic<std::uint64_t> count_{0};
};

} // namespace agui
