#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"

#include <boost/json/object.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::session {

/// A value is cut to this many bytes, between two characters: enough for a name, a role or an
/// address. Longer texts belong in the request's `context`.
inline constexpr std::size_t prompt_value_max = 1024;

/// The text as it may stand in a prompt: valid UTF-8 of at most prompt_value_max bytes, with a
/// space in place of each control character and line break, so that a value cannot begin a line of
/// its own.
/// Precondition: `text` is valid UTF-8.
[[nodiscard]] std::string prompt_value(std::string_view text);

/// The values of the names in a template. The views must outlive the call that they are passed to.
struct prompt_values {
    std::string_view user;   ///< `user`
    std::string_view agent;  ///< `agent`
    std::string_view thread; ///< `thread`
    /// `time`, in UTC to the second (`2026-03-01T09:30:00Z`), and `date`, its day (`2026-03-01`).
    unix_ms time = 0;
    /// `forwardedProps.NAME`: the string member NAME; anything else counts as an empty text.
    const boost::json::object* props = nullptr;
};

/// A text with placeholders: `{{name}}`, spaces around the name allowed. `{{{{` is a literal `{{`.
/// A placeholder becomes its value, even if that contains placeholders. Immutable.
class prompt_template {
public:
    /// The empty text.
    prompt_template() = default;

    /// `props` are the names that may follow `forwardedProps.`. Fails with errc::invalid_input for
    /// an unknown name, and for a `{{` that begins no placeholder; the detail says which, and what
    /// is known.
    [[nodiscard]] static result<prompt_template>
    parse(std::string_view text, const std::vector<std::string>& props);

    /// True if it has no placeholder: each rendering is the same.
    [[nodiscard]] bool constant() const noexcept;
    /// True if it has `time` or `date`.
    [[nodiscard]] bool tells_time() const noexcept;
    [[nodiscard]] std::string render(const prompt_values& values) const;
    /// The names of the placeholders with their values as render() writes them, each name once, in
    /// the order of the text.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> told(const prompt_values& values
    ) const;

private:
    struct part {
        enum class kind { text, user, agent, thread, time, date, prop };
        kind what = kind::text;
        std::string text; ///< text: itself; prop: the member's name.
    };

    static const std::array<std::pair<std::string_view, part::kind>, 5> value_names;

    [[nodiscard]] static result<part>
    placeholder(std::string_view name, const std::vector<std::string>& props);
    [[nodiscard]] static std::string value_of(const part& each, const prompt_values& values);
    void append_text(std::string_view text);

    std::vector<part> parts_;
};

} // namespace agui::session
