#include "runner/mcp/mcp_http_channel.hpp"

#include "runner/base/timeout.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/http/http_url.hpp"
#include "runner/http/sse_parser.hpp"
#include "runner/mcp/mcp_http_answer.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

/// A call may take as long as its client waits for it, and the stream of the server's own messages
/// may stay silent forever: the callers have their own deadlines.
constexpr std::chrono::hours no_timeout{24};
constexpr std::chrono::seconds notification_timeout{30};
constexpr std::chrono::seconds farewell_timeout{2};

// The received and the passed-on bytes.
constexpr std::size_t copies_of_event = 2;

constexpr std::string_view stream_type = "text/event-stream";

bool is_success(int status) noexcept { return status >= 200 && status < 300; }

} // namespace

struct mcp_http_endpoint::parts {
    std::shared_ptr<http_client> client;
    std::string target;
    mcp_http_settings settings;
};

class mcp_http_channel final : public mcp_channel,
                               public std::enable_shared_from_this<mcp_http_channel> {
public:
    mcp_http_channel(
        asio::any_io_executor executor, std::shared_ptr<const mcp_http_endpoint::parts> endpoint,
        mcp_http_endpoint::headers own
    )
        : executor_(std::move(executor)),
          endpoint_(std::move(endpoint)),
          own_headers_(std::move(own)),
          replied_(executor_) {}

    std::optional<mcp_failure> open(receiver& to) override {
        receiver_ = &to;
        return std::nullopt;
    }

    void send(std::string text, std::optional<std::int64_t> request) override {
        if (request) {
            const std::int64_t id = *request;
            start(id, [self = shared_from_this(), text = std::move(text), id]() mutable {
                return self->ask(std::move(text), id);
            });
        } else if (replies_ < mcp_replies_max) {
            ++replies_;
            start(--last_unasked_, [self = shared_from_this(), text = std::move(text)]() mutable {
                return self->reply(std::move(text));
            });
        }
    }

    asio::awaitable<std::optional<mcp_failure>> deliver(std::string text) override;

    void forget(std::int64_t request) override {
        const auto found = under_way_.find(request);
        if (found != under_way_.end()) {
            found->second->emit(asio::cancellation_type::terminal);
        }
    }

    void use_version(std::string_view version) override { version_ = version; }

    void listen() override {
        start(--last_unasked_, [self = shared_from_this()] { return self->hear(); });
    }

    asio::awaitable<void> flush(std::chrono::steady_clock::time_point until) override;

    asio::awaitable<void> close() override;

private:
    /// The messages from one read of a stream.
    struct events final : sse_parser::handler {
        void on_sse(std::string_view event, std::string_view data) override {
            if (event.empty() || event == "message") {
                bytes += data.size();
                texts.emplace_back(data);
            }
        }

        std::vector<std::string> texts;
        std::size_t bytes = 0;
    };

    using response = std::unique_ptr<transport_response>;

    template <class Work>
    void start(std::int64_t key, Work work);
    [[nodiscard]] asio::awaitable<void> ask(std::string text, std::int64_t id);
    [[nodiscard]] asio::awaitable<mcp_failure> exchange(std::string text);
    [[nodiscard]] asio::awaitable<void> reply(std::string text);
    [[nodiscard]] asio::awaitable<std::optional<mcp_failure>> post_unasked(std::string text);
    [[nodiscard]] asio::awaitable<void> hear();
    [[nodiscard]] asio::awaitable<std::optional<mcp_failure>> hear_once(bool& heard, bool& offered);
    [[nodiscard]] asio::awaitable<mcp_failure> read_answer(transport_response& from);
    [[nodiscard]] asio::awaitable<mcp_failure>
    read_stream(transport_response& from, std::string_view begun = {});
    [[nodiscard]] asio::awaitable<mcp_failure>
    read_document(transport_response& from, std::string text);
    [[nodiscard]] transport_request
    make_request(http_method method, std::string_view accept, std::string body = {}) const;
    [[nodiscard]] mcp_failure refusal(int status) const;

    asio::any_io_executor executor_;
    std::shared_ptr<const mcp_http_endpoint::parts> endpoint_;
    const mcp_http_endpoint::headers own_headers_;
    receiver* receiver_ = nullptr; ///< Null after close().
    std::string version_;
    std::string session_;
    /// By the id of the request; keys below zero belong to no request.
    std::map<std::int64_t, std::shared_ptr<asio::cancellation_signal>> under_way_;
    std::int64_t last_unasked_ = 0;
    std::size_t replies_ = 0;
    asio::steady_timer replied_; ///< Cancelled when the last pending reply has ended.
};

template <class Work>
void mcp_http_channel::start(std::int64_t key, Work work) {
    const auto signal = std::make_shared<asio::cancellation_signal>();
    under_way_[key] = signal;
    asio::co_spawn(
        executor_,
        [](asio::any_io_executor on, Work job) -> asio::awaitable<void> {
            co_await asio::this_coro::throw_if_cancelled(false);
            // Must not run inside the function that started it.
            co_await asio::post(on, as_result);
            asio::awaitable<void> running = job();
            co_await std::move(running);
        }(executor_, std::move(work)),
        asio::bind_cancellation_slot(
            signal->slot(),
            [self = shared_from_this(), signal, key](const std::exception_ptr& thrown) {
                self->under_way_.erase(key);
                if (thrown && key > 0 && self->receiver_ != nullptr) {
                    self->receiver_->on_unanswered(
                        key, mcp_protocol_failure("reading its answer has failed")
                    );
                }
            }
        )
    );
}

transport_request mcp_http_channel::make_request(
    http_method method, std::string_view accept, std::string body
) const {
    transport_request request;
    request.method = method;
    request.target = endpoint_->target;
    request.headers = own_headers_;
    request.headers.emplace_back("Accept", accept);
    if (!version_.empty()) {
        request.headers.emplace_back("MCP-Protocol-Version", version_);
    }
    if (!session_.empty()) {
        request.headers.emplace_back("Mcp-Session-Id", session_);
    }
    request.body = std::move(body);
    return request;
}

mcp_failure mcp_http_channel::refusal(int status) const {
    return {
        .what = mcp_failure::kind::refused,
        .detail = "it answered with status " + std::to_string(status),
        // With another status, the request may have been executed.
        .not_taken = status >= 400 && status < 500,
        .session_over = status == 404 && !session_.empty()
    };
}

asio::awaitable<void> mcp_http_channel::ask(std::string text, std::int64_t id) {
    mcp_failure end = co_await exchange(std::move(text));
    if (receiver_ != nullptr) {
        receiver_->on_unanswered(id, std::move(end)); // Ignored if there was an answer.
    }
}

/// Sends one request and reads everything that the server sends for it. Returns why the answer
/// ended.
asio::awaitable<mcp_failure> mcp_http_channel::exchange(std::string text) {
    const transport_request request =
        make_request(http_method::post, "application/json, text/event-stream", std::move(text));
    auto answered = co_await endpoint_->client->send(request);
    if (!answered) {
        co_return mcp_failure_of(answered.error());
    }
    const response got = std::move(*answered);
    if (!is_success(got->status())) {
        co_return refusal(got->status());
    }
    if (version_.empty()) { // The answer to the initialize request.
        const std::string_view session = got->header("mcp-session-id");
        if (!is_mcp_session_id(session)) {
            co_return mcp_protocol_failure("its session id is too long or not visible ASCII");
        }
        session_ = session;
    }
    mcp_failure end = co_await read_answer(*got);
    co_return end;
}

/// Serverless functions and small frameworks send their answer with any content type or none, so
/// the body decides.
asio::awaitable<mcp_failure> mcp_http_channel::read_answer(transport_response& from) {
    std::string begun;
    mcp_body_kind kind = mcp_body_kind::undecided;
    while (kind == mcp_body_kind::undecided && begun.size() < mcp_body_start_max) {
        const transport_result<std::string_view> bytes = co_await from.read();
        if (!bytes) {
            co_return mcp_failure_of(bytes.error());
        }
        if (bytes->empty()) {
            break;
        }
        begun.append(*bytes);
        kind = mcp_body_kind_of(begun);
    }
    if (kind == mcp_body_kind::document) {
        mcp_failure end = co_await read_document(from, std::move(begun));
        co_return end;
    }
    if (kind == mcp_body_kind::stream || has_type(from, stream_type)) {
        mcp_failure end = co_await read_stream(from, begun);
        co_return end;
    }
    co_return mcp_protocol_failure("its answer is neither JSON nor an event stream");
}

asio::awaitable<mcp_failure>
mcp_http_channel::read_stream(transport_response& from, std::string_view begun) {
    events out;
    sse_parser parser(out, mcp_message_bytes_max);
    bool fits = parser.feed(begun);
    bool ended = false;
    for (;;) {
        if (!from.keep(copies_of_event * parser.kept() + out.bytes)) {
            co_return mcp_failure_of(no_memory());
        }
        for (std::string& text : out.texts) {
            if (receiver_ != nullptr) {
                co_await receiver_->on_message(std::move(text));
            }
        }
        out.texts.clear();
        out.bytes = 0;
        (void)from.keep(copies_of_event * parser.kept()); // Less than before, so there is room.
        if (!fits || ended || receiver_ == nullptr) {
            break;
        }
        const transport_result<std::string_view> bytes = co_await from.read();
        if (!bytes) {
            co_return mcp_failure_of(bytes.error());
        }
        ended = bytes->empty();
        if (ended) {
            parser.finish();
        } else {
            fits = parser.feed(*bytes);
        }
    }
    co_return fits
        ? mcp_failure{.what = mcp_failure::kind::lost, .detail = "its event stream has ended"}
        : mcp_protocol_failure("one of its messages is too long");
}

asio::awaitable<mcp_failure>
mcp_http_channel::read_document(transport_response& from, std::string text) {
    for (;;) {
        const transport_result<std::string_view> bytes = co_await from.read();
        if (!bytes) {
            co_return mcp_failure_of(bytes.error());
        }
        if (bytes->empty()) {
            break;
        }
        if (bytes->size() > mcp_message_bytes_max - text.size()) {
            co_return mcp_protocol_failure("one of its messages is too long");
        }
        text.append(*bytes);
        if (!from.keep(text.capacity())) {
            co_return mcp_failure_of(no_memory());
        }
    }
    if (receiver_ != nullptr) {
        co_await receiver_->on_message(std::move(text));
    }
    co_return mcp_protocol_failure("its answer does not belong to the request");
}

// A failure is ignored: the server then lacks an answer or a notification.
asio::awaitable<void> mcp_http_channel::reply(std::string text) {
    (void)co_await post_unasked(std::move(text));
    if (--replies_ == 0) {
        replied_.cancel();
    }
}

asio::awaitable<void> mcp_http_channel::flush(std::chrono::steady_clock::time_point until) {
    const auto self = shared_from_this();
    while (replies_ > 0 && std::chrono::steady_clock::now() < until) {
        replied_.expires_at(until);
        co_await replied_.async_wait(as_result);
    }
}

asio::awaitable<std::optional<mcp_failure>> mcp_http_channel::post_unasked(std::string text) {
    const transport_request request =
        make_request(http_method::post, "application/json, text/event-stream", std::move(text));
    const auto deadline = std::chrono::steady_clock::now() + notification_timeout;
    auto answered = co_await with_deadline(endpoint_->client->send(request), deadline);
    if (!answered) {
        co_return mcp_failure{.what = mcp_failure::kind::timeout, .detail = "no answer in time"};
    }
    if (!*answered) {
        co_return mcp_failure_of(answered->error());
    }
    const int status = (**answered)->status();
    co_return is_success(status) ? std::nullopt : std::optional(refusal(status));
}

asio::awaitable<std::optional<mcp_failure>> mcp_http_channel::deliver(std::string text) {
    const auto self = shared_from_this();
    const auto signal = std::make_shared<asio::cancellation_signal>();
    const std::int64_t key = --last_unasked_;
    under_way_[key] = signal;
    std::optional<mcp_failure> failed = co_await asio::co_spawn(
        executor_, post_unasked(std::move(text)),
        asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable)
    );
    under_way_.erase(key);
    co_return failed;
}

/// Reads the stream of messages that belong to no request, while the server offers it.
asio::awaitable<void> mcp_http_channel::hear() {
    asio::steady_timer pause(executor_);
    std::chrono::milliseconds wait = endpoint_->settings.reopen_min;
    bool offered = true;
    bool ever_heard = false;
    while (receiver_ != nullptr && offered) {
        const auto begun = std::chrono::steady_clock::now();
        bool heard = false;
        std::optional<mcp_failure> failed = co_await hear_once(heard, offered);
        ever_heard = ever_heard || heard;
        if (receiver_ == nullptr) {
            break;
        }
        // The server is unreachable, or was restarted and does not know the session. A server that
        // never offered the stream may refuse it in any way.
        if (failed && ever_heard) {
            receiver* const to = receiver_;
            receiver_ = nullptr;
            to->on_closed(*std::move(failed));
            break;
        }
        if (std::chrono::steady_clock::now() - begun > wait) {
            wait = endpoint_->settings.reopen_min;
        }
        pause.expires_after(wait);
        co_await pause.async_wait(as_result);
        wait = std::min(2 * wait, endpoint_->settings.reopen_max);
    }
}

/// Returns a failure if the server cannot be reached or does not know the session.
asio::awaitable<std::optional<mcp_failure>>
mcp_http_channel::hear_once(bool& heard, bool& offered) {
    const transport_request request = make_request(http_method::get, stream_type);
    auto answered = co_await endpoint_->client->send(request);
    if (!answered) {
        mcp_failure why = mcp_failure_of(answered.error());
        const bool gone = why.what == mcp_failure::kind::unavailable;
        co_return gone ? std::optional(std::move(why)) : std::nullopt;
    }
    const response got = std::move(*answered);
    const int status = got->status();
    if (!is_success(status)) {
        // 405 means that there is no such stream; some servers send another 4xx for that.
        offered = status >= 500;
        co_return status == 400 || status == 404 ? std::optional(refusal(status)) : std::nullopt;
    }
    if (!has_type(*got, stream_type)) {
        offered = false;
        co_return std::nullopt;
    }
    heard = true;
    (void)co_await read_stream(*got);
    co_return std::nullopt;
}

asio::awaitable<void> mcp_http_channel::close() {
    const auto self = shared_from_this();
    receiver_ = nullptr;
    const auto under_way = under_way_; // A copy, because each one removes itself.
    for (const auto& [key, signal] : under_way) {
        signal->emit(asio::cancellation_type::terminal);
    }
    if (session_.empty()) {
        co_return;
    }
    const transport_request request = make_request(http_method::delete_, "application/json");
    const auto deadline = std::chrono::steady_clock::now() + farewell_timeout;
    (void)co_await with_deadline(endpoint_->client->send(request), deadline);
}

result<mcp_http_endpoint> mcp_http_endpoint::make(mcp_http_settings settings) {
    const result<http_url> url = parse_http_url(settings.url);
    if (!url) {
        return url.error();
    }
    http_endpoint endpoint;
    endpoint.base_url = (url->tls ? "https://" : "http://") + url->authority;
    endpoint.headers = settings.headers;
    endpoint.ca_file = settings.ca_file;
    endpoint.connect_timeout = settings.connect_timeout;
    endpoint.first_byte_timeout = no_timeout;
    endpoint.idle_timeout = no_timeout;
    // No request is sent twice, because it may have started a tool.
    endpoint.reuse_connections = false;
    endpoint.budget = settings.budget;
    result<std::shared_ptr<http_client>> client = make_http_client(std::move(endpoint));
    if (!client) {
        return client.error();
    }
    auto made = std::make_shared<parts>();
    made->client = *std::move(client);
    made->target = (url->path.empty() ? "/" : url->path) + url->query;
    made->settings = std::move(settings);
    return mcp_http_endpoint(std::move(made));
}

std::shared_ptr<mcp_channel>
mcp_http_endpoint::channel(asio::any_io_executor executor, headers own) const {
    return std::make_shared<mcp_http_channel>(std::move(executor), parts_, std::move(own));
}

} // namespace agui::runner
