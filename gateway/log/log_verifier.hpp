#pragma once

#include "translator/agui/agui_translator.hpp"

#include <memory>

namespace agui::gateway {

/// Verifies the events of a log in builds with AGUI_VERIFY_EVENTS, and does nothing in others. An
/// event that clients would reject is a bug of the translator, so it ends the process. (Its size is
/// the same in all builds, because programs outside the project include this header too.)
class log_verifier {
public:
    log_verifier();
    ~log_verifier();
    log_verifier(const log_verifier&) = delete;
    log_verifier& operator=(const log_verifier&) = delete;

    void check(const translator::wire_event& event) {
        if (forms_) {
            check_forms(event);
        }
    }

private:
    struct forms;
    void check_forms(const translator::wire_event& event);

    std::unique_ptr<forms> forms_; ///< Null in builds without AGUI_VERIFY_EVENTS.
};

} // namespace agui::gateway
