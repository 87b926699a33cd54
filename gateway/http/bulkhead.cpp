#include "gateway/http/bulkhead.hpp"

namespace agui::gateway {

boost::asio::awaitable<std::unique_ptr<bulkhead::pass>> bulkhead::enter() {
    std::shared_ptr<completion_event> turn;
    {
        const std::lock_guard lock(mutex_);
        if (free_ > 0) {
            --free_;
        } else if (waiting_.size() >= most_waiting_) {
            co_return nullptr;
        } else {
            turn = std::make_shared<completion_event>();
            waiting_.push_back(turn);
        }
    }
    if (turn) {
        co_await turn->wait(); // A destroyed pass hands over its place.
    }
    co_return std::make_unique<pass>(*this);
}

void bulkhead::leave() {
    std::shared_ptr<completion_event> next;
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
            ++free_;
            return;
        }
        next = std::move(waiting_.front());
        waiting_.pop_front();
    }
    next->set();
}

} // namespace agui::gateway
