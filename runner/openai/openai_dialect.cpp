#include "runner/openai/openai_dialect.hpp"

#include "runner/openai/openai_chat_decoder.hpp"

#include <utility>

namespace agui::runner {

namespace {

class openai_dialect final : public model_dialect {
public:
    explicit openai_dialect(openai_settings settings) : settings_(std::move(settings)) {}

    [[nodiscard]] transport_request write_request(const model_request& call) const override {
        return event_stream_request("/chat/completions", write_openai_request(call, settings_));
    }

    [[nodiscard]] std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const override {
        return std::make_unique<openai_decoder>(
            sink, asked.model, settings_.provider_name, settings_.reasoning_tags
        );
    }

private:
    const openai_settings settings_;
};

} // namespace

std::unique_ptr<model_dialect> make_openai_dialect(openai_settings settings) {
    return std::make_unique<openai_dialect>(std::move(settings));
}

} // namespace agui::runner
