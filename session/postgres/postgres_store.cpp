#include "session/postgres/postgres_store.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_schema.hpp"

#include <boost/asio/co_spawn.hpp>

#include <pthread.h>

#include <exception>
#include <future>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

pg_logs::settings settings_of_logs(const postgres_settings& from, pg_logs::settings times) {
    times.relaxed = from.durability == durability::relaxed;
    times.batch = from.batch;
    return times;
}

} // namespace

postgres_store::postgres_store(const postgres_settings& settings, pg_logs::settings logs)
    : log_(settings.logger == nullptr ? null_logger() : *settings.logger),
      work_(context_.get_executor()),
      target_(settings.url, settings.password),
      pool_(
          context_.get_executor(), target_, {.size = settings.pool, .prepares = settings.prepared}
      ),
      time_(*settings.own_clock),
      shared_{context_, pool_, {.store_wait = settings.store_wait}, log_, time_},
      upkeep_shared_{
          context_,
          pool_,
          {.store_wait = settings.store_wait, .answer_max = pg_longest_answer},
          log_,
          time_
      },
      gateway_(shared_, settings.lease, *this),
      leases_(
          shared_, gateway_,
          [this](std::vector<std::int64_t> runs) {
              return threads_.settle_released(std::move(runs));
          }
      ),
      stops_(shared_, gateway_),
      logs_(shared_, gateway_, settings_of_logs(settings, logs)),
      upkeep_(upkeep_shared_),
      attempts_(shared_),
      threads_({shared_, gateway_, leases_, logs_, upkeep_}),
      messages_(settings.memory),
      progress_(context_),
      thread_([this] { run_thread(); }) {
    std::promise<void> started;
    asio::co_spawn(context_, start(), [&started](const std::exception_ptr& error) {
        if (error) {
            started.set_exception(error);
        } else {
            started.set_value();
        }
    });
    try {
        started.get_future().get();
    } catch (...) {
        close(); // The destructor will not be called.
        throw;
    }
}

void postgres_store::run_thread() {
    ::pthread_setname_np(::pthread_self(), "agui-postgres");
    context_.run();
}

asio::awaitable<void> postgres_store::start() {
    co_await open_pg_schema(pool_, shared_.patience);
    signing_key_ = co_await read_signing_key(pool_, shared_.patience);
    local_address_ = co_await read_local_address();
    co_await upkeep_.make_partitions();
    co_await gateway_.enroll();
    keep_running(gateway_.renew());
    keep_running(gateway_.watch_term());
    keep_running(leases_.write_releases());
    keep_running(logs_.write());
    keep_running(attempts_.write());
    keep_running(upkeep_.work());
    keep_running(stops_.work());
}

asio::awaitable<std::string> postgres_store::read_local_address() {
    const auto until = std::chrono::steady_clock::now() + shared_.patience.store_wait;
    const pg_pool::loan on = co_await pool_.take(until);
    co_return on->local_address();
}

// A loop catches failures of the server and the network. Any other exception ends the process,
// because a store without the loop would lose data silently.
void postgres_store::keep_running(asio::awaitable<void> loop) {
    ++loops_;
    asio::co_spawn(context_, std::move(loop), [this](const std::exception_ptr& error) {
        if (error) {
            std::rethrow_exception(error);
        }
        --loops_;
        progress_.cancel();
    });
}

asio::awaitable<void> postgres_store::wait_for(const std::function<bool()>& condition) {
    while (!condition()) {
        progress_.expires_at(asio::steady_timer::time_point::max());
        co_await progress_.async_wait(as_result);
    }
}

asio::awaitable<void> postgres_store::shut_down() {
    co_await wait_for([this] { return calls_ == 0; });
    upkeep_.close();
    stops_.close();
    leases_.close();
    logs_.finish();
    attempts_.finish();
    // The gateway is renewed until everything is written.
    co_await wait_for([this] { return loops_ <= 2; });
    gateway_.close();
    co_await wait_for([this] { return loops_ == 0; });
    try {
        co_await leases_.flush();
        co_await gateway_.leave();
    } catch (const std::runtime_error& error) {
        // Other processes notice when the lease expires.
        log_.log(
            log_level::warning, "could not release this gateway's leases: they will expire",
            {{"reason", error.what()}}
        );
    }
    pool_.close();
}

void postgres_store::close() {
    if (std::exchange(is_closed_, true)) {
        return;
    }
    is_closing_ = true;
    std::promise<void> done;
    asio::co_spawn(context_, shut_down(), [&done](const std::exception_ptr& error) {
        if (error) {
            done.set_exception(error);
        } else {
            done.set_value();
        }
    });
    done.get_future().wait();
    work_.reset();
    thread_.join();
}

void postgres_store::on_lost() {
    number_ = 0;
    logs_.lose_all();
    leases_.lose_all();
}

void postgres_store::on_registered(std::int64_t id) { number_ = id; }

void postgres_store::on_renewed() { note_success(); }

// Any client may read it: the address of the server and the user name are for the log only.
std::string postgres_store::unavailable() const {
    if (!pool_.unavailable().empty()) {
        return "the database is unavailable";
    }
    return number_ != 0 ? "" : "this server has lost its leases";
}

void postgres_store::use_password(std::string password) {
    target_.use_password(std::move(password));
}

void postgres_store::note_failure(const std::string& reason) {
    if (!std::exchange(has_failed_, true)) {
        log_.log(log_level::error, "the PostgreSQL store is unavailable", {{"reason", reason}});
    }
}

void postgres_store::note_success() {
    if (std::exchange(has_failed_, false)) {
        log_.log(log_level::info, "the PostgreSQL store is available again");
    }
}

std::unique_ptr<store> make_postgres_store(const postgres_settings& settings) {
    return std::make_unique<postgres_store>(settings);
}

} // namespace agui::session
