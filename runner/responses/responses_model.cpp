#include "runner/responses/responses_model.hpp"

#include "runner/responses/responses_dialect.hpp"

#include <utility>

namespace agui::runner {

owned_model responses_model(responses_model_settings settings) {
    auto dialect = make_responses_dialect(std::move(settings.dialect));
    return make_served_model("responses_model", std::move(settings), std::move(dialect));
}

} // namespace agui::runner
