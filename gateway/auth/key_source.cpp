#include "gateway/auth/key_source.hpp"

#include "runner/base/timeout.hpp"
#include "session/base/pause.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

namespace {

// The fetch may be on another thread, so waiting coroutines poll.
constexpr std::chrono::milliseconds fetch_poll{20};
constexpr unsigned doublings_max = 10;

std::chrono::milliseconds pause_after(unsigned failures, const key_source::limits& bounds) {
    const auto wait = bounds.first_pause * (1U << std::min(failures - 1, doublings_max));
    return std::min<std::chrono::milliseconds>(wait, bounds.interval);
}

failure not_fetched(std::string detail) { return {errc::internal, std::move(detail), {}, {}}; }

} // namespace

class key_source::fetch_mark {
public:
    explicit fetch_mark(key_source& source) noexcept : source_(source) {}
    ~fetch_mark() {
        const std::lock_guard lock(source_.mutex_);
        source_.fetching_ = false;
    }
    fetch_mark(const fetch_mark&) = delete;
    fetch_mark& operator=(const fetch_mark&) = delete;

private:
    key_source& source_;
};

key_source::key_source(key_set fixed) : keys_(std::make_shared<const key_set>(std::move(fixed))) {}

key_source::key_source(std::shared_ptr<runner::http_client> client, limits bounds, logger& log)
    : client_(std::move(client)), limits_(bounds), log_(&log) {}

std::shared_ptr<const key_set> key_source::get() const {
    const std::lock_guard lock(mutex_);
    const bool is_old = client_ && steady::now() - fetched_ >= limits_.usable;
    return is_old ? nullptr : keys_;
}

bool key_source::is_fetching() const {
    const std::lock_guard lock(mutex_);
    return fetching_;
}

bool key_source::has_failed() const {
    const std::lock_guard lock(mutex_);
    return failures_ > 0;
}

key_source::turn key_source::take_turn() {
    const std::lock_guard lock(mutex_);
    if (!client_ || (!fetching_ && steady::now() < next_)) {
        return turn::pause;
    }
    if (fetching_) {
        return turn::wait;
    }
    fetching_ = true;
    ++failures_;
    next_ = steady::now() + pause_after(failures_, limits_);
    return turn::fetch;
}

asio::awaitable<bool> key_source::refresh() {
    switch (take_turn()) {
    case turn::pause:
        break;
    case turn::wait: {
        const auto give_up = steady::now() + limits_.time;
        while (is_fetching() && steady::now() < give_up) {
            co_await pause(fetch_poll);
        }
        break;
    }
    case turn::fetch: {
        const fetch_mark mark(*this);
        const auto executor = co_await asio::this_coro::executor;
        // Without the caller's slot: others wait for this fetch, and its caller may leave.
        const result<std::string> text = co_await asio::co_spawn(
            executor, fetch_in_time(),
            asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable)
        );
        end_fetch(text);
        break;
    }
    }
    co_return !has_failed();
}

asio::awaitable<void> key_source::renew() {
    bool is_due = false;
    {
        const std::lock_guard lock(mutex_);
        is_due = client_ && (!keys_ || steady::now() - fetched_ >= limits_.fresh);
    }
    if (is_due) {
        (void)co_await refresh();
    }
}

asio::awaitable<result<std::string>> key_source::fetch_in_time() {
    try {
        auto text = co_await runner::with_deadline(fetch(), steady::now() + limits_.time);
        if (!text) {
            co_return not_fetched("the server did not answer in time");
        }
        co_return std::move(*text);
    } catch (const std::exception& error) {
        co_return not_fetched(error.what());
    }
}

asio::awaitable<result<std::string>> key_source::fetch() {
    runner::transport_request request;
    request.method = runner::http_method::get;
    request.headers = {{"Accept", "application/jwk-set+json, application/json"}};
    auto answer = co_await client_->send(request);
    if (!answer) {
        co_return not_fetched(answer.error().detail);
    }
    if ((*answer)->status() != 200) {
        co_return not_fetched("the server answered " + std::to_string((*answer)->status()));
    }
    std::string text;
    for (;;) {
        const auto piece = co_await (*answer)->read();
        if (!piece) {
            co_return not_fetched(piece.error().detail);
        }
        if (piece->empty()) {
            co_return text;
        }
        if (text.size() + piece->size() > key_set_bytes_max) {
            co_return not_fetched("the answer is longer than 256 KB");
        }
        text += *piece;
    }
}

void key_source::count_success() {
    failures_ = 0;
    fetched_ = steady::now();
    next_ = fetched_ + limits_.interval;
}

bool key_source::is_confirmed_by(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!keys_ || text_ != text) {
        return false;
    }
    count_success();
    return true;
}

void key_source::end_fetch(const result<std::string>& text) {
    if (text && is_confirmed_by(*text)) {
        return;
    }
    auto read = text ? parse_key_set(*text) : result<key_set>(text.error());
    const std::lock_guard lock(mutex_);
    if (!read) {
        next_ = steady::now() + pause_after(failures_, limits_);
        log_->log(
            log_level::warning, "the keys of auth.jwks_url could not be fetched",
            {{"error", read.error().detail}}
        );
        return;
    }
    log_->log(
        log_level::info, "the keys of auth.jwks_url were fetched",
        {{"usable", std::to_string(read->keys.size())}, {"others", std::to_string(read->unusable)}}
    );
    keys_ = std::make_shared<const key_set>(std::move(*read));
    text_ = *text;
    count_success();
}

} // namespace agui::gateway
