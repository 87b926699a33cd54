#include "runner/loop/model_round.hpp"

#include "runner/base/utf8.hpp"
#include "runner/loop/bound_data.hpp"
#include "runner/loop/context_part.hpp"
#include "runner/loop/delegation.hpp"
#include "runner/loop/prefix_watch.hpp"
#include "runner/loop/refusal.hpp"
#include "runner/loop/reply_items.hpp"
#include "runner/loop/run_hooks.hpp"
#include "session/base/checksum.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/pause.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace agui::runner {

namespace {

// Longest wait for the last model if it asks for a later attempt, and number of such waits.
constexpr std::chrono::seconds longest_wait{10};
constexpr int most_repeats = 2;

// Logged length of a model server's error text. The failed attempts keep more.
constexpr std::size_t logged_bytes_max = 2048;

// True if the last model should be waited for, since there is no other one to ask.
bool asks_for_patience(const model_failure& failed) noexcept {
    return failed.what == model_failure::kind::unavailable && failed.retry_after &&
           *failed.retry_after <= longest_wait;
}

// A model that asks to be asked again after some time.
struct patience {
    std::size_t place;
    std::chrono::milliseconds time;
};

// A call of which nothing more will be known may not stay the probe of its circuit.
struct end_of_call {
    explicit end_of_call(model_circuit::call& of) : call(of) {}
    ~end_of_call() { call = {}; }
    end_of_call(const end_of_call&) = delete;
    end_of_call& operator=(const end_of_call&) = delete;

    model_circuit::call& call;
};

// On the heap, because otherwise each frame between the provider and ask() would have room for an
// outcome while the model streams.
boost::asio::awaitable<std::unique_ptr<model_outcome>>
on_heap(boost::asio::awaitable<model_outcome> asked) {
    co_return std::make_unique<model_outcome>(co_await std::move(asked));
}

// stop_source::run() needs a value.
boost::asio::awaitable<bool> wait_for(std::chrono::milliseconds time) {
    co_await pause(time);
    co_return true;
}

} // namespace

// One coroutine, whose frame is held while the model streams: what has many variables and no await
// is in separate functions.
boost::asio::awaitable<std::optional<stop_reason>> model_round::ask(bool first) {
    if (!first && run_.thread.bytes() > run_.services.max_thread_bytes) {
        co_return stop_reason::token_limit;
    }
    int repeats = 0;
    std::optional<patience> asked; // By the last model that did.
    refusal_.reset();
    const end_of_call ended{models_.call()};
    models_.begin();
    for (std::size_t place = 0;;) {
        const std::size_t index = models_.choose(place);
        const std::optional<stop_reason> unloaded = co_await run_.thread.load();
        if (unloaded) {
            co_return unloaded;
        }
        if (run_.stop.requested()) {
            co_return run_.stop.reason();
        }
        // Built anew for each model, because a provider empties it.
        bool on_branch = true;
        std::vector<session::message> history = co_await make_history(on_branch);
        const model_request request = requests_.make(index, first, history);
        std::string prefix = co_await bind(request, index, on_branch);
        begin_turn(index, request, std::move(prefix));
        check_failpoint("loop.ask_model");
        if (run_.stop.requested()) {
            co_return run_.stop.reason();
        }
        // A stop must not cancel the later commits.
        const auto outcome =
            co_await run_.stop.run(on_heap(models_.provider(index).ask(request, sink())));
        const verdict found = judge(index, outcome ? outcome->get() : nullptr);
        if (found.is_over) {
            co_return found.reason;
        }
        if (asks_for_patience(*failed_)) {
            asked = patience{place, *failed_->retry_after};
        }
        if (place < run_.request.fallbacks.size()) {
            ++place;
            failed_.reset();
            continue;
        }
        if (repeats++ == most_repeats || !asked) {
            co_return give_up();
        }
        pass_failpoint("loop.wait_for_model");
        const auto waited = co_await run_.stop.run(wait_for(asked->time));
        failed_.reset();
        if (!waited) {
            co_return run_.stop.reason();
        }
        place = asked->place;
        asked.reset();
    }
}

/// `outcome` is null if the run was stopped meanwhile. If another attempt may follow, failed_ holds
/// why. Not inlined: its variables would be in the frame of ask().
[[gnu::noinline]] model_round::verdict
model_round::judge(std::size_t index, const model_outcome* outcome) {
    run_.thread.memory().shrink_to(0);
    if (outcome == nullptr || !*outcome || (*outcome)->reason != finish_reason::pause) {
        hosted_tools_.stop();
    }
    check_failpoint("loop.model_answered");
    if (outcome == nullptr || run_.stop.requested()) {
        return {true, run_.stop.reason()};
    }
    if (*outcome) {
        models_.call().answered();
        models_.prefer(index);
        return {true, on_answer(**outcome)};
    }
    const model_failure failure = outcome->error();
    if (is_own_refusal(failure.what)) {
        return {true, on_own_refusal(failure)};
    }
    on_failure(index, failure);
    if (!turn_->empty() || failed_->what == model_failure::kind::cancelled) {
        return {true, reason_of(*failed_)};
    }
    return {false, std::nullopt};
}

/// Sets `on_branch` to is_on_branch(), which needs the thread.
boost::asio::awaitable<std::vector<session::message>> model_round::make_history(bool& on_branch) {
    on_branch = is_on_branch();
    if (run_.hooks != nullptr) {
        run_.thread.unload();
        co_return run_.hooks->history();
    }
    std::vector<session::message> history = co_await run_.thread.history(
        run_.request.agent.window, run_.foreign_tools(), run_.services.heavy
    );
    run_.thread.unload(); // Not kept in memory while the model streams.
    put_context(history, run_.request.agent.context);
    co_return history;
}

/// True if the thread's last request, if it is known, was made on the branch of this run.
bool model_round::is_on_branch() const {
    if (run_.services.prefixes == nullptr) {
        return true;
    }
    const std::optional<session::node_index> last =
        run_.services.prefixes->last_tip(run_.request.key);
    const session::thread_record& thread = run_.thread.thread();
    session::node_index at = run_.thread.tip();
    while (last && at < thread.nodes.size() && at != *last) {
        at = thread.nodes[at].parent;
    }
    return !last || at == *last;
}

/// Leaves out data that the request may not hold, and compares it with the one before. Returns the
/// beginning of the request for turn_origin::prefix.
boost::asio::awaitable<std::string>
model_round::bind(const model_request& request, std::size_t index, bool on_branch) {
    const data_owner asked{
        .provider = request.provider,
        .model = request.parameters.model,
        .account = models_.provider(index).account(),
        .binds_tools = models_.provider(index).binds_tools()
    };
    auto binding = [&request, &asked] {
        request_parts parts = parts_of(request);
        std::string prefix = bind_data(*request.messages, parts, asked);
        return std::pair(std::move(parts), std::move(prefix));
    };
    auto [parts, prefix] = co_await run_heavy(
        run_.services.heavy, as_parsing(static_cast<std::size_t>(request.bytes)), binding
    );
    if (parts.left_out) {
        log_left_out(*parts.left_out);
    }
    if (run_.services.prefixes != nullptr) {
        check_prefix(request, std::move(parts), on_branch);
    }
    co_return prefix;
}

void model_round::log_left_out(std::size_t answer) const {
    run_.services.log.log(
        log_level::info, "thoughts of the last answer do not go back to their model",
        {{"thread", run_.request.key.thread_id},
         {"run", session::client_run_id(run_.request.run_id)},
         {"element", "messages[" + std::to_string(answer) + "]"}}
    );
}

void model_round::check_prefix(const model_request& request, request_parts parts, bool on_branch) {
    session::checksum agent;
    agent.add(std::string_view(run_.request.agent.id));
    parts.agent = agent.value();
    parts.tip = run_.thread.tip();
    break_causes causes;
    causes.other_branch = !on_branch;
    causes.plugin = run_.hooks != nullptr;
    causes.plugin_settings =
        causes.plugin && (request.instructions != run_.request.agent.instructions ||
                          request.tools->size() != run_.tools.offered().size());
    causes.window = run_.request.agent.window.limited();
    const std::optional<prefix_break> found =
        run_.services.prefixes->add(run_.request.key, std::move(parts), causes);
    if (found) {
        run_.services.log.log(
            found->reason == "unknown" ? log_level::warning : log_level::info,
            "a model request does not begin with the one before",
            {{"thread", run_.request.key.thread_id},
             {"run", session::client_run_id(run_.request.run_id)},
             {"reason", found->reason},
             {"element", found->element}}
        );
    }
}

void model_round::begin_turn(std::size_t index, const model_request& request, std::string prefix) {
    names_.emplace(request.tools);
    turn_.emplace(
        run_.hooks != nullptr ? run_.hooks->sink() : run_.sink, run_.services.ids,
        [this](std::string_view id, std::string_view name) { return name_call(id, name); },
        models_.provider(index).name(), models_.parameters(index).model
    );
    turn_->set_on_begin([this] { models_.call().begun(); });
    turn_->set_hosted_tools(hosted_tools_);
    turn_->set_on_media(
        [this](const generated_media& made) { show_media(made); },
        [this](std::size_t bytes) { return count_arriving(bytes); }
    );
    arriving_ = run_.context != nullptr ? run_.context->share_for_arriving() : memory_share();
    turn_->set_binding(models_.provider(index).account(), std::move(prefix));
    if (run_.hooks != nullptr) {
        run_.hooks->begin_answer(turn_->message_id());
    }
    // A server takes a paused answer back only together with what the same model said next.
    if (!run_.request.fallbacks.empty() || paused_) {
        turn_->keep_provider();
    }
    if (run_.request.agent.reply == reply_format::items) {
        reply_ = std::make_unique<reply_reader>(*turn_);
    }
}

std::string_view model_round::count_arriving(std::size_t bytes) {
    return run_.context != nullptr ? run_.context->count_arriving(arriving_, bytes)
                                   : std::string_view();
}

void model_round::show_media(const generated_media& made) {
    arriving_.shrink_to(0); // It is counted as a whole from here on.
    const std::string_view wrong =
        run_.context != nullptr ? run_.context->show_media(made) : std::string_view();
    if (!wrong.empty()) {
        run_.services.log.log(
            log_level::warning, "an image or audio that a model made is not kept",
            {{"run", session::client_run_id(run_.request.run_id)},
             {"reason", "it " + std::string(wrong)}}
        );
    }
}

model_sink& model_round::sink() noexcept {
    return reply_ ? static_cast<model_sink&>(*reply_) : *turn_;
}

// No model failed, so nothing is recorded, and no other model is asked.
stop_reason model_round::on_own_refusal(const model_failure& refused) {
    run_.services.log.log(
        log_level::warning, "a model was not asked",
        {{"run", session::client_run_id(run_.request.run_id)}, {"detail", refused.detail}}
    );
    return reason_of(refused);
}

void model_round::on_failure(std::size_t index, model_failure error) {
    failed_ = std::make_unique<model_failure>(std::move(error));
    const model_failure& failed = *failed_;
    log_failure(index, failed);
    models_.call().failed(failed);
    refused_ = turn_->empty() && is_refusal(failed);
    if (refused_) {
        refusal_ = std::make_unique<model_failure>(failed);
    } else if (models_.call().is_ready() || !is_outage(failed)) {
        refusal_.reset(); // This model might have taken it.
    }
    if (run_.services.prefixes != nullptr && refused_) {
        run_.services.prefixes->refused(run_.request.key);
    }
    if (failed.what != model_failure::kind::cancelled) {
        keep_attempt(index, failed);
    }
}

// Nobody expected more of a model whose circuit is open, so its outage does not hide a refusal.
stop_reason model_round::give_up() {
    if (refusal_) {
        failed_ = std::move(refusal_);
        if (!std::exchange(refused_, true) && run_.services.prefixes != nullptr) {
            // The watch has since kept a request with the same content.
            run_.services.prefixes->refused(run_.request.key);
        }
    }
    return reason_of(*failed_);
}

void model_round::log_failure(std::size_t index, const model_failure& failed) {
    run_.services.log.log(
        log_level::error, "model call failed",
        {{"run", session::client_run_id(run_.request.run_id)},
         {"model", models_.provider(index).name()},
         {"status", std::to_string(failed.status)},
         {"detail", failed.detail}}
    );
    log_upstream(failed.upstream);
}

void model_round::keep_attempt(std::size_t index, const model_failure& failed) {
    session::failed_attempt attempt;
    attempt.at = run_.services.time.now();
    attempt.model = models_.provider(index).name();
    attempt.status = failed.status;
    attempt.request_id = failed.request_id;
    attempt.body = failed.upstream;
    run_.sink.keep_attempt(std::move(attempt));
}

stop_reason model_round::reason_of(const model_failure& failed) const {
    switch (failed.what) {
    case model_failure::kind::unavailable:
        return stop_reason::model_unavailable;
    case model_failure::kind::lost:
        return turn_->last_is_call() ? stop_reason::truncated : stop_reason::model_unavailable;
    case model_failure::kind::rejected:
        return stop_reason::model_rejected;
    case model_failure::kind::timeout:
        return stop_reason::model_timeout;
    case model_failure::kind::memory:
        return stop_reason::overloaded;
    case model_failure::kind::over_quota:
        return stop_reason::quota_exceeded;
    case model_failure::kind::uncounted:
        return stop_reason::store_unavailable;
    case model_failure::kind::cancelled:
        return stop_reason::cancelled;
    }
    return stop_reason::error;
}

// At debug level only, because it may repeat text of the conversation.
void model_round::log_upstream(std::string_view said) {
    if (!said.empty()) {
        run_.services.log.log(
            log_level::debug, "text from the model server",
            {{"run", session::client_run_id(run_.request.run_id)},
             {"upstream", utf8_head(said, logged_bytes_max)}}
        );
    }
}

std::optional<stop_reason> model_round::on_answer(const model_answer& answer) {
    if (run_.hooks != nullptr) {
        run_.hooks->note_answer(answer);
    }
    if (answer.usage) {
        add_usage(usage_, *answer.usage);
    }
    count_tokens(answer);
    show_reply();
    refused_ = answer.reason == finish_reason::refusal;
    paused_ = answer.reason == finish_reason::pause && turn_->calls().empty();
    if (!answer.unknown_reason.empty()) {
        run_.services.log.log(
            log_level::warning, "the model server sent an unknown finish_reason",
            {{"run", session::client_run_id(run_.request.run_id)}}
        );
        log_upstream(answer.unknown_reason);
    }
    if (answer.invalid_blocks > 0) {
        run_.services.log.log(
            log_level::warning, "thoughts that a model got back were not valid in the request",
            {{"run", session::client_run_id(run_.request.run_id)},
             {"blocks", std::to_string(answer.invalid_blocks)}}
        );
        log_upstream(answer.invalid_block);
    }
    if (answer.has_lost_data) {
        run_.services.log.log(
            log_level::warning, "thoughts or blocks of an answer cannot be sent back as they came",
            {{"run", session::client_run_id(run_.request.run_id)}}
        );
    }
    switch (answer.reason) {
    case finish_reason::length:
        return turn_->last_is_call() ? stop_reason::truncated : stop_reason::max_output_tokens;
    case finish_reason::refusal:
        turn_->set_end(session::turn_end::refused);
        if (run_.services.prefixes != nullptr) {
            run_.services.prefixes->refused(run_.request.key);
        }
        return stop_reason::content_filtered;
    case finish_reason::content_filter:
        return stop_reason::content_filtered;
    case finish_reason::stop:
    case finish_reason::tool_calls:
    case finish_reason::pause:
        break;
    }
    turn_->complete_calls();
    run_.sink.emit(turn_ended{});
    if (paused_) {
        turn_->set_end(session::turn_end::paused);
    } else if (turn_->calls().empty()) {
        return stop_reason::completed;
    }
    return std::nullopt;
}

void model_round::show_reply() {
    const std::string_view wrong = reply_ ? reply_->finish() : std::string_view();
    reply_.reset();
    if (!wrong.empty()) {
        run_.services.log.log(
            log_level::warning, wrong, {{"run", session::client_run_id(run_.request.run_id)}}
        );
    }
}

void model_round::count_tokens(const model_answer& answer) {
    constexpr std::uint64_t bytes_of_token = 4; // For English text and JSON.
    std::uint64_t count = 0;
    if (answer.usage) {
        for (const auto& part : {answer.usage->input_tokens, answer.usage->output_tokens}) {
            count += static_cast<std::uint64_t>(std::max<std::int64_t>(part.value_or(0), 0));
        }
    } else {
        const std::size_t held = reply_ ? reply_->bytes() : 0; // Text that is not shown yet.
        count = (turn_->bytes() + held) / bytes_of_token + 1;
    }
    tokens_ += count;
    if (run_.request.within != nullptr) {
        run_.request.within->used.tokens += count;
    }
    answer_tokens_ = count + std::exchange(carried_tokens_, 0);
    const bool is_limited = run_.request.agent.limits.max_tokens > 0 ||
                            (run_.within != nullptr && run_.within->limits.max_tokens > 0);
    if (is_limited) {
        turn_->set_tokens(answer_tokens_);
    }
}

model_turn::call model_round::name_call(std::string_view id, std::string_view name) {
    model_turn::call call;
    call.id = id;
    const auto& own = turn_->calls();
    // Subagents name calls of the same thread at the same time.
    conversation* const all = run_.request.within == nullptr ? nullptr : &run_.within->thread;
    const bool taken = run_.thread.may_have_call(call.id) ||
                       (all != nullptr && all->may_have_call(call.id)) ||
                       std::any_of(own.begin(), own.end(), [&](const model_turn::call& other) {
                           return other.id == call.id;
                       });
    // An id that no client could send back in its answer is replaced, too.
    if (call.id.empty() || !is_sound_id(call.id) || taken) {
        call.id = run_.services.ids.next("call"); // Unique.
    }
    if (all != nullptr) {
        all->reserve_call(call.id);
        run_.within->named.push_back(call.id);
    }
    const tool_definition* const tool = names_->meant(name);
    call.name = tool == nullptr ? name : std::string_view(tool->name);
    const bool of_plugins = run_.hooks != nullptr && run_.hooks->changed_tool(call.name);
    call.owner = of_plugins ? session::call_owner::server : run_.tools.owner_of(call.name);
    return call;
}

} // namespace agui::runner
