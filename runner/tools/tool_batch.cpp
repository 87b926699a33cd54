#include "runner/tools/tool_batch.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/utf8.hpp"
#include "runner/tools/tool_question.hpp"
#include "session/base/as_result.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/heavy_work.hpp"
#include "session/conversation/media_part.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace agui::runner {

namespace {

/// Texts from this file may be logged unchanged.
tool_outcome error_result(std::string text) {
    std::string detail = text;
    return tool_outcome{tool_outcome::kind::error, std::move(text), std::move(detail)};
}

// Small results change no counter.
constexpr std::size_t uncounted_bytes = 4096;
// The outcome, the message, and the change: ours and the store's, which the store writes as JSON.
constexpr std::size_t copies_of_result = 5;

std::size_t bytes_of(const session::content& content) {
    const auto* const text = std::get_if<std::string>(&content);
    return text != nullptr ? text->size()
                           : session::stored_size(std::get<boost::json::array>(content));
}

std::size_t bytes_of(const tool_outcome& outcome) {
    return bytes_of(outcome.content) + (outcome.shown ? bytes_of(*outcome.shown) : 0);
}

// Replaces media by notes, the last first, until `parts` have at most about `max_bytes`.
void leave_out_media(boost::json::array& parts, std::size_t max_bytes) {
    std::size_t bytes = session::stored_size(parts);
    for (std::size_t at = parts.size(); at-- > 0 && bytes > max_bytes;) {
        if (const auto data = session::data_part_of(parts[at])) {
            const std::size_t size = data->value.size();
            const std::string note = "[" + std::string(session::part_type_of(data->mime_type)) +
                                     " of " + std::to_string(size) +
                                     " bytes in base64: larger than the server allows]";
            parts[at] = {{"type", "text"}, {"text", note}};
            bytes -= std::min(bytes, size);
        }
    }
}

// The outcome within the limits of storing and showing.
tool_outcome bounded(tool_outcome outcome, std::size_t max_bytes) {
    if (make_utf8(outcome.content) <= max_bytes) {
        return outcome;
    }
    auto* const text = std::get_if<std::string>(&outcome.content);
    if (text == nullptr) {
        leave_out_media(std::get<boost::json::array>(outcome.content), max_bytes);
        return bytes_of(outcome.content) <= max_bytes
                   ? std::move(outcome)
                   : error_result("The result is larger than the server allows.");
    }
    text->resize(utf8_head(*text, max_bytes).size());
    *text += "\n[The server cut this result after " + std::to_string(text->size()) + " bytes.]";
    return outcome;
}

// Why the call gets an error result instead of a question; empty if it may ask.
std::string_view refused_question(const tool_outcome& outcome, const tool_invocation& call) {
    if (outcome.what != tool_outcome::kind::input) {
        return {};
    }
    if (call.inputs.size() >= session::questions_max) {
        return "The tool asked for input too often.";
    }
    return outcome.question == nullptr ? "The tool asked for input without a question."
                                       : question_problem(*outcome.question);
}

/// An exception's text comes from the tool's author, who may mean it for the model.
tool_outcome outcome_of(const std::exception_ptr& thrown) {
    tool_outcome outcome = error_result("The tool failed.");
    try {
        std::rethrow_exception(thrown);
    } catch (const tool_error& error) {
        outcome = {
            tool_outcome::kind::error, std::string(error.what()), "the tool reported an error"
        };
    } catch (const std::exception& error) {
        outcome.log_detail = error.what();
    } catch (...) { // No exception leaves this function.
        outcome.log_detail = "not a std::exception";
    }
    return outcome;
}

void emit_cancellation(boost::asio::cancellation_signal& signal) noexcept {
    try {
        signal.emit(boost::asio::cancellation_type::terminal);
    } catch (const std::exception&) {
        // A tool that throws when cancelled must not keep the others running.
    }
}

} // namespace

std::optional<boost::json::object> arguments_of(const std::string& text) {
    if (is_json_blank(text)) {
        return boost::json::object{};
    }
    auto parsed = session::parse_arguments(text);
    if (!parsed || !parsed->is_object()) {
        return std::nullopt;
    }
    return std::move(parsed->get_object());
}

tool_batch::tool_batch(
    boost::asio::any_io_executor executor, const stop_source& stop, std::uint32_t max_parallel,
    std::size_t max_result_bytes, logger& log, memory_budget* budget
)
    : executor_(std::move(executor)),
      stop_(stop),
      signal_(executor_, boost::asio::steady_timer::time_point::max()),
      max_parallel_(max_parallel),
      max_result_bytes_(max_result_bytes),
      log_(log),
      budget_(budget) {}

void tool_batch::add(
    std::shared_ptr<const registered_tool> tool, tool_invocation call,
    std::shared_ptr<const tool_function> executor
) {
    task& added = tasks_.emplace_back();
    added.tool = std::move(tool);
    added.executor = std::move(executor);
    added.call = std::move(call);
}

void tool_batch::start() { start_more(); }

bool tool_batch::may_start() const noexcept { return !cancelled_ && !stop_.requested(); }

void tool_batch::start_more() {
    while (running_ < max_parallel_ && next_ < tasks_.size()) {
        pass_failpoint("batch.starting");
        if (!may_start()) {
            return;
        }
        task& current = tasks_[next_++];
        ++running_;
        if (!prepare(current)) {
            continue;
        }
        if (current.tool != nullptr) {
            watch(current);
            execute(current, {current.tool, &current.tool->function});
        } else {
            execute(current, std::exchange(current.executor, nullptr));
        }
    }
}

// Returns false if the call has ended because it has no executor or its arguments are wrong.
bool tool_batch::prepare(task& current) {
    if (current.tool == nullptr && current.executor == nullptr) {
        finish(current, error_result("There is no tool of this name."));
        return false;
    }
    std::optional<boost::json::object> arguments = arguments_of(current.call.arguments_text);
    if (!arguments) {
        finish(current, error_result("The arguments are not a JSON object."));
        return false;
    }
    if (current.tool != nullptr && current.tool->schema != nullptr) {
        if (auto violation = current.tool->schema->fit(*arguments, check_budget_)) {
            finish(
                current, {tool_outcome::kind::error, std::move(violation->told),
                          std::string(violation->detail)}
            );
            return false;
        }
    }
    current.call.arguments = std::move(*arguments);
    if (current.call.arguments_text.empty()) {
        current.call.arguments_text = "{}";
    }
    return true;
}

// Copies the arguments, which may be large, only if an executor may take the tool's place.
tool_invocation tool_batch::invocation_of(task& current) {
    if (current.executor != nullptr) {
        return current.call;
    }
    boost::json::object arguments = std::move(current.call.arguments);
    tool_invocation made = current.call;
    made.arguments = std::move(arguments);
    return made;
}

void tool_batch::execute(task& current, std::shared_ptr<const tool_function> function) {
    // Calling the function inside the spawned coroutine makes an exception the tool's failure,
    // whether the function is a coroutine or only returns one. The coroutine holds the function: a
    // lambda's captures live in it, and the tool may outlive everything else.
    boost::asio::co_spawn(
        executor_,
        [](std::shared_ptr<const tool_function> called,
           tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            co_return co_await (*called)(std::move(call));
        }(std::move(function), invocation_of(current)),
        boost::asio::bind_cancellation_slot(
            current.cancellation.slot(),
            [self = shared_from_this(),
             &current](const std::exception_ptr& thrown, tool_outcome outcome) {
                if (thrown) {
                    outcome = outcome_of(thrown);
                }
                const bool unavailable = outcome.what == tool_outcome::kind::unavailable;
                if (unavailable && current.executor != nullptr && !current.ended &&
                    self->may_start()) {
                    self->execute(current, std::exchange(current.executor, nullptr));
                    return;
                }
                if (unavailable) {
                    outcome.what = tool_outcome::kind::error;
                    if (session::is_empty(outcome.content)) {
                        outcome.content = std::string("The tool is not available.");
                    }
                }
                self->finish(
                    current, std::move(outcome), thrown ? log_level::error : log_level::warning
                );
                self->start_more();
            }
        )
    );
}

// Starts the timeout of the tool, which also covers an executor in its place.
void tool_batch::watch(task& current) {
    if (current.tool->options.timeout.count() == 0) {
        return;
    }
    current.timeout.emplace(executor_, current.tool->options.timeout);
    current.timeout->async_wait([self = shared_from_this(),
                                 &current](const boost::system::error_code& ec) {
        if (ec || current.ended) {
            return;
        }
        self->finish(current, error_result("The tool did not answer in time."));
        emit_cancellation(current.cancellation);
        self->start_more();
    });
}

// A call ends once: a result after its timeout is dropped.
void tool_batch::finish(task& ended, tool_outcome outcome, log_level level) {
    if (ended.ended) {
        return;
    }
    ended.ended = true;
    ended.timeout.reset();
    --running_;
    pass_failpoint("batch.finished");
    if (cancelled_) {
        return;
    }
    if (const std::string_view why = refused_question(outcome, ended.call); !why.empty()) {
        outcome = error_result(std::string(why));
    }
    outcome = bounded(std::move(outcome), max_result_bytes_);
    if (outcome.shown && make_utf8(*outcome.shown) > max_result_bytes_) {
        outcome.shown.reset();
        log_failure(ended, log_level::warning, "Its content for the client is too large.");
    }
    const std::size_t size = bytes_of(outcome);
    ended.memory = memory_share(budget_, use_of(size));
    if (size > uncounted_bytes && !ended.memory.grow_to(copies_of_result * size)) {
        outcome = error_result("The server has not enough memory for the result.");
    }
    if (outcome.what == tool_outcome::kind::error) {
        log_failure(ended, level, outcome.log_detail);
    }
    ended.outcome = std::move(outcome);
    if (has_next()) {
        wake();
    }
}

// Logs neither arguments nor result, which are content. The name of an unknown tool is content,
// too, because only the model wrote it.
void tool_batch::log_failure(const task& failed, log_level level, std::string_view detail) const {
    log_.log(
        level, "tool failed",
        {{"run", failed.call.run_id},
         {"tool", failed.tool != nullptr ? std::string_view(failed.call.name) : "unknown"},
         {"call", failed.call.call_id},
         {"detail", detail}}
    );
}

boost::asio::awaitable<void> tool_batch::wait() {
    const auto self = shared_from_this();
    if (!has_next() && !woken_) {
        co_await signal_.async_wait(as_result);
    }
    woken_ = false;
}

void tool_batch::wake() {
    woken_ = true;
    signal_.cancel();
}

bool tool_batch::has_next() const noexcept {
    return taken_ < tasks_.size() && tasks_[taken_].outcome.has_value();
}

void tool_batch::take(task& from, std::vector<finished>& to) {
    to.push_back({from.call.call_id, *std::move(from.outcome), std::move(from.memory)});
    from.outcome.reset();
}

std::vector<tool_batch::finished> tool_batch::take_finished() {
    std::vector<finished> taken;
    for (; has_next(); ++taken_) {
        take(tasks_[taken_], taken);
    }
    return taken;
}

std::vector<tool_batch::finished> tool_batch::take_rest() {
    std::vector<finished> taken;
    for (task& each : tasks_) {
        if (each.outcome) {
            take(each, taken);
        }
    }
    return taken;
}

bool tool_batch::done() const noexcept { return taken_ == tasks_.size(); }

void tool_batch::cancel() noexcept {
    cancelled_ = true;
    for (std::size_t i = 0; i < next_; ++i) {
        tasks_[i].timeout.reset();
        emit_cancellation(tasks_[i].cancellation);
    }
}

} // namespace agui::runner
