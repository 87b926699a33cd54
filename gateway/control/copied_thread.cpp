#include "gateway/control/copied_thread.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::size_t rows_at_once = 1000;

asio::awaitable<result<void>> read_events(session::store& store, copied_thread& into) {
    for (;;) {
        const std::uint64_t after = into.events.empty() ? 0 : into.events.back().sequence;
        auto page = co_await store.events(into.thread.key, after, rows_at_once);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            co_return result<void>();
        }
        std::ranges::move(*page, std::back_inserter(into.events));
    }
}

asio::awaitable<result<void>> read_runs(session::store& store, copied_thread& into) {
    for (;;) {
        const std::int64_t after = into.runs.empty() ? 0 : into.runs.back().number;
        auto page = co_await store.runs(into.thread.key, after, rows_at_once);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            co_return result<void>();
        }
        std::ranges::move(*page, std::back_inserter(into.runs));
    }
}

} // namespace

asio::awaitable<result<std::optional<copied_thread>>>
read_for_copy(session::store& store, session::thread_key key) {
    copied_thread copy;
    auto loaded = co_await store.load(key);
    if (!loaded) {
        co_return loaded.error();
    }
    if (!loaded->has_value()) {
        co_return std::nullopt;
    }
    copy.thread = std::move(**loaded);
    if (auto read = co_await read_events(store, copy); !read) {
        co_return read.error();
    }
    if (auto read = co_await read_runs(store, copy); !read) {
        co_return read.error();
    }
    auto access = co_await store.access_of(key);
    if (!access) {
        co_return access.error();
    }
    copy.access = std::move(*access).value_or(session::thread_access());
    auto digests = co_await store.attachment_digests(key);
    if (!digests) {
        co_return digests.error();
    }
    copy.attachments = std::move(*digests);
    auto queue = co_await store.queued(key);
    if (!queue) {
        co_return queue.error();
    }
    copy.queue = std::move(*queue);
    co_return copy;
}

} // namespace agui::gateway
