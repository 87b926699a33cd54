#include "runner/http/name_lookup.hpp"

#include "session/base/as_result.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

// Names come from the configuration. Above this number, expired results are dropped.
constexpr std::size_t kept_names_max = 256;

boost::system::error_code error_of(int code) {
    switch (code) {
    case 0:
        return {};
    case EAI_AGAIN:
        return asio::error::host_not_found_try_again;
    case EAI_NONAME:
        return asio::error::host_not_found;
    case EAI_MEMORY:
        return asio::error::no_memory;
    default:
        return asio::error::no_recovery;
    }
}

void add_address(looked_up& result, const sockaddr* from) {
    // Copied, because the source may not be aligned.
    if (from->sa_family == AF_INET) {
        sockaddr_in four{};
        std::copy_n(
            reinterpret_cast<const char*>(from), sizeof four, reinterpret_cast<char*>(&four)
        );
        result.addresses.emplace_back(asio::ip::address_v4(ntohl(four.sin_addr.s_addr)));
    } else if (from->sa_family == AF_INET6) {
        sockaddr_in6 six{};
        std::copy_n(reinterpret_cast<const char*>(from), sizeof six, reinterpret_cast<char*>(&six));
        asio::ip::address_v6::bytes_type bytes;
        std::copy_n(six.sin6_addr.s6_addr, bytes.size(), bytes.begin());
        result.addresses.emplace_back(asio::ip::address_v6(bytes, six.sin6_scope_id));
    }
}

looked_up ask_system(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    looked_up result;
    result.ec = error_of(::getaddrinfo(host.c_str(), nullptr, &hints, &list));
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        add_address(result, each->ai_addr);
    }
    if (list != nullptr) {
        ::freeaddrinfo(list);
    }
    if (!result.ec && result.addresses.empty()) {
        result.ec = asio::error::host_not_found;
    }
    return result;
}

} // namespace

struct name_lookup::state : std::enable_shared_from_this<state> {
    /// A coroutine that waits for a name, on the executor of its timer.
    struct waiter {
        explicit waiter(const asio::any_io_executor& executor) : wake(executor) {}
        asio::steady_timer wake;
        looked_up result{asio::error::timed_out, {}};
    };
    struct name {
        bool asked = false; ///< A thread looks the name up or will do so.
        looked_up result;
        clock::time_point until = clock::time_point::min();
        std::vector<std::shared_ptr<waiter>> waiters;
    };

    state(function ask, std::function<clock::time_point()> clock_now)
        : look_up(std::move(ask)), now(std::move(clock_now)) {}

    /// Returns false if `who` got the kept result, and true if it must wait; a result then wakes
    /// it.
    bool wait(const std::string& host, const std::shared_ptr<waiter>& who);
    void leave(const std::string& host, const std::shared_ptr<waiter>& who);
    void start_threads() AGUI_REQUIRES(mutex);
    void work(const std::string& host);
    void drop_old() AGUI_REQUIRES(mutex);

    const function look_up;
    const std::function<clock::time_point()> now;
    agui::mutex mutex;
    std::map<std::string, name> names AGUI_GUARDED_BY(mutex);
    std::deque<std::string> queue AGUI_GUARDED_BY(mutex); ///< Names without a thread.
    std::size_t threads AGUI_GUARDED_BY(mutex) = 0;
};

bool name_lookup::state::wait(const std::string& host, const std::shared_ptr<waiter>& who) {
    const std::lock_guard lock(mutex);
    drop_old();
    name& entry = names[host];
    if (now() < entry.until) {
        who->result = entry.result;
        return false;
    }
    entry.waiters.push_back(who);
    if (!entry.asked) {
        entry.asked = true;
        queue.push_back(host);
    }
    start_threads();
    return true;
}

void name_lookup::state::leave(const std::string& host, const std::shared_ptr<waiter>& who) {
    const std::lock_guard lock(mutex);
    std::erase(names[host].waiters, who);
}

void name_lookup::state::start_threads() {
    while (threads < threads_max && !queue.empty()) {
        try {
            // Detached, because it may take minutes. It shares ownership of everything that it
            // uses.
            std::thread([self = shared_from_this(), host = queue.front()] { self->work(host); }
            ).detach();
        } catch (const std::system_error&) {
            return; // No thread could be started; the next call tries again.
        }
        queue.pop_front();
        ++threads;
    }
}

void name_lookup::state::work(const std::string& host) {
    looked_up result = look_up(host);
    const std::lock_guard lock(mutex);
    name& entry = names[host];
    entry.asked = false;
    entry.until = now() + (result.ec ? not_found_time : found_time);
    entry.result = std::move(result);
    // A leaving waiter needs the mutex too, so the executors of the listed waiters still exist.
    for (const std::shared_ptr<waiter>& who : entry.waiters) {
        asio::post(who->wake.get_executor(), [who, found = entry.result] {
            who->result = found;
            who->wake.cancel();
        });
    }
    entry.waiters.clear();
    --threads;
    start_threads();
}

void name_lookup::state::drop_old() {
    if (names.size() > kept_names_max) {
        const clock::time_point time = now();
        std::erase_if(names, [time](const auto& each) {
            return !each.second.asked && each.second.waiters.empty() && each.second.until <= time;
        });
    }
}

name_lookup::name_lookup(function look_up, std::function<clock::time_point()> now)
    : state_(std::make_shared<state>(std::move(look_up), std::move(now))) {}

const std::shared_ptr<name_lookup>& name_lookup::system() {
    // Never destroyed: a thread may return from the resolver while the process ends.
    static const auto& shared =
        *new std::shared_ptr<name_lookup>(std::make_shared<name_lookup>(ask_system));
    return shared;
}

asio::awaitable<looked_up> name_lookup::find(std::string host, clock::time_point deadline) {
    const auto executor = co_await asio::this_coro::executor;
    const auto who = std::make_shared<state::waiter>(executor);
    who->wake.expires_at(deadline);
    const std::shared_ptr<state> shared = state_;
    if (!shared->wait(host, who)) {
        co_return who->result;
    }
    // However this coroutine ends, nothing is posted to its executor afterwards.
    struct leaving {
        state& from;
        const std::string& host;
        const std::shared_ptr<state::waiter>& who;
        ~leaving() { from.leave(host, who); }
    } guard{*shared, host, who};
    co_await who->wake.async_wait(as_result);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return looked_up{asio::error::operation_aborted, {}};
    }
    co_return who->result;
}

} // namespace agui::runner
