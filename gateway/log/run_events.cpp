#include "gateway/log/run_events.hpp"

#include "session/base/stored_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agui::gateway {

using translator::projection;

namespace {

// The largest log that may use the memory reserve, so that large logs run out of memory before
// small ones.
constexpr std::size_t small_log_bytes = 64U << 10U;
// The budget is changed in steps of this size.
constexpr std::size_t counted_log_bytes = 4096;

// The limit of a joined event, so that a slow reader gets whole events before it is cut off.
constexpr std::size_t joined_bytes = 4096;

[[noreturn]] void fail() { throw std::runtime_error("an entry of a stored log is damaged"); }

boost::json::object forms_of(std::string_view variants) {
    auto both = session::parse_stored(variants);
    if (!both || !both->is_object()) {
        fail();
    }
    return std::move(both->get_object());
}

std::optional<std::string> form_of(const boost::json::object& both, std::string_view projection) {
    const boost::json::value* const form = both.if_contains(projection);
    if (form == nullptr) {
        return std::nullopt;
    }
    if (!form->is_string()) {
        fail();
    }
    return std::string(form->get_string());
}

void write_event(
    const stream_form& form, std::uint64_t sequence, std::string_view json, std::string& out
) {
    form.begin_event(sequence, out);
    const std::size_t json_at = out.size();
    out.append(json);
    form.end_event(json_at, out);
}

} // namespace

run_events::run_events(const settings& options)
    : copies_(options.copies),
      join_deltas_(options.join_deltas),
      share_(options.budget, memory_use::small, counted_log_bytes) {}

void run_events::append(const translator::wire_event& event) {
    append_text(event.json);
    if (!event.v1_0 && !event.undeclared) {
        return;
    }
    variant_entry variant{size(), std::nullopt, std::nullopt};
    if (event.v1_0) {
        variant.v1_0 = *event.v1_0;
    }
    if (event.undeclared) {
        variant.undeclared = *event.undeclared;
    }
    count(
        sizeof(variant_entry) + (event.v1_0 ? event.v1_0->size() : 0) +
        (event.undeclared ? event.undeclared->size() : 0)
    );
    variants_.push_back(std::move(variant));
}

void run_events::restore(const session::log_entry& entry) {
    if (!entry.variants.empty()) {
        const boost::json::object both = forms_of(entry.variants);
        append_text(entry.json);
        count(entry.variants.size());
        variants_.push_back({entry.sequence, form_of(both, "1.0"), form_of(both, "undeclared")});
        return;
    }
    append_text(entry.json);
    if (join_deltas_) {
        texts_.let_last_join();
    }
}

void run_events::append_text(std::string_view json) {
    if (const std::size_t taken = texts_.append(json); taken > 0) {
        count(taken);
    }
}

// Called only when memory was allocated, which most events do not need.
void run_events::count(std::size_t bytes) noexcept {
    held_bytes_ += bytes;
    if (held_bytes_ > small_log_bytes) {
        share_.set_use(memory_use::ordinary);
    }
    const std::size_t wanted = held_bytes_ * copies_;
    if (!share_.grow_to(wanted)) {
        share_.grow_anyway_to(wanted);
        over_budget_ = true;
    }
}

bool run_events::are_deltas(std::uint64_t first, std::uint64_t last) const noexcept {
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) {
        if (!texts_.is_delta(sequence)) {
            return false;
        }
    }
    return true;
}

void run_events::write_entries(std::uint64_t first, std::uint64_t last, session::log_slice& slice)
    const {
    slice.first_sequence = first;
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) {
        texts_.write(sequence, slice.events);
        slice.ends.push_back(static_cast<std::uint32_t>(slice.events.size()));
    }
    auto variant = std::ranges::lower_bound(variants_, first, {}, &variant_entry::sequence);
    for (; variant != variants_.end() && variant->sequence <= last; ++variant) {
        slice.variants.emplace_back(
            static_cast<std::uint32_t>(variant->sequence - first),
            write_variants(variant->v1_0, variant->undeclared)
        );
    }
}

std::string run_events::write_variants(
    const std::optional<std::string>& v1_0, const std::optional<std::string>& undeclared
) {
    boost::json::object both;
    if (v1_0) {
        both["1.0"] = *v1_0;
    }
    if (undeclared) {
        both["undeclared"] = *undeclared;
    }
    return boost::json::serialize(both);
}

void run_events::read(
    cursor& at, const stream_form& form, std::uint64_t visible, std::size_t max_bytes,
    std::string& out
) const {
    const std::size_t most = out.size() + max_bytes;
    while (at.after < visible && out.size() < most) {
        const std::uint64_t sequence = at.after + 1;
        at.after = sequence;
        if (at.knows_earlier_results && sequence > 1) {
            at.knows_earlier_results = is_earlier_result(sequence);
            if (at.knows_earlier_results) {
                continue;
            }
        }
        if (const auto* const other = older_form(at.projection, sequence)) {
            if (!(*other)->empty()) {
                write_event(form, at.offset + sequence, **other, out);
            }
            continue;
        }
        const bool joins = texts_.joins(sequence);
        if (joins) {
            const std::size_t text = std::min(joined_bytes, most - out.size());
            const bool splits = sequence <= at.split_at && at.split_at < visible;
            at.after = texts_.last_joined(sequence, splits ? at.split_at : visible, text);
        }
        form.begin_event(at.offset + at.after, out);
        const std::size_t json_at = out.size();
        if (joins) {
            texts_.write_joined(sequence, at.after, out);
        } else {
            texts_.write(sequence, out);
        }
        form.end_event(json_at, out);
    }
    if (at.after >= visible) {
        for (; at.tail_read < unnumbered_.size(); ++at.tail_read) {
            write_event(form, 0, unnumbered_[at.tail_read], out);
        }
    }
}

// Returns null if the event is the same for the projection as for the newest.
const std::optional<std::string>*
run_events::older_form(projection seen, std::uint64_t sequence) const {
    if (seen == projection::v1_1) {
        return nullptr;
    }
    const auto found = std::ranges::lower_bound(variants_, sequence, {}, &variant_entry::sequence);
    if (found == variants_.end() || found->sequence != sequence) {
        return nullptr;
    }
    const auto& json = seen == projection::v1_0 ? found->v1_0 : found->undeclared;
    return json ? &json : nullptr;
}

// A run's own calls have results only after other events.
bool run_events::is_earlier_result(std::uint64_t sequence) const {
    std::string event;
    texts_.write(sequence, event);
    return event.starts_with(R"({"type":"TOOL_CALL_RESULT")");
}

void run_events::read_entries(
    cursor& at, std::uint64_t visible, std::size_t max_bytes, session::log_slice& slice
) const {
    std::uint64_t last = at.after;
    for (std::size_t bytes = 0; last < visible && bytes < max_bytes; ++last) {
        bytes += bytes_between(last, last + 1);
    }
    write_entries(at.after + 1, last, slice);
    at.after = last;
}

std::size_t run_events::backlog_bytes(
    const cursor& at, const stream_form& form, std::uint64_t visible
) const noexcept {
    if (at.after >= visible || size() == 0) {
        return 0;
    }
    return texts_.bytes_between(at.after, visible, join_deltas_, form.bytes_around());
}

} // namespace agui::gateway
