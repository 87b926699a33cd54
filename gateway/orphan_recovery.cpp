#include "gateway/orphan_recovery.hpp"

#include "runner/stop_reason.hpp"
#include "translator/event_writer.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

constexpr std::size_t page_entries = 4096;

// What a log has opened and not closed, in the order opened.
class open_brackets {
public:
    void read(std::string_view frame) {
        const auto begin = frame.find("data: ");
        if (begin == std::string_view::npos) {
            return;
        }
        boost::system::error_code ec;
        const boost::json::value event = boost::json::parse(frame.substr(begin + 6), ec);
        const boost::json::object* object = ec ? nullptr : event.if_object();
        if (object == nullptr || !object->contains("type")) {
            return;
        }
        const std::string_view type = object->at("type").as_string();
        for (const bracket& kind : kinds) {
            if (type == kind.start) {
                open_.push_back({&kind, std::string(object->at(kind.id).as_string())});
            } else if (type == kind.end) {
                const std::string_view id = object->at(kind.id).as_string();
                std::erase_if(open_, [&](const entry& one) {
                    return one.kind == &kind && one.id == id;
                });
            }
        }
    }

    // The missing ends, innermost first.
    void close(translator::event_writer& writer, std::vector<std::string>& out) const {
        for (auto one = open_.rbegin(); one != open_.rend(); ++one) {
            writer.begin(one->kind->end);
            writer.member(one->kind->id, one->id);
            out.emplace_back(writer.end());
        }
    }

private:
    struct bracket {
        std::string_view start;
        std::string_view end;
        std::string_view id;
    };
    static constexpr bracket kinds[] = {
        {"TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "messageId"},
        {"TOOL_CALL_START", "TOOL_CALL_END", "toolCallId"},
        {"REASONING_START", "REASONING_END", "messageId"},
        {"REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "messageId"},
    };
    struct entry {
        const bracket* kind;
        std::string id;
    };
    std::vector<entry> open_;
};

session::log_slice slice_of(const session::store::orphan& orphan, const std::vector<std::string>& events) {
    session::log_slice slice;
    slice.run_number = orphan.run.number;
    slice.first_sequence = orphan.last_sequence + 1;
    for (std::size_t i = 0; i < events.size(); ++i) {
        slice.frames += "id: " + std::to_string(slice.first_sequence + i) + "\ndata: " + events[i] + "\n\n";
        slice.ends.push_back(static_cast<std::uint32_t>(slice.frames.size()));
    }
    return slice;
}

boost::asio::awaitable<result<std::vector<std::string>>>
closing_events(session::store& store, const session::store::orphan& orphan, unix_ms now) {
    open_brackets open;
    for (std::uint64_t after = 0;;) {
        const auto page = co_await store.read_log(orphan.run.number, after, page_entries);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            break;
        }
        for (const session::log_entry& entry : *page) {
            open.read(entry.frame);
        }
        after = page->back().sequence;
    }
    std::vector<std::string> events;
    translator::event_writer writer;
    if (orphan.last_sequence == 0) {
        // The crash came before RUN_STARTED was durable; a stream begins with it all the same (P1).
        writer.begin("RUN_STARTED");
        writer.member("timestamp", now);
        writer.member("threadId", orphan.key.thread_id);
        writer.member("runId", orphan.run.run_id);
        events.emplace_back(writer.end());
    }
    open.close(writer, events);
    writer.begin("RUN_ERROR");
    writer.member("timestamp", now);
    writer.member("message", runner::describe(runner::stop_reason::error));
    writer.member("code", runner::error_code(runner::stop_reason::error));
    events.emplace_back(writer.end());
    co_return events;
}

boost::asio::awaitable<result<void>>
end_orphan(session::store& store, session::store::orphan orphan, unix_ms now) {
    const auto loaded = co_await store.load(orphan.key);
    if (!loaded) {
        co_return loaded.error();
    }
    session::changes change;
    change.at = now;
    if (loaded->has_value()) {
        for (session::call_record call : (*loaded)->calls) {
            if (call.run_id == orphan.run.run_id && call.status == session::call_status::open) {
                call.status = session::call_status::dead;
                change.calls.push_back(std::move(call));
            }
        }
    }
    const auto events = co_await closing_events(store, orphan, now);
    if (!events && events.error().code != errc::run_expired) {
        co_return events.error();
    }
    // A log with a hole cannot be ended so that it could be read: its record is ended alone (410 then).
    std::optional<session::log_slice> slice;
    if (events) {
        slice = slice_of(orphan, *events);
        orphan.run.last_sequence = orphan.last_sequence + events->size();
    }
    orphan.run.status = session::run_status::failed;
    orphan.run.end_reason = runner::error_code(runner::stop_reason::error);
    orphan.run.ended_at = now;
    session::session_event failed;
    failed.type = "run.failed";
    failed.run_id = orphan.run.run_id;
    failed.timestamp = now;
    failed.data["reason"] = orphan.run.end_reason;
    change.events.push_back(std::move(failed));
    change.run = orphan.run;
    const session::thread_key key = orphan.key;
    co_return co_await store.commit(key, std::move(change), std::move(slice));
}

} // namespace

boost::asio::awaitable<void> end_orphans(session::store& store, const clock& time, logger& log) {
    const auto orphans = co_await store.orphans();
    if (!orphans) {
        log.log(log_level::error, "runs of a former process could not be listed");
        co_return;
    }
    for (const session::store::orphan& orphan : *orphans) {
        const result<void> ended = co_await end_orphan(store, orphan, time.now());
        log.log(
            ended ? log_level::warning : log_level::error,
            ended ? "a run of a former process was ended" : "a run of a former process could not be ended",
            {{"thread", orphan.key.thread_id}, {"run", orphan.run.run_id}}
        );
    }
}

} // namespace agui::gateway
