#include "gateway/runs/steering.hpp"

#include "gateway/admission/named_parts.hpp"
#include "gateway/replay/run_locator.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/run_mailbox.hpp"
#include "gateway/run/taken_messages.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"
#include "session/conversation/message_size.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using answer = result<std::optional<steered_run>>;
using std::chrono::steady_clock;

failure message_in_use() {
    return {errc::invalid_input, "another message of the thread has this id", "message.id"};
}

failure maybe_stored() {
    return {
        errc::store_unavailable,
        "the message may have been stored: send the same message again to learn it"
    };
}

// True if the client means this run: it names all segments of a run alike, or none.
bool is_meant(const std::string& wanted, std::string_view stored_id) {
    return wanted.empty() || wanted == session::client_run_id(stored_id);
}

// The run and its event as clients know them.
steered_run as_shown(const std::string& stored_id, std::uint64_t sequence) {
    return {
        std::string(session::client_run_id(stored_id)), session::first_number(stored_id) + sequence
    };
}

// Steers one conversation. Used on one executor; the members outlive its coroutines.
class steering_attempt {
public:
    steering_attempt(
        std::shared_ptr<run_core> core, const steering& what, steady_clock::time_point give_up
    )
        : core_(std::move(core)), what_(what), give_up_(give_up) {}

    boost::asio::awaitable<answer> run() {
        find_run_here();
        watch_ = core_->registry.watch_conversation(
            conversation_, co_await boost::asio::this_coro::executor
        );
        if (run_) {
            if (auto earlier = run_->mailbox().find(what_.message.id)) {
                co_return co_await wait(std::move(earlier));
            }
        }
        pass_failpoint("steer.found");
        const auto known = co_await look_into_thread();
        if (!known || known->has_value()) {
            co_return known;
        }
        if (!run_) {
            co_return co_await run_elsewhere_or_none();
        }
        auto letter = std::make_shared<mailbox_letter>();
        letter->messages = std::move(messages_);
        letter->on_decided = [core = core_, conversation = conversation_] {
            core->registry.wake(conversation);
        };
        check_failpoint("steer.put");
        auto put = run_->mailbox().put(std::move(letter));
        if (!put) {
            co_return put.error();
        }
        co_return co_await wait(std::move(*put));
    }

private:
    void find_run_here() {
        for (const bool ephemeral : {true, false}) {
            conversation_ = {what_.key, ephemeral};
            run_ = core_->registry.active(conversation_);
            if (run_ && is_meant(what_.run_id, run_->record().run_id)) {
                return;
            }
        }
        run_.reset();
    }

    // The run that has the message. nullopt if the thread does not have it; then it is complete in
    // messages_.
    boost::asio::awaitable<answer> look_into_thread() {
        session::store& store = core_->store_of(conversation_);
        auto loaded = co_await store.load(what_.key);
        if (!loaded) {
            co_return loaded.error();
        }
        if (!loaded->has_value()) {
            co_return run_has_ended();
        }
        const session::thread_record& thread = **loaded;
        const auto known = std::ranges::find_if(thread.nodes, [&](const auto& node) {
            return node.message.id == what_.message.id;
        });
        if (known == thread.nodes.end()) {
            co_return co_await complete(thread);
        }
        if (known->message.role != session::role::user) {
            co_return message_in_use();
        }
        steered_run has =
            as_shown(known->run_id, 1); // The beginning of the run, unless it was active.
        const auto taken =
            co_await find_taken(store, what_.key, [id = what_.message.id](const auto& each) {
                return each.message_id == id;
            });
        if (!taken) {
            co_return taken.error();
        }
        if (!taken->empty()) {
            has = as_shown(taken->back().run_id, taken->back().sequence);
        }
        co_return std::optional(std::move(has));
    }

    // Puts the thread's parts in place of their names, as the beginning of a run does.
    boost::asio::awaitable<answer> complete(const session::thread_record& thread) {
        messages_ = {what_.message};
        if (!run_) {
            co_return std::nullopt;
        }
        memory_share reading(core_->services.memory, use_of(thread.bytes));
        if (thread.bytes > uncounted_thread && !reading.grow_to(thread.bytes)) {
            co_return failure{errc::overloaded, "there is not enough memory for this conversation"};
        }
        const auto read = co_await parts_.read_attachments(
            core_->store_of(conversation_), messages_, thread, as_parsing(thread.bytes)
        );
        if (!read) {
            co_return read.error();
        }
        std::vector<std::string> warnings;
        for (const std::string& each : what_.notes) {
            warnings.push_back("a part of a message was left out: " + each);
        }
        const auto restored = parts_.restore(messages_, thread, warnings);
        if (!restored) {
            co_return restored.error();
        }
        for (const std::string& each : warnings) {
            core_->services.log.log(
                log_level::warning, each,
                {{"thread", what_.key.thread_id},
                 {"run", session::client_run_id(run_->record().run_id)}}
            );
        }
        const std::uint64_t most = core_->settings.max_thread_bytes;
        if (thread.bytes + session::stored_size(messages_.front()) > most) {
            co_return failure{
                errc::body_too_large,
                "the thread would have more than " + std::to_string(most) +
                    " bytes of messages: start a new thread",
                "message"
            };
        }
        co_return std::nullopt;
    }

    boost::asio::awaitable<answer> run_elsewhere_or_none() {
        const auto there = co_await find_elsewhere(*core_, conversation_);
        if (!there) {
            co_return there.error();
        }
        const bool is_there = there->has_value() && !(*there)->run_id.empty() &&
                              is_meant(what_.run_id, (*there)->run_id);
        if (!is_there) {
            co_return run_has_ended();
        }
        co_return failure{
            errc::thread_busy,
            "the run is active in another process, which cannot be reached: try again later",
            {},
            (*there)->run_id,
            (*there)->gateway
        };
    }

    boost::asio::awaitable<answer> wait(run_mailbox::letter_ptr letter) {
        for (;;) {
            const auto [fate, sequence] = run_->mailbox().outcome_of(*letter);
            switch (fate) {
            case letter_fate::taken:
                co_return std::optional(as_shown(run_->record().run_id, sequence));
            case letter_fate::returned:
                co_return run_has_ended();
            case letter_fate::unknown:
                co_return maybe_stored();
            case letter_fate::waits:
            case letter_fate::in_commit:
                break;
            }
            if (steady_clock::now() >= give_up_) {
                co_return std::nullopt;
            }
            pass_failpoint("steer.waits");
            co_await watch_->wait_until(give_up_);
        }
    }

    // Most threads are small and are not counted, so that they are served while the budget is full.
    static constexpr std::uint64_t uncounted_thread = 64U << 10U;

    const std::shared_ptr<run_core> core_;
    const steering& what_;
    const steady_clock::time_point give_up_;
    conversation_key conversation_;
    std::shared_ptr<live_run> run_; ///< The active run, if this process has it.
    std::unique_ptr<run_registry::watch> watch_;
    named_parts parts_{*core_};
    std::vector<session::message> messages_;
};

} // namespace

boost::asio::awaitable<answer>
steer(std::shared_ptr<run_core> core, steering what, steady_clock::time_point give_up) {
    steering_attempt attempt(std::move(core), what, give_up);
    co_return co_await attempt.run();
}

} // namespace agui::gateway
