#include "gateway/run/orphan_recovery.hpp"

#include "gateway/log/run_events.hpp"
#include "gateway/run/state_prediction.hpp"
#include "runner/base/runner_event.hpp"
#include "runner/base/stop_reason.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/subagent.hpp"
#include "session/history/turn_failure.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/event_reader.hpp"
#include "translator/agui/open_brackets.hpp"
#include "translator/agui/said_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using session::call_owner;
using session::call_record;
using session::call_status;
using session::node_index;

constexpr std::size_t page_entries = 4096;

// Turns events into a slice of a stored log.
class slice_writer final : public translator::wire_sink {
public:
    slice_writer(std::int64_t run_number, std::uint64_t first_sequence) {
        slice_.run_number = run_number;
        slice_.first_sequence = first_sequence;
    }

    void on_event(const translator::wire_event& event) override {
        if (event.v1_0 || event.undeclared) {
            const auto at = static_cast<std::uint32_t>(slice_.ends.size());
            slice_.variants.emplace_back(
                at, run_events::write_variants(text(event.v1_0), text(event.undeclared))
            );
        }
        slice_.events.append(event.json);
        slice_.ends.push_back(static_cast<std::uint32_t>(slice_.events.size()));
    }

    [[nodiscard]] session::log_slice take() noexcept { return std::move(slice_); }

private:
    static std::optional<std::string> text(std::optional<std::string_view> form) {
        return form ? std::optional<std::string>(*form) : std::nullopt;
    }

    session::log_slice slice_;
};

bool is_prediction(const boost::json::object& event) {
    const boost::json::value* const name = event.if_contains("name");
    return name != nullptr && name->is_string() && name->get_string() == prediction_event;
}

class orphan_ending {
public:
    orphan_ending(
        const process_services& services, session::store& store, session::held_by by,
        session::store::orphan orphan
    )
        : services_(services),
          store_(store),
          by_(std::move(by)),
          orphan_(std::move(orphan)),
          now_(services.time.now()) {}

    boost::asio::awaitable<result<void>> end() {
        auto loaded = co_await store_.load(by_.held->key());
        if (!loaded) {
            co_return loaded.error();
        }
        if (loaded->has_value()) {
            thread_ = std::move(**loaded);
        }
        check_failpoint("recovery.loaded");
        const auto readable = co_await read_log();
        if (!readable && readable.error().code != errc::run_expired) {
            co_return readable.error();
        }
        change_.at = now_;
        end_open_calls();
        if (readable) {
            keep_what_was_said();
        }
        note_failure();
        // A log with a gap cannot be completed, so only the record is ended; readers are then told
        // that the events are gone.
        std::optional<session::log_slice> slice;
        if (readable) {
            slice = last_events();
            orphan_.run.last_sequence = orphan_.last_sequence + slice->ends.size();
        } else {
            orphan_.run.last_sequence = 0;
        }
        end_record();
        check_failpoint("recovery.commit");
        co_return co_await store_.commit(
            by_.held->key(), std::move(change_), std::move(slice), by_
        );
    }

private:
    boost::asio::awaitable<result<void>> read_log() {
        for (std::uint64_t after = 0;;) {
            const auto page = co_await store_.read_log(orphan_.run.number, after, page_entries);
            if (!page) {
                co_return page.error();
            }
            if (page->empty()) {
                co_return result<void>();
            }
            for (const session::log_entry& entry : *page) {
                const boost::json::object event = translator::parse_event(entry.json);
                open_.read(event);
                said_.read(event);
                is_predicted_ = is_predicted_ || is_prediction(event);
            }
            if (page->back().sequence >= orphan_.last_sequence) {
                co_return result<void>();
            }
            after = page->back().sequence;
        }
    }

    void end_open_calls() {
        // Their approvals can be answered again, so the calls of their agents go on waiting.
        const text_set waiting = session::agent_calls_of(thread_, [this](const call_record& call) {
            return is_ours(call) && call.status == call_status::approved;
        });
        for (const call_record& call : thread_.calls) {
            if (is_ours(call) && waiting.contains(call.id)) {
                change_.calls.push_back(call);
                change_.calls.back().status = call_status::suspended;
            } else if (is_ours(call) && session::is_of_active_run(call.status)) {
                end_call(call);
            }
        }
    }

    [[nodiscard]] bool is_ours(const call_record& call) const {
        return call.run_id == orphan_.run.run_id;
    }

    void end_call(call_record call) {
        switch (call.status) {
        case call_status::approved:
            // Its tool was not started, so the approval can be answered again.
            call.status = call_status::asked;
            change_.calls.push_back(std::move(call));
            break;
        case call_status::executing:
            end_call(std::move(call), call_status::indeterminate);
            break;
        default:
            end_call(std::move(call), call_status::dead);
        }
    }

    void end_call(call_record call, call_status status) {
        call.status = status;
        if (call.owner == call_owner::server) {
            interrupted_calls_.emplace_back(call.id, subagent_of(call));
        }
        change_.calls.push_back(std::move(call));
    }

    // The subagent that has made the call; empty if none.
    [[nodiscard]] std::string subagent_of(const call_record& call) const {
        const std::size_t stored = thread_.nodes.size();
        if (call.made_in < stored) {
            return thread_.nodes[call.made_in].message.subagent_run_id;
        }
        const std::size_t added = call.made_in - stored;
        return added < change_.messages.size() ? change_.messages[added].message.subagent_run_id
                                               : std::string();
    }

    // A run commits a turn when the turn is complete, so the last turn may be in the log only.
    void keep_what_was_said() {
        if (thread_.branches.empty()) {
            return;
        }
        for (const session::message& said : said_.messages()) {
            const bool is_stored = std::ranges::any_of(thread_.nodes, [&](const auto& node) {
                return node.message.id == said.id;
            });
            if (is_stored) {
                continue;
            }
            const node_index made_in = append(said);
            for (const session::tool_call& call : said.tool_calls) {
                const bool is_ours = services_.tools.contains(call.name);
                end_call(
                    {call.id, call.name, orphan_.run.run_id,
                     is_ours ? call_owner::server : call_owner::external, call_status::open,
                     made_in},
                    call_status::dead
                );
            }
            if (said.role == session::role::assistant) {
                add_event("assistant.message", {{"messageId", said.id}});
            }
        }
    }

    // Keeps the failure for later readers of the thread.
    void note_failure() {
        const node_index last = tip();
        if (last == session::no_node) {
            return;
        }
        const std::string about = change_.messages.empty() ? thread_.nodes[last].message.id
                                                           : change_.messages.back().message.id;
        constexpr auto reason = runner::stop_reason::error;
        append(session::failure_note(
            about,
            {std::string(runner::error_code(reason)), std::string(runner::describe(reason)), false}
        ));
    }

    // The last message of the branch that the run has continued.
    [[nodiscard]] node_index tip() const {
        if (!change_.branches.empty()) {
            return change_.branches.back().value.tip;
        }
        return thread_.branches.empty() ? session::no_node : thread_.branches.at(thread_.head).tip;
    }

    node_index append(session::message value) {
        session::stored_message node;
        node.parent = tip();
        node.run_id = orphan_.run.run_id;
        node.created_at = now_;
        node.message = std::move(value);
        const auto added = static_cast<node_index>(thread_.nodes.size() + change_.messages.size());
        change_.messages.push_back(std::move(node));
        change_.branches = {{thread_.head, session::branch{added, now_}}};
        return added;
    }

    // Appends the events that complete the stream (P1, P2).
    session::log_slice last_events() {
        slice_writer out(orphan_.run.number, orphan_.last_sequence + 1);
        translator::agui_translator writer(out, {});
        writer.set_time(now_);
        const translator::run_opening opening{
            by_.held->key().thread_id, orphan_.run.run_id, orphan_.run.parent_run_id
        };
        if (orphan_.last_sequence == 0) {
            // RUN_STARTED was lost, or the crash came before it was durable. It may have been
            // shown, with this time.
            writer.set_time(orphan_.run.started_at);
            writer.start(opening);
            writer.set_time(now_);
        } else {
            writer.resume(opening, open_);
        }
        for (const auto& [call_id, subagent] : interrupted_calls_) {
            session::tool_call call;
            call.id = call_id;
            const session::message result = session::shown_missing_result(call, call_status::dead);
            const runner::call_result shown{result.id, call_id, &result.content, true};
            if (subagent.empty()) {
                writer.translate(shown);
            } else {
                writer.translate(shown, subagent);
            }
        }
        if (is_predicted_) { // Clients may hold members of the state that were never stored.
            const json_text nothing("{}");
            writer.translate(
                runner::state_shown{thread_.state.is_null() ? &nothing : &thread_.state}
            );
        }
        runner::run_end end;
        end.reason = runner::stop_reason::error;
        writer.finish(end);
        return out.take();
    }

    void end_record() {
        orphan_.run.status = session::run_status::failed;
        orphan_.run.end_reason = runner::error_code(runner::stop_reason::error);
        orphan_.run.ended_at = now_;
        add_event("run.failed", {{"reason", orphan_.run.end_reason}});
        change_.run = orphan_.run;
    }

    void add_event(std::string_view type, boost::json::object data) {
        session::session_event event;
        event.type = type;
        event.run_id = orphan_.run.run_id;
        event.timestamp = now_;
        event.data = std::move(data);
        change_.events.push_back(std::move(event));
    }

    const process_services& services_;
    session::store& store_;
    const session::held_by by_;
    session::store::orphan orphan_;
    unix_ms now_;
    session::thread_record thread_;
    translator::open_brackets open_;
    translator::said_messages said_;
    bool is_predicted_ = false; ///< The run may have shown predictions of the state.
    session::changes change_;
    /// Server calls that get an error result in the log, each with its subagent.
    std::vector<std::pair<std::string, std::string>> interrupted_calls_;
};

} // namespace

boost::asio::awaitable<result<bool>> recover_orphans(
    process_services services, session::store& store, session::lease_ptr held, bool releases
) {
    const auto orphans = co_await store.orphans(held);
    if (!orphans) {
        co_return orphans.error();
    }
    bool all_ended = true;
    for (const session::store::orphan& orphan : *orphans) {
        pass_failpoint("recovery.run");
        result<void> ended = failure{errc::internal, {}, {}, {}};
        try {
            // Keep the lease until every orphan has ended.
            const bool is_last = all_ended && &orphan == &orphans->back();
            orphan_ending ending(services, store, {held, releases && is_last}, orphan);
            ended = co_await ending.end();
        } catch (const std::exception& error) {
            ended = failure{errc::internal, error.what(), {}, {}};
        }
        pass_failpoint("recovery.run_ended");
        if (ended) {
            services.log.log(
                log_level::warning, "an orphaned run was ended",
                {{"thread", held->key().thread_id},
                 {"run", session::client_run_id(orphan.run.run_id)}}
            );
            if (services.audit != nullptr) {
                services.audit->write(
                    {.what = audit_event::run_ended,
                     .owner = held->key().principal,
                     .thread = held->key().thread_id,
                     .run = session::client_run_id(orphan.run.run_id),
                     .agent = orphan.run.agent_id,
                     .outcome = "lost"}
                );
            }
        } else {
            services.log.log(
                log_level::error, "an orphaned run could not be ended",
                {{"thread", held->key().thread_id},
                 {"run", session::client_run_id(orphan.run.run_id)},
                 {"detail", ended.error().detail}}
            );
        }
        all_ended = all_ended && ended;
    }
    co_return all_ended;
}

} // namespace agui::gateway
