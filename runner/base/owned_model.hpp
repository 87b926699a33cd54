#pragma once

#include "runner/base/model_provider.hpp"

#include <memory>

namespace agui::runner {

/// A model that its user holds: who is asked, and with which parameters. Whatever has something
/// under way with it keeps a copy, so that no one needs to outlive anyone.
struct owned_model {
    std::shared_ptr<model_provider> provider; ///< Not null.
    model_parameters parameters = {};
};

} // namespace agui::runner
