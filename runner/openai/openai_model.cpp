#include "runner/openai/openai_model.hpp"

#include "runner/openai/openai_dialect.hpp"

#include <utility>

namespace agui::runner {

owned_model openai_model(openai_model_settings settings) {
    auto dialect = make_openai_dialect(std::move(settings.dialect));
    return make_served_model("openai_model", std::move(settings), std::move(dialect));
}

} // namespace agui::runner
