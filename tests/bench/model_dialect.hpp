#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::bench {

/// What a model server speaks. Each event is as long as that of the vendor's own server.
enum class dialect : std::uint8_t { chat_completions, messages, responses };

/// The dialect of a request line in lower case; nullopt if it is no POST for an answer.
[[nodiscard]] std::optional<dialect> dialect_of(std::string_view request_line) noexcept;

/// An answer that is streamed as server-sent events. Each function returns whole events.
class model_answer {
public:
    /// `number` tells the answers of a process apart. With `with_usage`, Chat Completions tells the
    /// usage; the others always do.
    model_answer(dialect spoken, std::uint64_t number, bool with_usage);

    /// What comes before the first token.
    [[nodiscard]] std::string opening() const;
    /// The next token: its index and the time, which the load generator reads.
    [[nodiscard]] std::string token(std::int64_t index, std::int64_t now_ns);
    /// What comes after the last token.
    [[nodiscard]] std::string ending(std::int64_t tokens) const;

private:
    dialect spoken_;
    bool with_usage_;
    std::string id_;
    std::string text_; ///< So far. Kept for responses alone, which repeats it.
};

} // namespace agui::bench
