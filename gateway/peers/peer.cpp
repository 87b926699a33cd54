#include "gateway/peers/peer.hpp"

#include "gateway/peers/peer_request.hpp"
#include "runner/base/timeout.hpp"
#include "session/base/id.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::gateway {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int missed_max = 3;
// Pause after a failure, doubled with each further one.
constexpr auto first_pause = 250ms;
constexpr int pause_doublings_max = 4;

// A random time between half of `time` and all of it, so that gateways do not retry all at once.
std::chrono::milliseconds jittered(std::chrono::milliseconds time) {
    const auto random = static_cast<unsigned char>(random_bytes(1).front());
    return time / 2 + time * random / 512;
}

failure cannot_be_asked() {
    return {
        errc::store_unavailable,
        "the gateway that executes the run cannot be reached: try again later",
        {},
        {}
    };
}

} // namespace

peer::peer(
    std::int64_t own, session::peer_address address, std::shared_ptr<runner::http_client> client,
    logger& log, std::chrono::milliseconds ping_period
)
    : own_(own),
      address_(std::move(address)),
      client_(std::move(client)),
      log_(log),
      ping_period_(ping_period) {}

bool peer::is_down(time_point now) const {
    const std::lock_guard lock(mutex_);
    return !client_ || now < down_until_;
}

bool peer::answers(const asio::any_io_executor& executor) {
    {
        const std::lock_guard lock(mutex_);
        if (failures_ == 0) {
            return client_ != nullptr;
        }
        if (probing_ || steady::now() < down_until_) {
            return false;
        }
        probing_ = true;
    }
    asio::co_spawn(executor, ping(), [self = shared_from_this()](const std::exception_ptr&, bool) {
        const std::lock_guard lock(self->mutex_);
        self->probing_ = false;
    });
    return false;
}

asio::awaitable<bool> peer::ping() {
    const auto self = shared_from_this();
    const auto answer = co_await send(
        runner::http_method::get, peer_ping_path, {}, ping_period_, in_pause::is_sent
    );
    co_return answer && (*answer)->status() == 204;
}

asio::awaitable<result<std::unique_ptr<runner::transport_response>>> peer::send(
    runner::http_method method, std::string_view path, std::string body,
    std::chrono::milliseconds time, in_pause what, bool* is_sent
) {
    bool unused = false;
    bool& was_sent = is_sent != nullptr ? *is_sent : unused;
    was_sent = false;
    if (!client_ || (what == in_pause::is_refused && is_down(steady::now()))) {
        co_return cannot_be_asked();
    }
    const auto self = shared_from_this();
    runner::transport_request request;
    request.method = method;
    request.target = path;
    request.headers = {
        {std::string(peer_from_header), std::to_string(own_)},
        {std::string(peer_to_header), std::to_string(address_.number)}
    };
    request.body = std::move(body);
    was_sent = true;
    auto answer = co_await runner::with_deadline(client_->send(request), steady::now() + time);
    if (!answer) {
        note_failure("it does not answer");
        co_return cannot_be_asked();
    }
    if (!*answer) {
        const runner::transport_failure& why = answer->error();
        was_sent = !why.unsent;
        if (why.what != runner::transport_failure::kind::cancelled) {
            note_failure(why.detail);
        }
        co_return cannot_be_asked();
    }
    const int status = (**answer)->status();
    if (status == 401 || status == 421) {
        was_sent = false;
        note_failure("another process is at its address");
        co_return cannot_be_asked();
    }
    if ((status == 408 || status == 413 || status == 500 || status == 503) &&
        (**answer)->header("content-type").starts_with("application/json")) {
        was_sent = status == 500; // The other statuses mean that it has no room for the request.
        note_answer();
        co_return cannot_be_asked();
    }
    if (status != 200 && status != 204) { // From a proxy or another version.
        note_failure("it answered with status " + std::to_string(status));
        co_return cannot_be_asked();
    }
    note_answer();
    co_return std::move(**answer);
}

failure peer::not_understood() {
    note_failure("its answer is invalid");
    return cannot_be_asked();
}

// Requests that fail together count as one failure.
void peer::note_failure(std::string_view reason) {
    const auto now = steady::now();
    const std::lock_guard lock(mutex_);
    if (now < down_until_) {
        return;
    }
    const int doublings = std::min(failures_++, pause_doublings_max);
    down_until_ = now + jittered(first_pause * (1 << doublings));
    if (unreachable_.due(now)) {
        log_.log(
            log_level::warning,
            "another gateway cannot be reached: its runs are read from the store",
            {{"gateway", std::to_string(address_.number)}, {"url", address_.url}, {"reason", reason}
            }
        );
    }
}

void peer::note_answer() {
    const std::lock_guard lock(mutex_);
    failures_ = 0;
    down_until_ = {};
}

peer::stream::stream(
    std::shared_ptr<peer> of, const asio::any_io_executor& executor, std::function<void()> cut
)
    : of_(std::move(of)), cut_(std::move(cut)) {
    const std::lock_guard lock(of_->mutex_);
    place_ = of_->streams_.insert(of_->streams_.end(), this);
    if (!of_->beating_) {
        of_->beating_ = std::make_shared<change_signal>(executor);
        asio::co_spawn(
            executor, of_->ping_while_streaming(of_->beating_),
            [of = of_, own = of_->beating_](const std::exception_ptr&) {
                const std::lock_guard over(of->mutex_);
                // It threw an exception; the next stream starts it again.
                if (of->beating_ == own) {
                    of->beating_.reset();
                }
            }
        );
    }
}

peer::stream::~stream() {
    const std::lock_guard lock(of_->mutex_);
    of_->streams_.erase(place_);
    if (of_->streams_.empty() && of_->beating_) {
        of_->beating_->notify();
    }
}

bool peer::has_streams() {
    const std::lock_guard lock(mutex_);
    if (streams_.empty()) {
        beating_.reset();
    }
    return !streams_.empty();
}

void peer::cut_streams() {
    const std::lock_guard lock(mutex_);
    for (const stream* const each : streams_) {
        each->cut_();
    }
}

asio::awaitable<void> peer::ping_while_streaming(std::shared_ptr<change_signal> changed) {
    const auto self = shared_from_this();
    int missed = 0;
    for (auto next = steady::now() + ping_period_;;) {
        co_await changed->wait_until(next);
        if (!has_streams()) {
            co_return;
        }
        next = steady::now() + ping_period_; // A ping takes no longer.
        missed = co_await ping() ? 0 : missed + 1;
        if (missed >= missed_max) {
            cut_streams();
            missed = 0;
        }
    }
}

} // namespace agui::gateway
