#include "gateway/run/taken_messages.hpp"

#include "session/base/json_member.hpp"

#include <cstddef>
#include <utility>

namespace agui::gateway {

namespace {

// About as many as fit into one answer of a store's server.
constexpr std::size_t events_at_once = 1'000;

session::session_event event_of(
    const mailbox_letter& letter, const std::string& message_id, const session::run_record& run,
    unix_ms now
) {
    session::session_event event;
    event.type = "user.message";
    event.run_id = run.run_id;
    event.timestamp = now;
    event.data = {{"messageId", message_id}, {"seq", letter.sequence}};
    if (letter.queue_number != 0) {
        event.data["requestRunId"] = letter.record.run_id;
    }
    return event;
}

session::run_record
record_of_taken(const mailbox_letter& letter, const session::run_record& run, unix_ms now) {
    session::run_record record = letter.record;
    record.status = session::run_status::finished;
    record.end_reason = taken_while_active;
    record.answered_by = run.run_id;
    record.ended_at = now;
    return record;
}

// Its sequence is 0 if the event is about another message.
taken_message read_taken(const session::session_event& event) {
    taken_message found;
    const boost::json::value* const sequence = event.data.if_contains("seq");
    boost::system::error_code other;
    if (event.type != "user.message" || sequence == nullptr) {
        return found;
    }
    found.sequence = sequence->to_number<std::uint64_t>(other);
    found.message_id = string_in(event.data, "messageId");
    found.request_run_id = string_in(event.data, "requestRunId");
    found.run_id = event.run_id;
    return found;
}

} // namespace

runner::user_messages to_store(
    const std::vector<run_mailbox::letter_ptr>& letters, const session::run_record& run, unix_ms now
) {
    runner::user_messages taken;
    for (const run_mailbox::letter_ptr& letter : letters) {
        for (const session::message& each : letter->messages) {
            taken.change.events.push_back(event_of(*letter, each.id, run, now));
            taken.messages.push_back(each);
        }
        if (letter->queue_number != 0) {
            taken.change.dequeued.push_back(letter->queue_number);
            taken.change.answered.push_back(record_of_taken(*letter, run, now));
        }
    }
    return taken;
}

boost::asio::awaitable<result<std::vector<taken_message>>> find_taken(
    session::store& store, const session::thread_key& key,
    std::function<bool(const taken_message&)> is_meant
) {
    std::vector<taken_message> found;
    for (std::uint64_t after = 0;;) {
        const auto page = co_await store.events(key, after, events_at_once);
        if (!page) {
            co_return page.error();
        }
        for (const session::session_event& each : *page) {
            taken_message one = read_taken(each);
            if (one.sequence != 0 && is_meant(one)) {
                found.push_back(std::move(one));
            }
        }
        if (page->size() < events_at_once) {
            co_return found;
        }
        after = page->back().sequence;
    }
}

} // namespace agui::gateway
