#include "runner/openai_provider.hpp"

#include "runner/timeout.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr std::size_t error_body_bytes_max = 2048;

// After `[DONE]` only the end of the body is missing. Waiting for it a moment lets the connection be
// used again, which over TLS saves round trips; a server that holds it back must not hold the run back.
constexpr std::chrono::milliseconds body_end_wait{100};
constexpr std::size_t body_end_bytes_max = 4096;

/// `begun`: a byte of the body was received, so the server had begun to answer.
model_failure from_transport(const transport_failure& error, bool begun) {
    model_failure result;
    result.detail = error.detail;
    switch (error.what) {
    case transport_failure::kind::connect:
    case transport_failure::kind::tls:
        result.what = model_failure::kind::unavailable;
        break;
    case transport_failure::kind::lost:
    case transport_failure::kind::protocol:
        result.what = begun ? model_failure::kind::lost : model_failure::kind::unavailable;
        break;
    case transport_failure::kind::timeout:
        result.what = model_failure::kind::timeout;
        break;
    case transport_failure::kind::cancelled:
        result.what = model_failure::kind::cancelled;
        break;
    }
    return result;
}

model_failure::kind kind_of_status(int status) noexcept {
    const bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
    return refused ? model_failure::kind::rejected : model_failure::kind::unavailable;
}

/// For the log: the begin of what the server said about its error. Nothing if it cannot be read.
asio::awaitable<std::string> read_error_body(transport_response& response) {
    std::string text;
    while (text.size() < error_body_bytes_max) {
        const transport_result<std::string_view> bytes = co_await response.read();
        if (!bytes || bytes->empty()) {
            break;
        }
        text.append(bytes->substr(0, error_body_bytes_max - text.size()));
    }
    co_return text;
}

asio::awaitable<bool> read_to_end(transport_response& response) {
    std::size_t bytes_left = body_end_bytes_max;
    for (;;) {
        const transport_result<std::string_view> bytes = co_await response.read();
        if (!bytes || bytes->empty() || bytes->size() > bytes_left) {
            co_return true;
        }
        bytes_left -= bytes->size();
    }
}

class openai_provider final : public model_provider {
public:
    openai_provider(std::shared_ptr<model_transport> transport, openai_settings settings)
        : transport_(std::move(transport)),
          settings_(std::move(settings)) {}

    [[nodiscard]] asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) override {
        try {
            co_return co_await exchange(request, sink);
        } catch (const boost::system::system_error& error) {
            // What awaits throw of themselves once the coroutine has been cancelled.
            if (error.code() != asio::error::operation_aborted) {
                throw;
            }
        }
        co_return model_failure{
            .what = model_failure::kind::cancelled, .status = 0, .detail = "cancelled"
        };
    }

private:
    [[nodiscard]] asio::awaitable<model_outcome>
    exchange(const model_request& request, model_sink& sink);

    std::shared_ptr<model_transport> transport_;
    openai_settings settings_;
};

asio::awaitable<model_outcome>
openai_provider::exchange(const model_request& request, model_sink& sink) {
    transport_request question;
    question.target = "/chat/completions";
    question.headers.emplace_back("Accept", "text/event-stream");
    question.body = write_openai_request(request, settings_);
    if (request.messages != nullptr) {
        *request.messages = std::vector<session::message>(); // `{}` would keep the memory.
    }
    auto answered = co_await transport_->post(question);
    std::string().swap(question.body); // Assigning an empty one would keep the memory.
    if (!answered) {
        co_return from_transport(answered.error(), false);
    }
    const std::unique_ptr<transport_response> response = std::move(*answered);
    const int status = response->status();
    if (status < 200 || status >= 300) {
        co_return model_failure{
            .what = kind_of_status(status),
            .status = status,
            .detail = co_await read_error_body(*response)
        };
    }

    openai_decoder decoder(sink, request.parameters.model, settings_.provider_name);
    bool begun = false;
    bool body_ended = false;
    while (!body_ended) {
        const transport_result<std::string_view> bytes = co_await response->read();
        if (!bytes) {
            // Cut after the finish_reason: nothing of the answer is missing but its trimmings.
            model_outcome outcome = decoder.finish();
            if (outcome && bytes.error().what != transport_failure::kind::cancelled) {
                co_return outcome;
            }
            model_failure failure = from_transport(bytes.error(), begun);
            failure.status = status;
            co_return failure;
        }
        body_ended = bytes->empty();
        begun = true;
        if (!body_ended && !decoder.feed(*bytes)) {
            break;
        }
    }
    model_outcome outcome = decoder.finish();
    if (!outcome) {
        model_failure failure = outcome.error();
        failure.status = status;
        co_return failure;
    }
    if (!body_ended) {
        co_await with_deadline(
            read_to_end(*response), std::chrono::steady_clock::now() + body_end_wait
        );
    }
    co_return outcome;
}

} // namespace

std::unique_ptr<model_provider>
make_openai_provider(std::shared_ptr<model_transport> transport, openai_settings settings) {
    return std::make_unique<openai_provider>(std::move(transport), std::move(settings));
}

} // namespace agui::runner
