#include "session/postgres/pg_target.hpp"

#include "session/base/as_result.hpp"
#include "session/base/contains.hpp"
#include "session/postgres/pg_error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using clock = std::chrono::steady_clock;
using option_list = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts(1);
    for (const char each : list) {
        if (each == ',') {
            parts.emplace_back();
        } else {
            parts.back() += each;
        }
    }
    return parts;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string list;
    for (const std::string& part : parts) {
        list += (&part == parts.data() ? "" : ",") + part;
    }
    return list;
}

// True for the folder of a socket, or the name of an abstract socket.
bool is_socket(std::string_view host) {
    return host.empty() || host.front() == '/' || host.front() == '@';
}

// The value from the environment and a service file, if the URL has none.
std::string default_of(std::string_view name) {
    const option_list defaults(PQconndefaults(), PQconninfoFree);
    for (const PQconninfoOption* each = defaults.get(); each != nullptr && each->keyword != nullptr;
         ++each) {
        if (name == each->keyword && each->val != nullptr) {
            return each->val;
        }
    }
    return {};
}

struct lookup {
    explicit lookup(const asio::any_io_executor& executor) : resolver(executor), timer(executor) {}
    asio::ip::tcp::resolver resolver;
    asio::steady_timer timer;
    std::vector<std::string> found;
};

void keep_addresses(lookup& in, const asio::ip::tcp::resolver::results_type& results) {
    for (const auto& each : results) {
        const std::string address = each.endpoint().address().to_string();
        if (!contains(in.found, address)) {
            in.found.push_back(address);
        }
    }
    in.timer.cancel();
}

// A lookup cannot be ended: after a timeout it continues unattended.
asio::awaitable<std::vector<std::string>>
addresses_of(std::string host, clock::time_point deadline) {
    boost::system::error_code not_numeric;
    (void)asio::ip::make_address(host, not_numeric);
    if (!not_numeric) {
        // Must not queue behind a slow lookup: they share a thread.
        co_return std::vector<std::string>{host};
    }
    if (deadline <= clock::now()) {
        co_return std::vector<std::string>();
    }
    const auto under_way = std::make_shared<lookup>(co_await asio::this_coro::executor);
    under_way->timer.expires_at(deadline);
    under_way->resolver.async_resolve(
        host, "",
        [under_way](
            const boost::system::error_code& error,
            const asio::ip::tcp::resolver::results_type& results
        ) { keep_addresses(*under_way, error ? asio::ip::tcp::resolver::results_type() : results); }
    );
    co_await under_way->timer.async_wait(as_result);
    co_return std::move(under_way->found);
}

} // namespace

pg_target::pg_target(const std::string& url, std::string password)
    : password_(std::move(password)) {
    // The message of libpq may repeat a part of the URL, and thus of the password.
    const option_list parsed(PQconninfoParse(url.c_str(), nullptr), PQconninfoFree);
    if (!parsed) {
        throw std::runtime_error("the URL of the PostgreSQL server cannot be parsed");
    }
    for (const PQconninfoOption* each = parsed.get(); each->keyword != nullptr; ++each) {
        if (each->val != nullptr) {
            options_.emplace_back(each->keyword, each->val);
        }
    }
    const auto add_default = [this](const char* name, const char* value) {
        if (value_of(name).empty()) {
            options_.emplace_back(name, value);
        }
    };
    add_default("fallback_application_name", "agui-gateway");
    add_default("client_encoding", "UTF8");
    // Detects that a machine has gone within 20 s, or 10 s if something was sent to it.
    add_default("keepalives_idle", "10");
    add_default("keepalives_interval", "3");
    add_default("keepalives_count", "3");
    add_default("tcp_user_timeout", "10000");
    // Chooses the host that is no standby, if there are several.
    add_default("target_session_attrs", "read-write");
    // Without Kerberos, its look for credentials only costs time, and may block.
    add_default("gssencmode", "disable");
}

std::string pg_target::value_of(const std::string& name) const {
    const auto found = std::ranges::find(options_, name, &options::value_type::first);
    return found == options_.end() ? std::string() : found->second;
}

void pg_target::use_password(std::string password) {
    const std::lock_guard lock(mutex_);
    password_ = std::move(password);
}

pg_target::options pg_target::with_password() const {
    options found = options_;
    const std::lock_guard lock(mutex_);
    if (!password_.empty()) {
        std::erase_if(found, [](const auto& each) { return each.first == "password"; });
        found.emplace_back("password", password_);
    }
    return found;
}

asio::awaitable<pg_target::options> pg_target::resolve(clock::time_point deadline) const {
    options found = with_password();
    std::string given = value_of("host");
    if (given.empty()) {
        given = default_of("host");
    }
    if (given.empty() || !value_of("hostaddr").empty()) {
        co_return found;
    }
    const std::vector<std::string> hosts = split(given);
    std::vector<std::string> ports = split(value_of("port"));
    if (ports.size() != hosts.size()) { // There is one port for all hosts, or none.
        ports.resize(hosts.size(), ports.front());
    }

    // Each address is tried as a host of its own: its name stays beside it, for TLS.
    std::vector<std::string> names;
    std::vector<std::string> addresses;
    std::vector<std::string> ports_of_names;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        std::vector<std::string> of_host;
        if (is_socket(hosts[i])) {
            of_host.emplace_back();
        } else {
            const auto until = clock::now() + (deadline - clock::now()) / 2;
            of_host = co_await addresses_of(hosts[i], until);
        }
        for (std::string& address : of_host) {
            names.push_back(hosts[i]);
            addresses.push_back(std::move(address));
            ports_of_names.push_back(ports[i]);
        }
    }
    if (names.empty()) {
        throw pg_error(
            "", "the host name of the PostgreSQL server was not resolved in time",
            pg_error::effect::connection_lost
        );
    }
    std::erase_if(found, [](const auto& each) {
        return each.first == "host" || each.first == "port";
    });
    found.emplace_back("host", joined(names));
    found.emplace_back("port", joined(ports_of_names));
    if (std::ranges::any_of(addresses, [](const std::string& each) { return !each.empty(); })) {
        found.emplace_back("hostaddr", joined(addresses));
    }
    co_return found;
}

} // namespace agui::session
