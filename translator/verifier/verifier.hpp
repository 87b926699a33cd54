#pragma once

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::translator {

/// Checks a sequence of AG-UI events against the rules on which clients throw and those that a
/// producer should guarantee (reference rules V1 to V28, C, enforce-stage schema rules, and the
/// ordering list). Reopening by S9 is allowed. For tests and debug builds; speed does not matter.
class event_verifier {
public:
    struct settings {
        bool allow_several_runs = false; ///< Replayed history: several runs on one stream (S11).
    };

    event_verifier();
    explicit event_verifier(settings options);
    ~event_verifier();
    event_verifier(event_verifier&&) noexcept;
    event_verifier& operator=(event_verifier&&) noexcept;

    /// Checks the next event. Returns the rule's name and a sentence if it breaks one, otherwise
    /// nullopt.
    [[nodiscard]] std::optional<std::string> check(const boost::json::value& event);
    /// The same for an event's text; text that is not JSON breaks a rule too.
    [[nodiscard]] std::optional<std::string> check(std::string_view json);
    /// Checks a stream that ends here: its run must have been terminated.
    [[nodiscard]] std::optional<std::string> end() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::translator
