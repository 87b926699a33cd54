#pragma once

#include <optional>
#include <string_view>

namespace agui::translator {

/// A delta event is `{"type":…,"<id_key>":…,"delta":"TEXT"}`. Those of one message are the same but
/// for the text, so that their readers need not parse them.
inline constexpr std::string_view delta_member = R"("delta":")"; ///< What they share ends so.
inline constexpr std::string_view delta_end = R"("})";           ///< What follows the text.

/// `rest` is what follows delta_member. The text, as it stands in JSON; nullopt if anything but the
/// end of the event follows it.
[[nodiscard]] std::optional<std::string_view> plain_delta_text(std::string_view rest) noexcept;

} // namespace agui::translator
