#include "runner/provider/http_provider.hpp"

#include "runner/base/secret_cutter.hpp"
#include "runner/base/timeout.hpp"
#include "runner/provider/retry_after.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr std::size_t unknown_reason_bytes_max = 2048;
constexpr std::size_t request_id_bytes_max = 256;

// After the answer's end mark only the end of the body is missing. Once it has come, the connection
// can be reused, which saves round trips over TLS. A server that delays it must not delay the run.
constexpr std::chrono::milliseconds body_end_wait{100};
constexpr std::size_t body_end_bytes_max = 4096;
constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

/// `begun` means that the server had begun to answer.
model_failure from_transport(const transport_failure& error, bool begun) {
    model_failure result;
    result.detail = error.detail;
    switch (error.what) {
    case transport_failure::kind::connect:
    case transport_failure::kind::tls:
    case transport_failure::kind::redirect:
        result.what = model_failure::kind::unavailable;
        break;
    case transport_failure::kind::lost:
    case transport_failure::kind::protocol:
        result.what = begun ? model_failure::kind::lost : model_failure::kind::unavailable;
        break;
    case transport_failure::kind::timeout:
        result.what = model_failure::kind::timeout;
        break;
    case transport_failure::kind::memory:
        result.what = model_failure::kind::memory;
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

/// The server's id of a request: OpenAI and compatible servers, Anthropic, Bedrock, Azure's
/// gateway, DeepSeek, Cloudflare.
constexpr std::array<std::string_view, 6> request_id_headers{"x-request-id",     "request-id",
                                                             "x-amzn-requestid", "apim-request-id",
                                                             "x-ds-trace-id",    "cf-ray"};

std::string_view request_id_of(const transport_response& response) noexcept {
    for (const std::string_view name : request_id_headers) {
        if (const std::string_view id = response.header(name); !id.empty()) {
            return id;
        }
    }
    return {};
}

/// The start of the server's error text; empty if it cannot be read. It is more than is kept
/// (error_text_max).
asio::awaitable<std::string> read_error_body(transport_response& response) {
    std::string text;
    while (text.size() < error_text_max) {
        const transport_result<std::string_view> bytes = co_await response.read();
        if (!bytes || bytes->empty()) {
            break;
        }
        text.append(bytes->substr(0, error_text_max - text.size()));
    }
    co_return text;
}

/// Why the reading of a body ended.
struct body_end {
    bool at_its_end = false;
    std::optional<transport_failure> failed;
};

/// Reads until the decoder is complete or the body ends.
asio::awaitable<body_end>
read_rest(transport_response& response, answer_decoder& decoder, std::size_t bytes_left) {
    for (;;) {
        const transport_result<std::string_view> bytes = co_await response.read();
        if (!bytes) {
            co_return body_end{.at_its_end = false, .failed = bytes.error()};
        }
        if (bytes->empty()) {
            co_return body_end{.at_its_end = true, .failed = std::nullopt};
        }
        const bool more = decoder.feed(*bytes) && !decoder.complete();
        if (!response.keep(decoder.kept())) {
            co_return body_end{.at_its_end = false, .failed = no_memory()};
        }
        if (bytes->size() > bytes_left || (bytes_left == no_bound && !more)) {
            co_return body_end();
        }
        bytes_left -= bytes_left == no_bound ? 0 : bytes->size();
    }
}

/// Reads the rest after an answer, so that the connection can be reused.
asio::awaitable<void> read_end(transport_response& response, answer_decoder& decoder) {
    const auto deadline = std::chrono::steady_clock::now() + body_end_wait;
    co_await with_deadline(read_rest(response, decoder, body_end_bytes_max), deadline);
}

/// Passes the bytes of one read to the decoder, which delivers them as one batch. Returns false if
/// the decoder takes no more.
bool feed_batch(answer_decoder& decoder, model_sink& sink, std::string_view bytes) {
    bool more = false;
    sink.begin_batch();
    try {
        more = decoder.feed(bytes);
    } catch (...) {
        sink.end_batch(); // Publishes the events from before the exception.
        throw;
    }
    sink.end_batch();
    return more;
}

void keep(memory_share* memory, std::size_t bytes) noexcept {
    if (memory != nullptr) {
        memory->shrink_to(bytes);
    }
}

/// Shared by a provider and its calls, which may outlive it.
class model_server {
public:
    model_server(
        std::shared_ptr<http_client> client, std::unique_ptr<model_dialect> dialect,
        http_provider_settings settings
    )
        : client_(std::move(client)),
          dialect_(std::move(dialect)),
          settings_(std::move(settings)),
          secrets_(settings_.secrets) {}

    [[nodiscard]] std::string_view name() const noexcept { return settings_.name; }
    [[nodiscard]] std::string_view account() const noexcept { return settings_.account; }
    [[nodiscard]] bool binds_tools() const noexcept { return dialect_->binds_tools(); }
    [[nodiscard]] bool adds_tools() const noexcept { return dialect_->adds_tools(); }

    [[nodiscard]] bool is_observed() const noexcept { return settings_.observer != nullptr; }

    /// `report` may be null.
    [[nodiscard]] static asio::awaitable<model_outcome>
    ask(std::shared_ptr<model_server> self, const model_request& request, model_sink& sink,
        call_report* report);
    [[nodiscard]] static asio::awaitable<model_outcome> ask_observed(
        std::shared_ptr<model_server> self, const model_request& request, model_sink& sink
    );

private:
    class answer_reader;
    using response_ptr = std::unique_ptr<transport_response>;
    [[nodiscard]] asio::awaitable<transport_result<response_ptr>>
    send(const model_request& request, call_report* report);
    /// Sets `begun` at the first successful read, and `end`.
    [[nodiscard]] asio::awaitable<void> read_events(
        transport_response& response, answer_decoder& decoder, model_sink& sink, bool& begun,
        body_end& end
    );
    [[nodiscard]] asio::awaitable<void>
    read_tail(transport_response& response, answer_decoder& decoder, body_end& end) const;
    [[nodiscard]] asio::awaitable<void> read_large(answer_decoder& decoder, model_sink& sink) const;
    [[nodiscard]] model_outcome outcome_of(
        answer_decoder& decoder, body_end& end, bool begun, const transport_response& response
    ) const;
    [[nodiscard]] asio::awaitable<model_failure> read_refusal(transport_response& response) const;
    [[nodiscard]] model_failure
    completed(model_failure failed, const transport_response& response) const;

    std::shared_ptr<http_client> client_;
    std::unique_ptr<model_dialect> dialect_;
    http_provider_settings settings_;
    secret_cutter secrets_;
};

// One coroutine, whose frame is held while the model streams: code with more than a few variables
// is in separate functions.
asio::awaitable<model_outcome> model_server::ask(
    std::shared_ptr<model_server> self, const model_request& request, model_sink& sink,
    call_report* report
) {
    try {
        auto answered = co_await self->send(request, report);
        if (!answered) {
            co_return from_transport(answered.error(), false);
        }
        const response_ptr response = std::move(*answered);
        pass_failpoint("model.answering");
        if (response->status() < 200 || response->status() >= 300) {
            co_return co_await self->read_refusal(*response);
        }
        response->keep_headers(request_id_headers);
        const std::unique_ptr<answer_decoder> decoder =
            self->dialect_->make_decoder(request.parameters, sink);
        bool begun = false;
        body_end end;
        co_await self->read_events(*response, *decoder, sink, begun, end);
        if (!end.failed && !end.at_its_end && !decoder->failed()) {
            co_await read_end(*response, *decoder);
        }
        decoder->end();
        if (decoder->large() > 0) {
            co_await self->read_large(*decoder, sink);
        }
        co_return self->outcome_of(*decoder, end, begun, *response);
    } catch (const boost::system::system_error& error) {
        // Awaits throw this after the coroutine was cancelled.
        if (error.code() != asio::error::operation_aborted) {
            throw;
        }
    }
    co_return model_failure{
        .what = model_failure::kind::cancelled, .status = 0, .detail = "cancelled"
    };
}

asio::awaitable<model_outcome> model_server::ask_observed(
    std::shared_ptr<model_server> self, const model_request& request, model_sink& sink
) {
    call_report report(*self->settings_.observer);
    model_outcome outcome = co_await ask(self, request, sink, &report);
    report.end(outcome);
    co_return outcome;
}

asio::awaitable<transport_result<model_server::response_ptr>>
model_server::send(const model_request& request, call_report* report) {
    auto writing = [&] {
        transport_request written = dialect_->write_request(request);
        if (report != nullptr) {
            report->begin(request, written.body, secrets_);
        }
        if (request.messages != nullptr) {
            *request.messages = std::vector<session::message>(); // `{}` would keep the memory.
        }
        return written;
    };
    const transport_request question =
        co_await run_heavy(settings_.heavy, as_parsing(request.bytes), writing);
    keep(request.memory, question.body.capacity());
    pass_failpoint("model.ask");
    auto answered = co_await client_->send(question);
    keep(request.memory, 0);
    co_return answered;
}

/// Gives the decoder what is read of an answer.
class model_server::answer_reader final : public part_taker {
public:
    /// `begun` and `end` as in read_events().
    answer_reader(
        transport_response& response, answer_decoder& decoder, model_sink& sink, bool& begun,
        body_end& end
    )
        : response_(response), decoder_(decoder), sink_(sink), begun_(begun), end_(end) {}

    bool take(const transport_result<std::string_view>& part) override {
        chunks_ = decoder_.chunks();
        over_ = !feed(part);
        if (end_.failed || end_.at_its_end || decoder_.large() > 0) {
            return false;
        }
        judge();
        // With a full sink the server's bytes wait in the socket. The idle time counts only during
        // a read.
        return !over_ && !decoder_.ending() && sink_.has_room();
    }

    /// Looks at what the last part was, once its large parts are parsed.
    void judge() {
        if (!answers_ && !decoder_.failed() && (decoder_.chunks() > 0 || decoder_.begun())) {
            answers_ = true;
            sink_.on_begin();
        }
        over_ = over_ || decoder_.failed();
        // Until the model says something, everything else is only a sign of life.
        if (!over_ && (!decoder_.begun() || (decoder_.chunks() == chunks_ && !decoder_.whole()))) {
            response_.was_idle();
        }
    }

    /// True if nothing more can be read, or the decoder takes no more.
    [[nodiscard]] bool over() const noexcept { return over_; }

private:
    /// Returns false if the decoder takes no more, or if `end_` says why no more can be read.
    bool feed(const transport_result<std::string_view>& part) {
        if (!part) {
            end_.failed = part.error();
            return false;
        }
        pass_failpoint("model.read");
        begun_ = true;
        if (part->empty()) {
            end_.at_its_end = true;
            return false;
        }
        const bool more = feed_batch(decoder_, sink_, *part);
        if (!response_.keep(decoder_.kept())) {
            end_.failed = no_memory();
            return false;
        }
        return more;
    }

    transport_response& response_;
    answer_decoder& decoder_;
    model_sink& sink_;
    bool& begun_;
    body_end& end_;
    std::size_t chunks_ = 0; ///< The decoder's before the last part.
    bool answers_ = false;
    bool over_ = false;
};

/// Reads until the answer is complete, or as complete as it gets in time.
asio::awaitable<void> model_server::read_events(
    transport_response& response, answer_decoder& decoder, model_sink& sink, bool& begun,
    body_end& end
) {
    response.wait_first(settings_.first_content);
    answer_reader reader(response, decoder, sink, begun, end);
    while (!decoder.ending()) {
        if (!sink.has_room()) {
            co_await sink.room();
        }
        co_await response.read_parts(reader);
        if (!end.failed && !end.at_its_end && decoder.large() > 0) {
            co_await read_large(decoder, sink);
            reader.judge();
        }
        if (reader.over()) {
            co_return;
        }
    }
    if (!decoder.complete()) {
        co_await read_tail(response, decoder, end);
    }
}

/// Reads what follows the model's last word.
asio::awaitable<void> model_server::read_tail(
    transport_response& response, answer_decoder& decoder, body_end& end
) const {
    const auto deadline = std::chrono::steady_clock::now() + settings_.end_wait;
    const std::optional<body_end> rest =
        co_await with_deadline(read_rest(response, decoder, no_bound), deadline);
    if (rest) {
        end = *rest;
    } else { // The time is over: the read was cancelled, which closed the connection.
        end.failed = transport_failure{
            .what = transport_failure::kind::timeout,
            .detail = "the body did not end after the end of the answer"
        };
    }
}

model_outcome model_server::outcome_of(
    answer_decoder& decoder, body_end& end, bool begun, const transport_response& response
) const {
    model_outcome outcome = decoder.finish();
    const bool cancelled = end.failed && end.failed->what == transport_failure::kind::cancelled;
    if (end.failed && (cancelled || !outcome)) {
        if (end.failed->what == transport_failure::kind::timeout && !decoder.begun()) {
            end.failed->detail = "the model sent no content within the time for its first content";
        }
        return completed(from_transport(*end.failed, begun), response);
    }
    // If the body broke off after the model's last word, the answer is still complete.
    if (!outcome) {
        return completed(outcome.error(), response);
    }
    outcome->unknown_reason = secrets_.cut(outcome->unknown_reason, unknown_reason_bytes_max);
    outcome->invalid_block = secrets_.cut(outcome->invalid_block, unknown_reason_bytes_max);
    return outcome;
}

/// Parses large parts of the answer where that blocks no I/O thread, and delivers them.
asio::awaitable<void> model_server::read_large(answer_decoder& decoder, model_sink& sink) const {
    const std::size_t size = decoder.large();
    auto parsing = [&decoder, budget = budget_of(settings_.heavy)] {
        decoder.parse_large(budget);
        return true;
    };
    (void)co_await run_heavy(settings_.heavy, size, std::move(parsing));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return; // Nothing may be delivered after a stop.
    }
    std::shared_ptr<void> read;
    sink.begin_batch();
    try {
        read = decoder.deliver_large();
    } catch (...) {
        sink.end_batch();
        throw;
    }
    sink.end_batch();
    auto freeing = [read = std::move(read)] {
        return true;
    };
    (void)co_await run_heavy(settings_.heavy, size, std::move(freeing));
}

asio::awaitable<model_failure> model_server::read_refusal(transport_response& response) const {
    model_failure refused;
    refused.what = kind_of_status(response.status());
    refused.detail = "the server answered with an error status";
    refused.retry_after = retry_after(
        response.header("retry-after-ms"), response.header("retry-after"),
        std::chrono::system_clock::now()
    );
    refused.upstream = co_await read_error_body(response);
    co_return completed(std::move(refused), response);
}

/// Adds the response's data besides its body, and removes secrets.
model_failure
model_server::completed(model_failure failed, const transport_response& response) const {
    if (failed.status == 0) { // The body may name the status with which another server refused.
        failed.status = response.status();
    }
    failed.request_id = secrets_.cut(request_id_of(response), request_id_bytes_max);
    failed.upstream = secrets_.cut(failed.upstream, session::attempt_body_max);
    return failed;
}

class http_provider final : public model_provider {
public:
    explicit http_provider(std::shared_ptr<model_server> server) : server_(std::move(server)) {}

    [[nodiscard]] std::string_view name() const noexcept override { return server_->name(); }
    [[nodiscard]] std::string_view account() const noexcept override { return server_->account(); }
    [[nodiscard]] bool binds_tools() const noexcept override { return server_->binds_tools(); }
    [[nodiscard]] bool adds_tools() const noexcept override { return server_->adds_tools(); }

    [[nodiscard]] asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) override {
        return server_->is_observed() ? model_server::ask_observed(server_, request, sink)
                                      : model_server::ask(server_, request, sink, nullptr);
    }

private:
    std::shared_ptr<model_server> server_;
};

} // namespace

std::unique_ptr<model_provider> make_http_provider(
    std::shared_ptr<http_client> client, std::unique_ptr<model_dialect> dialect,
    http_provider_settings settings
) {
    return std::make_unique<http_provider>(
        std::make_shared<model_server>(std::move(client), std::move(dialect), std::move(settings))
    );
}

} // namespace agui::runner
