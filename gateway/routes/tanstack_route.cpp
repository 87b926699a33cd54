#include "gateway/routes/tanstack_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "gateway/log/event_records.hpp"
#include "gateway/log/run_stream.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/base/parse_json.hpp"
#include "session/conversation/run_segment.hpp"
#include "translator/ui_message/tanstack_messages.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

struct tanstack_parts {
    run_service& runs;
    session::store& store;
    heavy_work& heavy;
    id_source& ids;
    http_handler events;
};
using shared_tanstack = std::shared_ptr<const tanstack_parts>;

constexpr std::size_t snapshot_depth_max = 1040; // The largest max_json_depth, and some more.
constexpr std::size_t snapshot_read_bytes = std::size_t{64} << 20U;

// A join names only a run, so its name holds the thread, too: `3:t-1run-5` for `t-1` and `run-5`.
std::string joined_name(std::string_view thread_id, std::string_view run_id) {
    std::string name = std::to_string(thread_id.size());
    return name.append(":").append(thread_id).append(run_id);
}

struct named_run {
    std::string thread_id;
    std::string run_id;
};

std::optional<named_run> run_of_name(std::string_view name) {
    std::size_t size = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), size);
    const std::size_t digits = static_cast<std::size_t>(end - name.data());
    if (problem != std::errc{} || digits >= name.size() || name[digits] != ':') {
        return std::nullopt;
    }
    name.remove_prefix(digits + 1);
    if (size > name.size()) {
        return std::nullopt;
    }
    return named_run{std::string(name.substr(0, size)), std::string(name.substr(size))};
}

/// The active run of that principal with the client's own id. A run in a thread of another one has
/// only the name that joined_name() makes.
std::optional<named_run>
find_active(run_service& runs, std::string_view principal, std::string_view run_id) {
    for (const run_service::active_run& each : runs.active_runs()) {
        if (each.thread.principal == principal && session::client_run_id(each.run_id) == run_id) {
            return named_run{each.thread.thread_id, std::string(run_id)};
        }
    }
    return std::nullopt;
}

/// The events of a log that is complete, as records.
asio::awaitable<std::string> records_of(std::shared_ptr<event_log> log) {
    const event_records form(0);
    run_stream_request what;
    what.log = std::move(log);
    what.projection = translator::projection::v1_1;
    what.form = &form;
    run_stream stream(std::move(what));
    stream.open(co_await asio::this_coro::executor);
    std::string all;
    event_source::batch batch;
    while (!batch.ended && !batch.cut_off) {
        stream.read(snapshot_read_bytes, batch);
        all.append(batch.bytes);
        if (!batch.ended && batch.bytes.empty()) {
            co_await stream.wait();
        }
    }
    co_return all;
}

struct hydration {
    json::array messages;
    json::value interrupts;
};

result<hydration> hydration_of(std::string_view records, memory_budget* budget) {
    hydration out;
    while (!records.empty()) {
        const std::string_view event = event_records::take_first(records).event;
        const auto read = parse_json(event, {.max_depth = snapshot_depth_max, .budget = budget});
        if (!read) {
            return read.error();
        }
        const json::object& fields = read->as_object();
        if (const json::value* const messages = fields.if_contains("messages")) {
            out.messages = translator::tanstack_messages(messages->as_array());
        }
        const json::value* const outcome = fields.if_contains("outcome");
        if (outcome != nullptr && outcome->as_object().contains("interrupts")) {
            // Built in the default memory, because it outlives the budget's.
            out.interrupts = json::value(outcome->at("interrupts"), json::storage_ptr());
        }
    }
    return out;
}

http_reply hydration_reply(hydration shown, const std::string& run_id, const std::string& active) {
    json::object body;
    if (!active.empty()) {
        // The client drops its last answer before it shows the events of the active run.
        shown.messages.push_back(
            json::object{{"id", run_id}, {"role", "assistant"}, {"parts", json::array()}}
        );
    }
    body["messages"] = std::move(shown.messages);
    body["activeRun"] = active.empty() ? json::value() : json::value{{"runId", active}};
    body["interrupts"] = shown.interrupts.is_null()
                             ? json::value()
                             : json::value{{"runId", run_id}, {"pending", shown.interrupts}};
    http_reply reply;
    reply.body = json::serialize(body);
    return reply;
}

asio::awaitable<handler_reply>
hydrate(shared_tanstack parts, std::string thread_id, http_request& request) {
    translator::run_input input;
    input.thread_id = thread_id;
    input.run_id = parts->ids.next("run");
    input.projection = translator::projection::v1_1;
    input.forwarded.follow = true;
    const auto thread = co_await find_named_thread(parts->store, request, thread_id);
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto recorded =
        co_await parts->runs.history(thread->key, input, key_for_links(*thread, request));
    if (!recorded) {
        co_return to_reply(recorded.error());
    }
    const std::string records = co_await records_of(recorded->log);
    auto reading = [&records, &parts] {
        return hydration_of(records, parts->heavy.budget());
    };
    auto shown = co_await run_heavy(&parts->heavy, records.size(), reading);
    if (!shown) {
        co_return to_reply(shown.error());
    }
    std::string active;
    if (recorded->live) {
        const auto known = co_await parts->store.summary(thread->key);
        if (known && known->has_value() && !(*known)->active_run_id.empty()) {
            active = joined_name(thread_id, session::client_run_id((*known)->active_run_id));
        }
    }
    co_return hydration_reply(std::move(*shown), input.run_id, active);
}

asio::awaitable<handler_reply>
join(shared_tanstack parts, std::string name, const std::string* offset, http_request& request) {
    auto run = run_of_name(name);
    if (!run) {
        run = find_active(parts->runs, request.principal(), name);
    }
    if (!run) {
        co_return to_reply(failure{errc::not_found, "there is no such active run", "runId"});
    }
    const bool is_whole = offset == nullptr || *offset == "-1";
    request.path_parameters = {std::move(run->thread_id), std::move(run->run_id)};
    request.query = is_whole ? "after=0" : "after=" + *offset;
    co_return co_await parts->events(request);
}

asio::awaitable<handler_reply> show_for_tanstack(shared_tanstack parts, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return to_reply(query.error());
    }
    if (const std::string* const run = query->find("runId")) {
        const std::string* const offset = query->find("offset");
        co_return co_await join(parts, *run, offset, request);
    }
    const std::string* const thread = query->find("threadId");
    if (thread == nullptr) {
        co_return to_reply(failure{errc::invalid_input, "is required", "threadId"});
    }
    co_return co_await hydrate(parts, *thread, request);
}

} // namespace

http_handler make_tanstack_route(
    run_service& runs, session::store& store, heavy_work& heavy, id_source& ids, http_handler events
) {
    return [parts = std::make_shared<const tanstack_parts>(
                tanstack_parts{runs, store, heavy, ids, std::move(events)}
            )](http_request& request) {
        return show_for_tanstack(parts, request);
    };
}

} // namespace agui::gateway
