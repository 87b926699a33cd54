#include "session/sqlite/earlier_commit.hpp"

#include "session/base/leb128.hpp"
#include "session/base/stored_json.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/value.hpp>

#include <limits>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

class reader;

void read_members(reader&, stored_message&);
void read_members(reader&, changes::branch_change&);
void read_members(reader&, call_record&);
void read_members(reader&, session_event&);
void read_members(reader&, run_record&);
void read_members(reader&, changes&);
void read_members(reader&, earlier_commit&);

// Reads values from the front. After the first invalid one is_sound() is false, and what was read
// is meaningless.
class reader {
public:
    explicit reader(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] bool is_sound() const noexcept { return sound_; }
    [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }

    void operator()(bool& value) {
        const std::uint64_t read = number();
        expect(read <= 1);
        value = read == 1;
    }
    void operator()(std::uint32_t& value) {
        const std::uint64_t read = number();
        expect(read <= std::numeric_limits<std::uint32_t>::max());
        value = static_cast<std::uint32_t>(read);
    }
    void operator()(std::uint64_t& value) { value = number(); }
    void operator()(std::int64_t& value) { value = static_cast<std::int64_t>(number()); }
    void operator()(std::string& value) { value = text(); }
    void operator()(json_text& value) { keep(read_stored_text(text()), value); }
    void operator()(json::object& value) {
        json::value read = stored_value();
        expect(read.is_object());
        if (read.is_object()) {
            value = std::move(read.get_object());
        }
    }
    void operator()(json::array& value) {
        json::value read = stored_value();
        expect(read.is_array());
        if (read.is_array()) {
            value = std::move(read.get_array());
        }
    }
    void operator()(call_owner& value) {
        bool is_server = false;
        (*this)(is_server);
        value = is_server ? call_owner::server : call_owner::external;
    }
    void operator()(call_status& value) { keep(call_status_from_string(text()), value); }
    void operator()(run_status& value) { keep(run_status_from_string(text()), value); }

    template <class Value>
    void operator()(std::optional<Value>& value) {
        bool is_there = false;
        (*this)(is_there);
        if (is_there) {
            (*this)(value.emplace());
        }
    }

    template <class Value>
    void operator()(std::vector<Value>& values) {
        for (std::size_t left = count(); left > 0 && sound_; --left) {
            (*this)(values.emplace_back());
        }
    }

    void operator()(node_list& values) {
        std::vector<stored_message> read;
        (*this)(read);
        values = node_list(std::move(read));
    }

    template <class Value>
    void operator()(Value& value) {
        read_members(*this, value);
    }

    template <class Value>
    void last(std::optional<Value>& value) {
        if (sound_ && !is_at_end()) {
            (*this)(value.emplace());
        }
    }

private:
    void expect(bool holds) noexcept { sound_ = sound_ && holds; }

    template <class Value>
    void keep(auto&& read, Value& value) {
        expect(read.has_value());
        if (read) {
            value = std::move(*read);
        }
    }

    json::value stored_value() {
        json::value value;
        keep(parse_stored(text()), value);
        return value;
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        expect(sound_ && take_leb128(rest_, value));
        return sound_ ? value : 0;
    }

    // A count of elements that take at least one byte each.
    std::size_t count() {
        const std::uint64_t value = number();
        expect(value <= rest_.size());
        return sound_ ? static_cast<std::size_t>(value) : 0;
    }

    std::string_view text() {
        const std::size_t size = count();
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::string_view rest_;
    bool sound_ = true;
};

// The members of each value in order.

void read_members(reader& from, stored_message& value) {
    from(value.parent);
    from(value.run_id);
    from(value.created_at);
}

void read_members(reader& from, changes::branch_change& value) {
    from(value.index);
    from(value.value.tip);
    from(value.value.updated_at);
}

void read_members(reader& from, call_record& value) {
    from(value.id);
    from(value.name);
    from(value.run_id);
    from(value.owner);
    from(value.status);
    from(value.made_in);
}

void read_members(reader& from, session_event& value) {
    from(value.sequence);
    from(value.type);
    from(value.run_id);
    from(value.timestamp);
    from(value.data);
}

void read_members(reader& from, run_record& value) {
    from(value.number);
    from(value.run_id);
    from(value.parent_run_id);
    from(value.agent_id);
    from(value.input_digest);
    from(value.idempotency_key);
    from(value.protocol);
    from(value.status);
    from(value.end_reason);
    from(value.started_at);
    from(value.ended_at);
    from(value.last_sequence);
}

void read_members(reader& from, changes& value) {
    from(value.messages);
    from(value.branches);
    from(value.head);
    from(value.calls);
    from(value.events);
    from(value.offered_tools);
    from(value.last_request_had_history);
    from(value.state);
    from(value.agent_id);
    from(value.title);
    from(value.archived);
    from(value.metadata);
    from(value.at);
    from(value.run);
}

void read_members(reader& from, earlier_commit& value) {
    from(value.key.principal);
    from(value.key.thread_id);
    from(value.run_number);
    from(value.begins);
    from(value.thread_exists);
    from(value.before.messages);
    from(value.before.branches);
    from(value.change);
    from(value.message_texts);
    from.last(value.change.context);
}

} // namespace

std::optional<earlier_commit> read_earlier_commit(std::string_view bytes) {
    reader from(bytes);
    earlier_commit commit;
    read_members(from, commit);
    if (!from.is_sound() || !from.is_at_end() ||
        commit.message_texts.size() != commit.change.messages.size()) {
        return std::nullopt;
    }
    auto text = commit.message_texts.begin();
    bool is_sound = true;
    commit.change.messages.edit_each([&](stored_message& node) {
        const result<json::value> value = parse_stored(*text++);
        result<message> read =
            value ? message_from_stored_json(*value) : result<message>(value.error());
        is_sound = is_sound && read;
        if (read) {
            node.message = std::move(*read);
        }
    });
    return is_sound ? std::optional(std::move(commit)) : std::nullopt;
}

} // namespace agui::session
