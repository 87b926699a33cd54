#pragma once

#include "gateway/audit/access_log.hpp"
#include "gateway/audit/audit_log.hpp"
#include "gateway/audit/auth_failures.hpp"
#include "gateway/console/kept_requests.hpp"
#include "gateway/control/control_door.hpp"
#include "gateway/http/connection_group.hpp"
#include "gateway/http/listener.hpp"
#include "gateway/http/router.hpp"
#include "gateway/peers/peer_client.hpp"
#include "gateway/peers/peer_streams.hpp"
#include "gateway/quota/quotas.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "gateway/server.hpp"
#include "gateway/server_parts.hpp"
#include "runner/loop/prefix_watch.hpp"
#include "runner/mcp/mcp_tools.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/id.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The parts of a server, in the order in which they are made. Its functions are in server.cpp
/// (start and end), server_routes.cpp (the table of routes), server_upkeep.cpp (work that is
/// repeated) and server_reload.cpp (new secrets). Only these files include this header.
struct server::impl {
    /// One I/O thread: runs, connections and model calls that live here never leave it.
    struct io_thread {
        boost::asio::io_context context{1};
        boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work =
            boost::asio::make_work_guard(context);
        std::unique_ptr<connection_group> connections;
        std::thread thread;
    };

    /// Limited, because a reply keeps several copies of a conversation in memory.
    static constexpr std::size_t large_replies_at_once = 1;
    // Queue length for large replies. Limited, because each holds a connection, and the last waits
    // for all others.
    static constexpr std::size_t large_replies_waiting = 64;

    impl(config what, server_options options);

    std::vector<route> make_routes();
    std::vector<refusal_form> make_refusal_forms() const;
    control_parts make_control_parts();
    forget_thread_function make_forget_thread();
    void run_thread(io_thread& one);
    boost::asio::awaitable<void> prepare();
    boost::asio::awaitable<void> announce();
    void begin_stop();
    boost::asio::awaitable<void> drain(std::chrono::steady_clock::time_point deadline);
    boost::asio::awaitable<void> drop_old_logs();
    boost::asio::awaitable<void> look_for_lost_runs();
    boost::asio::awaitable<void> look_after_auth();
    boost::asio::awaitable<void> write_accesses();
    boost::asio::awaitable<void> count_gateways();
    void watch_signals();
    void warn_of_settings();
    using provider_list =
        std::vector<std::pair<std::string, std::unique_ptr<runner::model_provider>>>;
    [[nodiscard]] provider_list providers_with_new_keys(const config& next);
    config_result<void> reload(const config& fresh);
    [[nodiscard]] config_problems read_again();
    void reload_from_source();
    void reopen_files();
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
    std::unique_ptr<audit_file> audit;       ///< Null without audit.file.
    std::unique_ptr<auth_failures> failures; ///< The same.
    std::unique_ptr<access_log> accesses;    ///< Null without access_log.file.
    refused_origins refused;
    room_log no_room;
    const std::string session_secret; ///< Of this start, for sessions without a configured one.
    std::shared_ptr<key_source> fetched_keys; ///< Null without `auth.jwks_url`.
    current_authenticator auth;
    const std::string peer_secret; ///< The secret that other gateways must present.
    wrong_tokens wrong;
    uuid_ids ids;
    peer_streams streams; ///< Streams that other gateways read here.
    std::vector<std::unique_ptr<io_thread>> threads;
    std::shared_ptr<session::store> store;
    heavy_work heavy; ///< After the contexts, because its work resumes on them.
    runner::prefix_watch prefixes;
    std::unique_ptr<kept_requests> asked; ///< Null without the console.
    std::unique_ptr<quotas> limits;       ///< Null without [[quotas]].
    provider_map providers;
    const tool_credentials users_of_tools;
    input_parser parser;
    std::unique_ptr<peer_client> peers; ///< Null if no other process uses the store.
    part_links links;                   ///< Set once the server's own address is known.
    run_service runs;
    run_control control;
    router routes;
    connection_services services;
    std::unique_ptr<runner::mcp_tools> mcp;
    std::unique_ptr<listener> door;
    std::unique_ptr<control_door> control_entry; ///< Null without server.control_socket.
    std::unique_ptr<boost::asio::signal_set> signals;
    std::unique_ptr<boost::asio::steady_timer> log_timer;
    std::unique_ptr<boost::asio::steady_timer> lost_timer;
    std::unique_ptr<boost::asio::steady_timer> wrong_timer;
    std::unique_ptr<boost::asio::steady_timer> access_timer;

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
    std::unique_ptr<boost::asio::thread_pool> reader;
};

} // namespace agui::gateway
