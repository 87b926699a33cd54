#include "runner/loop/conversation.hpp"

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/run_step.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/keyed_hash.hpp"
#include "session/conversation/message_size.hpp"
#include "session/history/model_history.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace agui::runner {

using session::call_record;
using session::call_status;

namespace {

// At most 4 KB per run. Beyond that, every call gets an id of ours, which is certainly new.
constexpr std::size_t call_hashes_max = 1024;

// Most threads are small. They are not counted, so that they are served while the budget is full.
constexpr std::size_t uncounted_bytes = 64U << 10U;
// The bytes that the store reads, the record, the messages for the model, and the request.
constexpr std::size_t copies_of_thread = 4;

std::uint32_t hash_of(std::string_view id) noexcept {
    const std::uint64_t hash = keyed_hash(id);
    return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

} // namespace

conversation::conversation(
    std::shared_ptr<const session::thread_record> thread, std::string run_id, run_sink& sink,
    const clock& time, memory_share memory
)
    : thread_(std::move(thread)),
      run_id_(std::move(run_id)),
      sink_(sink),
      time_(time),
      memory_(std::move(memory)),
      branch_(thread_->head),
      message_count_(thread_->nodes.size()),
      bytes_(thread_->bytes) {
    if (branch_ < thread_->branches.size()) {
        tip_ = thread_->branches[branch_].tip;
    }
    if (tip_ < thread_->nodes.size()) {
        tip_id_ = thread_->nodes[tip_].message.id;
    }
    for (const call_record& call : thread_->calls) {
        note_id(call.id);
        const bool known = call.made_in < thread_->nodes.size();
        note_call(call, known ? &thread_->nodes[call.made_in].message : nullptr);
    }
    if (bytes_ > uncounted_bytes) {
        memory_.grow_anyway_to(bytes_); // It is already in memory.
    } else {
        memory_.shrink_to(0);
    }
}

boost::asio::awaitable<std::optional<stop_reason>> conversation::load() {
    memory_.set_use(use_of(bytes_));
    if (bytes_ > uncounted_bytes && !memory_.grow_to(copies_of_thread * bytes_)) {
        thread_.reset();
        memory_.shrink_to(0);
        co_return stop_reason::overloaded;
    }
    if (thread_) {
        co_return std::nullopt;
    }
    auto loaded = co_await sink_.load_thread();
    // If it does not fit, the thread has changed since the run released it.
    const bool fits =
        loaded && loaded->nodes.size() == message_count_ && branch_ < loaded->branches.size();
    if (fits) {
        thread_ = std::make_shared<const session::thread_record>(std::move(*loaded));
    }
    co_return fits ? std::nullopt : std::optional(stop_reason::store_unavailable);
}

boost::asio::awaitable<std::vector<session::message>> conversation::history(
    const session::history_window& window, const session::foreign_tool_check& is_foreign,
    heavy_work* heavy
) const {
    auto selecting = [&] {
        return session::model_history(*thread_, tip_, window, is_foreign);
    };
    co_return co_await run_heavy(heavy, as_parsing(bytes_), selecting);
}

void conversation::note_id(std::string_view call_id) {
    if (has_many_calls_ || call_hashes_.size() == call_hashes_max) {
        has_many_calls_ = true;
        std::vector<std::uint32_t>().swap(call_hashes_);
        return;
    }
    const std::uint32_t hash = hash_of(call_id);
    call_hashes_.insert(std::ranges::lower_bound(call_hashes_, hash), hash);
}

// Keeps the call if it is open and belongs to this run. `made_in` is the message that holds it, if
// available; a call that is to be executed needs it once.
void conversation::note_call(const call_record& call, const session::message* made_in) {
    if (note_inner_call(call, made_in)) {
        return;
    }
    const bool is_open = call.run_id == run_id_ && session::is_of_active_run(call.status);
    const auto known = std::ranges::find(open_, call.id, &call_record::id);
    if (known == open_.end()) {
        if (is_open) {
            open_.push_back(call);
        }
    } else if (is_open) {
        *known = call;
    } else {
        open_.erase(known);
    }

    const bool executes = is_open && is_executable(call);
    const auto kept = std::ranges::find(to_execute_, call.id, &session::tool_call::id);
    if (!executes) {
        if (kept != to_execute_.end()) {
            to_execute_.erase(kept);
        }
    } else if (kept == to_execute_.end() && made_in != nullptr) {
        const auto written =
            std::ranges::find(made_in->tool_calls, call.id, &session::tool_call::id);
        if (written != made_in->tool_calls.end()) {
            to_execute_.push_back(*written);
        }
    }
}

// Returns true for a call that a subagent has made.
bool conversation::note_inner_call(const call_record& call, const session::message* made_in) {
    const auto known = std::ranges::find_if(inner_, [&call](const inner_call& each) {
        return each.record.id == call.id;
    });
    const bool is_known = known != inner_.end();
    const std::string_view owner =
        made_in == nullptr ? "" : std::string_view(made_in->subagent_run_id);
    if (!is_known && owner.empty()) {
        return false;
    }
    const bool is_open = call.run_id == run_id_ && session::is_of_active_run(call.status);
    if (is_known && is_open) {
        known->record = call;
    } else if (is_known) {
        inner_.erase(known);
    } else if (is_open) {
        inner_.push_back({call, std::string(owner)});
    }
    return true;
}

void conversation::suspend(std::string_view id) {
    suspended_.push_back(own_call(id));
    std::erase_if(open_, [id](const call_record& each) { return each.id == id; });
    std::erase_if(to_execute_, [id](const session::tool_call& each) { return each.id == id; });
}

bool conversation::may_have_call(std::string_view id) const noexcept {
    return has_many_calls_ || std::ranges::binary_search(call_hashes_, hash_of(id));
}

const call_record& conversation::own_call(std::string_view id) const {
    const auto call = std::ranges::find(open_, id, &call_record::id);
    if (call == open_.end()) {
        throw std::logic_error("the run has no such call");
    }
    return *call;
}

branch_growth conversation::growth() const { return {{}, tip()}; }

session::node_index conversation::append(branch_growth& growing, session::message value) const {
    session::stored_message node;
    node.parent = growing.tip;
    node.run_id = run_id_;
    node.created_at = time_.now();
    node.message = std::move(value);
    growing.tip = static_cast<session::node_index>(message_count_ + growing.change.messages.size());
    growing.change.messages.push_back(std::move(node));
    return growing.tip;
}

void conversation::add_event(
    session::changes& change, std::string_view type, boost::json::object data
) const {
    session::session_event& made = change.events.emplace_back();
    made.type = type;
    made.run_id = run_id_;
    made.timestamp = time_.now();
    made.data = std::move(data);
}

session::changes conversation::take(branch_growth growing) const {
    if (!growing.change.messages.empty()) {
        growing.change.branches.push_back({branch_, session::branch{growing.tip, time_.now()}});
    }
    return std::move(growing.change);
}

branch_growth conversation::growth_after(session::changes change) const {
    const session::node_index last =
        change.branches.empty() ? tip_ : change.branches.back().value.tip;
    branch_growth growing{std::move(change), last};
    if (last != session::no_node) {
        growing.change.branches.clear();
    }
    return growing;
}

void conversation::add_additions(session::changes& change) {
    if (take_additions_) {
        additions taken = take_additions_();
        std::ranges::move(taken.messages, std::back_inserter(additions_));
        // Earlier ones are left only after a commit that failed, and then the run ends.
        if (taken.memory.held() > 0) {
            additions_memory_ = std::move(taken.memory);
        }
    }
    if (additions_.empty()) {
        return;
    }
    branch_growth growing = growth_after(std::move(change));
    for (const session::message& each : additions_) {
        append(growing, each);
    }
    change = take(std::move(growing));
}

void conversation::add_failure(session::changes& change, const session::turn_failure& failure)
    const {
    const std::string about = last_id(change);
    branch_growth growing = growth_after(std::move(change));
    if (growing.tip == session::no_node) {
        change = std::move(growing.change);
        return;
    }
    append(growing, session::failure_note(about, failure));
    change = take(std::move(growing));
}

void conversation::set_status(
    session::changes& change, const call_record& call, call_status status
) {
    for (call_record& changed : change.calls) {
        if (changed.id == call.id) {
            changed.status = status;
            return;
        }
    }
    call_record changed = call;
    changed.status = status;
    change.calls.push_back(std::move(changed));
}

// Repeats the store's handling of the change.
void conversation::continue_from(const session::changes& change) {
    for (const session::stored_message& added : change.messages) {
        bytes_ += session::stored_size(added.message);
    }
    const std::size_t first_new = message_count_;
    message_count_ += change.messages.size();
    for (const auto& changed : change.branches) {
        if (changed.index == branch_) {
            tip_ = changed.value.tip;
        }
    }
    if (!change.messages.empty()) {
        tip_id_ = change.messages.back().message.id;
    }
    for (const call_record& call : change.calls) {
        if (!may_have_call(call.id)) {
            note_id(call.id);
        }
        const bool made_here = call.made_in >= first_new && call.made_in < message_count_;
        note_call(call, made_here ? &change.messages[call.made_in - first_new].message : nullptr);
    }
}

} // namespace agui::runner
