#pragma once

#include <optional>
#include <string_view>

namespace agui::translator {

/// A delta event is `{"type":…,"<id_key>":…,"delta":"TEXT"}`. The deltas of one message differ only
/// in the text, so readers need not parse them.
inline constexpr std::string_view delta_member = R"("delta":")"; ///< End of the shared part.
inline constexpr std::string_view delta_end = R"("})";           ///< Follows the text.

/// Returns the text, in its JSON form; nullopt if anything but the end of the event follows it.
/// `rest` is the part of the event after delta_member.
[[nodiscard]] std::optional<std::string_view> plain_delta_text(std::string_view rest) noexcept;

} // namespace agui::translator
