#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::runner {

/// The form of a model's text. `items`: a JSON list of thoughts and one chat item.
enum class reply_format { text, items };

/// What a reply in the form `items` says.
struct reply_items {
    /// Text, or a segment of another type as the model wrote it.
    using segment = std::variant<std::string, boost::json::object>;

    std::string thoughts;          ///< Joined, with an empty line between two. Empty: none.
    std::vector<segment> segments; ///< Of the first chat item; no two texts in a row, none empty.
    bool has_chat = false;
    std::size_t more_chats = 0; ///< Chat items after the first, which do not count.
    std::size_t odd = 0;        ///< Items and segments that are not what they should be: left out.
};

/// Reads `[{"type":"thought","content":TEXT}…, {"type":"chat","content":TEXT or SEGMENTS}]`, or an
/// object that has this list as its member `items`. A segment is a text, or an object with a
/// `type`; of type `text`, it has its text in `text` or in `data.text`. nullopt: it is not such
/// JSON.
[[nodiscard]] std::optional<reply_items> read_reply_items(std::string_view text);

/// The JSON Schema of an object with `items`, for model servers that take one. In the strict form:
/// a chat item's content is a text or a list of texts, because other segments have no schema.
[[nodiscard]] std::string_view reply_items_schema() noexcept;

} // namespace agui::runner
