#include "tests/gateway/held_model.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace agui::test {

namespace asio = boost::asio;

class held_model::provider final : public runner::model_provider {
public:
    explicit provider(held_model& owner) : owner_(owner) {}

    asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        const auto executor = co_await asio::this_coro::executor;
        waiting mine{
            std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max()),
            std::make_shared<held_answer>(), std::make_shared<bool>(false)
        };
        std::vector<std::string> asked;
        for (const session::message& each : *request.messages) {
            asked.push_back(
                std::string(session::to_string(each.role)) + ": " + session::text_of(each.content)
            );
        }
        {
            const std::lock_guard lock(owner_.mutex_);
            owner_.requests_.push_back(std::move(asked));
            if (owner_.answers_.empty()) {
                owner_.waiting_.push_back(mine);
            } else {
                *mine.answer = std::move(owner_.answers_.front());
                *mine.answered = true;
                owner_.answers_.pop_front();
            }
        }
        owner_.asked_.notify_all();
        if (!*mine.answered) {
            co_await mine.timer->async_wait(asio::as_tuple(asio::use_awaitable));
        }
        if (!*mine.answered) {
            const std::lock_guard lock(owner_.mutex_);
            std::erase_if(owner_.waiting_, [&](const waiting& one) {
                return one.timer == mine.timer;
            });
            co_return runner::model_failure{runner::model_failure::kind::cancelled, 0, {}};
        }
        if (mine.answer->fails) {
            co_return runner::model_failure{runner::model_failure::kind::rejected, 400, {}};
        }
        if (!mine.answer->text.empty()) {
            sink.on_text(mine.answer->text);
        }
        if (mine.answer->call_id.empty()) {
            co_return runner::model_answer{};
        }
        sink.on_call(0, mine.answer->call_id, "paint");
        sink.on_call_arguments(0, "{}");
        co_return runner::model_answer{runner::finish_reason::tool_calls, {}, {}};
    }

private:
    held_model& owner_;
};

std::unique_ptr<runner::model_provider> held_model::make_provider() {
    return std::make_unique<provider>(*this);
}

void held_model::answer(held_answer value) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
        answers_.push_back(std::move(value));
        return;
    }
    waiting one = std::move(waiting_.front());
    waiting_.pop_front();
    asio::post(one.timer->get_executor(), [one, value = std::move(value)] {
        *one.answer = value;
        *one.answered = true;
        one.timer->cancel();
    });
}

void held_model::forget_answers() {
    const std::lock_guard lock(mutex_);
    answers_.clear();
}

bool held_model::wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    return asked_.wait_for(lock, patience, [&] { return requests_.size() >= count; });
}

std::size_t held_model::calls() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
}

std::vector<std::string> held_model::request(std::size_t call) const {
    const std::lock_guard lock(mutex_);
    return requests_.at(call);
}

} // namespace agui::test
