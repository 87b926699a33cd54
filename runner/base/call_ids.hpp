#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace agui::runner {

/// Which ids of calls a model server takes.
enum class call_id_form {
    /// 1 to 40 of `[a-zA-Z0-9_-]`: OpenAI and Azure take no longer ones, Anthropic and Bedrock no
    /// other characters.
    common,
    /// Nine of `[a-zA-Z0-9]`: Mistral's API and chat templates.
    nine,
};

/// True for ids that every server but Mistral's takes (call_id_form::common).
[[nodiscard]] bool is_common_call_id(std::string_view id) noexcept;

/// The ids of calls in one request: those of another server, or of a client, need not fit the
/// server that is asked. To be asked in the order of the messages. An id that fits is sent as it
/// is, another one becomes a hash of it: the same in the call and in its result, in every request.
/// No two ids become the same; of two that would, the later one changes, so that the beginning of a
/// request stays as it was. What is sent is stored nowhere.
class call_ids {
public:
    explicit call_ids(call_id_form form) noexcept : form_(form) {}

    /// `own`: the server that is asked has made the id, and reads it: Kimi's templates want
    /// `functions.NAME:0` back (its tool_call_guidance.md). It is sent as it is, unless the form is
    /// `nine`. Lives as long as this.
    [[nodiscard]] std::string_view sent(std::string_view id, bool own = false);

private:
    [[nodiscard]] bool fits(std::string_view id) const noexcept;

    call_id_form form_;
    std::map<std::string, std::string, std::less<>> sent_; ///< By the real id.
    std::set<std::string, std::less<>> taken_;             ///< The ids that were sent.
};

} // namespace agui::runner
