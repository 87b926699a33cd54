#include "runner/http/scripted_transport.hpp"

#include "session/base/as_result.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

/// Waits. Returns false if the coroutine was cancelled before or during the wait.
asio::awaitable<bool> pause(std::chrono::milliseconds duration) {
    if (duration > std::chrono::milliseconds::zero()) {
        asio::steady_timer timer(co_await asio::this_coro::executor, duration);
        co_await timer.async_wait(as_result);
    }
    co_return (co_await asio::this_coro::cancellation_state).cancelled() ==
        asio::cancellation_type::none;
}

/// Cuts a body after the empty lines that end its frames. The text after the last one is a frame,
/// too.
std::vector<std::string_view> frames_of(std::string_view body) {
    std::vector<std::string_view> frames;
    std::size_t begin = 0;
    std::size_t line = 0;
    while (line < body.size()) {
        const std::size_t lf = body.find('\n', line);
        if (lf == std::string_view::npos) {
            break;
        }
        const std::string_view text = body.substr(line, lf - line);
        line = lf + 1;
        if (text.empty() || text == "\r") {
            frames.push_back(body.substr(begin, line - begin));
            begin = line;
        }
    }
    if (begin < body.size()) {
        frames.push_back(body.substr(begin));
    }
    return frames;
}

transport_failure fail(transport_failure::kind kind, std::string_view detail) {
    return {.what = kind, .detail = std::string(detail)};
}

class scripted_response final : public transport_response {
public:
    explicit scripted_response(scripted_answer answer)
        : answer_(std::move(answer)), frames_(frames_of(answer_.body)) {
        if (answer_.repeat_frame && *answer_.repeat_frame < frames_.size()) {
            const auto place = frames_.begin() + static_cast<std::ptrdiff_t>(*answer_.repeat_frame);
            frames_.insert(place, *place);
        }
    }

    [[nodiscard]] int status() const noexcept override { return answer_.status; }

    [[nodiscard]] std::string_view header(std::string_view name) const noexcept override {
        if (name == "content-type") {
            return answer_.content_type;
        }
        const auto found =
            std::ranges::find(answer_.headers, name, &std::pair<std::string, std::string>::first);
        return found == answer_.headers.end() ? std::string_view() : found->second;
    }

    void keep_headers(std::span<const std::string_view> names) override {
        const auto is_wanted = [names](std::string_view name) {
            return std::ranges::find(names, name) != names.end();
        };
        std::erase_if(answer_.headers, [&](const auto& each) { return !is_wanted(each.first); });
        if (!is_wanted("content-type")) {
            answer_.content_type.clear();
        }
    }

    // Counts frames as they are delivered, a repeated one twice.
    [[nodiscard]] asio::awaitable<transport_result<std::string_view>> read() override {
        if ((co_await asio::this_coro::cancellation_state).cancelled() !=
            asio::cancellation_type::none) {
            co_return fail(transport_failure::kind::cancelled, "cancelled");
        }
        if (answer_.drop_after_frames == delivered_) {
            co_return fail(transport_failure::kind::lost, "dropped by the script");
        }
        const bool stall = answer_.stall_after_frames == delivered_;
        if (!stall && delivered_ == frames_.size()) {
            co_return std::string_view();
        }
        const bool going_on = co_await pause(stall ? answer_.idle : answer_.pace);
        if (!going_on) {
            co_return fail(transport_failure::kind::cancelled, "cancelled");
        }
        if (stall) {
            co_return fail(transport_failure::kind::timeout, "stalled by the script");
        }
        co_return frames_[delivered_++];
    }

private:
    scripted_answer answer_;
    std::vector<std::string_view> frames_; ///< Views of answer_.body.
    std::size_t delivered_ = 0;
};

class scripted_transport final : public http_client {
public:
    explicit scripted_transport(script choose) : choose_(std::move(choose)) {}

    [[nodiscard]] asio::awaitable<transport_result<std::unique_ptr<transport_response>>>
    send(const transport_request& request) override {
        if ((co_await asio::this_coro::cancellation_state).cancelled() !=
            asio::cancellation_type::none) {
            co_return fail(transport_failure::kind::cancelled, "cancelled");
        }
        std::optional<scripted_answer> answer = choose_(request);
        if (!answer) {
            answer.emplace();
            answer->status = 500;
        }
        if (answer->refuse) {
            co_return fail(transport_failure::kind::connect, "refused by the script");
        }
        co_return std::make_unique<scripted_response>(*std::move(answer));
    }

private:
    script choose_;
};

/// Answers in order. Called from any thread.
struct queue {
    explicit queue(std::vector<scripted_answer> all) : answers(std::move(all)) {}

    agui::mutex mutex;
    std::vector<scripted_answer> answers AGUI_GUARDED_BY(mutex);
    std::size_t next AGUI_GUARDED_BY(mutex) = 0;

    std::optional<scripted_answer> take() {
        const std::lock_guard lock(mutex);
        if (next == answers.size()) {
            return std::nullopt;
        }
        return answers[next++];
    }
};

} // namespace

std::shared_ptr<http_client> make_scripted_client(script choose) {
    return std::make_shared<scripted_transport>(std::move(choose));
}

std::shared_ptr<http_client> make_scripted_client(
    std::vector<scripted_answer> answers, std::function<void(const transport_request&)> seen
) {
    const auto shared = std::make_shared<queue>(std::move(answers));
    return make_scripted_client([shared, seen = std::move(seen)](const transport_request& request) {
        if (seen) {
            seen(request);
        }
        return shared->take();
    });
}

} // namespace agui::runner
