#include "gateway/auth/caller.hpp"
#include "gateway/control/thread_lines.hpp"
#include "session/base/id.hpp"
#include "session/base/json_member.hpp"
#include "session/base/json_memory.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/parse_json.hpp"
#include "session/base/sha256_text.hpp"
#include "session/conversation/media_part.hpp"
#include "session/conversation/message_json.hpp"
#include "session/history/input_note.hpp"
#include "session/history/prompt_fold.hpp"
#include "session/history/title.hpp"
#include "translator/input/document_reader.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

/// A stored message may be a little deeper than a request (`server.max_json_depth`, at most 1024).
constexpr std::size_t line_depth_max = 1100;
/// Titles, names of tools, reasons, keys.
constexpr std::size_t text_bytes_max = 1024;
constexpr std::size_t metadata_bytes_max = 65'536;

/// Why a line is refused. Thrown by the functions below, and caught by read_thread_lines(): each of
/// dozens of members may be wrong.
class bad_line final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(std::string_view member, std::string_view rule) {
    throw bad_line{std::string(member) + ": " + std::string(rule)};
}

const json::value& member(const json::object& line, std::string_view name) {
    const json::value* const found = line.if_contains(name);
    if (found == nullptr) {
        refuse(name, "is missing");
    }
    return *found;
}

std::string
text_in(const json::object& line, std::string_view name, std::size_t bytes_max = text_bytes_max) {
    const json::value& value = member(line, name);
    if (!value.is_string() || value.get_string().size() > bytes_max) {
        refuse(name, "must be a string of at most " + std::to_string(bytes_max) + " bytes");
    }
    return std::string(value.get_string());
}

std::string text_or_empty(const json::object& line, std::string_view name, std::size_t bytes_max) {
    return line.contains(name) ? text_in(line, name, bytes_max) : std::string();
}

std::uint64_t number_in(const json::object& line, std::string_view name, std::uint64_t highest) {
    const json::value& value = member(line, name);
    const bool is_number = value.is_int64() && value.get_int64() >= 0;
    const auto number = is_number ? static_cast<std::uint64_t>(value.get_int64()) : 0;
    if (!is_number || number > highest) {
        refuse(name, "must be a whole number from 0 to " + std::to_string(highest));
    }
    return number;
}

bool flag_in(const json::object& line, std::string_view name) {
    const json::value& value = member(line, name);
    if (!value.is_bool()) {
        refuse(name, "must be true or false");
    }
    return value.get_bool();
}

const json::array& array_in(const json::object& line, std::string_view name) {
    const json::value& value = member(line, name);
    if (!value.is_array()) {
        refuse(name, "must be an array");
    }
    return value.get_array();
}

const json::object& object_in(const json::object& line, std::string_view name) {
    const json::value& value = member(line, name);
    if (!value.is_object()) {
        refuse(name, "must be an object");
    }
    return value.get_object();
}

/// The number of one of the first `count` messages, or null.
session::node_index node_in(const json::object& line, std::string_view name, std::size_t count) {
    if (member(line, name).is_null()) {
        return session::no_node;
    }
    if (count == 0) {
        refuse(name, "must be a message before this line, or null");
    }
    return static_cast<session::node_index>(number_in(line, name, count - 1));
}

/// The id of a run as it is stored, or empty.
std::string run_id_in(const json::object& line, std::string_view name) {
    return text_in(line, name, 2 * id_bytes_max);
}

std::string principal_in(const json::object& line) {
    const std::string tenant = text_or_empty(line, "tenant", caller_name_max);
    const std::string user = text_in(line, "user", caller_name_max);
    if ((!tenant.empty() && !is_caller_name(tenant)) || (!user.empty() && !is_caller_name(user)) ||
        (user.empty() && !tenant.empty())) {
        refuse("user", "must be the name of a user, and tenant that of its tenant");
    }
    return principal_of(tenant, user);
}

/// True for JSON without insignificant white space and without escapes of surrogates, which may be
/// unpaired.
bool is_compact(std::string_view text) noexcept {
    bool is_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (!is_string && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
            return false;
        }
        if (c == '"') {
            is_string = !is_string;
        } else if (is_string && c == '\\') {
            ++i;
            const std::string_view escape = text.substr(i, 2);
            if (escape == "ud" || escape == "uD") {
                return false;
            }
        }
    }
    return true;
}

/// The status of a call after its run was cut off. Nothing that a file says lets a tool of the
/// server run: approvals are lost, and so is the work of subagents.
session::call_status ended(session::call_status status) noexcept {
    using enum session::call_status;
    switch (status) {
    case open:
    case held:
    case suspended:
        return dead;
    case asked:
    case approved:
        return cancelled;
    case executing:
        return indeterminate;
    default:
        return status;
    }
}

class thread_reader {
public:
    /// `kept` must outlive the reader.
    thread_reader(memory_share& kept, unix_ms now)
        : kept_(kept), latest_time_(std::max<unix_ms>(now, 0) + future_ms_max) {}

    void read(std::string_view line) {
        ++lines_;
        if (is_complete_) {
            throw bad_line{"comes after the end of the thread"};
        }
        if (line.size() > line_bytes_max) {
            throw bad_line{"is longer than " + std::to_string(line_bytes_max) + " bytes"};
        }
        if (read_document_line(line)) {
            return;
        }
        const auto parsed =
            parse_json(line, {.max_depth = line_depth_max, .budget = kept_.budget()});
        if (!parsed && parsed.error().code == errc::overloaded) {
            throw memory_refused();
        }
        if (!parsed || !parsed->is_object()) {
            throw bad_line{"is not a JSON object in UTF-8"};
        }
        keep_bytes(std::max(line.size(), counted_bytes(parsed->storage())));
        read_object_line(parsed->get_object());
    }

    [[nodiscard]] const session::thread_key& key() const noexcept { return thread_.key; }

    session::whole_thread finish() {
        if (!is_complete_) {
            throw bad_line{"the thread has no end"};
        }
        return std::move(thread_);
    }

private:
    /// Counts memory that the thread takes. Throws memory_refused.
    void keep_bytes(std::size_t bytes) {
        if (!kept_.grow_to(kept_.held() + bytes)) {
            throw memory_refused();
        }
    }

    /// Reads the line of a document that is kept as text.
    bool read_document_line(std::string_view line) {
        for (const std::string_view name : {"state", "metadata"}) {
            std::string begin = R"({"type":")";
            begin.append(name).append(R"(",")").append(name).append(R"(":)");
            if (line.starts_with(begin) && line.ends_with('}')) {
                line.remove_prefix(begin.size());
                line.remove_suffix(1);
                keep_document(name, line);
                return true;
            }
        }
        return false;
    }

    void keep_document(std::string_view name, std::string_view text) {
        expect_head();
        translator::document_rules rules;
        rules.max_depth = line_depth_max;
        rules.all_as_text = true;
        rules.budget = kept_.budget();
        keep_bytes(text.size());
        auto read = translator::read_document(text, rules);
        if (!read && read.error().code == errc::overloaded) {
            throw memory_refused();
        }
        if (!read) {
            refuse(name, "is not JSON in UTF-8, or too deep");
        }
        // In the form in which it was stored, if it has one: numbers can be written in several
        // ways.
        json_text kept = is_compact(text) ? json_text(std::string(text)) : std::move(read->text);
        if (name == "state") {
            set_once(thread_.content.state, std::move(kept), name);
            return;
        }
        if (!kept.view().starts_with('{') || text.size() > metadata_bytes_max) {
            refuse(name, "must be an object of at most 65536 bytes");
        }
        set_once(thread_.content.metadata, std::move(kept), name);
    }

    template <class T>
    void set_once(std::optional<T>& to, T value, std::string_view name) {
        if (to) {
            refuse(name, "occurs twice");
        }
        to = std::move(value);
    }

    void expect_head() const {
        if (!has_head_) {
            throw bad_line{"the first line of a thread must have the type \"thread\""};
        }
    }

    void read_object_line(const json::object& line) {
        const std::string type = text_in(line, "type");
        if (type == "thread") {
            return read_head(line);
        }
        expect_head();
        if (!rest_of_attachment() && type == "bytes") {
            throw bad_line{"belongs to no attachment"};
        }
        if (rest_of_attachment() && type != "bytes") {
            throw bad_line{"the attachment before it is not complete"};
        }
        read_part(type, line);
    }

    void read_part(std::string_view type, const json::object& line) {
        using reader = void (thread_reader::*)(const json::object&);
        static constexpr std::pair<std::string_view, reader> readers[] = {
            {"message", &thread_reader::read_message},
            {"branch", &thread_reader::read_branch},
            {"call", &thread_reader::read_call},
            {"run", &thread_reader::read_run},
            {"event", &thread_reader::read_event},
            {"tools", &thread_reader::read_tools},
            {"context", &thread_reader::read_context},
            {"access", &thread_reader::read_access},
            {"attachment", &thread_reader::read_attachment},
            {"bytes", &thread_reader::read_bytes},
            {"queued", &thread_reader::skip},
            {"end", &thread_reader::read_end},
        };
        for (const auto& [name, read] : readers) {
            if (name == type) {
                return (this->*read)(line);
            }
        }
        refuse("type", "is unknown");
    }

    void read_head(const json::object& line) {
        if (has_head_) {
            throw bad_line{"the thread before it has no end"};
        }
        has_head_ = true;
        thread_.key = {principal_in(line), text_in(line, "threadId", id_bytes_max)};
        if (!is_sound_id(thread_.key.thread_id)) {
            refuse("threadId", "is not a valid id");
        }
        session::changes& content = thread_.content;
        content.agent_id = text_in(line, "agentId");
        content.title = session::title_line(text_in(line, "title"), text_bytes_max);
        content.archived = flag_in(line, "archived");
        thread_.created_at = time_in(line, "createdAt");
        content.at = time_in(line, "updatedAt");
        thread_.last_run_at = time_in(line, "lastRunAt");
        content.head = static_cast<std::uint32_t>(number_in(line, "head", UINT32_MAX - 1));
        content.last_request_had_history = flag_in(line, "lastRequestHadHistory");
    }

    void read_message(const json::object& line) {
        session::node_list& messages = thread_.content.messages;
        expect_number(line, messages.size());
        session::stored_message node;
        node.parent = node_in(line, "parent", messages.size());
        node.run_id = run_id_in(line, "runId");
        node.created_at = time_in(line, "createdAt");
        // Plain copies would stay in the memory of the parsed line, which one thread alone may use.
        json::object stored(object_in(line, "message"), json::storage_ptr());
        if (line.contains("internal")) {
            for (const auto& each : object_in(line, "internal")) {
                stored.insert(each);
            }
        }
        auto message = session::message_from_stored_json(json::value(std::move(stored)));
        if (!message) {
            throw bad_line{"message." + message.error().path + ": " + message.error().detail};
        }
        node.message = std::move(*message);
        messages.push_back(std::move(node));
    }

    [[nodiscard]] unix_ms time_in(const json::object& line, std::string_view name) const {
        const auto time = static_cast<unix_ms>(number_in(line, name, INT64_MAX));
        return std::min(time, latest_time_);
    }

    static void expect_number(const json::object& line, std::size_t next) {
        if (number_in(line, "number", UINT32_MAX - 1) != next) {
            refuse("number", "must be " + std::to_string(next));
        }
    }

    void read_branch(const json::object& line) {
        session::changes& content = thread_.content;
        expect_number(line, content.branches.size());
        content.branches.push_back(
            {static_cast<std::uint32_t>(content.branches.size()),
             {.tip = node_in(line, "tip", content.messages.size()),
              .updated_at = time_in(line, "updatedAt")}}
        );
    }

    void read_call(const json::object& line) {
        session::call_record call;
        call.id = text_in(line, "toolCallId");
        call.name = text_in(line, "name");
        call.run_id = run_id_in(line, "runId");
        const std::string owner = text_in(line, "owner");
        if (owner != "server" && owner != "external") {
            refuse("owner", "must be \"server\" or \"external\"");
        }
        call.owner =
            owner == "server" ? session::call_owner::server : session::call_owner::external;
        const auto status = session::call_status_from_string(text_in(line, "status"));
        if (!status) {
            refuse("status", "is unknown");
        }
        if (*status == session::call_status::asked || *status == session::call_status::approved) {
            waiting_.insert(call.id);
        }
        call.status = ended(*status);
        call.made_in = node_in(line, "madeIn", thread_.content.messages.size());
        if (!call_ids_.insert(call.id).second) {
            refuse("toolCallId", "occurs twice");
        }
        thread_.content.calls.push_back(std::move(call));
    }

    void read_run(const json::object& line) {
        session::run_record run;
        run.run_id = run_id_in(line, "runId");
        run.parent_run_id = run_id_in(line, "parentRunId");
        run.agent_id = text_in(line, "agentId");
        run.input_digest = text_in(line, "inputDigest");
        run.idempotency_key = text_in(line, "idempotencyKey");
        run.protocol = text_in(line, "protocol");
        run.end_reason = text_in(line, "endReason");
        run.answered_by = run_id_in(line, "answeredBy");
        run.started_at = time_in(line, "startedAt");
        run.ended_at = time_in(line, "endedAt");
        run.last_sequence = number_in(line, "lastSequence", INT64_MAX);
        const auto status = session::run_status_from_string(text_in(line, "status"));
        if (!status || run.run_id.empty()) {
            refuse("status", "is unknown, or the run has no id");
        }
        run.status = *status;
        if (run.status == session::run_status::active) {
            run.status = session::run_status::failed;
            run.end_reason = "internal";
            run.ended_at = std::max(run.started_at, thread_.content.at);
        }
        thread_.runs.push_back(std::move(run));
    }

    void read_event(const json::object& line) {
        session::session_event event;
        event.type = text_in(line, "event");
        event.run_id = run_id_in(line, "runId");
        event.timestamp = time_in(line, "timestamp");
        event.data = object_in(line, "data");
        thread_.content.events.push_back(std::move(event));
    }

    void read_tools(const json::object& line) {
        const json::array& tools = array_in(line, "tools");
        for (const json::value& each : tools) {
            if (!each.is_object() || session::name_of_tool(each.get_object()).empty()) {
                refuse("tools", "must hold objects with a name");
            }
        }
        keep_array(thread_.content.offered_tools, tools, "tools");
    }

    void read_context(const json::object& line) {
        keep_array(thread_.content.context, array_in(line, "context"), "context");
    }

    // Not in the memory of the parsed line, which one thread alone may use.
    void
    keep_array(std::optional<json::array>& to, const json::array& value, std::string_view name) {
        set_once(to, json::array(value, json::storage_ptr()), name);
    }

    void read_access(const json::object& line) {
        session::thread_access& access = thread_.access;
        if (!access.shared_id.empty()) {
            refuse("access", "occurs twice");
        }
        access.shared_id = text_in(line, "sharedId");
        if (!session::is_shared_id(access.shared_id)) {
            refuse("sharedId", "is not a valid id");
        }
        for (const json::value& each : array_in(line, "entries")) {
            if (!each.is_object()) {
                refuse("entries", "must hold objects");
            }
            const auto right =
                session::access_right_from_string(text_in(each.get_object(), "right"));
            if (!right) {
                refuse("right", "is unknown");
            }
            access.entries.push_back({principal_in(each.get_object()), *right});
        }
        std::ranges::sort(access.entries, {}, &session::access_entry::principal);
        const auto twin =
            std::ranges::adjacent_find(access.entries, {}, &session::access_entry::principal);
        if (access.entries.size() > session::access_entries_max || twin != access.entries.end()) {
            refuse("entries", "has too many entries, or one user twice");
        }
    }

    void read_attachment(const json::object& line) {
        session::attachment made;
        made.sha256 = text_in(line, "sha256");
        made.mime_type = text_in(line, "mimeType");
        made.kept_at = time_in(line, "keptAt");
        attachment_size_ = number_in(line, "size", thread_bytes_max);
        thread_.attachments.push_back(std::move(made));
        check_attachment();
    }

    void read_bytes(const json::object& line) {
        const auto bytes = session::decode_base64(text_in(line, "base64", line_bytes_max));
        std::string& into = thread_.attachments.back().bytes;
        if (!bytes || bytes->empty() || bytes->size() > attachment_size_ - into.size()) {
            refuse("base64", "is not base64, or more than the size of its attachment");
        }
        into.append(*bytes);
        check_attachment();
    }

    [[nodiscard]] bool rest_of_attachment() const noexcept {
        return !thread_.attachments.empty() &&
               thread_.attachments.back().bytes.size() < attachment_size_;
    }

    void check_attachment() const {
        if (rest_of_attachment()) {
            return;
        }
        const session::attachment& whole = thread_.attachments.back();
        if (sha256_text(whole.bytes) != whole.sha256) {
            refuse("sha256", "is not that of the bytes");
        }
    }

    // Its client was told that it waits, but a run takes it only in the store where it was queued.
    void skip(const json::object&) {}

    void read_end(const json::object& line) {
        session::changes& content = thread_.content;
        if (text_in(line, "threadId") != thread_.key.thread_id ||
            number_in(line, "lines", UINT32_MAX) != lines_) {
            refuse("lines", "lines of the thread are missing");
        }
        const std::size_t branches = content.branches.size();
        if (*content.head != 0 && *content.head >= branches) {
            throw bad_line{"the head of the thread is not one of its branches"};
        }
        if (branches == 0) {
            content.head.reset();
        }
        end_calls_that_asked();
        end_calls_of_subagents();
        is_complete_ = true;
    }

    // The note of a question holds the arguments with which an approval lets the tool go on, and no
    // client is shown them. A call that comes later must not find one.
    void end_calls_that_asked() {
        std::set<std::string> asked;
        for (const session::stored_message& each : thread_.content.messages) {
            if (session::is_input_note(each.message)) {
                asked.emplace(string_in(each.message.activity, "toolCallId"));
            }
        }
        if (!std::ranges::includes(call_ids_, asked)) {
            throw bad_line{"a message has a question or an answer of a call that is missing"};
        }
        for (session::call_record& call : thread_.content.calls) {
            if (waiting_.contains(call.id) && asked.contains(call.id)) {
                call.status = session::call_status::indeterminate; // Its tool had begun.
            }
        }
    }

    // Nobody waits for an answer to a call of a subagent that has ended.
    void end_calls_of_subagents() {
        const session::node_list& messages = thread_.content.messages;
        for (session::call_record& call : thread_.content.calls) {
            if (call.status == session::call_status::pending && call.made_in < messages.size() &&
                !messages[call.made_in].message.subagent_run_id.empty()) {
                call.status = session::call_status::dead;
            }
        }
    }

    memory_share& kept_;
    const unix_ms latest_time_;
    session::whole_thread thread_;
    std::set<std::string> call_ids_;
    std::set<std::string> waiting_;     ///< Ids of calls that waited for an approval, or had one.
    std::uint64_t attachment_size_ = 0; ///< Of the last attachment.
    std::uint64_t lines_ = 0;
    bool has_head_ = false;
    bool is_complete_ = false;
};

} // namespace

result<session::whole_thread>
read_thread_lines(std::string_view lines, memory_share& kept, unix_ms now) {
    thread_reader reader(kept, now);
    std::size_t number = 0;
    try {
        while (!lines.empty()) {
            ++number;
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            reader.read(lines.substr(0, end));
            lines.remove_prefix(std::min(end + 1, lines.size()));
        }
        return reader.finish();
    } catch (const bad_line& wrong) {
        return failure{errc::invalid_input, wrong.what(), "line " + std::to_string(number)};
    } catch (const memory_refused& refused) {
        return failure{errc::overloaded, refused.what()};
    }
}

result<session::thread_key> read_thread_head(std::string_view line, unix_ms now) {
    memory_share uncounted;
    thread_reader reader(uncounted, now);
    try {
        reader.read(line);
        return reader.key();
    } catch (const bad_line& wrong) {
        return failure{errc::invalid_input, wrong.what()};
    }
}

} // namespace agui::gateway
