#include "session/sqlite/redo_record.hpp"

#include "session/base/leb128.hpp"
#include "session/base/stored_json.hpp"

#include <boost/json/serialize.hpp>

#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace agui::session {

namespace json = boost::json;

namespace {

// The members of each value in order, for the writer and for the reader, which changes them.

template <class Value, class Of>
concept any_const = std::is_same_v<std::remove_const_t<Value>, Of>;

void members(auto& codec, any_const<stored_message> auto& value) {
    codec(value.parent);
    codec(value.run_id);
    codec(value.created_at);
}

void members(auto& codec, any_const<changes::branch_change> auto& value) {
    codec(value.index);
    codec(value.value.tip);
    codec(value.value.updated_at);
}

void members(auto& codec, any_const<call_record> auto& value) {
    codec(value.id);
    codec(value.name);
    codec(value.run_id);
    codec(value.owner);
    codec(value.status);
    codec(value.made_in);
}

void members(auto& codec, any_const<session_event> auto& value) {
    codec(value.sequence);
    codec(value.type);
    codec(value.run_id);
    codec(value.timestamp);
    codec(value.data);
}

void members(auto& codec, any_const<run_record> auto& value) {
    codec(value.number);
    codec(value.run_id);
    codec(value.parent_run_id);
    codec(value.agent_id);
    codec(value.input_digest);
    codec(value.idempotency_key);
    codec(value.protocol);
    codec(value.status);
    codec(value.end_reason);
    codec(value.started_at);
    codec(value.ended_at);
    codec(value.last_sequence);
}

void members(auto& codec, any_const<changes> auto& value) {
    codec(value.messages);
    codec(value.branches);
    codec(value.head);
    codec(value.calls);
    codec(value.events);
    codec(value.offered_tools);
    codec(value.last_request_had_history);
    codec(value.state);
    codec(value.agent_id);
    codec(value.title);
    codec(value.archived);
    codec(value.metadata);
    codec(value.at);
    codec(value.run);
}

void members(auto& codec, any_const<redo_record> auto& value) {
    codec(value.key.principal);
    codec(value.key.thread_id);
    codec(value.run_number);
    codec(value.begins);
    codec(value.thread_exists);
    codec(value.before.messages);
    codec(value.before.branches);
    codec(value.change);
    codec(value.message_texts);
    codec.last(value.change.context);
}

class writer {
public:
    explicit writer(std::size_t most) : most_(most) {}

    /// Empty: there are more than `most` bytes.
    [[nodiscard]] std::string take() && {
        return bytes_.size() > most_ ? std::string() : std::move(bytes_);
    }

    void operator()(bool value) { put_leb128(bytes_, value ? 1 : 0); }
    void operator()(std::uint32_t value) { put_leb128(bytes_, value); }
    void operator()(std::uint64_t value) { put_leb128(bytes_, value); }
    // Times and run numbers, which are never negative.
    void operator()(std::int64_t value) { put_leb128(bytes_, static_cast<std::uint64_t>(value)); }
    void operator()(std::string_view text) {
        put_leb128(bytes_, text.size());
        bytes_ += text;
    }
    void operator()(const std::string& text) { (*this)(std::string_view(text)); }
    void operator()(const json_text& value) {
        if (bytes_.size() <= most_) {
            (*this)(value.view());
        }
    }
    void operator()(const json::object& value) { put_json(value); }
    void operator()(const json::array& value) { put_json(value); }
    void operator()(call_owner value) { (*this)(value == call_owner::server); }
    void operator()(call_status value) { (*this)(to_string(value)); }
    void operator()(run_status value) { (*this)(to_string(value)); }

    template <class Value>
    void operator()(const std::optional<Value>& value) {
        (*this)(value.has_value());
        if (value) {
            (*this)(*value);
        }
    }

    template <class Value>
    void operator()(const std::vector<Value>& values) {
        (*this)(std::uint64_t{values.size()});
        for (const Value& value : values) {
            (*this)(value);
        }
    }

    template <class Value>
    void operator()(const Value& value) {
        members(*this, value);
    }

    /// An optional last member: records written before it existed lack it.
    template <class Value>
    void last(const std::optional<Value>& value) {
        if (value) {
            (*this)(*value);
        }
    }

private:
    void put_json(const auto& value) {
        if (bytes_.size() <= most_) { // Otherwise the result is discarded.
            (*this)(json::serialize(value));
        }
    }

    const std::size_t most_;
    std::string bytes_;
};

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

    template <class Value>
    void operator()(Value& value) {
        members(*this, value);
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

} // namespace

std::string to_bytes(const redo_record& record, std::size_t most) {
    writer to(most);
    to(record);
    return std::move(to).take();
}

std::optional<redo_record> redo_from_bytes(std::string_view bytes) {
    reader from(bytes);
    redo_record record;
    from(record);
    const bool is_whole = from.is_sound() && from.is_at_end() &&
                          record.message_texts.size() == record.change.messages.size();
    return is_whole ? std::optional(std::move(record)) : std::nullopt;
}

} // namespace agui::session
