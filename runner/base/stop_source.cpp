#include "runner/base/stop_source.hpp"

#include <boost/asio/post.hpp>

#include <atomic>
#include <exception>
#include <utility>

namespace agui::runner {

namespace {

// States other than a reason: no stop was requested; no stop is possible any longer.
constexpr int open = -1;
constexpr int closed = -2;

} // namespace

struct stop_source::shared : std::enable_shared_from_this<shared> {
    explicit shared(boost::asio::any_io_executor where) : executor(std::move(where)) {}

    void cancel() noexcept {
        if (gone) {
            return;
        }
        try {
            signal.emit(boost::asio::cancellation_type::terminal);
        } catch (const std::exception&) {
            // A tool's cancellation handler threw. The run ends all the same (P9).
        }
    }

    bool request(stop_reason reason) noexcept;
    bool requested() noexcept;

    boost::asio::any_io_executor executor;
    std::function<bool()> is_lost; ///< May be empty.
    stop_reason lost_reason = stop_reason::error;
    std::shared_ptr<shared> leader; ///< Of the stop_source that this one follows; may be null.
    boost::asio::cancellation_signal signal; ///< Used on the executor only, like `gone`.
    bool gone = false;            ///< The stop_source and everything bound to its slot are gone.
    std::atomic<int> state{open}; ///< `open`, `closed` or a stop_reason.
};

stop_source::stop_source(boost::asio::any_io_executor executor)
    : shared_(std::make_shared<shared>(std::move(executor))) {}

stop_source::~stop_source() { shared_->gone = true; }

bool stop_source::request(stop_reason reason) noexcept { return shared_->request(reason); }

void stop_source::stop_if(std::function<bool()> is_lost, stop_reason reason) {
    shared_->is_lost = std::move(is_lost);
    shared_->lost_reason = reason;
}

bool stop_source::shared::request(stop_reason reason) noexcept {
    int before = open;
    if (!state.compare_exchange_strong(before, static_cast<int>(reason))) {
        return before != closed;
    }
    try {
        // Posted rather than called, because the caller may be inside the operation to be
        // cancelled.
        boost::asio::post(executor, [self = shared_from_this()] { self->cancel(); });
    } catch (const std::exception&) {
        // Out of memory: the run sees the request at its next check.
    }
    return true;
}

void stop_source::follow(const stop_source& other) noexcept { shared_->leader = other.shared_; }

bool stop_source::shared::requested() noexcept {
    if (state == open && is_lost && is_lost()) {
        (void)request(lost_reason);
    }
    if (state == open && leader != nullptr && leader->requested()) {
        (void)request(static_cast<stop_reason>(leader->state.load()));
    }
    return state >= 0;
}

bool stop_source::requested() const noexcept { return shared_->requested(); }

stop_reason stop_source::reason() const noexcept {
    const int state = shared_->state;
    return state < 0 ? stop_reason::cancelled : static_cast<stop_reason>(state);
}

std::optional<stop_reason> stop_source::close() noexcept {
    (void)requested(); // A lost run must not end as if it were not lost.
    int before = open;
    if (shared_->state.compare_exchange_strong(before, closed) || before == closed) {
        return std::nullopt;
    }
    return static_cast<stop_reason>(before);
}

boost::asio::cancellation_slot stop_source::slot() noexcept { return shared_->signal.slot(); }

} // namespace agui::runner
