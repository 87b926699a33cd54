#include "gateway/queue/queue_offer.hpp"

#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

bool has_any_of(
    const session::thread_record& thread, const std::vector<session::message>& messages
) {
    return std::ranges::any_of(thread.nodes, [&](const session::stored_message& node) {
        return std::ranges::find(messages, node.message.id, &session::message::id) !=
               messages.end();
    });
}

} // namespace

queue_offer::queue_offer(std::shared_ptr<run_core> core, std::shared_ptr<waiting_run> waiting)
    : core_(std::move(core)), waiting_(std::move(waiting)) {}

queue_offer::~queue_offer() { (void)withdraw(); }

letter_fate queue_offer::fate() const {
    return letter_ ? run_->mailbox().outcome_of(*letter_).fate : letter_fate::returned;
}

bool queue_offer::withdraw() {
    const letter_fate now = fate();
    if (now == letter_fate::waits && run_->mailbox().withdraw(letter_)) {
        return true;
    }
    return now == letter_fate::returned || now == letter_fate::unknown;
}

boost::asio::awaitable<void> queue_offer::make() {
    if (!core_->settings.queue->steers || fate() == letter_fate::waits) {
        co_return;
    }
    const auto active = core_->registry.active(waiting_->conversation);
    if (!active || active->record().agent_id != waiting_->record.agent_id ||
        !active->mailbox().is_open()) {
        co_return;
    }
    pass_failpoint("queue.offer");
    auto letter = co_await write();
    if (!letter) {
        co_return;
    }
    const auto put = active->mailbox().put(letter);
    // Otherwise another letter has one of the messages, and the request waits.
    if (put && *put == letter) {
        run_ = active;
        letter_ = std::move(letter);
        pass_failpoint("queue.offered");
    }
}

// Returns null if the request has left the queue, or the store fails.
boost::asio::awaitable<run_mailbox::letter_ptr> queue_offer::write() {
    const conversation_key& conversation = waiting_->conversation;
    auto queued = co_await core_->store_of(conversation).queued(conversation.thread);
    if (!queued) {
        co_return nullptr;
    }
    const auto own =
        std::ranges::find(*queued, waiting_->record.run_id, &session::queued_request::run_id);
    if (own == queued->end() || own->number != waiting_->number) {
        co_return nullptr;
    }
    auto letter = std::make_shared<mailbox_letter>();
    letter->queue_number = own->number;
    letter->record = record_of(*own);
    letter->messages = std::move(own->messages);
    letter->on_decided = [core = core_, conversation] {
        core->registry.wake(conversation);
    };
    const bool is_complete = co_await complete(*letter);
    co_return is_complete ? letter : nullptr;
}

// Puts the thread's parts in place of their names, as the beginning of a run does. Returns false if
// that fails, or if the thread has one of the messages.
boost::asio::awaitable<bool> queue_offer::complete(mailbox_letter& letter) {
    const conversation_key& conversation = waiting_->conversation;
    session::store& store = core_->store_of(conversation);
    const auto thread = co_await store.load(conversation.thread);
    if (!thread || !thread->has_value() || has_any_of(**thread, letter.messages)) {
        co_return false;
    }
    parts_ = std::make_unique<named_parts>(*core_);
    const auto read = co_await parts_->read_attachments(
        store, letter.messages, **thread, as_parsing((*thread)->bytes)
    );
    std::vector<std::string> warnings;
    co_return read && parts_->restore(letter.messages, **thread, warnings);
}

} // namespace agui::gateway
