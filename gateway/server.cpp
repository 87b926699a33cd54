#include "gateway/server.hpp"

#include "gateway/auth/session_cookie.hpp"
#include "gateway/config/config_access.hpp"
#include "gateway/http/listener.hpp"
#include "gateway/log/log_turn.hpp"
#include "gateway/server_impl.hpp"
#include "gateway/server_parts.hpp"
#include "session/base/clock.hpp"
#include "session/base/sha256_text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

namespace {

/// Time for replies in progress when the last run has ended.
constexpr std::chrono::seconds closing_time{3};
/// MCP servers that take longer to list their tools do not hold up the others' clients.
constexpr std::chrono::seconds mcp_start_wait{5};
constexpr std::size_t peer_secret_bytes = 32;

// load_config() has checked it; a program that fills in a config itself has not.
config with_safe_access(config what) {
    if (const auto problems = access_problems(what); !problems.empty()) {
        throw std::runtime_error(std::string(problems[0].table) + ": " + problems[0].text);
    }
    return what;
}

} // namespace

server::impl::impl(config what, server_options given)
    : settings(with_safe_access(std::move(what))),
      options(std::move(given)),
      // Connection limits.
      places(make_place_limits(settings, descriptor_limit())),
      // Memory limits.
      bounds(make_memory_limits(settings.server)),
      memory(bounds.budget, bounds.reserve),
      unfinished(bounds.unfinished),
      // Logging.
      own_log(options.log == nullptr ? make_stderr_logger(settings.server.log_level) : nullptr),
      log(options.log == nullptr ? *own_log : *options.log),
      // Records of who did what.
      audit(
          settings.audit.file.empty()
              ? nullptr
              : std::make_unique<audit_file>(settings.audit.file, system_clock(), log)
      ),
      failures(audit ? std::make_unique<auth_failures>(*audit) : nullptr),
      accesses(
          settings.access_log.file.empty()
              ? nullptr
              : std::make_unique<access_log>(
                    settings.access_log.file, settings.access_log.form, system_clock(), log
                )
      ),
      refused(log),
      no_room(log),
      // Authentication.
      session_secret(random_bytes(session_cookies::secret_bytes_min)),
      fetched_keys(make_fetched_keys(settings, log)),
      auth(make_authenticator(settings, fetched_keys, session_secret)),
      peer_secret(sha256_text(random_bytes(peer_secret_bytes))),
      wrong(log),
      // Conversations.
      store(options.store ? std::move(options.store) : make_store(settings.session, log, &memory)),
      // Work on large texts.
      heavy(&memory),
      // Model servers.
      asked(
          settings.server.console ? std::make_unique<kept_requests>(system_clock(), &memory)
                                  : nullptr
      ),
      limits(
          settings.quotas.empty()
              ? nullptr
              : std::make_unique<quotas>(make_quota_rules(settings), *store, system_clock())
      ),
      providers(make_providers(settings, options, log, &heavy, asked.get(), limits.get())),
      users_of_tools(settings.tools),
      // Parsing of requests.
      parser(make_input_limits(settings), heavy),
      // Other gateways.
      peers(
          store->is_shared()
              ? std::make_unique<peer_client>(
                    *store,
                    peer_client::settings{
                        settings.server.peer_ca_file, settings.session.busy_wait, &memory
                    },
                    log
                )
              : nullptr
      ),
      // Runs. From here on, only the tools of MCP servers change.
      runs(
          {*store, add_webhooks(options.tools, settings.tools, users_of_tools, log, heavy), ids,
           system_clock(), log, &memory, options.observer ? &options.observer : nullptr,
           &options.plugins, &links, peers.get(), &heavy, audit.get(), &prefixes, limits.get()},
          make_run_settings(settings, providers, options.decide_loop, options.executors)
      ),
      control(runs, parser, memory),
      // Routes.
      routes(settings.server.base_path, make_routes(), make_refusal_forms()),
      // Services of every connection.
      services{
          routes,
          make_access(settings),
          auth,
          wrong,
          make_connection_limits(settings.server),
          log,
          memory,
          large_bodies,
          unfinished,
          large_replies,
          no_room,
          refused,
          make_networks(settings.server.trusted_proxies),
          peers ? std::string_view(peer_secret) : std::string_view(),
          limits.get(),
          audit.get(),
          failures.get(),
          accesses.get()
      } {
    // I/O threads, not started yet, each with its connections.
    const std::size_t count = thread_count(settings.server);
    for (std::size_t i = 0; i < count; ++i) {
        auto one = std::make_unique<io_thread>();
        one->connections =
            std::make_unique<connection_group>(one->context.get_executor(), services);
        threads.push_back(std::move(one));
    }
    mcp = std::make_unique<runner::mcp_tools>(
        threads.front()->context.get_executor(),
        make_mcp_servers(settings.tools, users_of_tools, log, heavy), options.tools, log
    );
    warn_of_settings();
}

// Starts a job beside the connections. It must end by itself during a stop; an exception is a bug.
template <class Job>
void server::impl::spawn(std::string_view what, Job job) {
    asio::co_spawn(
        threads.front()->context, std::move(job),
        [this, what](const std::exception_ptr& thrown) {
            if (!thrown) {
                return;
            }
            try {
                std::rethrow_exception(thrown);
            } catch (const std::exception& error) {
                log.log(log_level::critical, what, {{"error", error.what()}});
            }
        }
    );
}

void server::impl::run_thread(io_thread& one) {
    const log_turn publishing(one.context.get_executor());
    for (;;) {
        try {
            one.context.run();
            break;
        } catch (const std::exception& error) {
            // The last boundary: if one handler fails, the others continue.
            log.log(
                log_level::critical, "an I/O thread caught an unexpected exception",
                {{"error", error.what()}}
            );
        }
    }
    const std::lock_guard lock(mutex);
    --threads_running;
    changed.notify_all();
}

/// Runs before the first connection is accepted.
asio::awaitable<void> server::impl::prepare() {
    if (peers) {
        co_await announce();
    }
    co_await count_gateways();
    // First, because messages left in queues are answered with these tools.
    co_await mcp->start(mcp_start_wait);
    co_await runs.recover();
}

void server::impl::begin_stop() {
    if (!stopping) {
        stopping = true;
        draining = true;
        if (accesses) {
            accesses->stop_collecting();
        }
        log.log(log_level::info, "draining");
        runs.begin_drain();
        const auto deadline = steady::now() + settings.server.drain;
        spawn("the shutdown has failed", [this, deadline] { return drain(deadline); });
        return;
    }
    bool over = false;
    {
        const std::lock_guard lock(mutex);
        over = drained;
    }
    if (!over) {
        spawn("the shutdown has failed", [this] { return runs.drain(steady::now()); });
    }
}

// Ends runs, then connections, then the threads, which end when no work is left.
asio::awaitable<void> server::impl::drain(steady::time_point deadline) {
    co_await runs.drain(deadline);
    co_await mcp->stop();
    control.close();
    door->close();
    if (control_entry) {
        control_entry->close();
        control_entry->shut_down(steady::now() + closing_time);
    }
    if (signals) {
        signals->cancel();
    }
    log_timer->cancel();
    lost_timer->cancel();
    wrong_timer->cancel();
    access_timer->cancel();
    const auto last_moment = steady::now() + closing_time;
    for (const auto& one : threads) {
        asio::post(one->context, [group = one->connections.get(), last_moment] {
            group->shut_down(last_moment);
        });
        one->work.reset();
    }
    const std::lock_guard lock(mutex);
    drained = true;
    changed.notify_all();
}

void server::impl::watch_signals() {
    signals->async_wait([this](boost::system::error_code ec, int signal) {
        if (ec) {
            return;
        }
        watch_signals(); // First, because a drain with nothing to wait for ends the watch at once.
        if (signal == SIGHUP) {
            asio::post(*reader, [this] { reload_from_source(); });
        } else {
            begin_stop();
        }
    });
}

server::server(config what, server_options options)
    : impl_(std::make_unique<impl>(std::move(what), std::move(options))) {}

server::~server() {
    if (impl_->started && !impl_->closed) {
        request_stop();
        request_stop();
    }
    wait();
}

std::uint16_t server::start() {
    impl& self = *impl_;
    impl::io_thread& first = *self.threads.front();

    // Bind first: a second server on the same address must not touch the first one's store.
    std::vector<listener::target> targets;
    targets.reserve(self.threads.size());
    for (const auto& one : self.threads) {
        auto add = [group = one->connections.get()](auto socket, auto place) {
            group->add(std::move(socket), std::move(place));
        };
        targets.push_back({one->context.get_executor(), std::move(add)});
    }
    self.door = std::make_unique<listener>(
        first.context.get_executor(), parse_endpoint(self.settings.server.listen),
        std::move(targets),
        [&self](const asio::ip::address& peer) {
            return self.places.admit(peer_of(peer, self.services.trusted_proxies), steady::now());
        },
        self.log
    );
    if (const std::string& path = self.settings.server.control_socket; !path.empty()) {
        self.control_entry = std::make_unique<control_door>(
            first.context.get_executor(), path, self.make_control_parts(), self.log, self.memory,
            self.large_bodies
        );
    }
    const std::size_t allowed = self.places.limits().all;
    if (allowed < self.settings.server.max_connections) {
        self.log.log(
            log_level::warning, "server.max_connections was lowered to fit the limit on open files",
            {{"to", std::to_string(allowed)}}
        );
    }
    self.links = part_links(
        {effective_public_url(self.settings.server, self.door->endpoint().port()),
         std::string(self.store->signing_key()), self.settings.session.link_age}
    );
    self.log_timer = std::make_unique<asio::steady_timer>(first.context);
    self.lost_timer = std::make_unique<asio::steady_timer>(first.context);
    self.wrong_timer = std::make_unique<asio::steady_timer>(first.context);
    self.access_timer = std::make_unique<asio::steady_timer>(first.context);
    if (self.options.handle_signals) {
        self.signals = std::make_unique<asio::signal_set>(first.context, SIGTERM, SIGINT);
        if (self.options.read_config) {
            self.reader = std::make_unique<asio::thread_pool>(1);
            self.signals->add(SIGHUP);
        }
        self.watch_signals();
    }

    // From here on there are threads, whose end must be awaited.
    self.started = true;
    {
        const std::lock_guard lock(self.mutex);
        self.threads_running = self.threads.size();
    }
    for (const auto& one : self.threads) {
        one->thread = std::thread([&self, &one] { self.run_thread(*one); });
    }
    asio::co_spawn(first.context, self.prepare(), asio::use_future).get();
    std::vector<asio::any_io_executor> executors;
    executors.reserve(self.threads.size());
    for (const auto& one : self.threads) {
        executors.emplace_back(one->context.get_executor());
    }
    if (!self.draining) { // A signal may have arrived before.
        self.control.open(std::move(executors));
    }
    self.spawn("the removal of old logs has stopped", [&self] { return self.drop_old_logs(); });
    if (self.store->is_shared()) {
        self.spawn("the search for lost runs has stopped", [&self] {
            return self.look_for_lost_runs();
        });
    }
    self.spawn("the report of wrong tokens has stopped", [&self] {
        return self.look_after_auth();
    });
    if (self.accesses) {
        self.spawn("the access log is no longer written each second", [&self] {
            return self.write_accesses();
        });
    }
    self.spawn("accepting connections has stopped", [&self] { return self.door->run(); });
    if (self.control_entry) {
        self.spawn("the control socket has stopped", [&self] { return self.control_entry->run(); });
    }
    return self.door->endpoint().port();
}

std::string server::url() const {
    const asio::ip::tcp::endpoint where = impl_->door->endpoint();
    const std::string address = where.address().to_string();
    return "http://" + (where.address().is_v6() ? "[" + address + "]" : address) + ":" +
           std::to_string(where.port());
}

std::vector<served_route> server::routes() const {
    std::vector<served_route> all;
    for (const route& each : impl_->routes.rows()) {
        all.push_back({std::string(each.method), each.pattern, each.access});
    }
    return all;
}

run_control& server::runs() noexcept { return impl_->control; }

session::store& server::store() noexcept { return *impl_->store; }

config_result<void> server::reload(const config& fresh) { return impl_->reload(fresh); }

std::size_t server::memory_used() const { return impl_->memory.used(); }

void server::request_stop() {
    asio::post(impl_->threads.front()->context, [self = impl_.get()] { self->begin_stop(); });
}

void server::wait() {
    if (impl_->closed) {
        return;
    }
    for (const auto& one : impl_->threads) {
        if (one->thread.joinable()) {
            one->thread.join();
        }
    }
    if (impl_->reader) {
        impl_->reader->join();
    }
    impl_->store->close();
    impl_->closed = true;
}

bool server::wait_bounded(std::chrono::milliseconds after_drain) {
    impl& self = *impl_;
    {
        const std::lock_guard lock(self.mutex);
        while (!self.drained && self.threads_running != 0) {
            self.changed.wait(self.mutex);
        }
        const auto end = steady::now() + after_drain;
        while (self.threads_running != 0) {
            if (self.changed.wait_until(self.mutex, end) == std::cv_status::timeout &&
                self.threads_running != 0) {
                return false;
            }
        }
    }
    wait();
    return true;
}

} // namespace agui::gateway
