#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/mutex.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace agui::gateway {

/// A model provider that can be exchanged for one with another key while it is used. Calls of a
/// provider that is replaced must be able to outlive it, as those of make_http_provider() do. Safe
/// to call from any thread.
class replaceable_provider final : public runner::model_provider {
public:
    /// Not null.
    explicit replaceable_provider(std::unique_ptr<runner::model_provider> first);

    /// `next` (not null, with the same name) is asked from here on. Calls under way keep the former
    /// provider.
    void replace(std::unique_ptr<runner::model_provider> next);

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override;

private:
    [[nodiscard]] std::shared_ptr<runner::model_provider> current() const;

    const std::string name_;
    mutable mutex mutex_;
    std::shared_ptr<runner::model_provider> current_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
