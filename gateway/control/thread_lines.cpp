#include "gateway/control/thread_lines.hpp"

#include "gateway/auth/caller.hpp"
#include "runner/base/utf8.hpp"
#include "session/conversation/media_part.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

// Small enough to be read by any tool that reads lines; a multiple of three, so that the parts of
// an attachment can be put together without decoding them.
constexpr std::size_t attachment_bytes_a_line = 49'152;

json::value number_or_null(session::node_index node) {
    return node == session::no_node ? json::value(nullptr) : json::value(std::uint64_t{node});
}

void add_name(json::object& to, std::string_view principal) {
    const caller_name name = name_of(principal);
    if (!name.tenant.empty()) {
        to["tenant"] = name.tenant;
    }
    to["user"] = name.user;
}

// The members that clients never see, which the store needs.
json::object internal_members(const json::object& shown, json::object stored) {
    for (const auto& each : shown) {
        stored.erase(each.key());
    }
    return stored;
}

} // namespace

thread_writer::thread_writer(copied_thread from) : from_(std::move(from)) {}

// Texts may hold bytes that are not UTF-8. They become U+FFFD, as in requests to models.
void thread_writer::add_line(std::string& out, std::string_view text) {
    if (runner::is_utf8(text)) {
        out.append(text);
    } else {
        out.append(runner::to_utf8(text));
    }
    out.push_back('\n');
    ++lines_;
}

template <class List>
bool thread_writer::write_each(
    std::string& out, const List& list, void (thread_writer::*write)(std::string&, std::size_t)
) {
    if (index_ == list.size()) {
        index_ = 0;
        return false;
    }
    (this->*write)(out, index_++);
    return true;
}

bool thread_writer::write_line(std::string& out) {
    while (part_ != part::done) {
        const std::uint64_t before = lines_;
        const bool stays = write_next(out);
        if (!stays) {
            part_ = static_cast<part>(static_cast<int>(part_) + 1);
        }
        if (lines_ != before) {
            return true;
        }
    }
    return false;
}

// Writes at most one line. Returns true if the part may have more.
bool thread_writer::write_next(std::string& out) {
    const session::thread_record& thread = from_.thread;
    const auto raw = [&](std::string_view name, const json_text& value) {
        if (!value.is_null()) {
            std::string line = R"({"type":")";
            line.append(name).append(R"(",")").append(name).append(R"(":)").append(value.view());
            add_line(out, line.append("}"));
        }
    };
    const auto list = [&](std::string_view name, const json::array& value) {
        add_line(out, json::serialize(json::object{{"type", name}, {name, value}}));
    };
    switch (part_) {
    case part::head:
        write_head(out);
        return false;
    case part::metadata:
        raw("metadata", thread.metadata);
        return false;
    case part::state:
        raw("state", thread.state);
        return false;
    case part::tools:
        list("tools", thread.offered_tools);
        return false;
    case part::context:
        list("context", thread.context);
        return false;
    case part::messages:
        return write_each(out, thread.nodes, &thread_writer::write_message);
    case part::branches:
        return write_each(out, thread.branches, &thread_writer::write_branch);
    case part::calls:
        return write_each(out, thread.calls, &thread_writer::write_call);
    case part::runs:
        return write_each(out, from_.runs, &thread_writer::write_run);
    case part::events:
        return write_each(out, from_.events, &thread_writer::write_event);
    case part::access:
        write_access(out);
        return false;
    case part::queue:
        return write_each(out, from_.queue, &thread_writer::write_queued);
    case part::done:
        break;
    }
    return false;
}

void thread_writer::write_head(std::string& out) {
    const session::thread_record& thread = from_.thread;
    json::object line{{"type", "thread"}};
    add_name(line, thread.key.principal);
    line["threadId"] = thread.key.thread_id;
    line["agentId"] = thread.agent_id;
    line["title"] = thread.title;
    line["archived"] = thread.archived;
    line["createdAt"] = thread.created_at;
    line["updatedAt"] = thread.updated_at;
    line["lastRunAt"] = thread.last_run_at;
    line["head"] = thread.head;
    line["lastRequestHadHistory"] = thread.last_request_had_history;
    add_line(out, json::serialize(line));
}

void thread_writer::write_message(std::string& out, std::size_t index) {
    const session::stored_message& node = from_.thread.nodes[index];
    json::object shown = session::to_json(node.message);
    json::object internal = internal_members(shown, session::to_stored_json(node.message));
    json::object line{
        {"type", "message"},
        {"number", index},
        {"parent", number_or_null(node.parent)},
        {"runId", node.run_id},
        {"createdAt", node.created_at},
        {"message", std::move(shown)}
    };
    if (!internal.empty()) {
        line["internal"] = std::move(internal);
    }
    add_line(out, json::serialize(line));
}

void thread_writer::write_branch(std::string& out, std::size_t index) {
    const session::branch& value = from_.thread.branches[index];
    add_line(
        out, json::serialize(json::object{
                 {"type", "branch"},
                 {"number", index},
                 {"tip", number_or_null(value.tip)},
                 {"updatedAt", value.updated_at}
             })
    );
}

void thread_writer::write_call(std::string& out, std::size_t index) {
    const session::call_record& call = from_.thread.calls[index];
    add_line(
        out, json::serialize(json::object{
                 {"type", "call"},
                 {"toolCallId", call.id},
                 {"name", call.name},
                 {"runId", call.run_id},
                 {"owner", call.owner == session::call_owner::server ? "server" : "external"},
                 {"status", to_string(call.status)},
                 {"madeIn", number_or_null(call.made_in)}
             })
    );
}

void thread_writer::write_run(std::string& out, std::size_t index) {
    const session::run_record& run = from_.runs[index];
    add_line(
        out, json::serialize(json::object{
                 {"type", "run"},
                 {"runId", run.run_id},
                 {"parentRunId", run.parent_run_id},
                 {"agentId", run.agent_id},
                 {"inputDigest", run.input_digest},
                 {"idempotencyKey", run.idempotency_key},
                 {"protocol", run.protocol},
                 {"status", to_string(run.status)},
                 {"endReason", run.end_reason},
                 {"answeredBy", run.answered_by},
                 {"startedAt", run.started_at},
                 {"endedAt", run.ended_at},
                 {"lastSequence", run.last_sequence}
             })
    );
}

void thread_writer::write_event(std::string& out, std::size_t index) {
    const session::session_event& event = from_.events[index];
    add_line(
        out, json::serialize(json::object{
                 {"type", "event"},
                 {"event", event.type},
                 {"runId", event.run_id},
                 {"timestamp", event.timestamp},
                 {"data", event.data}
             })
    );
}

void thread_writer::write_access(std::string& out) {
    if (from_.access.shared_id.empty()) {
        return;
    }
    json::array entries;
    for (const session::access_entry& each : from_.access.entries) {
        json::object entry;
        add_name(entry, each.principal);
        entry["right"] = to_string(each.right);
        entries.push_back(std::move(entry));
    }
    add_line(
        out, json::serialize(json::object{
                 {"type", "access"},
                 {"sharedId", from_.access.shared_id},
                 {"entries", std::move(entries)}
             })
    );
}

void thread_writer::write_queued(std::string& out, std::size_t index) {
    const session::queued_request& request = from_.queue[index];
    json::array messages;
    for (const session::message& each : request.messages) {
        messages.push_back(session::to_json(each));
    }
    add_line(
        out, json::serialize(json::object{
                 {"type", "queued"},
                 {"runId", request.run_id},
                 {"queuedAt", request.queued_at},
                 {"messages", std::move(messages)}
             })
    );
}

void thread_writer::write_attachment(std::string& out, const session::attachment& what) {
    add_line(
        out, json::serialize(json::object{
                 {"type", "attachment"},
                 {"sha256", what.sha256},
                 {"mimeType", what.mime_type},
                 {"keptAt", what.kept_at},
                 {"size", what.bytes.size()}
             })
    );
    std::string_view rest = what.bytes;
    while (!rest.empty()) {
        const std::size_t size = std::min(rest.size(), attachment_bytes_a_line);
        add_line(
            out, json::serialize(json::object{
                     {"type", "bytes"}, {"base64", session::encode_base64(rest.substr(0, size))}
                 })
        );
        rest.remove_prefix(size);
    }
}

void thread_writer::write_end(std::string& out) {
    add_line(
        out, json::serialize(json::object{
                 {"type", "end"}, {"threadId", from_.thread.key.thread_id}, {"lines", lines_ + 1}
             })
    );
}

} // namespace agui::gateway
