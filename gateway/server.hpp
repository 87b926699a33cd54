#pragma once

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

namespace agui::gateway {

/// What a program that embeds the server adds to its configuration.
struct server_options {
    runner::tool_registry tools; ///< C++ functions as server tools, besides the config's.
    /// C++ functions of one agent, by its id: for tools that the registry does not have, or that
    /// are unavailable.
    std::map<std::string, runner::tool_executors> executors;
    logger* log = nullptr; ///< Outlives the server; nullptr: lines on standard error.
    /// Makes the provider of a model with `provider = "custom"`; required if one is configured.
    /// Called once for each, while the server is constructed.
    std::function<std::unique_ptr<runner::model_provider>(const model_config&)> provider_of;
    /// Where conversations live; null: what `session.store` says. The server closes it.
    std::shared_ptr<session::store> store;
    /// Decides what a run does about a model that repeats its calls; empty: what the agent's
    /// `loop_detection` says. Called on the threads of the server; must not block.
    runner::loop_callback decide_loop;
    /// Take part in the turns of all runs, in this order; plugin_turn::agent_id tells the agents.
    runner::plugin_list plugins;
    run_observer observer; ///< Sees the events of all runs; empty: nobody does.
    /// What a model with `provider = "scripted"` answers; needed if there is one.
    std::function<runner::script(const model_config&)> script_of;
    bool demo_page = false;      ///< Serve the built-in example page at `/`.
    bool handle_signals = false; ///< SIGTERM and SIGINT call request_stop().
    /// Reads the configuration again. With handle_signals, SIGHUP calls it, on a thread of its own,
    /// and reload() with the result. SIGHUP is not handled if this is empty.
    std::function<config_result<config>()> read_config;
};

/// The gateway as an object: threads, store, models, tools, runs and routes, built in this order.
/// The composition root, and the only place that reads the configuration. start() once, then
/// wait().
class server {
public:
    /// Opens the store and checks what can be checked without a network. Throws std::runtime_error
    /// (or a class derived from it) naming what cannot be used.
    explicit server(config what, server_options options = {});
    /// Stops at once, if it still runs, and waits.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Binds, ends what a former process left active, waits at most five seconds for the tools of
    /// MCP servers, and serves. Returns the port, which matters
    /// where the configured one is 0. Throws boost::system::system_error if the address cannot be
    /// used.
    std::uint16_t start();

    /// `http://127.0.0.1:8080`, without base_path. After start().
    [[nodiscard]] std::string url() const;

    /// Bytes that requests, logs and replies count at the moment (`server.max_memory_bytes`). Any
    /// thread.
    [[nodiscard]] std::size_t memory_used() const;

    /// Starts, stops and lists runs. Lives as long as the server.
    [[nodiscard]] run_control& runs() noexcept;
    /// The conversations. Lives as long as the server; closed once wait() has returned.
    [[nodiscard]] session::store& store() noexcept;

    /// Takes the secrets and the [auth] of a later reading of the configuration, and nothing else
    /// of it (with_secrets_of()): the token of requests, the keys of model servers, the password of
    /// the store. Not: header_env, because a process's environment does not change. Requests, runs
    /// and model calls under way go on. A model with a provider of the program's own keeps it.
    /// After an error nothing has changed. Any thread, until wait() returns.
    [[nodiscard]] config_result<void> reload(const config& fresh);

    /// Any thread, any number of times. The first call drains: new runs are refused, the others get
    /// `server.drain_seconds` to end by themselves. The second ends them at once.
    void request_stop();

    /// Returns once everything has ended and the store is closed.
    void wait();
    /// The same, but gives up at some time after draining if something does not end, such as a tool
    /// that ignores its cancellation. False: it gave up, and the process should end without
    /// destructors.
    [[nodiscard]] bool wait_bounded(std::chrono::milliseconds after_drain);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace agui::gateway
