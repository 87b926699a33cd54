#include "gateway/control/copy_source.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

/// About the size of a batch.
constexpr std::size_t copied_bytes_at_once = 65'536;

/// An attachment, and its lines in base64, which take a third more.
constexpr std::size_t memory_of_attachment(std::size_t bytes) noexcept {
    return bytes + bytes + bytes / 2;
}

class copy_source final : public event_source {
public:
    copy_source(session::store& from, heavy_work* heavy, memory_share kept, copied_thread thread)
        : store_(from),
          heavy_(heavy),
          kept_(std::move(kept)),
          thread_bytes_(kept_.held()),
          lines_(std::move(thread)) {}

    std::string_view content_type() const noexcept override { return "application/jsonl"; }
    void open(asio::any_io_executor executor) override { executor_ = std::move(executor); }

    void read(std::size_t, batch& out) override {
        out.bytes.clear();
        out.bytes.swap(ready_);
        out.ended = is_over_;
        out.cut_off = has_failed_;
    }

    // Also lets others use the thread.
    asio::awaitable<void> wait() override {
        co_await asio::post(executor_, asio::use_awaitable);
        if (is_over_ || has_failed_) {
            co_return;
        }
        kept_.shrink_to(thread_bytes_); // The lines before have been sent.
        // A line may have megabytes.
        ready_ = co_await run_heavy(heavy_, as_parsing(lines_.thread().thread.bytes), [this] {
            std::string lines;
            while (lines.size() < copied_bytes_at_once && lines_.write_line(lines)) {
            }
            return lines;
        });
        if (!keep(ready_.size()) || !ready_.empty()) {
            co_return;
        }
        while (ready_.empty() && next_ < lines_.thread().attachments.size()) {
            co_await write_attachment(lines_.thread().attachments[next_++]);
            if (has_failed_) {
                co_return;
            }
        }
        if (ready_.empty()) {
            lines_.write_end(ready_);
            is_over_ = true;
        }
    }

    void wake() override {}
    void cut_off() noexcept override {}
    std::size_t backlog_bytes() const override { return 0; }
    std::string_view heartbeat() const noexcept override { return {}; }
    std::string_view cut_off_note() const noexcept override { return {}; }

private:
    // Counts the memory of lines. If there is no room, the copy has failed.
    bool keep(std::size_t bytes) {
        has_failed_ = has_failed_ || !kept_.grow_to(thread_bytes_ + bytes);
        if (has_failed_) {
            std::string().swap(ready_);
        }
        return !has_failed_;
    }

    // Writes nothing if it is gone.
    asio::awaitable<void> write_attachment(std::string sha256) {
        const auto found =
            co_await store_.find_attachment(lines_.thread().thread.key, std::move(sha256));
        has_failed_ = !found;
        if (has_failed_ || !found->has_value()) {
            co_return;
        }
        const session::attachment& what = **found;
        if (!keep(memory_of_attachment(what.bytes.size()))) {
            co_return;
        }
        ready_ = co_await run_heavy(heavy_, as_parsing(what.bytes.size()), [this, &what] {
            std::string lines;
            lines_.write_attachment(lines, what);
            return lines;
        });
    }

    session::store& store_;
    heavy_work* const heavy_;
    memory_share kept_;              ///< The memory of the thread and of the lines.
    const std::size_t thread_bytes_; ///< The thread's part of it.
    thread_writer lines_;
    asio::any_io_executor executor_;
    std::string ready_;    ///< To be read next.
    std::size_t next_ = 0; ///< The attachment to be written next.
    bool is_over_ = false; ///< `ready_` has the end.
    bool has_failed_ = false;
};

} // namespace

std::unique_ptr<event_source>
make_copy_source(session::store& from, heavy_work* heavy, memory_share kept, copied_thread thread) {
    return std::make_unique<copy_source>(from, heavy, std::move(kept), std::move(thread));
}

} // namespace agui::gateway
