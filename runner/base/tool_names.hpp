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

/// The names of tools between those who execute them, who see the real ones, and model servers,
/// which take `[a-zA-Z0-9_-]{1,64}` and answer 400 to a request that holds anything else (OpenAI,
/// Mistral, Bedrock; Anthropic the same up to 128). A dialect writes sent() wherever a request
/// names a tool; meant() reads what a model has called. The same tools give the same names.
class tool_names {
public:
    /// `offered`, the tools of one request, must outlive this; null: none.
    explicit tool_names(const std::vector<tool_definition>* offered);

    /// The name for a model server, of tools that are no longer offered, too. A name that fits is
    /// sent as it is. Another one has `_` for each byte that does not fit, is cut, and ends in a
    /// hash of the whole name: it depends on the name alone, so that a tool more or less renames no
    /// other. Names are never mixed up: if an offered tool has the very name that would be made, a
    /// further one is made.
    [[nodiscard]] std::string sent(std::string_view name) const;

    /// The offered tool that a model means by a name: sent() of it or its real name; otherwise that
    /// without white space around it (small models), and without the `functions.` in front under
    /// which OpenAI's models see their tools. Null: there is none.
    [[nodiscard]] const tool_definition* meant(std::string_view said) const noexcept;

private:
    [[nodiscard]] std::string unused_name(std::string_view name) const;
    [[nodiscard]] bool is_taken(std::string_view name) const noexcept;
    [[nodiscard]] const tool_definition* find(std::string_view name) const noexcept;

    const std::vector<tool_definition>* offered_;             ///< May be null.
    std::map<std::string, std::string, std::less<>> changed_; ///< Offered names that do not fit.
};

} // namespace agui::runner
