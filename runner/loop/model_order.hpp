#pragma once

#include "runner/base/model_circuit.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/loop/agent_loop.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The models of one run, and the order in which one question asks them. A model has an index:
/// 0 is the agent's own, the others are its fallbacks as configured. Lives on the run's executor.
class model_order {
public:
    /// The references must outlive it.
    model_order(model_provider& first, const run_request& request) noexcept
        : first_(first), request_(request) {}
    model_order(const model_order&) = delete;
    model_order& operator=(const model_order&) = delete;

    [[nodiscard]] model_provider& provider(std::size_t index) const noexcept;
    [[nodiscard]] const model_parameters& parameters(std::size_t index) const noexcept;

    /// The model that is asked first; at the beginning, the agent's own.
    [[nodiscard]] std::size_t preferred() const noexcept { return preferred_; }
    void prefer(std::size_t index) noexcept { preferred_ = index; }
    /// The same by its name; without effect if the run may not ask it.
    void prefer(std::string_view name) noexcept;

    /// Begins a question.
    void begin();
    /// Chooses the model for this place of the order, and returns its index. Ends call().
    [[nodiscard]] std::size_t choose(std::size_t place);
    /// The call of the chosen model.
    [[nodiscard]] model_circuit::call& call() noexcept { return call_; }

private:
    model_provider& first_;
    const run_request& request_;
    std::size_t preferred_ = 0;
    std::vector<std::size_t> order_; ///< Indexes of the models in the order of asking.
    model_circuit::call call_;
};

} // namespace agui::runner
