#include "runner/loop/loop_context.hpp"

#include "runner/base/generated_media.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/json_patch.hpp"
#include "session/base/json_pointer.hpp"
#include "session/base/sha256_text.hpp"
#include "session/conversation/media_part.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace agui::runner {

namespace json = boost::json;

namespace {

// Of the server's own events, such as run.stopped, and of the notes that it stores as activities
// (session::failure_note). Tools must not forge them.
constexpr std::string_view own_names = "agui-gateway.";

// The base64 of a medium in the activity, in the change of the run, in that of the store, and as
// the store writes it.
constexpr std::size_t copies_of_media = 4;
// A string that grows is copied to one of twice the size.
constexpr std::size_t copies_of_arriving = 2;

constexpr std::string_view too_large = "is too large for this run";
constexpr std::string_view no_memory = "needs more memory than the server has now";

failure refused_activity(std::string_view what) {
    return {errc::invalid_input, "the activity " + std::string(what), "activity"};
}

const json::object& metadata_of(const session::message& activity) {
    static const json::object none;
    return activity.metadata ? *activity.metadata : none;
}

} // namespace

// In the form of a UUID of version 8 (RFC 9562), because some clients parse the ids of messages as
// UUIDs, made of a digest, so that a later run finds the activity again.
std::string loop_context::message_id(std::string_view name) const {
    std::string named = "activity\n";
    named.append(sink_->subagent_run_id()).append("\n").append(name);
    std::string id = sha256_text(named).substr(0, 32);
    id[12] = '8';
    id[16] = '8';
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) {
        id.insert(dash, 1, '-');
    }
    return id;
}

loop_context::kept* loop_context::find(std::string_view id) {
    const auto find_message = [this](std::string_view message) {
        return std::ranges::find_if(activities_, [message](const kept& each) {
            return each.message.id == message;
        });
    };
    auto found = find_message(id);
    if (found == activities_.end()) {
        found = find_message(message_id(id));
    }
    return found == activities_.end() ? nullptr : &*found;
}

bool loop_context::has_room(
    const kept* known, const json::object& content, const json::object& metadata
) const noexcept {
    const std::size_t size = json_size(content, activity_bytes_max);
    const std::size_t more = json_size(metadata, activity_bytes_max);
    const std::size_t before = known == nullptr ? 0 : known->bytes;
    return size <= activity_bytes_max && more <= activity_bytes_max &&
           bytes_ - before + size + more <= all_activities_bytes_max;
}

void loop_context::show(kept& shown, bool replace) {
    shown.is_stored = false;
    has_unstored_ = true;
    emit(activity_shown{&shown.message, replace});
}

void loop_context::set_content(kept& shown, json::object content) {
    bytes_ -= shown.bytes;
    shown.bytes = json_size(content, activity_bytes_max) +
                  json_size(metadata_of(shown.message), activity_bytes_max);
    bytes_ += shown.bytes;
    shown.message.activity = std::move(content);
}

result<std::string> loop_context::show_activity(activity shown) {
    if (sink_ == nullptr) {
        return run_is_over();
    }
    if (shown.type.empty()) {
        return refused_activity("has no type");
    }
    if (shown.type.starts_with(own_names)) {
        return refused_activity("has a type of the server's own");
    }
    if (!is_sound_id(shown.id)) {
        return refused_activity("has an id that is too long or has control characters");
    }
    kept* known = shown.id.empty() ? nullptr : find(shown.id);
    const bool keeps_metadata = known != nullptr && shown.metadata.empty();
    if (!session::is_finite(shown.content) || !session::is_finite(shown.metadata) ||
        !has_room(
            known, shown.content, keeps_metadata ? metadata_of(known->message) : shown.metadata
        )) {
        return refused_activity("is too large");
    }
    if (known != nullptr && !shown.replace) {
        return known->message.id; // Clients would ignore it, too.
    }
    if (known == nullptr) {
        if (activities_.size() == activities_max) {
            return refused_activity("is one too many for this run");
        }
        known = &activities_.emplace_back();
        known->message.id = shown.id.empty() ? ids_->next("act") : message_id(shown.id);
        known->message.role = session::role::activity;
    }
    known->message.activity_type = std::move(shown.type);
    if (!shown.metadata.empty()) {
        known->message.metadata = std::move(shown.metadata);
    }
    set_content(*known, std::move(shown.content));
    show(*known, shown.replace);
    return known->message.id;
}

void loop_context::close() noexcept {
    sink_ = nullptr;
    activities_.clear();
    memory_.shrink_to(0);
}

std::string_view
loop_context::why_not(const generated_media& made, std::string_view type) const noexcept {
    if (!made.problem.empty()) {
        return made.problem;
    }
    if (type.empty()) {
        return "is of no type that is known to be harmless";
    }
    const bool fits = made.bytes.size() <= generated_media_bytes_max - media_bytes_;
    return fits ? std::string_view() : too_large;
}

std::string_view
loop_context::count_arriving(memory_share& held, std::size_t bytes) const noexcept {
    const bool fits = bytes <= generated_media_bytes_max - media_bytes_;
    held.set_use(use_of(copies_of_arriving * bytes));
    if (fits && held.grow_to(copies_of_arriving * bytes)) {
        return {};
    }
    held.shrink_to(0);
    return fits ? no_memory : too_large;
}

bool loop_context::take_memory(std::size_t media_bytes) noexcept {
    const std::size_t more = copies_of_media * (media_bytes / 3 * 4);
    memory_.set_use(use_of(more));
    return memory_.grow_to(memory_.held() + more);
}

std::string_view loop_context::show_media(const generated_media& made) {
    if (sink_ == nullptr || activities_.size() == activities_max) {
        return "is one too many for this run";
    }
    const std::string_view type = media_type_of_bytes(made.what, made.bytes);
    std::string_view wrong = why_not(made, type);
    if (wrong.empty() && !take_memory(made.bytes.size())) {
        wrong = no_memory;
    }
    const std::string_view kind = made.what == generated_media::kind::image ? "image" : "audio";
    kept& shown = activities_.emplace_back();
    shown.message.id = ids_->next("act");
    shown.message.role = session::role::activity;
    shown.message.activity_type = "generated-media";
    json::object content{{"kind", kind}};
    if (wrong.empty()) {
        media_bytes_ += made.bytes.size();
        const json::value part = session::part_of(
            {.sha256 = {}, .mime_type = std::string(type), .bytes = std::string(made.bytes)}
        );
        const session::part_digest digest = session::digest_of(session::data_part_of(part).value());
        content["mimeType"] = type;
        content["bytes"] = digest.bytes;
        content["sha256"] = digest.sha256;
        shown.message.content = json::array{part};
    } else {
        content["note"] = "The " + std::string(kind) + " of the model is not kept: it " +
                          std::string(wrong) + ".";
    }
    if (!made.transcript.empty() && made.transcript.size() <= activity_bytes_max / 2) {
        content["transcript"] = made.transcript;
    }
    set_content(shown, std::move(content));
    show(shown, true);
    return wrong;
}

result<void> loop_context::patch_activity(std::string_view id, const json::value& patch) {
    if (sink_ == nullptr) {
        return run_is_over();
    }
    kept* const known = find(id);
    if (known == nullptr) {
        return failure{errc::not_found, "this run has shown no such activity", {}};
    }
    const json::value before = known->message.activity;
    json::value after = before;
    const result<void> applied = apply_patch(after, patch);
    if (!applied) {
        return applied.error();
    }
    if (!after.is_object()) {
        return refused_activity("must stay an object");
    }
    if (!session::is_finite(after) ||
        !has_room(known, after.get_object(), metadata_of(known->message))) {
        return refused_activity("is too large");
    }
    set_content(*known, std::move(after.get_object()));
    const auto change = diff_json(before, known->message.activity);
    if (!change) {
        show(*known, true);
    } else if (!change->empty()) {
        known->is_stored = false;
        has_unstored_ = true;
        const std::string text = json::serialize(*change);
        emit(activity_patched{known->message.id, known->message.activity_type, text});
    }
    return {};
}

void loop_context::send_custom(std::string_view name, const json::value& value) {
    const bool is_own = name.starts_with(own_names);
    if (!name.empty() && !is_own && session::is_finite(value)) {
        emit(custom_sent{name, json::serialize(value)});
    }
}

void loop_context::send_raw(const json::value& event, std::string_view source) {
    if (session::is_finite(event)) {
        emit(raw_sent{json::serialize(event), source});
    }
}

additions loop_context::take_unstored() {
    additions taken;
    taken.memory = std::move(memory_); // Which keeps its budget.
    has_unstored_ = false;
    for (kept& each : activities_) {
        if (!std::exchange(each.is_stored, true)) {
            taken.messages.push_back(each.message);
            each.message.content = std::string(); // Stored once, with its first version.
        }
    }
    return taken;
}

} // namespace agui::runner
