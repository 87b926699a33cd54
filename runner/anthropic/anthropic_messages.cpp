#include "runner/anthropic/anthropic_messages.hpp"

#include "runner/anthropic/anthropic_media.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/anthropic/anthropic_sent_back.hpp"
#include "runner/base/call_ids.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/provider/answer_blocks.hpp"
#include "runner/provider/own_origin.hpp"
#include "runner/provider/request_body.hpp"
#include "runner/provider/role_order.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/white_space.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::message;
using session::role;
using block_kind = answer_blocks::block::kind;

class conversation_writer {
public:
    conversation_writer(
        std::string& out, const model_request& request, const anthropic_settings& settings,
        const tool_names& names, const added_tools& tools, std::string_view cache_mark
    )
        : out_(out),
          request_(request),
          settings_(settings),
          names_(names),
          tools_(tools),
          mark_(cache_mark) {}

    void write();

private:
    std::size_t system_prompt(const std::vector<const message*>& messages);
    void open(std::string_view role_name);
    void begin_block();
    void end_block();
    void text_block(std::string_view text);
    void later_system(const message& value);
    void system_message(std::string_view text);
    void hold_added_tools(const message& value);
    void tool_addition(const tool_definition& tool);
    void write_held_system();
    void user(const message& value);
    void assistant(const message& value, bool continued);
    [[nodiscard]] std::vector<placed_block>
    blocks_of(const message& value, std::string_view text, bool continued);
    void answer_block(const placed_block& value);
    void call(const session::tool_call& value);
    void tool_result(const message& value);
    void result_parts(const json::array& parts, std::string_view error);
    void set_marks();

    std::string& out_;
    const model_request& request_;
    const anthropic_settings& settings_;
    const tool_names& names_;
    const added_tools& tools_;
    const std::string_view mark_;
    const bool takes_system_ =
        request_.adds_tools || anthropic_rules_of(request_.parameters.model).system_messages;
    call_ids ids_{call_id_form::common};
    std::string_view role_;                ///< Role of the message that is open; empty if none is.
    bool first_block_ = true;              ///< Of the message that is open.
    bool pauses_ = false;                  ///< The last answer is a pause from which it goes on.
    std::string thoughts_;                 ///< Reasoning of the next answer.
    std::vector<std::string> held_system_; ///< System text that waits for its place.
    std::vector<const tool_definition*> held_tools_; ///< Added tools that wait for it.
    std::optional<answer_blocks> record_;            ///< Of the answer that is being written.
    /// Ends of the last block so far that can be marked for the cache, and of the last one before
    /// the latest user turn; nullopt if there is none.
    std::optional<std::size_t> last_end_;
    std::optional<std::size_t> stable_end_;
};

void conversation_writer::write() {
    const ordered_messages ordered(
        messages_of(request_), {.begins_with_user = true}
        // It separates answers itself: a pause stays the last one.
    );
    const std::vector<const message*>& all = ordered.list();
    const std::size_t begin = system_prompt(all);
    out_.append(R"("messages":[)");
    for (std::size_t at = begin; at < all.size(); ++at) {
        const message& each = *all[at];
        switch (each.role) {
        case role::developer:
        case role::system:
            later_system(each);
            break;
        case role::user:
            if (session::begins_user_turn(each)) {
                stable_end_ = last_end_;
            }
            user(each);
            hold_added_tools(each);
            if (!takes_system_) {
                write_held_system();
            }
            break;
        case role::assistant:
            assistant(each, is_continued(all, at, request_));
            thoughts_.clear();
            break;
        case role::tool:
            tool_result(each);
            hold_added_tools(each);
            break;
        case role::reasoning:
            thoughts_ += session::text_of(each.content);
            break;
        case role::activity:
            break; // For people only.
        }
    }
    const bool ends_in_pause = role_ == "assistant" && pauses_; // It must stay the last one.
    if (role_ == "assistant" && !ends_in_pause) {
        open("user");
        text_block(continue_text);
    }
    if (!ends_in_pause) {
        write_held_system();
    }
    out_.append(role_.empty() ? "]" : "]}]");
    set_marks();
}

/// Writes the system text that stands before everything else. Returns the number of its messages.
std::size_t conversation_writer::system_prompt(const std::vector<const message*>& messages) {
    std::size_t count = 0;
    std::vector<std::string> texts;
    if (!is_blank(request_.instructions)) {
        texts.emplace_back(request_.instructions);
    }
    while (count < messages.size() && is_system(*messages[count])) {
        texts.push_back(session::text_of(messages[count++]->content));
    }
    if (texts.empty()) {
        return count;
    }
    out_.append(R"("system":)");
    char separator = '[';
    for (const std::string& each : texts) {
        out_.push_back(separator);
        separator = ',';
        out_.append(R"({"type":"text","text":)");
        append_json_string(out_, each);
        if (&each == &texts.back()) {
            out_.append(mark_);
        }
        out_.push_back('}');
    }
    out_.append("],");
    return count;
}

/// Opens a message, unless the last one has that role.
void conversation_writer::open(std::string_view role_name) {
    if (role_ == role_name) {
        return;
    }
    out_.append(role_.empty() ? "{" : "]},{").append(R"("role":")").append(role_name);
    out_.append(R"(","content":[)");
    role_ = role_name;
    first_block_ = true;
}

void conversation_writer::begin_block() {
    if (!first_block_) {
        out_.push_back(',');
    }
    first_block_ = false;
}

/// Ends a block that can be marked for the cache: any but a thought.
void conversation_writer::end_block() {
    last_end_ = out_.size();
    out_.push_back('}');
}

void conversation_writer::text_block(std::string_view text) {
    begin_block();
    out_.append(R"({"type":"text","text":)");
    append_json_string(out_, text);
    end_block();
}

/// The server takes such a message only after one of the user, and before an answer or as the last
/// message.
void conversation_writer::later_system(const message& value) {
    std::string text = session::text_of(value.content);
    if (takes_system_ || role_ == "assistant" || !held_system_.empty()) {
        held_system_.push_back(std::move(text));
    } else {
        system_message(text);
    }
}

void conversation_writer::system_message(std::string_view text) {
    open(takes_system_ ? "system" : "user");
    text_block(text);
}

void conversation_writer::hold_added_tools(const message& value) {
    const std::vector<const tool_definition*> added = tools_.added_with(value);
    held_tools_.insert(held_tools_.end(), added.begin(), added.end());
}

void conversation_writer::tool_addition(const tool_definition& tool) {
    open("system");
    begin_block();
    out_.append(R"({"type":"tool_addition","tool":{"type":"tool_definition","definition":)");
    append_definition(out_, tool, names_, settings_);
    out_.append("}}");
    end_block();
}

void conversation_writer::write_held_system() {
    for (const std::string& each : held_system_) {
        system_message(each);
    }
    held_system_.clear();
    for (const tool_definition* const each : held_tools_) {
        tool_addition(*each);
    }
    held_tools_.clear();
}

void conversation_writer::user(const message& value) {
    open("user");
    if (const auto* const text = std::get_if<std::string>(&value.content)) {
        text_block(is_blank(*text) ? empty_message_text : *text);
        return;
    }
    bool is_empty = true;
    for (const json::value& each : std::get<json::array>(value.content)) {
        const json::object* const part = each.if_object();
        if (part == nullptr) {
            continue;
        }
        if (string_in(*part, "type") == "text") {
            if (const std::string_view text = string_in(*part, "text"); !is_blank(text)) {
                text_block(text);
                is_empty = false;
            }
            continue;
        }
        std::string media;
        if (append_media_block(media, *part, settings_)) {
            begin_block();
            out_.append(media, 0, media.size() - 1);
            end_block();
            is_empty = false;
        }
    }
    if (is_empty) {
        text_block(empty_message_text);
    }
}

void conversation_writer::assistant(const message& value, bool continued) {
    const bool continues = std::exchange(pauses_, false);
    const std::string text = session::text_of(value.content);
    std::vector<placed_block> blocks = blocks_of(value, text, continued);
    leave_out_refused(blocks, pauses_);
    if (blocks.empty()) {
        pauses_ = false;
        return;
    }
    // A former request may have ended with the former answer. A plugin's message is a part of an
    // answer.
    if (role_ == "assistant" && !value.by_plugin && !continues) {
        open("user");
        text_block(continue_text);
    }
    if (role_ != "assistant") {
        write_held_system();
    }
    open("assistant");
    for (const placed_block& each : blocks) {
        answer_block(each);
    }
}

/// The blocks of an answer of the model that is asked as they came, otherwise text and calls. Sets
/// pauses_ if they are a paused answer that is `continued`.
std::vector<placed_block>
conversation_writer::blocks_of(const message& value, std::string_view text, bool continued) {
    const session::turn_origin* const origin = own_origin(value, request_);
    if (origin != nullptr && (continued || origin->end != session::turn_end::paused)) {
        record_ = recorded_blocks(*origin);
        std::vector<placed_block> placed =
            record_ ? place_blocks(*record_, value, text, thoughts_) : std::vector<placed_block>();
        if (!placed.empty()) {
            pauses_ = continued;
            return placed;
        }
    }
    return plain_blocks(value, text);
}

void conversation_writer::answer_block(const placed_block& value) {
    begin_block();
    switch (value.what) {
    case block_kind::text:
        out_.append(R"({"type":"text","text":)");
        append_json_string(out_, value.text);
        append_members(out_, value.members);
        end_block();
        break;
    case block_kind::thinking:
        out_.append(R"({"type":"thinking","thinking":)");
        append_json_string(out_, value.text);
        append_members(out_, value.members);
        out_.push_back('}');
        break;
    case block_kind::call:
        call(*value.call);
        append_members(out_, value.members);
        end_block();
        break;
    case block_kind::other:
        out_.append(json::serialize(*value.members)); // As it came, so it gets no mark.
        break;
    }
}

void conversation_writer::call(const session::tool_call& value) {
    out_.append(R"({"type":"tool_use","id":)");
    append_json_string(out_, ids_.sent(value.id));
    out_.append(R"(,"name":)");
    append_json_string(out_, names_.sent(value.name));
    out_.append(R"(,"input":)");
    if (session::is_arguments_object(value.arguments)) {
        out_.append(value.arguments);
        return;
    }
    if (is_blank(value.arguments)) {
        out_.append("{}");
        return;
    }
    out_.append(R"({"INVALID_JSON":)");
    append_json_string(out_, value.arguments);
    out_.push_back('}');
}

void conversation_writer::tool_result(const message& value) {
    open("user");
    begin_block();
    out_.append(R"({"type":"tool_result","tool_use_id":)");
    append_json_string(out_, ids_.sent(value.tool_call_id));
    const std::string text = session::text_of(value.content);
    std::string_view error;
    // The server's own tools have the same text for both.
    if (value.error && *value.error != text) {
        error = value.error->empty() ? "the tool failed" : std::string_view(*value.error);
    }
    if (const auto* const parts = std::get_if<json::array>(&value.content)) {
        result_parts(*parts, error);
    } else if (!is_blank(text) || !is_blank(error)) {
        std::string said = is_blank(text) ? std::string() : text;
        said.append(said.empty() || error.empty() ? "" : "\n\n").append(error);
        out_.append(R"(,"content":)");
        append_json_string(out_, said);
    }
    if (value.error) {
        out_.append(R"(,"is_error":true)");
    }
    end_block();
}

void conversation_writer::result_parts(const json::array& parts, std::string_view error) {
    char separator = '[';
    const auto text = [&](std::string_view said) {
        if (!is_blank(said)) {
            out_.append(separator == '[' ? R"(,"content":)" : "");
            out_.push_back(separator);
            separator = ',';
            out_.append(R"({"type":"text","text":)");
            append_json_string(out_, said);
            out_.push_back('}');
        }
    };
    for (const json::value& each : parts) {
        const json::object* const part = each.if_object();
        std::string media;
        if (part == nullptr) {
            continue;
        }
        if (string_in(*part, "type") == "text") {
            text(string_in(*part, "text"));
        } else if (append_media_block(media, *part, settings_)) {
            out_.append(separator == '[' ? R"(,"content":)" : "");
            out_.push_back(separator);
            separator = ',';
            out_.append(media);
        }
    }
    text(error);
    if (separator == ',') {
        out_.push_back(']');
    }
}

/// Marks the last block, which the next request of a turn repeats, and the last one before the
/// user turn, with which an edited or regenerated turn begins, too.
void conversation_writer::set_marks() {
    if (mark_.empty()) {
        return;
    }
    if (last_end_) {
        out_.insert(*last_end_, mark_);
    }
    if (stable_end_ && stable_end_ != last_end_) {
        out_.insert(*stable_end_, mark_);
    }
}

} // namespace

void append_conversation(
    std::string& out, const model_request& request, const anthropic_settings& settings,
    const tool_names& names, const added_tools& tools, std::string_view cache_mark
) {
    conversation_writer(out, request, settings, names, tools, cache_mark).write();
}

void append_definition(
    std::string& out, const tool_definition& tool, const tool_names& names,
    const anthropic_settings& settings
) {
    out.push_back('{');
    append_tool(out, tool, names, "input_schema");
    if (settings.eager_input) {
        out.append(R"(,"eager_input_streaming":true)");
    }
}

} // namespace agui::runner
