#include "runner/anthropic/anthropic_model.hpp"

#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/anthropic/anthropic_rules.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

namespace agui::runner {

owned_model anthropic_model(anthropic_model_settings settings) {
    settings.parameters.model = settings.model;
    if (!is_anthropic_version(settings.dialect.api_version)) {
        throw std::invalid_argument("anthropic_model: api_version: must be a date (YYYY-MM-DD)");
    }
    const std::vector<anthropic_refusal> refused =
        anthropic_refusals(settings.parameters, settings.dialect);
    if (!refused.empty()) {
        throw std::invalid_argument(
            "anthropic_model: " + refused.front().setting + ": " + refused.front().why
        );
    }
    auto dialect = make_anthropic_dialect(std::move(settings.dialect));
    return make_served_model("anthropic_model", std::move(settings), std::move(dialect));
}

} // namespace agui::runner
