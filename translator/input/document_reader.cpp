#include "translator/input/document_reader.hpp"

#include "runner/base/json_escapes.hpp"
#include "runner/base/utf8.hpp"
#include "session/base/contains.hpp"
#include "session/base/json_events.hpp"
#include "session/base/json_member.hpp"
#include "session/base/json_memory.hpp"
#include "translator/agui/canonical_writer.hpp"
#include "translator/agui/text_writer.hpp"

#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace agui::translator {
namespace {

namespace json = boost::json;
using boost::json::error_code;
using text_view = boost::json::string_view;

// The canonical text has 32-bit positions, and numbers may be five times as long in it.
constexpr std::size_t text_bytes_max = std::numeric_limits<std::uint32_t>::max() / 8;
// RFC 8259, 8.1: a parser may ignore it.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
// Documents up to this size may use the reserve of the budget.
constexpr std::size_t small_text_bytes = 64U << 10U;
// The budget is changed in steps of this size.
constexpr std::size_t share_step = 16U << 10U;
// Limits, because unknown members are named in the log and a client may send any number of them.
constexpr std::size_t skipped_max = 8;
constexpr std::size_t skipped_bytes_max = 64;
// Limited, because a path holds member names of any length from the client.
constexpr std::size_t path_bytes_max = 256;

// The parser's handler. Everything goes into the canonical text; values that are to be built also
// go to a stack of values.
class builder {
public:
    static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

    builder(const document_rules& rules, memory_use use)
        : rules_(rules),
          builds_all_(rules.built.empty() && !rules.all_as_text),
          keeps_text_(rules.all_as_text),
          share_(rules.budget, use, share_step),
          storage_(
              rules.budget == nullptr ? json::storage_ptr() : make_json_storage(rules.budget, use)
          ),
          stack_(storage_) {
        stack_.reset(storage_);
        is_built_ = builds_all_;
    }

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }

    bool on_object_begin(error_code&) {
        open(text_.depth() == 0);
        text_.begin_object();
        if (keeps_text_) {
            kept_.begin_object();
        }
        return charge();
    }
    bool on_object_end(std::size_t, error_code& ec) {
        if (!text_.end_object()) {
            return refuse_duplicate(ec);
        }
        if (keeps_text_) {
            kept_.end_object();
        }
        if (const auto count = close()) {
            stack_.push_object(*count);
        }
        return value_done();
    }
    bool on_array_begin(error_code&) {
        open(false);
        text_.begin_array();
        if (keeps_text_) {
            kept_.begin_array();
        }
        return charge();
    }
    bool on_array_end(std::size_t, error_code&) {
        text_.end_array();
        if (keeps_text_) {
            kept_.end_array();
        }
        if (const auto count = close()) {
            stack_.push_array(*count);
        }
        return value_done();
    }

    bool on_key_part(text_view part, std::size_t, error_code&) {
        parts_.append(part);
        return charge();
    }
    bool on_key(text_view last, std::size_t, error_code& ec) {
        const std::string_view name = whole(last);
        if (!text_.key(name)) {
            return refuse_duplicate(ec);
        }
        if (text_.depth() == 1 && !rules_.all_as_text &&
            ++members_ > session::protocol_members_max) {
            detail_ = "has more than " + std::to_string(session::protocol_members_max) + " members";
            ec = json::error::object_too_large;
            return false;
        }
        take_key(name);
        parts_.clear();
        return charge();
    }
    bool on_string_part(text_view part, std::size_t, error_code&) {
        parts_.append(part);
        return charge();
    }
    bool on_string(text_view last, std::size_t, error_code&) {
        const std::string_view text = whole(last);
        text_.string(text);
        if (keeps_text_) {
            kept_.string(text);
        }
        if (counts()) {
            stack_.push_string(text);
        }
        parts_.clear();
        return value_done();
    }

    bool on_number_part(text_view, error_code&) { return true; }
    bool on_int64(std::int64_t number, text_view, error_code&) {
        text_.integer(number);
        keep_number(number);
        if (counts()) {
            stack_.push_int64(number);
        }
        return value_done();
    }
    bool on_uint64(std::uint64_t number, text_view, error_code&) {
        text_.integer(number);
        keep_number(number);
        if (counts()) {
            stack_.push_uint64(number);
        }
        return value_done();
    }
    bool on_double(double number, text_view, error_code& ec) {
        if (!std::isfinite(number)) {
            detail_ = "holds a number that is too large";
            ec = json::error::not_number;
            return false;
        }
        text_.number(number);
        keep_number(number);
        if (counts()) {
            stack_.push_double(number);
        }
        return value_done();
    }
    bool on_bool(bool value, error_code&) {
        literal(value ? "true" : "false");
        if (counts()) {
            stack_.push_bool(value);
        }
        return value_done();
    }
    bool on_null(error_code&) {
        literal("null");
        if (counts()) {
            stack_.push_null();
        }
        return value_done();
    }
    bool on_comment_part(text_view, error_code&) { return true; }
    bool on_comment(text_view, error_code&) { return true; }

    /// The result, to be called once after the last event.
    document take() {
        // The value is constructed in place: an assignment would copy it out of its storage.
        const bool has_text = !kept_.is_empty();
        json_text kept(has_text ? kept_.take() : std::string("null"));
        json::value value = is_root_built_ ? stack_.release() : json::value();
        return {std::move(value), text_.take(), std::move(kept), has_text, std::move(skipped_)};
    }

    [[nodiscard]] failure refusal(error_code ec) const {
        failure error;
        error.code = errc::invalid_json;
        error.path = text_.path();
        if (error.path.size() > path_bytes_max) {
            error.path.resize(path_bytes_max);
            while (!error.path.empty() && (static_cast<unsigned char>(error.path.back()) & 0x80U)) {
                error.path.pop_back();
            }
        }
        error.detail = "the body is not valid JSON in UTF-8";
        if (ec == json::error::too_deep) {
            error.detail =
                "the body is nested deeper than " + std::to_string(rules_.max_depth) + " levels";
        } else if (ec == json::error::exponent_overflow) {
            error.detail = "the body holds a number that is too large";
        } else if (!detail_.empty()) {
            error.detail = "the body " + detail_;
        }
        const bool says_where = (!detail_.empty() && ec != json::error::object_too_large) ||
                                ec == json::error::exponent_overflow;
        if (!says_where) {
            error.path.clear();
        }
        return error;
    }

private:
    void literal(std::string_view word) {
        text_.literal(word);
        if (keeps_text_) {
            kept_.literal(word);
        }
    }

    void keep_number(auto number) {
        if (keeps_text_) {
            kept_.number(number);
        }
    }

    // Joins the last part of a string to its earlier parts.
    std::string_view whole(text_view last) {
        if (parts_.empty()) {
            return {last.data(), last.size()};
        }
        parts_.append(last);
        return parts_;
    }

    // The top-level members decide what is built.
    void take_key(std::string_view name) {
        if (text_.depth() == 1) {
            if (!rules_.all_as_text) {
                keeps_text_ = !rules_.as_text.empty() && name == rules_.as_text;
            }
            is_built_ = !keeps_text_ && (builds_all_ || contains(rules_.built, name));
            if (!is_built_ && !keeps_text_ && skipped_.size() < skipped_max) {
                skipped_.emplace_back(runner::utf8_head(name, skipped_bytes_max));
            }
            may_hold_secrets_ = contains(rules_.with_secrets, name);
            if (contains(rules_.uncounted, name)) {
                drop_at_ = 1;
                was_built_ = is_built_;
            }
        } else if (may_hold_secrets_ && drop_at_ == 0 && rules_.is_secret(name)) {
            drop_at_ = text_.depth();
            was_built_ = std::exchange(is_built_, false);
        }
        if (keeps_text_ && (rules_.all_as_text || text_.depth() > 1)) {
            kept_.key(name);
        }
        if (is_built_) {
            stack_.push_key(name);
        }
    }

    // Returns true if the next value is built, and counts it as an element of its object or array.
    [[nodiscard]] bool counts() {
        if (is_built_ && !counts_.empty()) {
            ++counts_.back();
        }
        is_root_built_ = is_root_built_ || is_built_;
        return is_built_;
    }

    void open(bool is_root_object) {
        if (is_root_object) {
            is_built_ = true;
        }
        if (counts()) {
            counts_.push_back(0);
        }
        ++open_;
    }

    // The number of built members or elements of the ending object or array; nullopt if it is not
    // built.
    [[nodiscard]] std::optional<std::size_t> close() {
        if (--open_ == 0 && is_root_built_) {
            is_built_ = true;
        }
        if (!is_built_) {
            return std::nullopt;
        }
        const std::size_t count = counts_.back();
        counts_.pop_back();
        return count;
    }

    bool value_done() {
        if (drop_at_ != 0 && text_.depth() == drop_at_) {
            text_.drop_member();
            is_built_ = was_built_;
            drop_at_ = 0;
        }
        if (text_.depth() == 1 && !rules_.all_as_text) {
            keeps_text_ = false; // The member has ended.
        }
        return charge();
    }

    bool charge() {
        const std::size_t bytes = text_.bytes() + kept_.bytes() + parts_.capacity() +
                                  counts_.capacity() * sizeof(std::size_t);
        if (bytes > share_.held() && rules_.budget != nullptr && !share_.grow_to(bytes)) {
            throw memory_refused();
        }
        return true;
    }

    bool refuse_duplicate(error_code& ec) {
        detail_ = "holds the member " + text_.duplicate().substr(0, path_bytes_max) + " twice";
        ec = json::error::syntax;
        return false;
    }

    const document_rules& rules_;
    const bool builds_all_;
    bool keeps_text_; // The next value is kept as text.
    canonical_writer text_;
    text_writer kept_;
    memory_share share_;
    json::storage_ptr storage_;
    json::value_stack stack_;
    // Element counts of the open objects and arrays that are built.
    std::vector<std::size_t> counts_;
    std::size_t open_ = 0;
    std::size_t members_ = 0; // Number of members of the outermost object.
    std::vector<std::string> skipped_;
    std::size_t drop_at_ = 0; // Depth of the object whose current member is dropped from the text.
    bool is_built_ = false;   // The next value is built.
    bool was_built_ = false;  // The value of is_built_ to restore after the dropped member.
    bool is_root_built_ = false;
    bool may_hold_secrets_ = false;
    std::string parts_;
    std::string detail_;
};

result<document> read_once(std::string_view text, const document_rules& rules, memory_use use) {
    json_event_reader<builder> reader({.max_depth = rules.max_depth}, rules, use);
    if (const error_code ec = reader.read(text)) {
        return reader.handler().refusal(ec);
    }
    return reader.handler().take();
}

} // namespace

result<document> read_document(std::string_view text, const document_rules& rules) {
    if (text.size() > text_bytes_max) {
        return failure{errc::invalid_json, "the body is too large to be read"};
    }
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    const memory_use use =
        text.size() <= small_text_bytes ? memory_use::small : memory_use::ordinary;
    try {
        result<document> read = read_once(text, rules, use);
        if (read) {
            return read;
        }
        // Accepted, because a page that once cut a text in two sends half a surrogate pair with
        // each later request.
        memory_share held(rules.budget, use, share_step);
        if (rules.budget != nullptr && !held.grow_to(text.size())) {
            throw memory_refused();
        }
        std::string whole(text);
        return runner::replace_unpaired_surrogates(whole) ? read_once(whole, rules, use)
                                                          : std::move(read);
    } catch (const memory_refused&) {
        return failure{errc::overloaded, "the server does not have enough memory for this request"};
    }
}

} // namespace agui::translator
