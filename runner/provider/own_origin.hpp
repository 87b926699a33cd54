#pragma once

#include "runner/base/model_provider.hpp"
#include "session/conversation/message.hpp"

namespace agui::runner {

/// The origin of an answer if the provider and model that are asked have made it, so that they may
/// get its data back; otherwise null. Lives as long as the message.
[[nodiscard]] inline const session::turn_origin*
own_origin(const session::message& value, const model_request& asked) noexcept {
    const session::turn_origin* const origin = value.origin.get();
    const bool ours = origin != nullptr && !asked.provider.empty() &&
                      origin->provider == asked.provider && origin->model == asked.parameters.model;
    return ours ? origin : nullptr;
}

} // namespace agui::runner
