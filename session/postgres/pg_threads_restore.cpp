// A thread that is stored whole.
#include "session/postgres/pg_access.hpp"
#include "session/postgres/pg_attachments.hpp"
#include "session/postgres/pg_threads.hpp"
#include "session/store/store_failures.hpp"

#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr const char* next_thread = "SELECT agui.next_thread_number()";
constexpr const char* set_created = "UPDATE agui.threads SET created_at = $2 WHERE id = $1";

void add_attachments(pg_batch& to, const thread_key& key, const std::vector<attachment>& all) {
    for (const attachment& each : all) {
        for (pg_statement& one : keep_attachment_statement(key, each, INT64_MAX)) {
            to.push_back(std::move(one));
        }
    }
}

// If another transaction makes the thread meanwhile, the index of its key refuses this one, which
// is retried and then finds it.
asio::awaitable<result<bool>>
restore_in(pg_transaction& in, const pg_threads::restoring& from, unix_ms own_now) {
    const whole_thread& what = from.what;
    pg_batch look;
    look.push_back(lock_thread(what.key));
    look.push_back(is_shared_id_taken(what.access.shared_id));
    look.push_back(next_run_numbers(what.runs.size()));
    look.emplace_back(next_thread);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    if (position_of(found.at(0))) {
        co_return false;
    }
    if (found.at(1).boolean(0, 0)) {
        co_return shared_id_taken();
    }
    const std::int64_t thread = found.at(3).integer(0, 0);
    pg_batch writes;
    create_thread(writes, from.content, thread, what.key, {}, what.last_run_at);
    writes.emplace_back(set_created, thread, what.created_at);
    for (std::size_t i = 0; i < what.runs.size(); ++i) {
        writes.push_back(add_run(thread, found.at(2).integer(i, 0), what.runs[i], own_now));
    }
    writes.push_back(note_logs_dropped(thread));
    if (!what.access.shared_id.empty()) {
        for (pg_statement& each :
             write_access(thread, what.access.entries, what.access.shared_id)) {
            writes.push_back(std::move(each));
        }
    }
    add_attachments(writes, what.key, what.attachments);
    co_await in.commit(std::move(writes));
    co_return true;
}

} // namespace

asio::awaitable<result<bool>> pg_threads::restore(std::shared_ptr<const restoring> what) {
    co_return co_await transact<result<bool>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return restore_in(in, *what, parts_.shared.time.own_now()); }
    );
}

} // namespace agui::session
