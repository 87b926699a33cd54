#include "session/history/history_window.hpp"

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

/// How much there is of some messages.
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

bool fills_half(const extent& what, const history_window& window) noexcept {
    return (window.max_messages > 0 && what.messages * 2 >= window.max_messages) ||
           (window.max_tokens > 0 && what.tokens * 2 >= window.max_tokens);
}

// Whole turns, about half a window of them.
struct block {
    std::size_t first = 0; ///< The index of its first message.
    extent size;
};

// Depends on the start of the conversation alone: what is appended changes the last block only.
std::vector<block> blocks_of(
    const std::vector<message>& messages, std::size_t first_user, const history_window& window
) {
    std::vector<block> blocks;
    for (std::size_t i = first_user; i < messages.size(); ++i) {
        const bool begins_turn = messages[i].role == role::user;
        if (blocks.empty() || (begins_turn && fills_half(blocks.back().size, window))) {
            blocks.push_back({i, {}});
        }
        blocks.back().size += {1, estimated_tokens(messages[i])};
    }
    return blocks;
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
    return tokens + (value.error ? tokens_of_text(*value.error) : 0);
}

std::vector<message> within_window(std::vector<message> messages, const history_window& window) {
    if (!window.limited()) {
        return messages;
    }
    const auto is_user = [](const message& each) {
        return each.role == role::user;
    };
    const auto first_user = std::ranges::find_if(messages, is_user) - messages.begin();
    extent all;
    for (const message& each : messages) {
        all += {1, estimated_tokens(each)};
    }
    if (fits(all, window)) {
        return messages;
    }
    const std::vector<block> blocks =
        blocks_of(messages, static_cast<std::size_t>(first_user), window);
    std::size_t from = static_cast<std::size_t>(first_user);
    for (std::size_t i = 0; i + 1 < blocks.size() && !fits(all, window); ++i) {
        all -= blocks[i].size;
        from = blocks[i + 1].first;
    }
    messages.erase(
        messages.begin() + first_user, messages.begin() + static_cast<std::ptrdiff_t>(from)
    );
    return messages;
}

} // namespace agui::session
