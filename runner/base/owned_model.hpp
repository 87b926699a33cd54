#pragma once

#include "runner/base/model_provider.hpp"

#include <memory>

namespace agui::runner {

/// A model that its user owns: the provider to ask and the parameters of its requests. A chat keeps
/// a copy, so that the program need not keep the model alive.
struct owned_model {
    std::shared_ptr<model_provider> provider; ///< Never null.
    model_parameters parameters = {};
};

} // namespace agui::runner
