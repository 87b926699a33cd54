// Writes what stands in README.md and dies as a killed process does. Linked with the session
// library of a commit.
#include "session/store/store.hpp"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <unistd.h>
using namespace agui;
using namespace agui::session;
template <class T>
T get(boost::asio::awaitable<result<T>> a) {
    boost::asio::io_context c(1);
    std::optional<result<T>> out;
    boost::asio::co_spawn(c, std::move(a), [&](std::exception_ptr e, result<T> r) {
        if (e) {
            std::rethrow_exception(e);
        }
        out = std::move(r);
    });
    c.run();
    if constexpr (std::is_void_v<T>) {
        if (!*out) {
            throw std::runtime_error(out->error().detail);
        }
    } else {
        if (!*out) {
            throw std::runtime_error(out->error().detail);
        }
        return std::move(**out);
    }
}
// The form of a slice has changed.
template <class Slice>
void add(Slice& to, std::uint64_t sequence, const std::string& event) {
    if constexpr (requires { to.frames; }) {
        to.frames += "id: " + std::to_string(sequence) + "\ndata: " + event + "\n\n";
        to.ends.push_back((std::uint32_t)to.frames.size());
    } else {
        to.events += event;
        to.ends.push_back((std::uint32_t)to.events.size());
    }
}
log_slice slice(std::int64_t n, std::uint64_t first, std::vector<std::string> events) {
    log_slice s;
    s.run_number = n;
    s.first_sequence = first;
    std::uint64_t q = first;
    for (auto& e : events) {
        add(s, q++, e);
    }
    return s;
}
// As the gateway began runs with schema 10: on the thread that it had looked up, which need not be
// in the tables then.
template <class Store>
begun_run begin(Store& s, const thread_key& key, const run_record& r, const changes& c) {
    if constexpr (requires { typename Store::basis; }) {
        typename Store::basis seen;
        seen.as_of = get<typename Store::view>(s.look_up(key, r.run_id)).as_of;
        return get<begun_run>(s.begin(key, r, c, seen));
    } else {
        return get<begun_run>(s.begin(key, r, c));
    }
}
stored_message user(std::string id, std::string text, std::string run) {
    stored_message m;
    m.run_id = run;
    m.created_at = 1000;
    m.message.id = id;
    m.message.content = text;
    return m;
}
int main(int, char** argv) {
    sqlite_settings set;
    set.path = argv[1];
    auto s = make_sqlite_store(set);
    for (const char* t : {"handed_off", "under_way"}) {
        thread_key key{"alice", t};
        const std::string run_id = std::string("run_of_") + t;
        get<void>(s->acquire(key, run_id));
        changes c;
        c.messages.push_back(user("m1", "Paint it blue, please. \u00e4\u6f22", run_id));
        c.branches.push_back({0, {.tip = 0, .updated_at = 1000}});
        c.head = 0;
        c.at = 1000;
        c.state = json_text(R"({"color":"red"})");
        c.offered_tools = boost::json::array{
            boost::json::object{{"name", "change_background"}, {"description", "Paints"}}
        };
        run_record r;
        r.run_id = run_id;
        r.agent_id = "default";
        r.started_at = 1000;
        auto begun = begin(*s, key, r, c);
        r.number = begun.number;
        s->append_log(
            slice(
                r.number, 1,
                {"{\"type\":\"RUN_STARTED\",\"timestamp\":1000,\"threadId\":\"" + std::string(t) +
                     "\",\"runId\":\"" + run_id + "\"}",
                 "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m2\",\"role\":\"assistant\"}",
                 "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m2\",\"delta\":\"With "
                 "pleasure\"}"}
            ),
            nullptr
        );
        if (std::string(t) == "under_way") {
            changes e;
            e.at = 1500;
            session_event ev;
            ev.type = "run.started";
            ev.run_id = run_id;
            ev.timestamp = 1500;
            e.events.push_back(ev);
            get<void>(s->commit(key, e));
            continue;
        }
        changes d;
        stored_message a;
        a.parent = 0;
        a.run_id = run_id;
        a.created_at = 2000;
        a.message.id = "m2";
        a.message.role = role::assistant;
        a.message.content = std::string("With pleasure");
        a.message.tool_calls.push_back(
            {"call_1", "change_background", "{\"color\":\"blue\"}", {}, {}}
        );
        d.messages.push_back(a);
        d.branches.push_back({0, {.tip = 1, .updated_at = 2000}});
        d.calls.push_back(
            {"call_1", "change_background", run_id, call_owner::external, call_status::pending, 1}
        );
        d.at = 2000;
        r.status = run_status::finished;
        r.end_reason = "external_tool";
        r.ended_at = 2000;
        r.last_sequence = 8;
        d.run = r;
        get<void>(s->commit(
            key, d,
            slice(
                r.number, 4,
                {"{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m2\"}",
                 "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"call_1\",\"toolCallName\":"
                 "\"change_background\",\"parentMessageId\":\"m2\"}",
                 "{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"call_1\",\"delta\":\"{"
                 "\\\"color\\\":\\\"blue\\\"}\"}",
                 "{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"call_1\"}",
                 "{\"type\":\"RUN_FINISHED\",\"threadId\":\"handed_off\",\"runId\":\"" + run_id +
                     "\"}"}
            ),
            run_id
        ));
    }
    std::cout << "written\n" << std::flush;
    ::_exit(0);
}
