#pragma once

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::translator {

/// Checks a sequence of AG-UI events against what clients throw on and what a producer should
/// guarantee (reference rules V1 to V28, C, enforce-stage schema rules, and the ordering list),
/// reopening by S9 allowed. For tests and debug builds; speed does not matter.
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

    /// What is wrong with the next event: the rule's name and a sentence; nullopt if nothing is.
    [[nodiscard]] std::optional<std::string> check(const boost::json::value& event);
    /// The same for its text; text that is no JSON is wrong too.
    [[nodiscard]] std::optional<std::string> check(std::string_view json);
    /// What is wrong with a stream that ends here: an unterminated run.
    [[nodiscard]] std::optional<std::string> end() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::translator
