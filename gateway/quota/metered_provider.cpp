#include "gateway/quota/metered_provider.hpp"

#include "runner/base/stop_source.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace agui::gateway {

namespace asio = boost::asio;
using runner::model_failure;
using session::usage_amount;

namespace {

// English text has about four bytes for a token, other languages and JSON have fewer.
constexpr std::size_t bytes_of_token = 3;
constexpr std::size_t tokens_of_message = 8; ///< Role and separators.
constexpr std::size_t tokens_of_medium = 1500;
// A document has more text than an image, and its data may be compressed.
constexpr std::size_t bytes_of_medium_token = 10;

std::string_view text_member(const boost::json::object& part, std::string_view name) {
    const boost::json::value* const found = part.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

/// Bytes of text, and tokens of everything else.
struct input_size {
    std::size_t bytes = 0;
    std::size_t tokens = 0;

    void add_part(const boost::json::value& value) {
        const boost::json::object* const part = value.if_object();
        if (part != nullptr && text_member(*part, "type") == "text") {
            bytes += text_member(*part, "text").size();
            return;
        }
        tokens += tokens_of_medium;
        if (part == nullptr || text_member(*part, "type") != "image") {
            tokens += session::stored_size(value) / bytes_of_medium_token;
        }
    }
    void add_content(const session::content& content) {
        if (const auto* text = std::get_if<std::string>(&content)) {
            bytes += text->size();
            return;
        }
        for (const boost::json::value& part : std::get<boost::json::array>(content)) {
            add_part(part);
        }
    }
    void add_message(const session::message& message) {
        tokens += tokens_of_message;
        add_content(message.for_model ? *message.for_model : message.content);
        for (const session::tool_call& call : message.tool_calls) {
            bytes += call.name.size() + call.arguments.size();
        }
    }
    void add_tool(const runner::tool_definition& tool) {
        tokens += tokens_of_message;
        bytes += tool.name.size() + tool.description.size() + session::stored_size(tool.parameters);
    }
};

std::int64_t bounded(std::int64_t count) noexcept {
    return std::clamp<std::int64_t>(count, 0, session::usage_max);
}

usage_amount
amount_of(const metering& model, std::int64_t input, std::int64_t output, std::int64_t cached) {
    return {bounded(input), bounded(output), cost_of(model.price, input, output, cached)};
}

model_failure not_asked(const failure& why) {
    model_failure made;
    made.what = why.code == errc::quota_exceeded ? model_failure::kind::over_quota
                                                 : model_failure::kind::uncounted;
    made.detail = why.detail;
    return made;
}

// Passes everything on, and counts the bytes that the model has written.
class counting_sink final : public runner::model_sink {
public:
    explicit counting_sink(runner::model_sink& inner) : inner_(inner) {}

    [[nodiscard]] bool has_output() const noexcept { return has_output_; }
    [[nodiscard]] std::int64_t tokens() const noexcept {
        return static_cast<std::int64_t>(bytes_ / bytes_of_token + tokens_);
    }

    void on_begin() override { inner_.on_begin(); }
    void on_text(std::string_view delta) override {
        count(delta.size());
        inner_.on_text(delta);
    }
    void on_reasoning(std::string_view delta) override {
        count(delta.size());
        inner_.on_reasoning(delta);
    }
    void on_call(std::size_t call, std::string_view id, std::string_view name) override {
        count(name.size());
        inner_.on_call(call, id, name);
    }
    void on_call_arguments(std::size_t call, std::string_view delta) override {
        count(delta.size());
        inner_.on_call_arguments(call, delta);
    }
    void on_call_end(std::size_t call) override { inner_.on_call_end(call); }
    void
    on_hosted_tool(std::string_view id, std::string_view name, runner::hosted_tool state) override {
        count(name.size());
        inner_.on_hosted_tool(id, name, state);
    }
    void on_media(const runner::generated_media& made) override {
        count(0);
        tokens_ += tokens_of_medium;
        inner_.on_media(made);
    }
    [[nodiscard]] std::string_view on_media_bytes(std::size_t bytes) override {
        return inner_.on_media_bytes(bytes);
    }
    void begin_batch() override { inner_.begin_batch(); }
    void end_batch() override { inner_.end_batch(); }
    [[nodiscard]] bool has_room() const noexcept override { return inner_.has_room(); }
    [[nodiscard]] asio::awaitable<void> room() override { return inner_.room(); }
    void on_turn_data(std::string_view key, const boost::json::value& value) override {
        inner_.on_turn_data(key, value);
    }
    void on_call_data(std::size_t call, const boost::json::value& value) override {
        inner_.on_call_data(call, value);
    }

private:
    void count(std::size_t bytes) noexcept {
        has_output_ = true;
        bytes_ += bytes;
    }

    runner::model_sink& inner_;
    bool has_output_ = false;
    std::size_t bytes_ = 0;
    std::size_t tokens_ = 0;
};

// What a call without a report has used: at least as much as the model has written, and otherwise
// what it reserved, but for the output no more than a call reserves by itself. So a request that
// may name its own limit cannot use up a budget by stopping at once.
usage_amount used_without_report(
    const usage_amount& reserved, const counting_sink& written, const metering& model
) {
    const std::int64_t output = std::min(reserved.output_tokens, model.reserved_output);
    return amount_of(model, reserved.input_tokens, std::max(output, written.tokens()), 0);
}

// True if the model server has not answered. A connection that breaks before the answer has no
// status: a server that is down must not use up quotas.
bool costs_nothing(const model_failure& failed) noexcept {
    return failed.status >= 400 || failed.what == model_failure::kind::rejected ||
           (failed.what == model_failure::kind::unavailable && failed.status == 0);
}

// Never throws because of a cancellation.
asio::awaitable<void> settle(
    quotas& limits, logger& log, std::string_view name, quotas::reserved_call reserved,
    usage_amount used
) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto settled = co_await limits.settle(std::move(reserved), used);
    if (!settled) {
        log.log(
            log_level::warning, "a model call counts as reserved: its usage could not be stored",
            {{"model", name}, {"detail", settled.error().detail}}
        );
    }
}

asio::awaitable<runner::model_outcome> ask_metered(
    std::shared_ptr<runner::model_provider> inner, metering model, quotas& limits, logger& log,
    const runner::model_request& request, runner::model_sink& sink
) {
    const usage_amount amount = reservation_of(request, model);
    // A stop that comes while the store works ends the call after that.
    co_await asio::this_coro::throw_if_cancelled(false);
    auto reserved = co_await limits.reserve({request.principal, request.address}, amount);
    if (!reserved) {
        co_return not_asked(reserved.error());
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    const bool is_stopped = request.stop != nullptr && request.stop->requested();
    if (is_stopped || state.cancelled() != asio::cancellation_type::none) {
        co_await settle(limits, log, inner->name(), std::move(*reserved), usage_amount());
        co_return model_failure{
            .what = model_failure::kind::cancelled, .status = 0, .detail = "cancelled"
        };
    }
    co_await asio::this_coro::throw_if_cancelled(true); // As the provider expects it.
    counting_sink counted(sink);
    runner::model_outcome outcome = co_await inner->ask(request, counted);
    usage_amount used;
    if (outcome && outcome->usage) {
        used = used_by(*outcome, amount, model);
    } else if (outcome || counted.has_output() || !costs_nothing(outcome.error())) {
        used = used_without_report(amount, counted, model);
    }
    co_await settle(limits, log, inner->name(), std::move(*reserved), used);
    co_return outcome;
}

} // namespace

std::int64_t estimated_input(const runner::model_request& request) {
    input_size size;
    size.bytes = request.instructions.size();
    if (request.messages != nullptr) {
        for (const session::message& message : *request.messages) {
            size.add_message(message);
        }
    }
    if (request.tools != nullptr) {
        for (const runner::tool_definition& tool : *request.tools) {
            size.add_tool(tool);
        }
    }
    return static_cast<std::int64_t>(
        size.tokens + (size.bytes + bytes_of_token - 1) / bytes_of_token
    );
}

usage_amount reservation_of(const runner::model_request& request, const metering& model) {
    return amount_of(
        model, estimated_input(request),
        request.parameters.max_output_tokens.value_or(model.reserved_output), 0
    );
}

usage_amount
used_by(const runner::model_answer& answer, const usage_amount& reserved, const metering& model) {
    if (!answer.usage) {
        return reserved;
    }
    return amount_of(
        model, answer.usage->input_tokens.value_or(reserved.input_tokens),
        answer.usage->output_tokens.value_or(reserved.output_tokens),
        answer.usage->cached_input_tokens.value_or(0)
    );
}

metered_provider::metered_provider(
    std::unique_ptr<runner::model_provider> inner, metering model, quotas& limits, logger& log
)
    : inner_(std::move(inner)), model_(model), limits_(limits), log_(log) {}

asio::awaitable<runner::model_outcome>
metered_provider::ask(const runner::model_request& request, runner::model_sink& sink) {
    return ask_metered(inner_, model_, limits_, log_, request, sink);
}

} // namespace agui::gateway
