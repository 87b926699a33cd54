#include "session/history/history_window.hpp"

#include "session/conversation/prompt_record.hpp"
#include "session/history/delimited_text.hpp"
#include "session/history/prompt_fold.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

namespace agui::session {

namespace {

constexpr std::uint64_t bytes_of_token = 4;
constexpr std::uint64_t tokens_of_message = 4;
constexpr std::uint64_t tokens_of_media = 1000;

std::uint64_t tokens_of_text(std::string_view text) noexcept {
    return (text.size() + bytes_of_token - 1) / bytes_of_token;
}

std::uint64_t tokens_of_part(const boost::json::value& part) {
    const auto* const object = part.if_object();
    const auto* const text = object == nullptr ? nullptr : object->if_contains("text");
    return text != nullptr && text->is_string() ? tokens_of_text(text->get_string())
                                                : tokens_of_media;
}

/// The size of some messages.
struct extent {
    std::size_t messages = 0;
    std::uint64_t tokens = 0;

    extent& operator+=(const extent& more) noexcept {
        messages += more.messages;
        tokens += more.tokens;
        return *this;
    }
    extent& operator-=(const extent& less) noexcept {
        messages -= less.messages;
        tokens -= less.tokens;
        return *this;
    }
};

bool fits(const extent& what, const history_window& window) noexcept {
    return (window.max_messages == 0 || what.messages <= window.max_messages) &&
           (window.max_tokens == 0 || what.tokens <= window.max_tokens);
}

// True if `what` fills a `parts`-th of the window by one of its limits.
bool fills(const extent& what, std::uint64_t parts, const history_window& window) noexcept {
    return (window.max_messages > 0 && what.messages * parts >= window.max_messages) ||
           (window.max_tokens > 0 && what.tokens * parts >= window.max_tokens);
}

// Messages that are kept or dropped together.
struct piece {
    std::size_t first = 0; ///< The index of its first message.
    extent size;
};

std::vector<piece> turns_of(const std::vector<message>& messages, std::size_t first_user) {
    std::vector<piece> turns;
    for (std::size_t i = first_user; i < messages.size(); ++i) {
        if (turns.empty() || begins_user_turn(messages[i])) {
            turns.push_back({i, {}});
        }
        turns.back().size += {1, estimated_tokens(messages[i])};
    }
    return turns;
}

// Whole turns, about a `parts`-th of the window. Depends on the start of the conversation alone:
// appended messages change the last block only.
std::vector<piece>
blocks_of(const std::vector<piece>& turns, std::uint64_t parts, const history_window& window) {
    std::vector<piece> blocks;
    for (const piece& turn : turns) {
        if (blocks.empty() || fills(blocks.back().size, parts, window)) {
            blocks.push_back({turn.first, {}});
        }
        blocks.back().size += turn.size;
    }
    return blocks;
}

// Drops the oldest blocks of messages of size `all` until the rest fits, or one is left. Returns
// the index of the first message that stays.
std::size_t
drop_blocks(const std::vector<piece>& blocks, extent& all, const history_window& window) {
    std::size_t kept = 0;
    for (; kept + 1 < blocks.size() && !fits(all, window); ++kept) {
        all -= blocks[kept].size;
    }
    return blocks[kept].first;
}

} // namespace

std::uint64_t estimated_tokens(const message& value) {
    std::uint64_t tokens = tokens_of_message;
    if (const auto* const text = std::get_if<std::string>(&value.content)) {
        tokens += tokens_of_text(*text);
    } else {
        for (const boost::json::value& part : std::get<boost::json::array>(value.content)) {
            tokens += tokens_of_part(part);
        }
    }
    for (const tool_call& call : value.tool_calls) {
        tokens += tokens_of_text(call.name) + tokens_of_text(call.arguments);
    }
    if (value.prompt) {
        const prompt_record& told = *value.prompt;
        tokens += told.begins ? 0 : tokens_of_text(values_text(told.values));
        tokens += tokens_of_text(told.context) + tokens_of_text(told.state);
    }
    return tokens + (value.error ? tokens_of_text(*value.error) : 0);
}

std::vector<message> within_window(std::vector<message> messages, const history_window& window) {
    if (!window.limited()) {
        return messages;
    }
    const auto first_user = std::ranges::find_if(messages, begins_user_turn) - messages.begin();
    extent all;
    for (const message& each : messages) {
        all += {1, estimated_tokens(each)};
    }
    if (fits(all, window)) {
        return messages;
    }
    const std::vector<piece> turns = turns_of(messages, static_cast<std::size_t>(first_user));
    if (turns.empty()) {
        return messages;
    }
    // A block may be larger than the window, by a long turn at its end: then smaller ones are
    // dropped, down to single turns, until the rest fits or the last turn is left.
    std::size_t from = 0;
    extent left = all;
    for (std::uint64_t parts = 2;; parts *= 2) {
        const std::vector<piece> blocks = blocks_of(turns, parts, window);
        left = all;
        from = drop_blocks(blocks, left, window);
        if (fits(left, window) || blocks.size() == turns.size()) {
            break;
        }
    }
    move_told_parts(messages, static_cast<std::size_t>(first_user), from);
    messages.erase(
        messages.begin() + first_user, messages.begin() + static_cast<std::ptrdiff_t>(from)
    );
    return messages;
}

} // namespace agui::session
