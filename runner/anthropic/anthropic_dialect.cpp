#include "runner/anthropic/anthropic_dialect.hpp"

#include "runner/anthropic/anthropic_chat_decoder.hpp"

#include <string>
#include <utility>

namespace agui::runner {

namespace {

class anthropic_dialect final : public model_dialect {
public:
    explicit anthropic_dialect(anthropic_settings settings) : settings_(std::move(settings)) {}

    [[nodiscard]] transport_request write_request(const model_request& call) const override {
        transport_request request =
            event_stream_request("/v1/messages", write_anthropic_request(call, settings_));
        request.headers.emplace_back("anthropic-version", settings_.api_version);
        if (std::string betas = anthropic_betas(call, settings_); !betas.empty()) {
            request.headers.emplace_back("anthropic-beta", std::move(betas));
        }
        return request;
    }

    [[nodiscard]] std::pair<std::string, std::string> key_header(std::string_view key
    ) const override {
        return {"x-api-key", std::string(key)};
    }

    [[nodiscard]] bool binds_tools() const noexcept override { return true; }
    [[nodiscard]] bool adds_tools() const noexcept override { return settings_.tool_addition; }

    [[nodiscard]] std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const override {
        return std::make_unique<anthropic_decoder>(sink, asked.model, settings_.provider_name);
    }

private:
    const anthropic_settings settings_;
};

} // namespace

std::unique_ptr<model_dialect> make_anthropic_dialect(anthropic_settings settings) {
    return std::make_unique<anthropic_dialect>(std::move(settings));
}

} // namespace agui::runner
