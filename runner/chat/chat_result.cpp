#include "runner/chat/chat_result.hpp"

#include <boost/throw_exception.hpp>

#include <stdexcept>
#include <string_view>

namespace agui::runner {

token_usage chat_totals::usage_total() const {
    std::vector<token_usage> sum(1);
    for (token_usage each : usage) {
        each.provider.clear();
        each.model.clear();
        add_usage(sum, each);
    }
    return sum.front();
}

bool chat_end::is_answer() const noexcept {
    return class_of(what) == stop_class::success || what == stop_reason::max_output_tokens;
}

std::string chat_end::text() const {
    std::string known;
    const auto add = [&known](std::string_view label, std::string_view value) {
        if (!value.empty()) {
            known += (known.empty() ? "" : "; ") + std::string(label) + std::string(value);
        }
    };
    add("", detail);
    add("HTTP status ", status == 0 ? "" : std::to_string(status));
    add("request ", request_id);
    add("the server said: ", upstream);
    for (const std::string& each : hook_errors) {
        add("a plugin has thrown: ", each);
    }
    return std::string(describe(what)) + (known.empty() ? "" : " (" + known + ")");
}

void throw_exception_from_error(const chat_failure& error, const boost::source_location& where) {
    boost::throw_exception(std::runtime_error(error.text()), where);
}

} // namespace agui::runner
