#include "runner/base/model_circuit.hpp"

#include <mutex>
#include <utility>

namespace agui::runner {

namespace {

// A clock that was set back must not keep a circuit open, or an outage counted, for long.
bool has_passed(unix_ms since, std::chrono::milliseconds time, unix_ms now) noexcept {
    return now < since || now - since >= time.count();
}

} // namespace

bool is_outage(const model_failure& failed) noexcept {
    if (failed.status >= 400 && failed.status < 500) {
        return false;
    }
    switch (failed.what) {
    case model_failure::kind::unavailable:
    case model_failure::kind::lost:
    case model_failure::kind::timeout:
        return true;
    case model_failure::kind::rejected:
    case model_failure::kind::memory:
    case model_failure::kind::over_quota:
    case model_failure::kind::uncounted:
    case model_failure::kind::cancelled:
        break;
    }
    return false;
}

model_circuit::call& model_circuit::call::operator=(call&& other) noexcept {
    if (this != &other) {
        forget();
        circuit_ = std::move(other.circuit_);
        era_ = other.era_;
        is_probe_ = other.is_probe_;
        is_ready_ = other.is_ready_;
    }
    return *this;
}

void model_circuit::call::forget() noexcept {
    if (const auto circuit = std::exchange(circuit_, nullptr)) {
        circuit->on_nothing(*this);
    }
}

void model_circuit::call::begun() {
    if (circuit_ != nullptr && is_probe_) {
        circuit_->on_begin(*this);
    }
}

void model_circuit::call::answered() {
    if (const auto circuit = std::exchange(circuit_, nullptr)) {
        circuit->on_answer(*this);
    }
}

void model_circuit::call::failed(const model_failure& failure) {
    if (!is_outage(failure)) {
        forget();
    } else if (const auto circuit = std::exchange(circuit_, nullptr)) {
        circuit->on_outage(*this);
    }
}

model_circuit::model_circuit(settings what, const clock& time, logger& log)
    : settings_(std::move(what)),
      time_(time),
      log_(log),
      state_(settings_.failures == 0 ? state::off : state::closed) {
    failures_.reserve(settings_.failures);
}

model_circuit::call model_circuit::begin(std::shared_ptr<model_circuit> self) {
    call made;
    if (self == nullptr || self->settings_.failures == 0) {
        return made;
    }
    const bool half_opens = self->enter(made);
    made.circuit_ = std::move(self); // First, so that a log that throws leaves no probe taken.
    if (half_opens) {
        made.circuit_->report(state::half_open);
    }
    return made;
}

/// Returns true if the circuit has become half-open.
bool model_circuit::enter(call& made) {
    const std::lock_guard lock(mutex_);
    const unix_ms now = time_.now(); // Under the lock: times must not go back.
    const bool half_opens = state_ == state::open && has_passed(opened_, settings_.pause, now);
    if (half_opens) {
        state_ = state::half_open;
    }
    made.era_ = era_;
    made.is_probe_ = state_ == state::half_open && !is_probed_;
    made.is_ready_ = made.is_probe_ || state_ == state::closed;
    is_probed_ = is_probed_ || made.is_probe_;
    return half_opens;
}

model_circuit::status model_circuit::now() const {
    const std::lock_guard lock(mutex_);
    return {state_, failures_.size()};
}

// A long answer must not keep other calls from a model that works. The call goes on as one of the
// new era. Some servers that are out of order still begin each answer, so until one is whole, one
// outage opens the circuit again.
void model_circuit::on_begin(call& made) {
    {
        const std::lock_guard lock(mutex_);
        if (made.era_ != era_) {
            return;
        }
        failures_.assign(settings_.failures - 1, time_.now());
        turn_to(state::closed);
        made.era_ = era_;
        made.is_probe_ = false;
    }
    report(state::closed);
}

void model_circuit::on_answer(const call& made) {
    {
        const std::lock_guard lock(mutex_);
        if (made.era_ != era_) {
            return;
        }
        failures_.clear();
        if (state_ == state::closed) {
            return;
        }
        turn_to(state::closed);
    }
    report(state::closed);
}

void model_circuit::on_outage(const call& made) {
    {
        const std::lock_guard lock(mutex_);
        const unix_ms now = time_.now();
        if (made.era_ != era_) {
            return;
        }
        if (state_ == state::closed) {
            drop_old(now);
            failures_.push_back(now);
            if (failures_.size() < settings_.failures) {
                return;
            }
        } else if (!made.is_probe_) {
            return; // Asked because no other model was left.
        }
        opened_ = now;
        turn_to(state::open);
    }
    report(state::open);
}

void model_circuit::on_nothing(const call& made) noexcept {
    const std::lock_guard lock(mutex_);
    if (made.is_probe_ && made.era_ == era_) {
        is_probed_ = false; // The next call is the probe.
    }
}

void model_circuit::turn_to(state next) {
    state_ = next;
    is_probed_ = false;
    ++era_;
}

void model_circuit::drop_old(unix_ms now) {
    std::erase_if(failures_, [&](unix_ms at) { return has_passed(at, settings_.window, now); });
}

// Called without the lock, because a log may be slow.
void model_circuit::report(state changed_to) const {
    log_.log(
        changed_to == state::open ? log_level::warning : log_level::info,
        "a model's circuit changed",
        {{"model", settings_.model}, {"circuit", to_string(changed_to)}}
    );
}

std::string_view to_string(model_circuit::state state) noexcept {
    switch (state) {
    case model_circuit::state::off:
        return "off";
    case model_circuit::state::closed:
        return "closed";
    case model_circuit::state::open:
        return "open";
    case model_circuit::state::half_open:
        return "half_open";
    }
    return "closed";
}

} // namespace agui::runner
