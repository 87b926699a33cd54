// The calls of the store for copies of threads and for the removal of a person's data.
#include "session/postgres/pg_access.hpp"
#include "session/postgres/pg_attachments.hpp"
#include "session/postgres/pg_runs.hpp"
#include "session/postgres/postgres_store.hpp"
#include "session/postgres/postgres_submit.hpp"
#include "session/store/store_failures.hpp"

#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr const char* principals_after =
    "SELECT DISTINCT principal FROM agui.threads WHERE $1 IS NULL OR principal > $1 "
    "ORDER BY principal LIMIT $2";

std::vector<std::string> first_column(const pg_rows& rows) {
    std::vector<std::string> texts;
    texts.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        texts.emplace_back(rows.text(i, 0));
    }
    return texts;
}

} // namespace

asio::awaitable<result<std::vector<std::string>>>
postgres_store::principals(std::optional<std::string> after, std::size_t limit) {
    const auto found = co_await read([after = std::move(after), limit] {
        pg_batch batch;
        batch.emplace_back(principals_after, after, limit);
        return batch;
    });
    if (!found) {
        co_return found.error();
    }
    co_return first_column(found->at(0));
}

asio::awaitable<result<std::vector<run_record>>>
postgres_store::runs(thread_key key, std::int64_t after, std::size_t limit) {
    const auto found = co_await read([key = std::move(key), after, limit] {
        pg_batch batch;
        batch.push_back(select_runs_after(key, after, limit));
        return batch;
    });
    if (!found) {
        co_return found.error();
    }
    std::vector<run_record> page;
    page.reserve(found->at(0).size());
    for (std::size_t i = 0; i < found->at(0).size(); ++i) {
        page.push_back(pg_run_at(found->at(0), i));
    }
    co_return page;
}

asio::awaitable<result<std::vector<std::string>>> postgres_store::attachment_digests(thread_key key
) {
    const auto found = co_await read([key = std::move(key)] {
        pg_batch batch;
        batch.push_back(select_attachment_digests(key));
        return batch;
    });
    if (!found) {
        co_return found.error();
    }
    co_return first_column(found->at(0));
}

asio::awaitable<result<bool>> postgres_store::restore(whole_thread what) {
    if (has_twins(what.runs)) {
        co_return run_id_taken();
    }
    auto content = stored_change(what.content);
    auto from = std::make_shared<const pg_threads::restoring>(
        pg_threads::restoring{std::move(what), std::move(content)}
    );
    co_return co_await on_store<bool>([this, from = std::move(from)] {
        return threads_.restore(from);
    });
}

asio::awaitable<result<forgotten_principal>> postgres_store::forget_principal(std::string principal
) {
    return on_store<forgotten_principal>([this, principal = std::move(principal)] {
        return forget_in_tables(principal);
    });
}

asio::awaitable<result<forgotten_principal>> postgres_store::forget_in_tables(std::string principal
) {
    const rows done = co_await write_at_once(shared_, {}, [&principal] {
        pg_batch batch;
        batch.push_back(drop_rights_of(principal));
        batch.push_back(drop_attachments_of_principal(principal));
        return batch;
    });
    co_return forgotten_principal{
        .rights = static_cast<std::size_t>(done.at(0).changed()),
        .attachments = static_cast<std::size_t>(done.at(1).changed()),
    };
}

asio::awaitable<result<void>> postgres_store::scrub() {
    return on_store<void>([this] { return scrub_tables(); });
}

asio::awaitable<result<void>> postgres_store::scrub_tables() {
    co_await attempts_.flush();
    co_await logs_.flush(0);
    co_await upkeep_.erase_removed();
    co_await upkeep_.scrub();
    co_return result<void>();
}

} // namespace agui::session
