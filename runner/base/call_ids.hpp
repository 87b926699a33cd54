#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace agui::runner {

/// The form of call ids that a model server accepts.
enum class call_id_form {
    /// 1 to 40 of `[a-zA-Z0-9_-]`. OpenAI and Azure refuse longer ids, Anthropic and Bedrock other
    /// characters.
    common,
    /// Nine of `[a-zA-Z0-9]`, which Mistral's API and chat templates demand.
    nine,
};

/// True if every server but Mistral's accepts the id (call_id_form::common).
[[nodiscard]] bool is_common_call_id(std::string_view id) noexcept;

/// Maps the call ids of one request to ids that its server accepts: ids of another server or of a
/// client may not fit. Call sent() in the order of the messages. An id that fits is sent unchanged.
/// Any other id is replaced by its hash, the same for the call and its result and in every request.
/// Two ids never become the same: the later one changes, so that the beginning of a request stays
/// as it was. The mapping is never stored.
class call_ids {
public:
    explicit call_ids(call_id_form form) noexcept : form_(form) {}

    /// `own` means that this server made the id and reads it: Kimi's templates want
    /// `functions.NAME:0` back (its tool_call_guidance.md). Such an id is sent unchanged unless the
    /// form is `nine`. The view lives as long as this object.
    [[nodiscard]] std::string_view sent(std::string_view id, bool own = false);

private:
    [[nodiscard]] bool fits(std::string_view id) const noexcept;

    call_id_form form_;
    std::map<std::string, std::string, std::less<>> sent_; ///< Sent ids by the real id.
    std::set<std::string, std::less<>> taken_;             ///< The ids that were sent.
};

} // namespace agui::runner
