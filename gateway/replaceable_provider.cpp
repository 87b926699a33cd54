#include "gateway/replaceable_provider.hpp"

#include <utility>

namespace agui::gateway {

replaceable_provider::replaceable_provider(
    std::unique_ptr<runner::model_provider> first, std::shared_ptr<runner::model_circuit> circuit
)
    : name_(first->name()),
      account_(first->account()),
      binds_tools_(first->binds_tools()),
      adds_tools_(first->adds_tools()),
      circuit_(std::move(circuit)),
      current_(std::move(first)) {}

void replaceable_provider::replace(std::unique_ptr<runner::model_provider> next) {
    std::shared_ptr<runner::model_provider> former = std::move(next);
    const std::lock_guard lock(mutex_);
    current_.swap(former);
}

std::shared_ptr<runner::model_provider> replaceable_provider::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

boost::asio::awaitable<runner::model_outcome>
replaceable_provider::ask(const runner::model_request& request, runner::model_sink& sink) {
    return current()->ask(request, sink);
}

} // namespace agui::gateway
