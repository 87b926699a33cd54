#include "gateway/log/log_verifier.hpp"

#include "translator/verifier/verifier.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace agui::gateway {

struct log_verifier::forms {
    translator::event_verifier newest;
    translator::event_verifier undeclared;
};

log_verifier::log_verifier() {
#ifdef AGUI_VERIFY_EVENTS
    forms_ = std::make_unique<forms>();
#endif
}

log_verifier::~log_verifier() = default;

void log_verifier::check_forms(const translator::wire_event& event) {
    auto wrong = forms_->newest.check(event.json);
    const std::string_view older = event.undeclared.value_or(event.json);
    if (!wrong && !older.empty()) {
        wrong = forms_->undeclared.check(older);
    }
    if (wrong) {
        std::fprintf(stderr, "event verifier: %s\n", wrong->c_str());
        std::abort();
    }
}

} // namespace agui::gateway
