// The calls of the store: their statements, and the reading of the rows.
#include "session/postgres/pg_access.hpp"
#include "session/postgres/pg_attachments.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_journal.hpp"
#include "session/postgres/pg_usage.hpp"
#include "session/postgres/postgres_store.hpp"
#include "session/postgres/postgres_submit.hpp"
#include "session/store/store_failures.hpp"
#include "session/store/thread_views.hpp"

#include <boost/system/system_error.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

asio::awaitable<result<postgres_store::rows>>
postgres_store::read(std::function<pg_batch()> statements) {
    return on_store<rows>([this, statements = std::move(statements)] { return rows_of(statements); }
    );
}

asio::awaitable<result<postgres_store::rows>>
postgres_store::rows_of(std::function<pg_batch()> statements) {
    co_return co_await read_at_once(shared_, std::move(statements));
}

asio::awaitable<result<lease_ptr>> postgres_store::acquire(thread_key key, std::string run_id) {
    return on_store<lease_ptr>([this, key = std::move(key), run_id = std::move(run_id)] {
        return leases_.acquire(key, run_id);
    });
}

void postgres_store::release(const lease_ptr& held) noexcept { leases_.release(held); }

asio::awaitable<result<std::optional<thread_holder>>> postgres_store::holder(thread_key key) {
    return on_store<std::optional<thread_holder>>([this, key = std::move(key)] {
        return leases_.holder(key);
    });
}

asio::awaitable<result<pg_thread_reading>>
postgres_store::decode(thread_key key, pg_rows found, message_cache::kept known) {
    std::string reason;
    try {
        co_return co_await read_thread(
            std::move(key), std::move(found), std::move(known), messages_, log_
        );
    } catch (const boost::system::system_error&) {
        throw; // The caller was cancelled.
    } catch (const std::runtime_error& error) {
        reason = error.what();
    }
    log_.log(log_level::error, "a stored thread cannot be read", {{"reason", reason}});
    co_return store_cannot_be_used();
}

asio::awaitable<result<std::optional<thread_record>>> postgres_store::load(thread_key key) {
    auto seen = co_await view_of(std::move(key), std::nullopt);
    if (!seen) {
        co_return seen.error();
    }
    co_return std::move(seen->thread);
}

asio::awaitable<result<store::view>> postgres_store::look_up(thread_key key, std::string run_id) {
    return view_of(std::move(key), std::move(run_id));
}

asio::awaitable<result<store::view>>
postgres_store::view_of(thread_key key, std::optional<std::string> run_id) {
    for (;;) {
        const message_cache::kept known = messages_.find(key);
        auto found =
            co_await read([key, run_id, known] { return select_thread(key, run_id, known); });
        if (!found) {
            co_return found.error();
        }
        const pg_rows& rows_found = found->at(0);
        view seen;
        seen.run = run_found(rows_found);
        if (seen.run) {
            co_return seen;
        }
        auto read = co_await decode(key, rows_found, known);
        if (!read) {
            co_return read.error();
        }
        if (!read->is_other) {
            seen.thread = std::move(read->thread);
            co_return seen;
        }
        messages_.forget(key);
    }
}

asio::awaitable<result<std::optional<thread_summary>>> postgres_store::summary(thread_key key) {
    return on_store<std::optional<thread_summary>>([this, key = std::move(key)] {
        return summary_of(key);
    });
}

asio::awaitable<result<std::optional<thread_summary>>> postgres_store::summary_of(thread_key key) {
    std::optional<thread_summary> read =
        read_summary(key, co_await read_at_once(shared_, [&] { return select_summary(key); }));
    if (read) {
        const auto by = co_await leases_.holder(key);
        read->active_run_id = by && *by ? (*by)->run_id : std::string();
    }
    co_return read;
}

asio::awaitable<result<std::optional<json_text>>> postgres_store::state(thread_key key) {
    const auto found = co_await read([key] { return select_state(key); });
    if (!found) {
        co_return found.error();
    }
    co_return read_state(*found);
}

asio::awaitable<result<std::optional<std::vector<pending_call>>>>
postgres_store::pending_calls(thread_key key) {
    const auto found = co_await read([key] { return select_pending_calls(key); });
    if (!found) {
        co_return found.error();
    }
    co_return read_pending_calls(*found);
}

asio::awaitable<result<call_claim>>
postgres_store::claim_call(thread_key key, call_claim claim, unix_ms now) {
    claim.until = time_.shared(claim.until);
    now = time_.shared(now);
    return on_store<call_claim>([this, key = std::move(key), claim = std::move(claim), now] {
        return claim_in_table(key, claim, now);
    });
}

asio::awaitable<result<call_claim>>
postgres_store::claim_in_table(thread_key key, call_claim claim, unix_ms now) {
    const auto statements = [&] {
        return claim_call_statement(key, claim, now);
    };
    auto claimed = read_claim(claim.call_id, co_await write_at_once(shared_, {}, statements));
    co_return claimed ? result<call_claim>(std::move(*claimed)) : no_such_pending_call();
}

asio::awaitable<result<bool>>
postgres_store::replace_title(thread_key key, std::string from, std::string to) {
    return on_store<bool>([this, key = std::move(key), from = std::move(from), to = std::move(to)] {
        return title_in_table(key, from, to);
    });
}

asio::awaitable<result<bool>>
postgres_store::title_in_table(thread_key key, std::string from, std::string to) {
    const auto statements = [&] {
        return replace_title_statement(key, from, to);
    };
    const auto rows = co_await write_at_once(shared_, {}, statements);
    co_return !rows.at(0).empty();
}

asio::awaitable<result<begun_run>> postgres_store::begin(
    thread_key key, run_record run, changes change, std::optional<std::uint64_t> seen_version,
    lease_ptr held
) {
    auto what = std::make_shared<const pg_threads::beginning>(
        std::move(key), std::move(run), stored_change(std::move(change)), seen_version,
        std::move(held)
    );
    co_return co_await on_store<begun_run>([this, what] { return threads_.begin(what); });
}

asio::awaitable<result<void>>
postgres_store::commit(thread_key key, changes change, std::optional<log_slice> log, held_by by) {
    auto what = std::make_shared<const pg_threads::committing>(
        std::move(key), stored_change(std::move(change)), std::move(log), std::move(by)
    );
    co_return co_await on_store<void>([this, what] { return commit_and_release(what); });
}

asio::awaitable<result<void>>
postgres_store::commit_and_release(std::shared_ptr<const pg_threads::committing> what) {
    const std::int64_t gateway = gateway_.id();
    std::exception_ptr failed;
    result<void> outcome;
    if (what->by.releases && what->by.held) {
        leases_.ends_with_commit(what->by.held);
    }
    try {
        outcome = co_await threads_.commit(what);
    } catch (const pg_error& error) {
        failed = std::current_exception();
        if (error.is_fenced()) {
            gateway_.lose(gateway); // Comes first, so that the lease is lost instead of released.
        }
    } catch (...) {
        failed = std::current_exception();
    }
    if (what->by.releases) {
        leases_.release(what->by.held); // Releases the lease unless the commit has.
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
    co_return outcome;
}

asio::awaitable<result<std::int64_t>>
postgres_store::enqueue(thread_key key, queued_request request, queue_limits limits) {
    auto next = std::make_shared<const stored_request>(std::move(request));
    co_return co_await on_store<std::int64_t>([this, key = std::move(key), next, limits] {
        return threads_.enqueue(key, next, limits);
    });
}

asio::awaitable<result<std::vector<queued_request>>> postgres_store::queued(thread_key key) {
    const auto found = co_await read([key = std::move(key)] { return select_queued(key); });
    if (!found) {
        co_return found.error();
    }
    co_return read_queued(*found, log_);
}

asio::awaitable<result<bool>> postgres_store::withdraw(thread_key key, std::int64_t number) {
    return on_store<bool>([this, key = std::move(key), number] {
        return threads_.withdraw(key, number);
    });
}

asio::awaitable<result<void>>
postgres_store::keep_attachment(thread_key key, attachment what, std::uint64_t bytes_max) {
    what.kept_at = time_.shared(what.kept_at);
    return on_store<void>([this, key = std::move(key),
                           what = std::make_shared<const attachment>(std::move(what)),
                           bytes_max] { return keep_in_table(key, what, bytes_max); });
}

asio::awaitable<result<void>> postgres_store::keep_in_table(
    thread_key key, std::shared_ptr<const attachment> what, std::uint64_t bytes_max
) {
    const auto statements = [&key, &what, bytes_max] {
        return keep_attachment_statement(key, *what, bytes_max);
    };
    const rows done = co_await write_at_once(shared_, {}, statements);
    if (done.at(0).changed() == 0) {
        co_return attachments_too_large(bytes_max);
    }
    co_return result<void>();
}

asio::awaitable<result<usage_reservation>>
postgres_store::reserve_usage(std::vector<usage_claim> claims, usage_amount amount, unix_ms now) {
    return on_store<usage_reservation>(
        [this, claims = std::make_shared<const std::vector<usage_claim>>(std::move(claims)), amount,
         at = time_.shared(now)] { return reserve_in_table(claims, amount, at); }
    );
}

asio::awaitable<result<usage_reservation>> postgres_store::reserve_in_table(
    std::shared_ptr<const std::vector<usage_claim>> claims, usage_amount amount, unix_ms now
) {
    const rows done = co_await write_at_once(shared_, {}, [claims, amount, now] {
        return reserve_usage_statement(*claims, amount, now);
    });
    co_return usage_reservation{now, read_refusal(done, *claims)};
}

asio::awaitable<result<void>> postgres_store::settle_usage(usage_settlement what) {
    return on_store<void>([this, what = std::make_shared<const usage_settlement>(std::move(what))] {
        return settle_in_table(what);
    });
}

// Not written at once: a repeated settlement would give back what was used.
asio::awaitable<result<void>>
postgres_store::settle_in_table(std::shared_ptr<const usage_settlement> what) {
    std::function<asio::awaitable<bool>(pg_transaction&)> work = [what](pg_transaction& in
                                                                 ) -> asio::awaitable<bool> {
        (void)co_await in.read({});
        co_await in.commit(settle_usage_statement(*what));
        co_return true;
    };
    (void)co_await transact(shared_.pool, shared_.patience, {}, std::move(work));
    co_return result<void>();
}

asio::awaitable<result<usage_reading>>
postgres_store::read_usage(std::vector<std::string> subjects, unix_ms now) {
    const unix_ms at = time_.shared(now);
    const auto found = co_await read([subjects, at] { return select_usage(subjects, at); });
    if (!found) {
        co_return found.error();
    }
    co_return read_usage_rows(*found, subjects, at);
}

asio::awaitable<result<std::uint64_t>> postgres_store::bytes_of_principal(std::string principal) {
    const auto found = co_await read([principal] { return select_bytes_of_principal(principal); });
    if (!found) {
        co_return found.error();
    }
    co_return static_cast<std::uint64_t>(found->at(0).integer(0, 0));
}

asio::awaitable<result<std::optional<attachment>>>
postgres_store::find_attachment(thread_key key, std::string sha256) {
    const auto found = co_await read([key, sha256] { return select_attachment(key, sha256); });
    if (!found) {
        co_return found.error();
    }
    co_return read_attachment(*found, sha256);
}

asio::awaitable<result<bool>>
postgres_store::set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) {
    return on_store<bool>([this, key = std::move(key), entries = std::move(entries),
                           new_id = std::move(new_id)] {
        return threads_.set_access(key, entries, new_id);
    });
}

asio::awaitable<result<std::optional<thread_access>>> postgres_store::access_of(thread_key key) {
    const auto found = co_await read([key = std::move(key)] { return select_access(key); });
    if (!found) {
        co_return found.error();
    }
    co_return read_access(*found);
}

asio::awaitable<result<std::optional<shared_thread>>>
postgres_store::find_shared(std::string shared_id, std::string principal) {
    const auto found =
        co_await read([shared_id = std::move(shared_id), principal = std::move(principal)] {
            return select_shared(shared_id, principal);
        });
    if (!found) {
        co_return found.error();
    }
    co_return read_shared(*found);
}

void postgres_store::append_log(
    const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
) {
    logs_.append(slice, observer, held);
}

asio::awaitable<result<std::vector<log_entry>>>
postgres_store::read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    const auto found =
        co_await on_store<rows>([=, this] { return rows_of_log(run_number, after, limit); });
    if (!found) {
        co_return found.error();
    }
    co_return read_log_and_parts(*found, after, limit);
}

asio::awaitable<result<postgres_store::rows>>
postgres_store::rows_of_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    co_await logs_.flush(run_number);
    try {
        co_return co_await read_at_once(shared_, [=] {
            return select_log_and_parts(run_number, after, limit);
        });
    } catch (const pg_error& error) {
        if (!error.is_damage()) {
            throw;
        }
        log_.log(
            log_level::error, "the log of a run is damaged",
            {{"run", std::to_string(run_number)}, {"reason", error.what()}}
        );
        co_return log_is_gone();
    }
}

void postgres_store::keep_attempt(failed_attempt attempt) {
    attempt.at = time_.shared(attempt.at);
    attempts_.keep(std::move(attempt));
}

asio::awaitable<result<std::optional<run_record>>>
postgres_store::read_run(std::function<pg_statement()> statement) {
    const auto found = co_await read([statement = std::move(statement)] {
        pg_batch batch;
        batch.push_back(statement());
        return batch;
    });
    if (!found) {
        co_return found.error();
    }
    co_return first_run(found->at(0));
}

asio::awaitable<result<std::optional<run_record>>>
postgres_store::find_run(thread_key key, std::string run_id) {
    return read_run([key = std::move(key), run_id = std::move(run_id)] {
        return find_run_by_id(key, run_id);
    });
}

asio::awaitable<result<located_run>>
postgres_store::locate_run(thread_key key, std::string run_id) {
    return on_store<located_run>([this, key = std::move(key), run_id = std::move(run_id)] {
        return run_and_holder(key, run_id);
    });
}

asio::awaitable<result<located_run>>
postgres_store::run_and_holder(thread_key key, std::string run_id) {
    const auto found = co_await read_at_once(shared_, [&] {
        pg_batch batch;
        batch.push_back(find_run_by_id(key, run_id));
        batch.push_back(leases_.select_holder(key));
        return batch;
    });
    located_run located{first_run(found.at(0)), std::nullopt};
    if (located.run && located.run->status == run_status::active) {
        auto here = leases_.holder_here(key);
        located.holder = here ? std::move(here) : pg_leases::holder_in(found.at(1));
    }
    co_return located;
}

asio::awaitable<result<std::optional<run_record>>>
postgres_store::find_run_by_key(thread_key key, std::string idempotency_key) {
    return read_run([key = std::move(key), idempotency_key = std::move(idempotency_key)] {
        return find_run_by_idempotency(key, idempotency_key);
    });
}

asio::awaitable<result<std::optional<run_record>>> postgres_store::latest_run(thread_key key) {
    return read_run([key = std::move(key)] { return find_latest_run(key); });
}

asio::awaitable<result<thread_page>> postgres_store::list(thread_query query) {
    auto page =
        co_await on_store<thread_page>([this, query = std::move(query)] { return page_of(query); });
    if (page) {
        for (thread_summary& summary : page->threads) {
            if (auto here = leases_.run_here(summary.key)) {
                summary.active_run_id = std::move(*here);
            }
        }
    }
    co_return page;
}

asio::awaitable<result<thread_page>> postgres_store::page_of(thread_query query) {
    const result<pg_batch> statements = select_page(query, gateway_.id());
    if (!statements) {
        co_return statements.error();
    }
    co_return read_page(query, co_await read_at_once(shared_, [&] { return *statements; }));
}

asio::awaitable<result<std::vector<session_event>>>
postgres_store::events(thread_key key, std::uint64_t after, std::size_t limit) {
    const auto found = co_await read([key = std::move(key), after, limit] {
        return select_events(key, after, limit);
    });
    if (!found) {
        co_return found.error();
    }
    co_return read_events(*found);
}

asio::awaitable<result<bool>> postgres_store::remove(thread_key key) {
    messages_.forget(key);
    return on_store<bool>([this, key = std::move(key)] { return remove_and_erase(key); });
}

asio::awaitable<result<bool>> postgres_store::remove_and_erase(thread_key key) {
    co_await attempts_.flush();
    result<bool> removed = co_await threads_.remove(std::move(key));
    if (removed && *removed) {
        try {
            co_await upkeep_.erase_removed();
        } catch (const std::runtime_error& error) {
            // The thread is already invisible; drop_logs() does the rest.
            note_failure(error.what());
        }
    }
    co_return removed;
}

asio::awaitable<result<std::vector<store::orphan>>> postgres_store::orphans(lease_ptr held) {
    return on_store<std::vector<orphan>>([this, held = std::move(held)] {
        return threads_.orphans(held);
    });
}

asio::awaitable<result<std::vector<lease_ptr>>> postgres_store::claim_orphans(std::size_t limit) {
    return on_store<std::vector<lease_ptr>>([this, limit] { return claim_and_settle(limit); });
}

asio::awaitable<result<std::vector<lease_ptr>>> postgres_store::claim_and_settle(std::size_t limit
) {
    result<std::vector<lease_ptr>> claims = co_await leases_.claim_orphans(limit);
    if (claims && !claims->empty()) {
        try {
            co_await threads_.settle_all(*claims);
        } catch (const std::runtime_error& error) {
            note_failure(error.what()); // orphans() does it for each.
        }
    }
    co_return claims;
}

asio::awaitable<result<std::vector<left_request>>>
postgres_store::claim_queued(std::vector<std::int64_t> known, std::size_t limit) {
    return on_store<std::vector<left_request>>(
        [this, known = std::move(known),
         limit]() -> asio::awaitable<result<std::vector<left_request>>> {
            co_return co_await threads_.claim_queued(known, limit);
        }
    );
}

asio::awaitable<result<bool>>
postgres_store::take_over_queued(std::int64_t number, std::int64_t from) {
    return on_store<bool>([this, number, from]() -> asio::awaitable<result<bool>> {
        co_return co_await threads_.take_over_queued(number, from);
    });
}

asio::awaitable<result<void>> postgres_store::leave_queued(std::int64_t number) {
    return on_store<void>([this, number]() -> asio::awaitable<result<void>> {
        co_await threads_.leave_queued(number);
        co_return result<void>();
    });
}

asio::awaitable<result<void>> postgres_store::request_stop(stop_request request) {
    return on_store<void>([this, request = std::move(request)]() -> asio::awaitable<result<void>> {
        co_await stops_.request(request, pg_stops::kind::stop);
        co_return result<void>();
    });
}

asio::awaitable<result<void>> postgres_store::note_reader(thread_key key, std::string run_id) {
    return on_store<void>(
        [this,
         run = stop_request{std::move(key), std::move(run_id)}]() -> asio::awaitable<result<void>> {
            co_await stops_.request(run, pg_stops::kind::reading);
            co_return result<void>();
        }
    );
}

asio::awaitable<result<void>> postgres_store::announce(std::string url, std::string secret) {
    return on_store<void>(
        [this, url = std::move(url),
         secret = std::move(secret)]() -> asio::awaitable<result<void>> {
            co_await gateway_.announce(url, secret);
            co_return result<void>();
        }
    );
}

asio::awaitable<result<std::optional<peer_address>>>
postgres_store::find_gateway(std::int64_t number) {
    return on_store<std::optional<peer_address>>(
        [this, number]() -> asio::awaitable<result<std::optional<peer_address>>> {
            co_return co_await gateway_.find(number);
        }
    );
}

asio::awaitable<result<std::vector<peer_address>>> postgres_store::other_gateways() {
    return on_store<std::vector<peer_address>>(
        [this]() -> asio::awaitable<result<std::vector<peer_address>>> {
            co_return co_await gateway_.others();
        }
    );
}

asio::awaitable<result<void>> postgres_store::drop_logs(log_limits limits) {
    return on_store<void>([this, limits] { return drop_old_logs(limits); });
}

asio::awaitable<result<void>> postgres_store::drop_old_logs(log_limits limits) {
    co_await attempts_.flush();
    const auto now = co_await read_at_once(shared_, [] {
        pg_batch batch;
        batch.emplace_back("SELECT agui.now_ms()");
        return batch;
    });
    time_.note(now.at(0).integer(0, 0)); // This machine's clock may have changed a moment ago.
    leases_.expect_strays();
    limits.ended_since = time_.shared(limits.ended_since);
    limits.attached_since = time_.shared(limits.attached_since);
    co_await upkeep_.drop_logs(limits);
    (void)co_await write_at_once(shared_, {}, [since = limits.attached_since] {
        return drop_attachments_before(since);
    });
    if (limits.now != 0) {
        (void)co_await write_at_once(shared_, {}, [now = time_.shared(limits.now)] {
            return drop_usage_before(now);
        });
    }
    co_return result<void>();
}

} // namespace agui::session
