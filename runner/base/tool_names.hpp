#pragma once

#include "runner/base/model_provider.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The longest name of a tool that every model server takes.
inline constexpr std::size_t sent_tool_name_max = 64;

/// True for a character that every model server takes in such a name: `[a-zA-Z0-9_-]`.
[[nodiscard]] constexpr bool is_tool_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/// Translates tool names between the tools' executors, who see the real names, and model servers,
/// which accept `[a-zA-Z0-9_-]{1,64}` and answer 400 to a request with any other name (OpenAI,
/// Mistral, Bedrock; Anthropic the same up to 128). A dialect writes sent() wherever a request
/// names a tool; meant() reads the name that a model called. The same tools always give the same
/// names.
class tool_names {
public:
    /// `offered`, the tools of one request, must outlive this object; null if there are none.
    explicit tool_names(const std::vector<tool_definition>* offered);

    /// The name for a model server. It also works for tools that are not offered. A name that fits
    /// is sent unchanged. In any other name, each byte that does not fit becomes `_`; the name is
    /// cut and ends in a hash of the whole name. The result depends on that name alone, so that
    /// adding or removing a tool renames no other. If an offered tool already has the made name,
    /// another one is made.
    [[nodiscard]] std::string sent(std::string_view name) const;

    /// The offered tool that a model means by a name, or null. It tries sent() and the real name,
    /// then the name without white space around it (small models) and without the `functions.`
    /// prefix under which OpenAI's models see their tools.
    [[nodiscard]] const tool_definition* meant(std::string_view said) const noexcept;

private:
    [[nodiscard]] std::string unused_name(std::string_view name) const;
    [[nodiscard]] bool is_taken(std::string_view name) const noexcept;
    [[nodiscard]] const tool_definition* find(std::string_view name) const noexcept;

    const std::vector<tool_definition>* offered_; ///< May be null.
    /// Sent names of offered tools whose names do not fit.
    std::map<std::string, std::string, std::less<>> changed_;
};

} // namespace agui::runner
