#include "session/postgres/pg_listener.hpp"

#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_transaction.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto connect_time_max = 5s;
constexpr auto answer_time_max = 5s;
constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 1000ms;
// A connection that no notification comes on may be lost without a sign.
constexpr auto time_between_questions = 10s;

} // namespace

pg_listener::pg_listener(
    const asio::any_io_executor& executor, const pg_target& target, receiver& told,
    agui::logger& log
)
    : target_(target), told_(told), log_(log), timer_(executor) {}

asio::awaitable<void> pg_listener::run() {
    auto next_pause = std::chrono::milliseconds(first_pause);
    while (!is_closed_) {
        const auto begun = clock::now();
        try {
            co_await listen();
        } catch (const pg_error& error) {
            connection_ = nullptr;
            note_loss(error.what());
        }
        if (is_closed_) {
            co_return;
        }
        next_pause = clock::now() - begun > longest_pause
                         ? std::chrono::milliseconds(first_pause)
                         : std::min(next_pause * 2, std::chrono::milliseconds(longest_pause));
        timer_.expires_after(next_pause);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

// The store may be usable by its other connections, so that nothing else would say it.
void pg_listener::note_loss(std::string_view reason) {
    if (!is_closed_ && !std::exchange(is_deaf_, true)) {
        log_.log(
            log_level::warning,
            "other gateways are not heard, nor their stop requests: session.listen must lead to "
            "the server",
            {{"reason", reason}}
        );
    }
}

void pg_listener::note_success() {
    if (std::exchange(is_deaf_, false)) {
        log_.log(log_level::info, "other gateways are heard again");
    }
}

// Until the connection is lost or this is closed.
asio::awaitable<void> pg_listener::listen() {
    // Not prepared: a pooler that may be in between is none for whole sessions otherwise.
    const std::unique_ptr<pg_connection> connection =
        co_await pg_connection::open(target_, false, clock::now() + connect_time_max);
    struct known {
        pg_connection*& place;
        ~known() { place = nullptr; }
    } const while_open{connection_};
    connection_ = connection.get();
    has_new_channels_ = true;
    while (!is_closed_) {
        if (std::exchange(has_new_channels_, false)) {
            pg_batch batch;
            batch.emplace_back("UNLISTEN *");
            for (const std::string& channel : channels_) {
                batch.push_back(pg_statement::once("LISTEN " + channel));
            }
            (void)co_await connection->execute(std::move(batch), clock::now() + answer_time_max);
            note_success();
            told_.on_listening();
        }
        const auto heard =
            co_await connection->next_notifications(clock::now() + time_between_questions);
        for (const pg_notification& each : heard) {
            told_.on_notification(each);
        }
        if (heard.empty() && !is_closed_) {
            pg_batch question;
            question.emplace_back("SELECT");
            (void)co_await connection->execute(std::move(question), clock::now() + answer_time_max);
        }
    }
}

void pg_listener::set_channels(std::vector<std::string> channels) {
    channels_ = std::move(channels);
    has_new_channels_ = true;
    if (connection_ != nullptr) {
        connection_->interrupt();
    }
}

void pg_listener::close() noexcept {
    is_closed_ = true;
    timer_.cancel();
    if (connection_ != nullptr) {
        connection_->abandon();
    }
}

} // namespace agui::session
