#pragma once

#include "gateway/auth/route_access.hpp"
#include "gateway/config/config.hpp"
#include "gateway/log/run_observer.hpp"
#include "gateway/run_control.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/hooks/plugin.hpp"
#include "runner/http/scripted_transport.hpp"
#include "runner/loop/loop_detector.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/log.hpp"
#include "session/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// Options that an embedding program adds to the server's configuration.
struct server_options {
    /// C++ functions as server tools, in addition to the configured ones.
    runner::tool_registry tools;
    /// C++ functions of one agent, by its id, for tools that are unavailable or missing in the
    /// registry.
    std::map<std::string, runner::tool_executors> executors;
    logger* log = nullptr; ///< Must outlive the server. If null, lines go to standard error.
    /// Makes the provider of a model with `provider = "custom"`; required if one is configured.
    /// Called once for each, while the server is constructed.
    std::function<std::unique_ptr<runner::model_provider>(const model_config&)> provider_of;
    /// Stores the conversations; if null, `session.store` decides. The server closes it.
    std::shared_ptr<session::store> store;
    /// Decides how a run reacts to a model that repeats its calls. If empty, the agent's
    /// `loop_detection` decides. Called on the threads of the server; must not block.
    runner::loop_callback decide_loop;
    /// Take part in the turns of all runs, in this order; plugin_turn::agent_id identifies the
    /// agent.
    runner::plugin_list plugins;
    run_observer observer; ///< Sees the events of all runs; may be empty.
    /// Makes the answers of a model with `provider = "scripted"`; required if one is configured.
    std::function<runner::script(const model_config&)> script_of;
    bool demo_page = false;      ///< Serve the built-in example page at `/`.
    bool handle_signals = false; ///< SIGTERM and SIGINT call request_stop().
    /// Reads the configuration again. With handle_signals, SIGHUP calls it on a separate thread and
    /// passes the result to reload(). If empty, SIGHUP is not handled.
    std::function<config_result<config>()> read_config;
};

/// A row of the server's table of routes.
struct served_route {
    std::string method;
    std::string pattern; ///< Below base_path.
    route_access access;
};

/// The gateway as an object: threads, store, models, tools, runs and routes, built in this order.
/// The composition root, and the only place that reads the configuration. start() once, then
/// wait().
class server {
public:
    /// Opens the store and makes all checks that need no network. Throws std::runtime_error (or a
    /// class derived from it) that names the unusable part.
    explicit server(config what, server_options options = {});
    /// If the server still runs, stops it at once and waits.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Binds, ends runs that an earlier process left active, waits at most five seconds for the
    /// tools of MCP servers, and serves. Returns the port, which is useful if the configured one is
    /// 0. Throws boost::system::system_error if the address cannot be used.
    std::uint16_t start();

    /// `http://127.0.0.1:8080`, without base_path. After start().
    [[nodiscard]] std::string url() const;

    /// Bytes currently counted against `server.max_memory_bytes` for requests, logs and replies.
    /// Any thread.
    [[nodiscard]] std::size_t memory_used() const;

    /// All routes, in the order in which they are tried.
    [[nodiscard]] std::vector<served_route> routes() const;

    /// Starts, stops and lists runs. Lives as long as the server.
    [[nodiscard]] run_control& runs() noexcept;
    /// The conversations. Lives as long as the server; closed once wait() has returned.
    [[nodiscard]] session::store& store() noexcept;

    /// Applies only the secrets and the [auth] of a later reading of the configuration
    /// (with_secrets_of()): the token of requests, the keys of model servers, the password of the
    /// store. header_env is not applied, because a process's environment does not change. Requests,
    /// runs and model calls in progress continue. A custom provider of the program is kept. On
    /// error nothing changes. Any thread, until wait() returns.
    [[nodiscard]] config_result<void> reload(const config& fresh);

    /// Any thread, any number of times. The first call drains: new runs are refused, and active
    /// ones get `server.drain_seconds` to end by themselves. The second call ends them at once.
    void request_stop();

    /// Returns once everything has ended and the store is closed.
    void wait();
    /// The same, but gives up `after_drain` after draining if something does not end, such as a
    /// tool that ignores its cancellation. Returns false if it gave up; the process should then end
    /// without destructors.
    [[nodiscard]] bool wait_bounded(std::chrono::milliseconds after_drain);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace agui::gateway
