#include "gateway/runs/orphan_recovery.hpp"

#include "gateway/runs/event_log.hpp"
#include "gateway/runs/lost_run.hpp"
#include "gateway/runs/run_opening.hpp"
#include "runner/base/stop_reason.hpp"
#include "session/base/failpoint.hpp"
#include "translator/agui/event_writer.hpp"

#include <algorithm>
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
constexpr std::string_view lost_result =
    "The call was interrupted; whether it had any effect is unknown.";

class orphan_ending {
public:
    orphan_ending(const recovery_services& services, session::store::orphan orphan)
        : services_(services), orphan_(std::move(orphan)), now_(services.time.now()) {}

    boost::asio::awaitable<result<void>> end() {
        auto loaded = co_await services_.store.load(orphan_.key);
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
        kill_open_calls();
        if (readable) {
            keep_what_was_said();
        }
        // A log with a hole cannot be ended so that it could be read: its record is ended alone
        // (410 then).
        std::optional<session::log_slice> slice;
        if (readable) {
            const std::vector<std::string> events = last_events();
            slice = slice_of(events);
            orphan_.run.last_sequence = orphan_.last_sequence + events.size();
        }
        end_record();
        check_failpoint("recovery.commit");
        const session::thread_key key = orphan_.key;
        co_return co_await services_.store.commit(key, std::move(change_), std::move(slice));
    }

private:
    boost::asio::awaitable<result<void>> read_log() {
        for (std::uint64_t after = 0;;) {
            const auto page =
                co_await services_.store.read_log(orphan_.run.number, after, page_entries);
            if (!page) {
                co_return page.error();
            }
            if (page->empty()) {
                co_return result<void>();
            }
            for (const session::log_entry& entry : *page) {
                said_.read(entry.json);
            }
            after = page->back().sequence;
        }
    }

    void kill_open_calls() {
        for (call_record call : thread_.calls) {
            if (call.run_id == orphan_.run.run_id && call.status == call_status::open) {
                kill(std::move(call));
            }
        }
    }

    void kill(call_record call) {
        call.status = call_status::dead;
        if (call.owner == call_owner::server) {
            lost_calls_.push_back(call.id);
        }
        change_.calls.push_back(std::move(call));
    }

    // A run commits a turn when it is complete: the last one may be in the log alone.
    void keep_what_was_said() {
        if (thread_.branches.empty()) {
            return;
        }
        node_index parent = thread_.branches.at(thread_.head).tip;
        for (const session::message& said : said_.messages()) {
            const bool is_stored = std::ranges::any_of(thread_.nodes, [&](const auto& node) {
                return node.message.id == said.id;
            });
            if (is_stored) {
                continue;
            }
            session::stored_message node;
            node.parent = parent;
            node.run_id = orphan_.run.run_id;
            node.created_at = now_;
            node.message = said;
            parent = static_cast<node_index>(thread_.nodes.size() + change_.messages.size());
            for (const session::tool_call& call : said.tool_calls) {
                const bool is_ours = services_.tools.contains(call.name);
                kill(
                    {call.id, call.name, orphan_.run.run_id,
                     is_ours ? call_owner::server : call_owner::external, call_status::dead, parent}
                );
            }
            if (said.role == session::role::assistant) {
                add_event("assistant.message", {{"messageId", said.id}});
            }
            change_.messages.push_back(std::move(node));
        }
        if (!change_.messages.empty()) {
            change_.branches.push_back({thread_.head, session::branch{parent, now_}});
        }
    }

    std::vector<std::string> last_events() {
        std::vector<std::string> events;
        translator::event_writer writer;
        const auto begin = [&](std::string_view type) {
            writer.begin(type);
            writer.member("timestamp", now_);
        };
        if (orphan_.last_sequence == 0) {
            // The crash came before RUN_STARTED was durable; a stream begins with it all the same
            // (P1).
            opening_ = write_opening(orphan_.key.thread_id, orphan_.run, now_);
            events.push_back(opening_->v1_1);
        }
        said_.close(writer, events);
        for (const std::string& call_id : lost_calls_) {
            begin("TOOL_CALL_RESULT");
            writer.member("messageId", services_.ids.next("msg"));
            writer.member("toolCallId", call_id);
            writer.member("role", std::string_view("tool"));
            writer.member("content", lost_result);
            events.emplace_back(writer.end());
        }
        begin("RUN_ERROR");
        writer.member("message", runner::describe(runner::stop_reason::error));
        writer.member("code", runner::error_code(runner::stop_reason::error));
        events.emplace_back(writer.end());
        return events;
    }

    [[nodiscard]] session::log_slice slice_of(const std::vector<std::string>& events) const {
        session::log_slice slice;
        slice.run_number = orphan_.run.number;
        slice.first_sequence = orphan_.last_sequence + 1;
        for (std::size_t i = 0; i < events.size(); ++i) {
            slice.events += events[i];
            slice.ends.push_back(static_cast<std::uint32_t>(slice.events.size()));
        }
        if (opening_) {
            slice.variants.emplace_back(
                0U, event_log::write_variants(opening_->v1_0, opening_->undeclared)
            );
        }
        return slice;
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

    const recovery_services& services_;
    session::store::orphan orphan_;
    unix_ms now_;
    session::thread_record thread_;
    lost_run said_;
    session::changes change_;
    std::optional<run_opening_forms> opening_; ///< Written here, as the first event.
    std::vector<std::string> lost_calls_; ///< Calls of the server that get a result on the wire.
};

} // namespace

boost::asio::awaitable<result<std::vector<session::thread_key>>>
end_orphans(recovery_services services, std::optional<session::thread_key> thread) {
    const auto orphans = co_await services.store.orphans(std::move(thread));
    if (!orphans) {
        services.log.log(log_level::error, "runs without an end could not be listed");
        co_return orphans.error();
    }
    std::vector<session::thread_key> left;
    for (const session::store::orphan& orphan : *orphans) {
        pass_failpoint("recovery.run");
        result<void> ended = failure{errc::internal, {}, {}, {}};
        try {
            orphan_ending ending(services, orphan);
            ended = co_await ending.end();
        } catch (const std::exception& error) {
            services.log.log(log_level::error, "recovery failed", {{"error", error.what()}});
        }
        pass_failpoint("recovery.run_ended");
        services.log.log(
            ended ? log_level::warning : log_level::error,
            ended ? "a run without an end was ended" : "a run without an end could not be ended",
            {{"thread", orphan.key.thread_id}, {"run", orphan.run.run_id}}
        );
        if (!ended) {
            left.push_back(orphan.key);
        }
    }
    co_return left;
}

} // namespace agui::gateway
