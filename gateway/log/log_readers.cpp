#include "gateway/log/log_readers.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace agui::gateway {

namespace {

// How many readers are resumed before other work runs.
constexpr std::size_t resumed_at_once = 32;

} // namespace

void log_readers::add() {
    ++count_;
    tell(leaving::left);
}

void log_readers::remove(leaving how) {
    --count_;
    tell(how);
    if (count_ == 0 && on_last_left_) {
        boost::asio::post(executor_, [told = on_last_left_, how] { told(how); });
    }
}

void log_readers::tell(leaving how) const {
    if (on_change_) {
        boost::asio::post(executor_, [told = on_change_, count = count_, how] {
            told(count, how);
        });
    }
}

void log_readers::wait(waiter& who, resumption&& here) {
    waiting_.push_back(&who); // First, because it can throw.
    who.resumption_ = std::move(here);
}

std::optional<resumption> log_readers::take(waiter& who) {
    const auto found = std::ranges::find(waiting_, &who);
    if (found == waiting_.end()) {
        return std::nullopt;
    }
    waiting_.erase(found);
    return std::move(who.resumption_);
}

void log_readers::take_all(resumptions& ready) {
    for (waiter* const each : waiting_) {
        ready.push_back(std::move(each->resumption_));
    }
    waiting_.clear();
}

// At once if this thread is running the reader's executor. Only a few continue at once, because
// other runs wait meanwhile.
void log_readers::resume(resumptions& ready) {
    std::size_t at_once = resumed_at_once;
    for (resumption& reader : ready) {
        if (at_once > 0) {
            --at_once;
            std::move(reader).dispatch();
        } else {
            std::move(reader).post();
        }
    }
}

} // namespace agui::gateway
