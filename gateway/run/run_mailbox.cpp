#include "gateway/run/run_mailbox.hpp"

#include "session/store/store_failures.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

letter_fate fate_after(const failure& not_stored) noexcept {
    switch (not_stored.code) {
    case errc::conflict:
    case errc::run_id_reused:
    case errc::lease_lost:
    case errc::not_found:
        return letter_fate::returned;
    default:
        return letter_fate::unknown;
    }
}

} // namespace

failure run_has_ended() {
    return {errc::run_ended, "the run takes no more messages: send the message as a new run"};
}

result<run_mailbox::letter_ptr> run_mailbox::put(letter_ptr letter) {
    const std::lock_guard lock(mutex_);
    for (const session::message& each : letter->messages) {
        if (const auto known = by_message_.find(each.id); known != by_message_.end()) {
            return known->second;
        }
    }
    if (closed_) {
        return run_has_ended();
    }
    if (waiting_.size() >= letters_max_) {
        return session::queue_is_full();
    }
    for (const session::message& each : letter->messages) {
        by_message_.emplace(each.id, letter);
    }
    add(letter);
    return letter;
}

void run_mailbox::add(letter_ptr letter) {
    const auto place =
        std::ranges::upper_bound(waiting_, letter->queue_number, {}, &mailbox_letter::queue_number);
    waiting_.insert(place, std::move(letter));
    has_waiting_ = true;
}

run_mailbox::letter_ptr run_mailbox::find(const std::string& message_id) const {
    const std::lock_guard lock(mutex_);
    const auto known = by_message_.find(message_id);
    return known == by_message_.end() ? nullptr : known->second;
}

run_mailbox::outcome run_mailbox::outcome_of(const mailbox_letter& letter) const {
    const std::lock_guard lock(mutex_);
    return {letter.fate, letter.sequence};
}

bool run_mailbox::withdraw(const letter_ptr& letter) {
    {
        const std::lock_guard lock(mutex_);
        if (std::erase(waiting_, letter) == 0) {
            return false;
        }
        has_waiting_ = !waiting_.empty();
        forget(*letter);
    }
    decide({letter}, letter_fate::returned);
    return true;
}

bool run_mailbox::is_open() const {
    const std::lock_guard lock(mutex_);
    return !closed_;
}

std::vector<run_mailbox::letter_ptr> run_mailbox::take(std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    in_commit_ = std::exchange(waiting_, {});
    has_waiting_ = false;
    for (const letter_ptr& each : in_commit_) {
        each->fate = letter_fate::in_commit;
        each->sequence = sequence;
    }
    return in_commit_;
}

void run_mailbox::settle(const result<void>& stored) {
    std::vector<letter_ptr> decided;
    const letter_fate fate = stored ? letter_fate::taken : fate_after(stored.error());
    const bool only_queue = !stored && (stored.error().code == errc::conflict ||
                                        stored.error().code == errc::run_id_reused);
    {
        const std::lock_guard lock(mutex_);
        for (letter_ptr& each : in_commit_) {
            if (only_queue && each->queue_number == 0 && !closed_) {
                each->fate = letter_fate::waits;
                add(std::move(each));
                continue;
            }
            if (fate == letter_fate::taken) {
                each->messages = {};
            } else {
                forget(*each);
            }
            decided.push_back(std::move(each));
        }
        in_commit_.clear();
    }
    decide(std::move(decided), fate);
}

void run_mailbox::close() noexcept {
    std::vector<letter_ptr> returned;
    std::vector<letter_ptr> uncertain;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        returned.swap(waiting_);
        uncertain.swap(in_commit_); // An exception came between take() and settle().
        has_waiting_ = false;
        for (const auto* const letters : {&returned, &uncertain}) {
            for (const letter_ptr& each : *letters) {
                forget(*each);
            }
        }
    }
    decide(std::move(returned), letter_fate::returned);
    decide(std::move(uncertain), letter_fate::unknown);
}

void run_mailbox::decide(std::vector<letter_ptr> letters, letter_fate fate) {
    for (const letter_ptr& each : letters) {
        {
            const std::lock_guard lock(mutex_);
            each->fate = fate;
        }
        if (each->on_decided) {
            each->on_decided();
        }
    }
}

void run_mailbox::forget(const mailbox_letter& letter) {
    std::erase_if(by_message_, [&](const auto& known) { return known.second.get() == &letter; });
}

} // namespace agui::gateway
