#include "runner/responses/responses_input.hpp"

#include "runner/base/call_ids.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/provider/answer_blocks.hpp"
#include "runner/provider/own_origin.hpp"
#include "runner/provider/request_body.hpp"
#include "runner/provider/role_order.hpp"
#include "runner/responses/responses_item_reader.hpp"
#include "runner/responses/responses_media.hpp"
#include "session/base/white_space.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::message;
using session::role;
using block_kind = answer_blocks::block::kind;

bool is_reasoning(const placed_block& value) {
    return value.what == block_kind::other && string_in(*value.members, "type") == "reasoning";
}

bool is_blank_text(const placed_block& value) {
    return value.what == block_kind::text && is_blank(value.text);
}

/// Leaves out blank texts, which the server refuses, and reasoning without the item that followed
/// it: the server refuses one without the other.
void leave_out_what_is_refused(std::vector<placed_block>& items) {
    std::vector<placed_block> kept;
    bool has_next = false; // The item after this one is sent.
    for (auto each = items.rbegin(); each != items.rend(); ++each) {
        has_next = is_reasoning(*each) ? has_next : !is_blank_text(*each);
        if (has_next) {
            kept.push_back(*each);
        }
    }
    items.assign(kept.rbegin(), kept.rend());
}

class input_writer {
public:
    input_writer(
        std::string& out, const model_request& request, const responses_settings& settings,
        const tool_names& names
    )
        : out_(out), request_(request), settings_(settings), names_(names) {}

    void write();

private:
    void begin_item();
    void message_item(std::string_view role_name, std::string_view text);
    void user(const message& value);
    [[nodiscard]] std::string parts_of(const session::content& content, bool& only_text);
    void assistant(const message& value);
    void answer_item(const placed_block& value);
    void tool_result(const message& value);

    std::string& out_;
    const model_request& request_;
    const responses_settings& settings_;
    const tool_names& names_;
    call_ids ids_{call_id_form::common};
    bool is_own_ = false; ///< The answer that is being written is one of the model that is asked.
    bool first_item_ = true;
};

void input_writer::begin_item() {
    if (!first_item_) {
        out_.push_back(',');
    }
    first_item_ = false;
}

void input_writer::write() {
    out_.push_back('[');
    const ordered_messages ordered(messages_of(request_), {.separates_answers = true});
    for (const message* const each : ordered.list()) {
        switch (each->role) {
        case role::developer:
        case role::system:
            message_item("system", session::text_of(each->content));
            break;
        case role::user:
            user(*each);
            break;
        case role::assistant:
            assistant(*each);
            break;
        case role::tool:
            tool_result(*each);
            break;
        case role::reasoning: // Goes back as the opaque item that it came in, or not at all.
        case role::activity:  // For people only.
            break;
        }
    }
    out_.push_back(']');
}

void input_writer::message_item(std::string_view role_name, std::string_view text) {
    begin_item();
    out_.append(R"({"type":"message","role":")").append(role_name).append(R"(","content":)");
    append_json_string(out_, text);
    out_.push_back('}');
}

/// The parts that can be sent, as a list; empty if there are none.
std::string input_writer::parts_of(const session::content& content, bool& only_text) {
    std::string parts;
    const auto* const all = std::get_if<json::array>(&content);
    if (all == nullptr) {
        return parts;
    }
    for (const json::value& each : *all) {
        const json::object* const part = each.if_object();
        if (part == nullptr) {
            continue;
        }
        std::string written;
        if (string_in(*part, "type") != "text") {
            only_text = !append_input_part(written, *part, settings_) && only_text;
        } else if (const std::string_view text = string_in(*part, "text"); !is_blank(text)) {
            written.append(R"({"type":"input_text","text":)");
            append_json_string(written, text);
            written.push_back('}');
        }
        if (!written.empty()) {
            parts.append(parts.empty() ? "[" : ",").append(written);
        }
    }
    return parts.append(parts.empty() ? "" : "]");
}

void input_writer::user(const message& value) {
    bool only_text = true;
    const std::string parts = parts_of(value.content, only_text);
    if (parts.empty()) {
        const std::string text = session::text_of(value.content);
        message_item("user", is_blank(text) ? empty_message_text : std::string_view(text));
        return;
    }
    begin_item();
    out_.append(R"({"type":"message","role":"user","content":)").append(parts).append("}");
}

void input_writer::assistant(const message& value) {
    const std::string text = session::text_of(value.content);
    std::vector<placed_block> items;
    std::optional<answer_blocks> record;
    const session::turn_origin* const origin = own_origin(value, request_);
    is_own_ = origin != nullptr;
    if (is_own_) {
        record =
            answer_blocks_from_json(origin->data.if_contains(responses_item_reader::record_name));
    }
    if (record) {
        items = place_blocks(*record, value, text, {});
    }
    if (items.empty()) {
        items = plain_blocks(value, text);
    }
    leave_out_what_is_refused(items);
    for (const placed_block& each : items) {
        answer_item(each);
    }
}

void input_writer::answer_item(const placed_block& value) {
    begin_item();
    switch (value.what) {
    case block_kind::text:
        out_.append(R"({"type":"message","role":"assistant","content":[{"type":"output_text",)");
        out_.append(R"("text":)");
        append_json_string(out_, value.text);
        out_.append("}]");
        break;
    case block_kind::call:
        out_.append(R"({"type":"function_call","call_id":)");
        append_json_string(out_, ids_.sent(value.call->id, is_own_));
        out_.append(R"(,"name":)");
        append_json_string(out_, names_.sent(value.call->name));
        out_.append(R"(,"arguments":)");
        append_json_string(
            out_, is_blank(value.call->arguments) ? std::string_view("{}") : value.call->arguments
        );
        break;
    case block_kind::thinking: // The dialect has none: its reasoning is another item.
    case block_kind::other:
        out_.append(json::serialize(*value.members)); // As it came.
        return;
    }
    append_members(out_, value.members);
    out_.push_back('}');
}

void input_writer::tool_result(const message& value) {
    begin_item();
    out_.append(R"({"type":"function_call_output","call_id":)");
    append_json_string(out_, ids_.sent(value.tool_call_id));
    out_.append(R"(,"output":)");
    bool only_text = true;
    const std::string parts = parts_of(value.content, only_text);
    if (only_text || value.error) {
        append_json_string(out_, result_text(value));
    } else {
        out_.append(parts);
    }
    out_.push_back('}');
}

} // namespace

void append_input(
    std::string& out, const model_request& request, const responses_settings& settings,
    const tool_names& names
) {
    input_writer(out, request, settings, names).write();
}

} // namespace agui::runner
