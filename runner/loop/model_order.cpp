#include "runner/loop/model_order.hpp"

#include <algorithm>
#include <utility>

namespace agui::runner {

void model_order::prefer(std::string_view name) noexcept {
    for (std::size_t i = 0; i <= request_.fallbacks.size() && !name.empty(); ++i) {
        if (provider(i).name() == name) {
            preferred_ = i;
            return;
        }
    }
}

model_provider& model_order::provider(std::size_t index) const noexcept {
    return index == 0 ? first_ : *request_.fallbacks[index - 1].provider;
}

const model_parameters& model_order::parameters(std::size_t index) const noexcept {
    return index == 0 ? request_.agent.parameters : request_.fallbacks[index - 1].parameters;
}

// The preferred model comes first, the others as configured.
void model_order::begin() {
    order_.assign(1, preferred_);
    for (std::size_t i = 0; i <= request_.fallbacks.size(); ++i) {
        if (i != preferred_) {
            order_.push_back(i);
        }
    }
}

// The first model that is ready moves to `place`, and the others keep their order. If none is, the
// next one is asked all the same: a model that fails often is better than no model.
std::size_t model_order::choose(std::size_t place) {
    call_ = {}; // Of the former model.
    for (std::size_t at = place; at < order_.size(); ++at) {
        model_circuit::call made = model_circuit::begin(provider(order_[at]).circuit());
        if (made.is_ready()) {
            const auto first = order_.begin() + static_cast<std::ptrdiff_t>(place);
            const auto chosen = order_.begin() + static_cast<std::ptrdiff_t>(at);
            std::rotate(first, chosen, chosen + 1);
            call_ = std::move(made);
            return order_[place];
        }
        if (at == place) {
            call_ = std::move(made);
        }
    }
    return order_[place];
}

} // namespace agui::runner
