#include "runner/mcp/mcp_stdio_channel.hpp"

#include "runner/base/answer_memory.hpp"
#include "runner/base/secret_cutter.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr std::size_t read_bytes = 16U << 10U;

/// Cuts a stream of bytes into lines.
class line_splitter {
public:
    explicit line_splitter(std::size_t line_max) : line_max_(line_max) {}

    /// Returns false if a line exceeds the limit or `take` returned false.
    template <class Take>
    [[nodiscard]] bool feed(std::string_view bytes, const Take& take) {
        for (;;) {
            const std::size_t end = bytes.find('\n');
            const std::string_view piece = bytes.substr(0, end);
            if (piece.size() > line_max_ - partial_.size()) {
                return false;
            }
            if (end == std::string_view::npos) {
                partial_.append(piece);
                return true;
            }
            std::string joined;
            std::string_view line = piece;
            if (!partial_.empty()) {
                joined = std::exchange(partial_, {});
                line = joined.append(piece);
            }
            if (line.ends_with('\r')) {
                line.remove_suffix(1);
            }
            if (!line.empty() && !take(line)) {
                return false;
            }
            bytes.remove_prefix(end + 1);
        }
    }

    /// Memory of an incomplete line.
    [[nodiscard]] std::size_t kept() const noexcept { return partial_.capacity(); }

    /// Drops the incomplete line.
    void clear() { partial_.clear(); }

private:
    std::size_t line_max_;
    std::string partial_;
};

class mcp_stdio_channel final : public mcp_channel,
                                public std::enable_shared_from_this<mcp_stdio_channel> {
public:
    mcp_stdio_channel(asio::any_io_executor executor, mcp_stdio_settings settings, logger& log)
        : executor_(std::move(executor)),
          settings_(std::move(settings)),
          cutter_(settings_.secrets),
          log_(log) {}

    std::optional<mcp_failure> open(receiver& to) override {
        result<std::unique_ptr<child_process>> started =
            child_process::start(executor_, settings_.command);
        if (!started) {
            return mcp_failure{
                .what = mcp_failure::kind::unavailable,
                .detail = "it cannot be started: " + started.error().detail
            };
        }
        receiver_ = &to;
        child_ = *std::move(started);
        spawn(&mcp_stdio_channel::read_output);
        spawn(&mcp_stdio_channel::read_errors);
        return std::nullopt;
    }

    void send(std::string text, std::optional<std::int64_t>) override {
        if (receiver_ == nullptr) {
            return;
        }
        text.push_back('\n');
        unsent_bytes_ += text.size();
        unsent_.push_back(std::move(text));
        if (unsent_bytes_ > mcp_unsent_bytes_max) {
            spawn(&mcp_stdio_channel::give_up);
        } else if (!writing_) {
            writing_ = true;
            spawn(&mcp_stdio_channel::write);
        }
    }

    asio::awaitable<std::optional<mcp_failure>> deliver(std::string text) override {
        send(std::move(text), std::nullopt);
        co_return std::nullopt; // The child reads messages in this order.
    }

    // A pipe does not tell how much the child has read.
    asio::awaitable<void> flush(std::chrono::steady_clock::time_point) override { co_return; }

    void forget(std::int64_t) override {}
    void use_version(std::string_view) override {}
    void listen() override {}

    asio::awaitable<void> close() override {
        const auto self = shared_from_this();
        receiver_ = nullptr;
        unsent_.clear();
        if (child_) {
            co_await child_->end(settings_.grace);
        }
    }

private:
    using job = asio::awaitable<void> (mcp_stdio_channel::*)();

    void spawn(job what) {
        asio::co_spawn(
            executor_,
            [](std::shared_ptr<mcp_stdio_channel> self, job run) -> asio::awaitable<void> {
                // Must not run inside the function that started it.
                co_await asio::post(self->executor_, asio::use_awaitable);
                co_await std::invoke(run, *self);
            }(shared_from_this(), what),
            asio::detached
        );
    }

    asio::awaitable<void> read_output() {
        line_splitter lines(mcp_message_bytes_max);
        std::vector<char> buffer(read_bytes);
        answer_memory memory(settings_.budget);
        for (;;) {
            const auto [ec, count] =
                co_await child_->output().async_read_some(asio::buffer(buffer), as_result);
            if (ec) {
                fail(mcp_failure::kind::lost, "its process has closed its standard output");
                co_return;
            }
            std::vector<std::string> messages;
            std::size_t bytes = 0;
            const bool fits = lines.feed({buffer.data(), count}, [&](std::string_view line) {
                bytes += line.size();
                messages.emplace_back(line);
                return true;
            });
            if (!memory.keep(lines.kept() + bytes)) {
                fail(
                    mcp_failure::kind::memory, "there is not enough memory for one of its messages"
                );
                co_return;
            }
            for (std::string& message : messages) {
                if (receiver_ != nullptr) {
                    co_await receiver_->on_message(std::move(message));
                }
            }
            (void)memory.keep(lines.kept()); // Less than before, so there is room.
            if (receiver_ == nullptr) {
                co_return;
            }
            if (!fits) {
                fail(mcp_failure::kind::protocol, "one of its messages is too long");
                co_return;
            }
        }
    }

    /// Reads until the child has closed it or is gone, because a full pipe would stop the child.
    asio::awaitable<void> read_errors() {
        line_splitter lines(mcp_stderr_line_max);
        std::vector<char> buffer(mcp_stderr_line_max);
        for (;;) {
            const auto [ec, count] =
                co_await child_->errors().async_read_some(asio::buffer(buffer), as_result);
            if (ec) {
                co_return;
            }
            if (!log_.enabled(log_level::debug)) {
                continue;
            }
            const bool complete = lines.feed({buffer.data(), count}, [this](std::string_view line) {
                log_.log(
                    log_level::debug, "an MCP server wrote to its standard error",
                    {{"server", settings_.server}, {"text", cutter_.cut(line, mcp_stderr_line_max)}}
                );
                return true;
            });
            if (!complete) {
                lines.clear();
            }
        }
    }

    asio::awaitable<void> write() {
        while (!unsent_.empty() && receiver_ != nullptr) {
            const std::string text = std::move(unsent_.front());
            unsent_.pop_front();
            const auto [ec, count] =
                co_await asio::async_write(child_->input(), asio::buffer(text), as_result);
            unsent_bytes_ -= text.size();
            if (ec) {
                fail(mcp_failure::kind::lost, "its process has closed its standard input");
                break;
            }
        }
        writing_ = false;
    }

    asio::awaitable<void> give_up() {
        fail(mcp_failure::kind::protocol, "it does not read its standard input");
        co_return;
    }

    void fail(mcp_failure::kind what, std::string detail) {
        if (receiver* const to = std::exchange(receiver_, nullptr)) {
            to->on_closed({.what = what, .detail = std::move(detail)});
        }
    }

    asio::any_io_executor executor_;
    mcp_stdio_settings settings_;
    secret_cutter cutter_;
    logger& log_;
    receiver* receiver_ = nullptr; ///< Null after close().
    std::unique_ptr<child_process> child_;
    std::deque<std::string> unsent_;
    std::size_t unsent_bytes_ = 0;
    bool writing_ = false;
};

} // namespace

std::shared_ptr<mcp_channel>
make_mcp_stdio_channel(asio::any_io_executor executor, mcp_stdio_settings settings, logger& log) {
    return std::make_shared<mcp_stdio_channel>(std::move(executor), std::move(settings), log);
}

} // namespace agui::runner
