// Where a gateway listens, and whether it hears anything there.
#include "session/postgres/pg_watches.hpp"

#include <exception>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr auto pause_after_failure = 1000ms;
constexpr auto probe_time_max = 5s;

constexpr const char* notify = "SELECT pg_notify($1, $2)";

// On which it only hears itself.
std::string own_channel(std::int64_t gateway) { return "agui_self_" + std::to_string(gateway); }

} // namespace

std::vector<std::string> pg_watches::channels_of(std::int64_t gateway) {
    std::vector<std::string> channels{"agui_all"};
    if (gateway != 0) {
        channels.push_back("agui_gw_" + std::to_string(gateway));
        channels.push_back(own_channel(gateway));
    }
    return channels;
}

std::chrono::steady_clock::duration pg_watches::next_look(bool has_failed) const {
    if (has_failed) {
        return pause_after_failure;
    }
    return probed_until_ ? *probed_until_ - std::chrono::steady_clock::now()
                         : std::chrono::steady_clock::duration(24h);
}

// Through a pooler that gives each transaction another connection, or in another database, it may
// listen without an error and hear nothing. Sent as others send theirs.
asio::awaitable<void> pg_watches::send_probe() {
    must_probe_ = false;
    probed_until_ = std::chrono::steady_clock::now() + probe_time_max;
    const std::string channel = own_channel(gateway_.id());
    try {
        (void)co_await write_at_once(shared_, {}, [&channel] {
            pg_batch batch;
            batch.emplace_back(notify, pg_text{channel}, pg_text{"probe"});
            return batch;
        });
    } catch (const std::exception&) {
        must_probe_ = true;
        probed_until_.reset();
        throw;
    }
    if (probed_until_) { // It has not come before the answer.
        probed_until_ = std::chrono::steady_clock::now() + probe_time_max;
    }
}

void pg_watches::on_probe() {
    must_probe_ = false;
    probed_until_.reset();
    if (std::exchange(is_deaf_, false)) {
        shared_.log.log(log_level::info, "notifications of the database are heard again");
    }
}

void pg_watches::check_probe() {
    if (!probed_until_ || std::chrono::steady_clock::now() < *probed_until_) {
        return;
    }
    probed_until_.reset();
    if (!std::exchange(is_deaf_, true)) {
        shared_.log.log(
            log_level::warning,
            "no notification of the database is heard, nor stop requests of other gateways: "
            "session.listen must lead to the same database, and past a pooler"
        );
    }
}

} // namespace agui::session
