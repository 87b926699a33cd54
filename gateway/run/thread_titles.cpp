#include "gateway/run/thread_titles.hpp"

#include "gateway/run/ended_record.hpp"
#include "gateway/run/title_request.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace {

constexpr std::size_t first_events_at_once = 100;

bool is_success(const session::session_event& event) {
    const boost::json::value* const reason = event.data.if_contains("reason");
    if (event.type != "run.finished" || reason == nullptr || !reason->is_string()) {
        return false;
    }
    const std::string_view name = reason->get_string();
    return name == completed || name == handed_off || name == answered_in_part ||
           name == interrupted;
}

std::string text_of_count(const std::optional<std::int64_t>& count) {
    return count ? std::to_string(*count) : std::string("unknown");
}

} // namespace

struct thread_titles::ended_run {
    session::thread_key thread;
    std::string run_id;
    std::string automatic_title;
    std::string address;
};

/// Lets stop() reach a request while this object exists.
class thread_titles::registration {
public:
    registration(thread_titles& owner, runner::stop_source& stop) : owner_(owner), stop_(stop) {
        const std::lock_guard lock(owner_.mutex_);
        owner_.asking_.insert(&stop_);
        if (owner_.stopping_) {
            stop_.request(runner::stop_reason::shutdown);
        }
    }
    ~registration() {
        const std::lock_guard lock(owner_.mutex_);
        owner_.asking_.erase(&stop_);
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;

private:
    thread_titles& owner_;
    runner::stop_source& stop_;
};

void thread_titles::after(
    std::shared_ptr<const void> owner, const live_run& run, const runner::model_choice& model
) {
    ended_run ended{run.key(), run.record().run_id, run.automatic_title(), run.address()};
    // Posted, because the run still counts among the active ones.
    boost::asio::post(
        run.executor(),
        [this, owner = std::move(owner), ended = std::move(ended), model = model,
         executor = run.executor()]() mutable {
            boost::asio::co_spawn(
                executor, make(std::move(owner), std::move(ended), std::move(model)),
                boost::asio::detached
            );
        }
    );
}

void thread_titles::stop() noexcept {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (runner::stop_source* const each : asking_) {
        each->request(runner::stop_reason::shutdown);
    }
}

boost::asio::awaitable<void> thread_titles::make(
    std::shared_ptr<const void> /*owner*/, ended_run run, runner::model_choice model
) {
    // While it exists, a drain waits, and the services live.
    const auto admitted = registry_.admit(run_registry::importance::minor);
    if (!admitted) {
        // At a drain, the log may be gone.
        if (admitted.error().code == errc::overloaded) {
            log_failure(run, model.provider->name(), "no place among the runs is free", 0);
        }
        co_return;
    }
    try {
        co_await make_admitted(run, model);
    } catch (const std::exception& error) {
        log_failure(run, model.provider->name(), error.what(), 0);
    }
}

boost::asio::awaitable<void>
thread_titles::make_admitted(const ended_run& run, const runner::model_choice& model) {
    runner::stop_source stop(co_await boost::asio::this_coro::executor);
    const registration registered(*this, stop);
    const bool is_first = co_await is_first_success(run);
    if (!is_first) {
        co_return;
    }
    std::string question = co_await question_of(run);
    if (question.empty()) {
        co_return;
    }
    const std::string_view name = model.provider->name();
    check_failpoint("title.ask");
    auto asking = ask_for_title(model, std::move(question), {run.thread.principal, run.address});
    const std::optional<title_answer> answer = co_await stop.run(std::move(asking));
    if (!answer) {
        log_failure(run, name, "the server is shutting down", 0);
        co_return;
    }
    if (answer->title.empty()) {
        log_failure(run, name, answer->detail, answer->status);
        co_return;
    }
    check_failpoint("title.answered");
    const auto replaced =
        co_await services_.store.replace_title(run.thread, run.automatic_title, answer->title);
    if (!replaced) {
        log_failure(run, name, replaced.error().detail, 0);
        co_return;
    }
    const runner::token_usage usage = answer->usage.value_or(runner::token_usage());
    services_.log.log(
        log_level::info,
        *replaced ? "a model gave a thread its title"
                  : "a title of a model was dropped: the thread has another one",
        {{"thread", run.thread.thread_id},
         {"run", session::client_run_id(run.run_id)},
         {"model", name},
         {"input_tokens", text_of_count(usage.input_tokens)},
         {"output_tokens", text_of_count(usage.output_tokens)}}
    );
}

// The events of the thread's first runs are its first ones, so one page is enough as a rule.
boost::asio::awaitable<bool> thread_titles::is_first_success(const ended_run& run) {
    std::uint64_t after = 0;
    for (;;) {
        const auto page = co_await services_.store.events(run.thread, after, first_events_at_once);
        if (!page || page->empty()) {
            co_return false;
        }
        for (const session::session_event& each : *page) {
            if (is_success(each)) {
                co_return each.run_id == run.run_id;
            }
        }
        after = page->back().sequence;
    }
}

// Empty if somebody has changed the title, or if there is no room for the thread.
boost::asio::awaitable<std::string> thread_titles::question_of(const ended_run& run) {
    const auto seen = co_await services_.store.summary(run.thread);
    if (!seen || !seen->has_value() || (*seen)->title != run.automatic_title) {
        co_return std::string();
    }
    memory_share room(services_.memory);
    if (!room.grow_to(static_cast<std::size_t>((*seen)->bytes))) {
        co_return std::string();
    }
    const auto thread = co_await services_.store.load(run.thread);
    if (!thread || !thread->has_value()) {
        co_return std::string();
    }
    co_return title_question(**thread);
}

void thread_titles::log_failure(
    const ended_run& run, std::string_view model, std::string_view detail, int status
) const {
    services_.log.log(
        log_level::warning, "a model gave no title: the thread keeps that of its first message",
        {{"thread", run.thread.thread_id},
         {"run", session::client_run_id(run.run_id)},
         {"model", model},
         {"status", std::to_string(status)},
         {"detail", detail}}
    );
}

} // namespace agui::gateway
