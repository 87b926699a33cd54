#include "gateway/server.hpp"

#include "gateway/config/config_access.hpp"
#include "gateway/http/connection_group.hpp"
#include "gateway/http/listener.hpp"
#include "gateway/http/router.hpp"
#include "gateway/http/static_files.hpp"
#include "gateway/log/log_turn.hpp"
#include "gateway/peers/peer_client.hpp"
#include "gateway/peers/peer_routes.hpp"
#include "gateway/peers/peer_streams.hpp"
#include "gateway/routes/agui_route.hpp"
#include "gateway/routes/cancel_route.hpp"
#include "gateway/routes/chat_stream_route.hpp"
#include "gateway/routes/events_route.hpp"
#include "gateway/routes/health_routes.hpp"
#include "gateway/routes/history_route.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/routes/part_routes.hpp"
#include "gateway/routes/state_route.hpp"
#include "gateway/routes/thread_routes.hpp"
#include "gateway/runs/run_service.hpp"
#include "gateway/server_parts.hpp"
#include "runner/loop/prefix_watch.hpp"
#include "runner/mcp/mcp_tools.hpp"
#include "session/base/clock.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/id.hpp"
#include "session/base/mutex.hpp"
#include "session/base/sha256_text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
/// Time for replies in progress when the last run has ended.
constexpr std::chrono::seconds closing_time{3};
constexpr std::chrono::minutes log_drop_period{10};
constexpr std::chrono::minutes wrong_token_period{1}; ///< Period of wrong_tokens::sweep().
// Interval of the search for runs lost by other processes, which must end within five seconds after
// their lease.
constexpr std::chrono::seconds lost_run_period{2};
/// MCP servers that take longer to list their tools do not hold up the others' clients.
constexpr std::chrono::seconds mcp_start_wait{5};
/// Two ids and room to spare. Small enough to use the memory reserve, so that a stop can always be
/// read.
constexpr std::size_t max_cancel_bytes = 16U << 10U;
/// Limited, because a reply keeps several copies of a conversation in memory.
constexpr std::size_t large_replies_at_once = 1;
// Queue length for large replies. Limited, because each holds a connection, and the last waits for
// all others.
constexpr std::size_t large_replies_waiting = 64;
constexpr std::size_t peer_secret_bytes = 32;

/// One I/O thread: runs, connections and model calls that live here never leave it.
struct io_thread {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work =
        asio::make_work_guard(context);
    std::unique_ptr<connection_group> connections;
    std::thread thread;
};

} // namespace

struct server::impl {
    impl(config what, server_options options);

    std::vector<route> make_routes();
    void run_thread(io_thread& one);
    asio::awaitable<void> prepare();
    asio::awaitable<void> announce();
    void begin_stop();
    asio::awaitable<void> drain(steady::time_point deadline);
    asio::awaitable<void> drop_old_logs();
    asio::awaitable<void> look_for_lost_runs();
    asio::awaitable<void> report_wrong_tokens();
    void watch_signals();
    void warn_of_weak_secrets();
    using provider_list =
        std::vector<std::pair<std::string, std::unique_ptr<runner::model_provider>>>;
    [[nodiscard]] provider_list providers_with_new_keys(const config& next);
    config_result<void> reload(const config& fresh);
    [[nodiscard]] config_problems read_again();
    void reload_from_source();
    template <class Job>
    void spawn(std::string_view what, Job job);

    config settings; ///< Once threads run, only reload() reads the members that it changes.
    server_options options;

    connection_places places;
    memory_limits bounds;
    memory_budget memory; ///< Before all members that count against it.
    memory_queue large_bodies{memory};
    address_shares unfinished;
    bulkhead large_replies{large_replies_at_once, large_replies_waiting};

    // Destroyed in reverse order: users of the contexts before the contexts.
    std::unique_ptr<logger> own_log;
    logger& log;
    refused_origins refused;
    room_log no_room;
    bearer_token token;
    const std::string peer_secret; ///< The secret that other gateways must present.
    bearer_token peer_token;
    wrong_tokens wrong;
    uuid_ids ids;
    peer_streams streams; ///< Streams that other gateways read here.
    std::vector<std::unique_ptr<io_thread>> threads;
    std::shared_ptr<session::store> store;
    heavy_work heavy; ///< After the contexts, because its work resumes on them.
    runner::prefix_watch prefixes;
    provider_map providers;
    input_parser parser;
    std::unique_ptr<peer_client> peers; ///< Null if no other process uses the store.
    part_links links;                   ///< Set once the server's own address is known.
    run_service runs;
    run_control control;
    router routes;
    connection_services services;
    std::unique_ptr<runner::mcp_tools> mcp;
    std::unique_ptr<listener> door;
    std::unique_ptr<asio::signal_set> signals;
    std::unique_ptr<asio::steady_timer> log_timer;
    std::unique_ptr<asio::steady_timer> lost_timer;
    std::unique_ptr<asio::steady_timer> wrong_timer;

    std::atomic<bool> draining{false};
    bool stopping = false; ///< Used on the first I/O thread.
    /// Also used there. Set while other gateways know this one's address.
    bool is_announced = false;
    bool started = false;

    agui::mutex mutex;
    condition changed;
    bool drained AGUI_GUARDED_BY(mutex) = false;
    std::size_t threads_running AGUI_GUARDED_BY(mutex) = 0;
    bool closed = false; ///< Used by the thread that calls wait().

    agui::mutex reload_mutex; ///< One reload() at a time.
    /// Thread on which SIGHUP reads files, which may take long. Null if SIGHUP is not handled.
    std::unique_ptr<asio::thread_pool> reader;
};

namespace {

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
      refused(log),
      no_room(log),
      // Authentication.
      token(expected_token(settings)),
      peer_secret(sha256_text(random_bytes(peer_secret_bytes))),
      peer_token(peer_secret),
      wrong(log),
      // Conversations.
      store(options.store ? std::move(options.store) : make_store(settings.session, log, &memory)),
      // Work on large texts.
      heavy(&memory),
      // Model servers.
      providers(make_providers(settings, options, log, &heavy)),
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
          {*store, add_webhooks(options.tools, settings.tools, log, heavy), ids, system_clock(),
           log, &memory, options.observer ? &options.observer : nullptr, &options.plugins, &links,
           peers.get(), &heavy, &prefixes},
          make_run_settings(settings, providers, options.decide_loop, options.executors)
      ),
      control(runs, parser, memory),
      // Routes.
      routes(settings.server.base_path, make_routes()),
      // Services of every connection.
      services{
          routes,
          make_access(settings),
          token,
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
          peers ? &peer_token : nullptr
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
        threads.front()->context.get_executor(), make_mcp_servers(settings.tools, log, heavy),
        options.tools, log
    );
    warn_of_weak_secrets();
}

std::vector<route> server::impl::make_routes() {
    const http_handler run = make_agui_route(runs, parser, passed_headers(settings.tools));
    const http_handler chat =
        make_chat_stream_route(runs, parser, ids, &memory, passed_headers(settings.tools));
    const std::size_t depth = settings.server.input.max_json_depth;
    std::vector<route> table{
        {.method = "POST", .pattern = "/agui", .handler = run, .passable = true, .json = true},
        {.method = "POST",
         .pattern = "/agui/agents/{agentId}",
         .handler = run,
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/chat/stream",
         .handler = chat,
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/chat/agents/{agentId}/stream",
         .handler = chat,
         .passable = true,
         .json = true},
        {.method = "POST",
         .pattern = "/agui/cancel",
         .handler = make_cancel_route(runs, depth),
         .json = true,
         .max_body_bytes = max_cancel_bytes},
        {.method = "POST",
         .pattern = "/agui/history",
         .handler = make_history_route(runs, parser),
         .json = true},
        {
            .method = "GET",
            .pattern = "/agui/threads/{threadId}/runs/{runId}/events",
            .handler = make_events_route(runs, &memory),
        },
        {.method = "GET",
         .pattern = "/healthz",
         .handler = make_health_route(),
         .open = true,
         .any_host = true,
         .probe = true},
        {.method = "GET",
         .pattern = "/readyz",
         .handler = make_ready_route(
             {.draining = [this] { return draining.load(); },
              .store_unavailable = [this] { return store->unavailable(); },
              .models =
                  [this] {
                      return circuits_of(providers);
                  }}
         ),
         .open = true,
         .any_host = true,
         .guarded_parameter = detail_parameter,
         .probe = true},
        {.method = "GET", .pattern = "/version", .handler = make_version_route()},
    };
    table.push_back(make_part_route(*store, links, system_clock()));
    table.push_back(make_attachment_route(
        *store, links, system_clock(), parser, settings.session.max_thread_bytes
    ));
    table.push_back(
        make_state_route(*store, system_clock(), parser, settings.session.max_thread_bytes)
    );
    for (route& one : make_thread_routes(*store, system_clock(), depth, heavy)) {
        one.large_reply = one.method == "GET" &&
                          (one.pattern.ends_with("/messages") || one.pattern.ends_with("/events") ||
                           one.pattern.ends_with("/state"));
        table.push_back(std::move(one));
    }
    if (peers) {
        for (route& one : make_peer_routes({runs, *store, streams, routes})) {
            table.push_back(std::move(one));
        }
    }
    // Pages load without a token, but their requests to other routes need one.
    if (!settings.server.static_dir.empty()) {
        table.push_back(
            {.method = "GET",
             .pattern = "/*",
             .handler = make_static_route(
                 settings.server.static_dir,
                 {.csp = settings.server.csp, .spa = settings.server.spa}
             ),
             .open = true}
        );
    } else if (options.demo_page) {
        table.push_back(
            {.method = "GET",
             .pattern = "/*",
             .handler = make_static_route(embedded_page()),
             .open = true}
        );
    }
    return table;
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

/// Tells other gateways the address of this one.
asio::awaitable<void> server::impl::announce() {
    const std::uint16_t port = door->endpoint().port();
    const std::string url = effective_peer_url(settings.server, port, store->local_address());
    if (url.empty()) {
        log.log(log_level::warning, "other gateways cannot reach this one: set server.peer_url");
    }
    const auto announced = co_await store->announce(url, peer_secret);
    is_announced = announced.has_value();
    if (!announced) {
        log.log(
            log_level::error,
            "other gateways cannot reach this one yet: its address could not be stored",
            {{"error", announced.error().detail}}
        );
    }
}

/// Runs before the first connection is accepted.
asio::awaitable<void> server::impl::prepare() {
    if (peers) {
        co_await announce();
    }
    // First, because messages left in queues are answered with these tools.
    co_await mcp->start(mcp_start_wait);
    co_await runs.recover();
}

void server::impl::begin_stop() {
    if (!stopping) {
        stopping = true;
        draining = true;
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
    if (signals) {
        signals->cancel();
    }
    log_timer->cancel();
    lost_timer->cancel();
    wrong_timer->cancel();
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

asio::awaitable<void> server::impl::drop_old_logs() {
    using std::chrono::milliseconds;
    const auto age = std::chrono::duration_cast<milliseconds>(settings.session.log_age).count();
    // Kept until their links have expired, at the end of a day.
    const auto attached =
        std::chrono::duration_cast<milliseconds>(settings.session.link_age + std::chrono::hours(24))
            .count();
    while (!stopping) {
        result<void> dropped = failure{errc::internal, {}, {}, {}};
        try {
            check_failpoint("sweep.begin");
            dropped = co_await store->drop_logs({
                .ended_since = system_clock().now() - age,
                .attached_since = system_clock().now() - attached,
                .max_bytes = settings.session.log_max_bytes,
            });
            check_failpoint("sweep.done");
        } catch (const std::exception& error) {
            dropped = failure{errc::internal, error.what(), {}, {}};
        }
        if (!dropped) {
            log.log(
                log_level::error, "old logs could not be dropped",
                {{"detail", dropped.error().detail}}
            );
        }
        if (stopping) {
            co_return;
        }
        log_timer->expires_after(log_drop_period);
        (void)co_await log_timer->async_wait(as_result); // Its cancellation is the end.
    }
}

asio::awaitable<void> server::impl::look_for_lost_runs() {
    while (!stopping) {
        lost_timer->expires_after(lost_run_period);
        (void)co_await lost_timer->async_wait(as_result); // Its cancellation is the end.
        if (stopping) {
            co_return;
        }
        try {
            if (peers && !is_announced) {
                co_await announce();
            }
            co_await runs.recover();
        } catch (const std::exception& error) {
            log.log(
                log_level::error, "the search for lost runs has failed", {{"error", error.what()}}
            );
        }
    }
}

asio::awaitable<void> server::impl::report_wrong_tokens() {
    while (!stopping) {
        wrong_timer->expires_after(wrong_token_period);
        (void)co_await wrong_timer->async_wait(as_result); // Its cancellation is the end.
        wrong.sweep(steady::now());
    }
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

void server::impl::warn_of_weak_secrets() {
    for (const std::string& line : weak_secrets(settings)) {
        log.log(log_level::warning, "a secret is weak or readable by others", {{"problem", line}});
    }
}

server::impl::provider_list server::impl::providers_with_new_keys(const config& next) {
    provider_list made;
    // The new configuration has the same models.
    for (std::size_t i = 0; i < next.models.size(); ++i) {
        const model_config& model = next.models[i];
        if (is_served(model.provider) && model.api_key.value != settings.models[i].api_key.value) {
            made.emplace_back(model.name, make_provider(next, model, options, log, &heavy));
        }
    }
    return made;
}

config_result<void> server::impl::reload(const config& fresh) {
    const std::lock_guard lock(reload_mutex);
    config_result<config> next = with_secrets_of(settings, fresh);
    if (!next) {
        return next.error();
    }
    provider_list made;
    try { // Failures must precede the first change.
        made = providers_with_new_keys(*next);
    } catch (const std::runtime_error& error) {
        return config_problems{{error.what()}};
    }
    for (auto& [name, provider] : made) {
        providers.at(name)->replace(std::move(provider));
    }
    if (next->session.store_password.value != settings.session.store_password.value) {
        store->use_password(next->session.store_password.value);
    }
    const std::optional<std::string> expected = expected_token(*next);
    if (!expected && expected_token(settings)) {
        log.log(log_level::warning, "requests no longer need a token");
    }
    token.replace(expected);
    for (std::size_t i = 0; i < settings.models.size(); ++i) {
        settings.models[i].api_key = std::move(next->models[i].api_key);
    }
    settings.session.store_password = std::move(next->session.store_password);
    settings.auth = std::move(next->auth);
    log.log(log_level::info, "reloaded [auth] and the secrets; other settings need a restart");
    warn_of_weak_secrets();
    return {};
}

config_problems server::impl::read_again() {
    try {
        const config_result<config> fresh = options.read_config();
        if (!fresh) {
            return fresh.error();
        }
        const config_result<void> done = reload(*fresh);
        return done ? config_problems() : done.error();
    } catch (const std::exception& error) {
        return {{error.what()}};
    }
}

void server::impl::reload_from_source() {
    const config_problems problems = read_again();
    for (const std::string& line : problems.lines) {
        log.log(
            log_level::error, "the configuration was not reloaded: nothing has changed",
            {{"problem", line}}
        );
    }
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
    io_thread& first = *self.threads.front();

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
        return self.report_wrong_tokens();
    });
    self.spawn("accepting connections has stopped", [&self] { return self.door->run(); });
    return self.door->endpoint().port();
}

std::string server::url() const {
    const asio::ip::tcp::endpoint where = impl_->door->endpoint();
    const std::string address = where.address().to_string();
    return "http://" + (where.address().is_v6() ? "[" + address + "]" : address) + ":" +
           std::to_string(where.port());
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
