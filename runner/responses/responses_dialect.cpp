#include "runner/responses/responses_dialect.hpp"

#include "runner/responses/responses_chat_decoder.hpp"

#include <utility>

namespace agui::runner {

namespace {

class responses_dialect final : public model_dialect {
public:
    explicit responses_dialect(responses_settings settings) : settings_(std::move(settings)) {}

    [[nodiscard]] transport_request write_request(const model_request& call) const override {
        return event_stream_request("/responses", write_responses_request(call, settings_));
    }

    [[nodiscard]] std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const override {
        return std::make_unique<responses_decoder>(sink, asked.model, settings_.provider_name);
    }

private:
    const responses_settings settings_;
};

} // namespace

std::unique_ptr<model_dialect> make_responses_dialect(responses_settings settings) {
    return std::make_unique<responses_dialect>(std::move(settings));
}

} // namespace agui::runner
