#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::runner {

/// The form of a model's text. With `items` it is a JSON list of thoughts and one chat item.
enum class reply_format { text, items };

/// A reply in the form `items`.
struct reply_items {
    /// Text, or a segment of another type as the model wrote it.
    using segment = std::variant<std::string, boost::json::object>;

    std::string thoughts; ///< Joined with empty lines; may be empty.
    /// Segments of the first chat item. No two texts are adjacent, and none is empty.
    std::vector<segment> segments;
    bool has_chat = false;
    std::size_t more_chats = 0; ///< Ignored chat items after the first.
    std::size_t odd = 0;        ///< Malformed items and segments, which are left out.
};

/// Reads `[{"type":"thought","content":TEXT}…, {"type":"chat","content":TEXT or SEGMENTS}]`, or an
/// object that has this list as its member `items`. A segment is a text, or an object with a
/// `type`; with the type `text`, it has its text in `text` or in `data.text`. Returns nullopt for
/// any other text.
[[nodiscard]] std::optional<reply_items> read_reply_items(std::string_view text);

/// The JSON Schema of an object with `items`, for model servers that accept one. It has the strict
/// form: a chat item's content is a text or a list of texts, because other segments have no schema.
[[nodiscard]] std::string_view reply_items_schema() noexcept;

} // namespace agui::runner
