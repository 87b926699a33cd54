#include "runner/tools/tool_batch.hpp"

#include "runner/base/utf8.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/finite_json.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

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

std::optional<boost::json::object> object_of(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return boost::json::object{};
    }
    auto parsed = session::parse_arguments(text);
    if (!parsed || !parsed->is_object()) {
        return std::nullopt;
    }
    return std::move(parsed->get_object());
}

std::optional<std::size_t> bytes_of_text(std::string_view text) {
    return is_utf8(text) ? std::optional(text.size()) : std::nullopt;
}

/// The size of a text, or of the JSON of parts. nullopt: not UTF-8.
std::optional<std::size_t> bytes_of(const session::content& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return bytes_of_text(*text);
    }
    return bytes_of_text(boost::json::serialize(std::get<boost::json::array>(value)));
}

/// An exception's text comes from the tool's author.
std::string describe(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) { // No exception leaves this function.
        return "not a std::exception";
    }
}

} // namespace

tool_batch::tool_batch(
    boost::asio::any_io_executor executor, const stop_source& stop, std::uint32_t max_parallel,
    std::size_t max_result_bytes, logger& log
)
    : executor_(std::move(executor)),
      stop_(stop),
      signal_(executor_, boost::asio::steady_timer::time_point::max()),
      max_parallel_(max_parallel),
      max_result_bytes_(max_result_bytes),
      log_(log) {}

void tool_batch::add(const registered_tool* tool, tool_invocation call) {
    task& added = tasks_.emplace_back();
    added.tool = tool;
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
        if (current.tool == nullptr) {
            finish(current, error_result("There is no tool of this name."));
            continue;
        }
        std::optional<boost::json::object> arguments = object_of(current.call.arguments_text);
        if (!arguments) {
            finish(current, error_result("The arguments are not a JSON object."));
            continue;
        }
        if (current.tool->schema != nullptr) {
            if (auto violation = current.tool->schema->violation(*arguments)) {
                finish(
                    current, {tool_outcome::kind::error, *std::move(violation),
                              "The arguments do not fit the tool's schema."}
                );
                continue;
            }
        }
        current.call.arguments = std::move(*arguments);
        if (current.call.arguments_text.empty()) {
            current.call.arguments_text = "{}";
        }
        execute(current);
    }
}

void tool_batch::execute(task& current) {
    // The function is called inside the spawned coroutine, so an exception is the tool's failure
    // whether the function is a coroutine or only returns one.
    boost::asio::co_spawn(
        executor_,
        [](const tool_function* function,
           tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            co_return co_await (*function)(std::move(call));
        }(&current.tool->function, current.call),
        boost::asio::bind_cancellation_slot(
            current.cancellation.slot(),
            [self = shared_from_this(),
             &current](const std::exception_ptr& thrown, tool_outcome outcome) {
                if (thrown) {
                    outcome = error_result("The tool failed.");
                    outcome.log_detail = describe(thrown);
                }
                self->finish(
                    current, std::move(outcome), thrown ? log_level::error : log_level::warning
                );
                self->start_more();
            }
        )
    );
}

void tool_batch::finish(const task& ended, tool_outcome outcome, log_level level) {
    --running_;
    pass_failpoint("batch.finished");
    if (cancelled_) {
        return;
    }
    const std::optional<std::size_t> bytes = bytes_of(outcome.content);
    if (!bytes) {
        outcome = error_result("The tool's result is not text in UTF-8.");
    } else if (*bytes > max_result_bytes_) {
        outcome = error_result("The result is larger than the server allows.");
    }
    if (outcome.what == tool_outcome::kind::error) {
        log_failure(ended, level, outcome.log_detail);
    }
    finished_.push_back({ended.call.call_id, std::move(outcome)});
    wake();
}

// Without arguments and result, which are content. The name of an unknown tool is content too: only
// the model wrote it.
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
    if (finished_.empty() && !woken_) {
        co_await signal_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    woken_ = false;
}

void tool_batch::wake() {
    woken_ = true;
    signal_.cancel();
}

std::vector<tool_batch::finished> tool_batch::take_finished() {
    taken_ += finished_.size();
    return std::exchange(finished_, {});
}

bool tool_batch::done() const noexcept { return taken_ == tasks_.size(); }

void tool_batch::cancel() noexcept {
    cancelled_ = true;
    for (std::size_t i = 0; i < next_; ++i) {
        try {
            tasks_[i].cancellation.emit(boost::asio::cancellation_type::terminal);
        } catch (const std::exception&) {
            // A tool that throws when it is cancelled must not keep the others running.
        }
    }
}

} // namespace agui::runner
