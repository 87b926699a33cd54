#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/mutex.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace agui::gateway {

/// A model provider that can be replaced during use, for example to change its key. Calls must be
/// able to outlive their provider, as they can with make_http_provider(). Safe to call from any
/// thread.
class replaceable_provider final : public runner::model_provider {
public:
    /// `first` must not be null. `circuit`, which may be null, stays when the provider is replaced.
    explicit replaceable_provider(
        std::unique_ptr<runner::model_provider> first,
        std::shared_ptr<runner::model_circuit> circuit = nullptr
    );

    /// Uses `next` (not null, with the same name, account and dialect) for further calls. Calls in
    /// progress keep the former provider.
    void replace(std::unique_ptr<runner::model_provider> next);

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] std::string_view account() const noexcept override { return account_; }
    [[nodiscard]] bool binds_tools() const noexcept override { return binds_tools_; }
    [[nodiscard]] bool adds_tools() const noexcept override { return adds_tools_; }
    [[nodiscard]] std::shared_ptr<runner::model_circuit> circuit() const noexcept override {
        return circuit_;
    }
    [[nodiscard]] boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override;

private:
    [[nodiscard]] std::shared_ptr<runner::model_provider> current() const;

    const std::string name_;
    const std::string account_;
    const bool binds_tools_;
    const bool adds_tools_;
    const std::shared_ptr<runner::model_circuit> circuit_;
    mutable mutex mutex_;
    std::shared_ptr<runner::model_provider> current_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
