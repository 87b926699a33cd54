#include "gateway/control/copied_thread.hpp"

#include "session/conversation/message_size.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::size_t rows_at_once = 1000;

std::size_t size_of(const session::session_event& event) {
    return sizeof(event) + event.type.size() + event.run_id.size() +
           session::stored_size(event.data);
}

std::size_t size_of(const session::run_record& run) {
    return sizeof(run) + run.run_id.size() + run.parent_run_id.size() + run.agent_id.size() +
           run.input_digest.size() + run.idempotency_key.size() + run.protocol.size() +
           run.end_reason.size() + run.answered_by.size();
}

std::size_t size_of(const session::queued_request& request) {
    return sizeof(request) + static_cast<std::size_t>(session::bytes_of(request));
}

result<void> keep_bytes(memory_share& kept, std::size_t bytes) {
    if (!kept.grow_to(kept.held() + bytes)) {
        return failure{errc::overloaded, "there is not enough memory for a copy of this thread"};
    }
    return result<void>();
}

template <class List>
result<void> keep_rows(memory_share& kept, const List& rows) {
    std::size_t bytes = 0;
    for (const auto& row : rows) {
        bytes += size_of(row);
    }
    return keep_bytes(kept, bytes);
}

asio::awaitable<result<void>>
read_events(session::store& store, copied_thread& into, memory_share& kept) {
    for (;;) {
        const std::uint64_t after = into.events.empty() ? 0 : into.events.back().sequence;
        auto page = co_await store.events(into.thread.key, after, rows_at_once);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            co_return result<void>();
        }
        if (auto room = keep_rows(kept, *page); !room) {
            co_return room.error();
        }
        std::ranges::move(*page, std::back_inserter(into.events));
    }
}

asio::awaitable<result<void>>
read_runs(session::store& store, copied_thread& into, memory_share& kept) {
    for (;;) {
        const std::int64_t after = into.runs.empty() ? 0 : into.runs.back().number;
        auto page = co_await store.runs(into.thread.key, after, rows_at_once);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            co_return result<void>();
        }
        if (auto room = keep_rows(kept, *page); !room) {
            co_return room.error();
        }
        std::ranges::move(*page, std::back_inserter(into.runs));
    }
}

} // namespace

asio::awaitable<result<std::optional<copied_thread>>>
read_for_copy(session::store& store, session::thread_key key, memory_share& kept) {
    copied_thread copy;
    auto loaded = co_await store.load(key);
    if (!loaded) {
        co_return loaded.error();
    }
    if (!loaded->has_value()) {
        co_return std::nullopt;
    }
    copy.thread = std::move(**loaded);
    if (auto room = keep_bytes(kept, copy.thread.bytes); !room) {
        co_return room.error();
    }
    if (auto read = co_await read_events(store, copy, kept); !read) {
        co_return read.error();
    }
    if (auto read = co_await read_runs(store, copy, kept); !read) {
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
    if (auto room = keep_rows(kept, *queue); !room) {
        co_return room.error();
    }
    copy.queue = std::move(*queue);
    co_return copy;
}

} // namespace agui::gateway
