#include "runner/base/deadline_sweep.hpp"

#include <boost/asio/query.hpp>

#include <algorithm>

namespace agui::runner {

namespace {

constexpr std::chrono::milliseconds sweep_interval{250};

} // namespace

deadline_sweep& deadline_sweep::of(const boost::asio::any_io_executor& executor) {
    return boost::asio::use_service<deadline_sweep>(
        boost::asio::query(executor, boost::asio::execution::context)
    );
}

deadline_sweep::watch::watch(const boost::asio::any_io_executor& executor)
    : sweep_(deadline_sweep::of(executor)), place_(sweep_.watches_.size()) {
    sweep_.add(*this, executor);
}

deadline_sweep::watch::~watch() { sweep_.remove(*this); }

void deadline_sweep::watch::arm(clock::time_point deadline) {
    deadline_ = deadline;
    if (deadline < sweep_.next_) {
        sweep_.schedule(deadline);
    }
}

void deadline_sweep::shutdown() { timer_.reset(); }

void deadline_sweep::add(watch& which, const boost::asio::any_io_executor& executor) {
    watches_.push_back(&which);
    if (!timer_) {
        timer_.emplace(executor);
        schedule(clock::now() + sweep_interval);
    }
}

void deadline_sweep::remove(watch& which) noexcept {
    watches_[which.place_] = watches_.back();
    watches_[which.place_]->place_ = which.place_;
    watches_.pop_back();
    if (watches_.empty()) {
        timer_.reset();
        next_ = clock::time_point::max();
    }
}

void deadline_sweep::schedule(clock::time_point when) {
    if (!timer_) {
        return; // The context is being destroyed.
    }
    next_ = when;
    timer_->expires_at(when);
    // No handler outlives this service: the context destroys handlers before services.
    timer_->async_wait([this](const boost::system::error_code& ec) {
        if (!ec) {
            sweep();
        }
    });
}

void deadline_sweep::sweep() {
    const clock::time_point now = clock::now();
    clock::time_point next = now + sweep_interval;
    for (watch* const each : watches_) {
        if (each->deadline_ <= now) {
            each->disarm();
            each->expired();
        } else {
            next = std::min(next, each->deadline_);
        }
    }
    schedule(next);
}

} // namespace agui::runner
