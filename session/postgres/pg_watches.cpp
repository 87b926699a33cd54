#include "session/postgres/pg_watches.hpp"

#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_payload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Longer than a notification takes that comes at all.
constexpr std::chrono::seconds notification_time{1};
// The server's limit of a notification is 8000 bytes.
constexpr std::size_t payload_max = 7900;

constexpr const char* set_watch =
    "INSERT INTO agui.run_watches (run, gateway, readers) VALUES ($1, $2, $3) "
    "ON CONFLICT (run, gateway) DO UPDATE SET readers = excluded.readers";
constexpr const char* drop_watch = "DELETE FROM agui.run_watches WHERE run = $1 AND gateway = $2";
constexpr const char* tell_holder =
    "SELECT pg_notify('agui_gw_' || l.gateway, 'watch ' || $1 || ' ' || $2 || ' ' || $3 || $4) "
    "FROM agui.runs r JOIN agui.threads t ON t.id = r.thread "
    "JOIN agui.leases l ON l.principal = t.principal AND l.thread_id = t.thread_id "
    "AND l.run_number = r.number WHERE r.number = $1";
constexpr const char* followers_of_own =
    "SELECT w.run, w.gateway, w.readers FROM agui.leases l "
    "JOIN agui.run_watches w ON w.run = l.run_number "
    "JOIN agui.gateways g ON g.id = w.gateway AND NOT g.fenced "
    "WHERE l.gateway = $1 AND l.run_number <> 0";
// In place of the number of readers: the process does not follow the run, or no longer.
constexpr std::int64_t no_row = -1;
// At the end of a notification: the last reader was cut off.
constexpr std::string_view and_cut_off = " cut_off";

constexpr const char* notify = "SELECT pg_notify($1, $2)";
constexpr const char* notify_all = "SELECT pg_notify(channel, payload) FROM unnest($1, $2) "
                                   "AS n(channel, payload)";

} // namespace

pg_watches::pg_watches(
    pg_shared& shared, pg_gateway& gateway, std::function<bool(std::int64_t run)> holds
)
    : shared_(shared),
      gateway_(gateway),
      holds_(std::move(holds)),
      table_(std::make_shared<pg_watch_table>([this] {
          asio::post(shared_.context, [this] { wake(); });
      })),
      timer_(shared.context) {}

pg_watches::~pg_watches() { table_->close(); }

asio::awaitable<result<void>> pg_watches::request_stop(stop_request request) {
    const std::string payload = payload_of(request, gateway_.id());
    const std::string to_all = channels_of(0).front();
    if (payload.size() > payload_max) {
        co_return failure{errc::invalid_input, "the ids of the thread and its run are too long"};
    }
    (void)co_await write_at_once(shared_, {}, [payload, to_all] {
        pg_batch batch;
        batch.emplace_back(notify, pg_text{to_all}, pg_text{payload});
        return batch;
    });
    co_return result<void>();
}

void pg_watches::add_notifications(const std::vector<std::int64_t>& runs, pg_batch& to) const {
    notice_set notices;
    for (const std::int64_t run : runs) {
        if (const auto found = followers_.find(run); found != followers_.end()) {
            for (const auto& [gateway, known] : found->second) {
                notices.emplace(run, gateway);
            }
        }
    }
    if (!notices.empty()) {
        to.push_back(notify_of(notices));
    }
}

pg_statement pg_watches::notify_of(const notice_set& notices) {
    std::vector<std::string> texts;
    for (const auto& [run, gateway] : notices) {
        texts.push_back("agui_gw_" + std::to_string(gateway));
        texts.push_back("log " + std::to_string(run));
    }
    std::vector<pg_text> channels;
    std::vector<pg_text> payloads;
    for (std::size_t i = 0; i < texts.size(); i += 2) {
        channels.push_back({texts[i]});
        payloads.push_back({texts[i + 1]});
    }
    return pg_statement(notify_all, channels, payloads);
}

void pg_watches::look_again() {
    must_look_ = true;
    wake();
}

void pg_watches::on_registered() {
    table_->change_all();
    followers_.clear(); // Its runs are lost.
    wake();
}

asio::awaitable<void> pg_watches::work() {
    bool has_failed = false;
    while (!is_closed_) {
        check_probe();
        const bool has_work =
            (table_->has_changes() || must_look_ || must_probe_ || !notices_.empty()) &&
            gateway_.id() != 0;
        if (!has_work || has_failed) {
            timer_.expires_after(next_look(has_failed));
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            has_failed = false;
            continue; // Meanwhile it may have lost its number.
        }
        try {
            if (must_look_) {
                co_await read_followers();
            }
            if (gateway_.id() != 0) {
                co_await write_changes();
            }
            co_await write_notices();
            if (must_probe_) {
                co_await send_probe();
            }
        } catch (const pg_error&) {
            has_failed = true;
        } catch (const pg_unavailable&) {
            has_failed = true;
        }
    }
    co_await tell_the_last();
}

// The readers of a process that shuts down leave just before it. Their runs would count them until
// somebody looks at the rows.
asio::awaitable<void> pg_watches::tell_the_last() {
    if (gateway_.id() == 0) {
        co_return;
    }
    try {
        co_await write_changes();
    } catch (const std::runtime_error&) {
        co_return; // They find out when this process is over.
    }
}

void pg_watches::close() noexcept {
    is_closed_ = true;
    wake();
}

asio::awaitable<void> pg_watches::write_changes() {
    const std::vector<pg_watch_table::row> rows = table_->take_changes();
    if (rows.empty()) {
        co_return;
    }
    std::exception_ptr failed;
    const std::int64_t gateway = gateway_.id();
    try {
        // Checked: nobody would drop rows of a number that others have removed.
        (void)co_await write_at_once(shared_, {.gateway = gateway}, [&rows, gateway] {
            pg_batch batch;
            for (const pg_watch_table::row& each : rows) {
                if (each.is_followed) {
                    batch.emplace_back(set_watch, each.run, gateway, each.readers);
                } else {
                    batch.emplace_back(drop_watch, each.run, gateway);
                }
                const std::int64_t readers =
                    each.is_followed ? static_cast<std::int64_t>(each.readers) : no_row;
                const bool is_cut_off = each.readers == 0 && each.how == leaving::cut_off;
                const pg_text how{is_cut_off ? and_cut_off : std::string_view()};
                batch.emplace_back(tell_holder, each.run, gateway, readers, how);
            }
            return batch;
        });
    } catch (const pg_error& error) {
        failed = std::current_exception();
        if (error.is_fenced()) {
            gateway_.lose(gateway);
        }
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    if (failed) {
        table_->put_back(rows);
        std::rethrow_exception(failed);
    }
    // What was written between the last look at the log and this was not told.
    for (const pg_watch_table::row& each : rows) {
        table_->wake(each.run);
    }
}

asio::awaitable<void> pg_watches::read_followers() {
    must_look_ = false;
    heard_.emplace();
    std::exception_ptr failed;
    std::vector<pg_rows> results;
    try {
        results = co_await read_at_once(shared_, [gateway = gateway_.id()] {
            pg_batch batch;
            batch.emplace_back(followers_of_own, gateway);
            return batch;
        });
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    const notice_set heard = *std::exchange(heard_, std::nullopt);
    if (failed) {
        must_look_ = true;
        std::rethrow_exception(failed);
    }
    const pg_rows& rows = results.at(0);
    follower_map missing = std::exchange(followers_, {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t run = rows.integer(i, 0);
        const std::int64_t gateway = rows.integer(i, 1);
        if (!heard.contains({run, gateway})) {
            on_row(run, gateway, rows.integer(i, 2), missing[run][gateway]);
            missing[run].erase(gateway);
        }
    }
    for (const auto& [run, gateways] : missing) {
        for (const auto& [gateway, known] : gateways) {
            if (heard.contains({run, gateway})) {
                followers_[run][gateway] = known; // Which is newer than the rows.
            } else {
                on_row(run, gateway, no_row, known);
            }
        }
    }
}

// The notification says how the last reader ended, and may still come. If it does not, its process
// has ended or was not heard: the reader need not have left by itself.
void pg_watches::on_row(
    std::int64_t run, std::int64_t gateway, std::int64_t readers, const follower& known
) {
    const auto now = std::chrono::steady_clock::now();
    const auto none_since = known.none_since.value_or(now);
    if (readers <= 0 && known.readers > 0 && now - none_since < notification_time) {
        followers_[run][gateway] = {known.readers, none_since};
    } else {
        on_watch(run, gateway, readers, leaving::cut_off);
    }
}

void pg_watches::on_listening() {
    must_probe_ = true;
    look_again();
    // Nothing was heard while it did not listen.
    table_->wake_all();
}

// Whoever may connect to the database may send anything.
void pg_watches::on_notification(const pg_notification& heard) {
    const std::vector<std::string_view> words = words_of(heard.payload);
    if (words[0] == "log" && words.size() == 2) {
        if (const auto run = number_in(words[1])) {
            table_->wake(*run);
        }
    } else if (words[0] == "watch" && (words.size() == 4 || words.size() == 5)) {
        const auto run = number_in(words[1]);
        const auto gateway = number_in(words[2]);
        const auto readers = number_in(words[3]);
        if (run && gateway && readers && *gateway != gateway_.id()) {
            if (heard_) {
                heard_->emplace(*run, *gateway);
            }
            const bool is_cut_off = words.back() == and_cut_off.substr(1);
            on_watch(*run, *gateway, *readers, is_cut_off ? leaving::cut_off : leaving::left);
        }
    } else if (words[0] == "stop") {
        on_stop(heard.payload);
    } else if (words[0] == "probe") {
        on_probe();
    }
}

void pg_watches::tell(std::int64_t run, std::int64_t gateway) {
    notices_.emplace(run, gateway);
    wake();
}

void pg_watches::end(std::int64_t run) {
    if (const auto found = followers_.find(run); found != followers_.end()) {
        for (const auto& [gateway, known] : found->second) {
            tell(run, gateway);
        }
        followers_.erase(found);
    }
}

asio::awaitable<void> pg_watches::write_notices() {
    notice_set notices = std::exchange(notices_, {});
    if (notices.empty()) {
        co_return;
    }
    try {
        (void
        )co_await write_at_once(shared_, {}, [&notices] { return pg_batch{notify_of(notices)}; });
    } catch (const std::exception&) {
        notices_.merge(notices);
        throw;
    }
}

void pg_watches::on_watch(
    std::int64_t run, std::int64_t gateway, std::int64_t readers, leaving how
) {
    if (readers >= 0 && !holds_(run)) {
        tell(run, gateway); // It has ended meanwhile.
        return;
    }
    if (readers >= 0) {
        followers_[run][gateway] = {static_cast<std::size_t>(readers), std::nullopt};
    } else if (const auto found = followers_.find(run); found != followers_.end()) {
        found->second.erase(gateway);
        if (found->second.empty()) {
            followers_.erase(found);
        }
    }
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(readers, 0));
    tell_readers(run, gateway, count, how);
}

void pg_watches::tell_readers(
    std::int64_t run, std::int64_t gateway, std::size_t readers, leaving how
) {
    const std::lock_guard lock(handler_mutex_);
    if (handler_ != nullptr) {
        handler_->on_peer_readers(run, gateway, readers, how);
    }
}

void pg_watches::on_stop(std::string_view payload) {
    const std::optional<sent_stop> sent = stop_in(payload);
    const std::lock_guard lock(handler_mutex_);
    if (sent && handler_ != nullptr && sent->gateway != gateway_.id()) {
        handler_->on_stop_request(sent->request);
    }
}

} // namespace agui::session
