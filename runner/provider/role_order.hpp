#pragma once

#include "session/conversation/message.hpp"

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Replaces a user message in which nothing is left to be sent: model servers refuse an empty text,
/// and without the message the roles would be out of order.
inline constexpr std::string_view empty_message_text = "(This message has no text.)";

/// Stands after an answer that a request would end with, and stays there: most servers refuse such
/// an end, and later requests must begin alike (P13), so this text never changes.
inline constexpr std::string_view continue_text = "(Continue.)";

/// The order of roles that a model server, or its chat template, demands.
struct role_order {
    bool merges_rows = false;      ///< Merges adjacent messages of the user or of the assistant.
    bool begins_with_user = false; ///< The first message after system texts is the user's.
    bool answers_results = false;  ///< Only an assistant message follows the results of tools.
    /// continue_text follows an answer that is last, or that another one of the model that is
    /// asked follows (it has an origin): the request for that one ended so. A plugin's message is a
    /// part of the answer next to it.
    bool separates_answers = false;
};

/// The messages of a request in the order of roles that its server demands, without messages that
/// are not for models and without blank system text. Where the order demands a missing message, a
/// fixed text is inserted. If the history grows, the list only grows, except for a merged message
/// at its end.
///
/// Refers to `given`, which must outlive this object.
class ordered_messages {
public:
    ordered_messages(const std::vector<session::message>& given, role_order order);
    ordered_messages(const ordered_messages&) = delete;
    ordered_messages& operator=(const ordered_messages&) = delete;

    [[nodiscard]] const std::vector<const session::message*>& list() const noexcept {
        return list_;
    }

private:
    [[nodiscard]] bool is_answer_at(std::size_t place) const;
    void merge(std::size_t place, const session::message& next);
    void add_fixed(session::role who, std::string_view text);

    std::vector<const session::message*> list_;
    std::deque<session::message> made_; ///< Messages that `given` does not hold.
};

} // namespace agui::runner
