#pragma once

#include "gateway/quota/model_price.hpp"
#include "gateway/quota/quotas.hpp"
#include "runner/base/model_provider.hpp"
#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace agui::gateway {

/// The input tokens of a request as they are reserved: a token for each three bytes of text and
/// tools, 8 for each message, 1 500 for each image, and for other media, in addition, a token for
/// each ten bytes of its data.
[[nodiscard]] std::int64_t estimated_input(const runner::model_request& request);

/// The amount that a call with this request reserves.
[[nodiscard]] session::usage_amount
reservation_of(const runner::model_request& request, const metering& model);

/// What an answered call has used: as the server reports it. Counts that are missing there are
/// those of the reservation.
[[nodiscard]] session::usage_amount used_by(
    const runner::model_answer& answer, const session::usage_amount& reserved, const metering& model
);

/// Counts the calls of a provider: reserves before each call, and settles after it. A call that the
/// model server refused or did not take costs nothing. One without a report of its usage, because
/// it was stopped or lost on its way, counts with the reserved input and with what the model has
/// written (a token for three bytes), at least metering::reserved_output or what it reserved, if
/// that is less: the server may have done the work. Safe to call from any thread.
class metered_provider final : public runner::model_provider {
public:
    /// `inner` must not be null. The references must outlive all calls.
    metered_provider(
        std::unique_ptr<runner::model_provider> inner, metering model, quotas& limits, logger& log
    );

    [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
    [[nodiscard]] std::string_view account() const noexcept override { return inner_->account(); }
    [[nodiscard]] bool binds_tools() const noexcept override { return inner_->binds_tools(); }
    [[nodiscard]] bool adds_tools() const noexcept override { return inner_->adds_tools(); }
    [[nodiscard]] std::shared_ptr<runner::model_circuit> circuit() const noexcept override {
        return inner_->circuit();
    }
    /// The call may outlive this object.
    [[nodiscard]] boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override;

private:
    const std::shared_ptr<runner::model_provider> inner_;
    const metering model_;
    quotas& limits_;
    logger& log_;
};

} // namespace agui::gateway
