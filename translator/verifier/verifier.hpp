#pragma once

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::translator {

/// Checks a sequence of AG-UI events against the rules for whose violation clients throw, and
/// against those that a producer should guarantee (translator/verifier/README.md). Reopening by S9
/// is allowed. For tests and debug builds, so not optimized for speed. Used by one thread at a
/// time.
class event_verifier {
public:
    struct settings {
        /// For replayed history: several runs on one stream (S11).
        bool allow_several_runs = false;
    };

    event_verifier();
    explicit event_verifier(settings options);
    ~event_verifier();
    event_verifier(event_verifier&&) noexcept;
    event_verifier& operator=(event_verifier&&) noexcept;

    /// Checks the next event. If it breaks a rule, returns the rule's name and a sentence;
    /// otherwise nullopt. After a violation the state is unspecified.
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
