#include "runner/mcp/mcp_link.hpp"

#include "runner/mcp/mcp_link_failures.hpp"
#include "runner/mcp/mcp_progress.hpp"
#include "session/base/as_result.hpp"
#include "session/base/contains.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/json_memory.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr auto never = std::chrono::steady_clock::time_point::max();

/// A call that two executors share: the run waits for it on one, the server's link makes it on the
/// other.
struct crossing {
    crossing(const asio::any_io_executor& run, asio::any_io_executor link)
        : arrived(run, never), home(std::move(link)) {}

    asio::steady_timer arrived; ///< Used on the run's executor, like the outcome.
    std::optional<tool_outcome> outcome;
    asio::any_io_executor home;     ///< The link's executor.
    asio::cancellation_signal stop; ///< Used on the link's executor.
};

void begin(
    const std::shared_ptr<crossing>& over, const asio::any_io_executor& run,
    const std::shared_ptr<mcp_link>& link, mcp_link::tool_call what
) {
    asio::co_spawn(
        over->home, link->call(std::move(what)),
        asio::bind_cancellation_slot(
            over->stop.slot(),
            [over, run](const std::exception_ptr& thrown, tool_outcome outcome) {
                if (thrown) {
                    outcome = mcp_call_failure({.detail = "an exception was thrown"});
                }
                asio::post(run, [over, outcome = std::move(outcome)]() mutable {
                    over->outcome = std::move(outcome);
                    over->arrived.cancel();
                });
            }
        )
    );
}

/// Runs on the run's executor. Passes a cancellation on without waiting for its end.
asio::awaitable<tool_outcome> cross(
    asio::any_io_executor home, std::weak_ptr<mcp_link> to, mcp_link::tool_call what,
    std::shared_ptr<mcp_progress> progress
) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const asio::any_io_executor run = co_await asio::this_coro::executor;
    const auto over = std::make_shared<crossing>(run, home);
    if (progress) {
        what.on_progress = [run, progress](const boost::json::object& told) {
            if (auto news = progress->read(told)) {
                asio::post(run, [progress, news = std::move(*news)] { progress->show(news); });
            }
        };
    }
    asio::post(home, [over, run, to, what = std::move(what)]() mutable {
        const std::shared_ptr<mcp_link> link = to.lock();
        if (link) {
            begin(over, run, link, std::move(what));
        } else {
            asio::post(run, [over] {
                over->outcome = mcp_call_failure(
                    {.what = mcp_failure::kind::closed, .detail = "the server is shutting down"}
                );
                over->arrived.cancel();
            });
        }
    });
    co_await over->arrived.async_wait(as_result);
    if (over->outcome) {
        co_return *std::move(over->outcome);
    }
    asio::post(home, [over] { over->stop.emit(asio::cancellation_type::terminal); });
    co_return cancelled_call();
}

asio::awaitable<tool_outcome> refused_call() { co_return missing_credentials(); }

/// Equal only for calls of one caller that send the same headers.
std::string session_key_of(const tool_invocation& call) {
    std::string key;
    const auto add = [&key](std::string_view text) {
        key.append(std::to_string(text.size())).append(":").append(text);
    };
    add(call.sender);
    for (const auto& [name, value] : call.headers) {
        add(name);
        add(value);
    }
    return key;
}

} // namespace

mcp_link::mcp_link(
    asio::any_io_executor executor, mcp_server_settings settings, tool_registry& tools, logger& log
)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      tools_(tools),
      log_(log),
      news_(executor_, never),
      idle_end_(executor_, never),
      pause_(settings_.reconnect_min),
      accepted_(settings_.client.server, settings_.digest, log) {}

void mcp_link::accept(const std::string& digest) {
    if (!accepted_.accept(digest)) {
        return;
    }
    ++news_count_;
    lists_again_ = true; // A session that begins later lists the tools anyway.
    if (accepted_.refuses()) {
        (void)tools_.replace(settings_.client.server, {});
        log_.log(
            log_level::info,
            "the tools of an MCP server are not offered until it lists the accepted ones",
            {{"server", settings_.client.server}, {"accepted", digest}}
        );
    }
    tell();
}

void mcp_link::tell() { news_.cancel(); }

/// Returns after tell(), at `until`, or for no reason, so callers check their condition again.
asio::awaitable<void> mcp_link::news(clock_point until) {
    asio::steady_timer alarm(executor_, until);
    if (until == never) {
        co_await news_.async_wait(as_result);
        co_return;
    }
    // Several callers wait for one timer, which has one deadline, so this caller's alarm wakes all
    // of them.
    alarm.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->tell();
        }
    });
    co_await news_.async_wait(as_result);
}

asio::awaitable<void> mcp_link::run() {
    const auto self = shared_from_this();
    running_ = true;
    while (!stopping_) {
        const clock_point begun = std::chrono::steady_clock::now();
        mcp_failure why;
        wanted_ = false; // A call that still waits after this attempt sets it again.
        try {
            why = co_await session();
        } catch (const std::exception& error) {
            why = {.detail = "an exception was thrown"};
            log_.log(
                log_level::error, "an MCP session has failed",
                {{"server", settings_.client.server}, {"error", error.what()}}
            );
        }
        client_.reset();
        const std::shared_ptr<mcp_client> ended = std::exchange(latest_, nullptr);
        tried_ = true;
        if (!stopping_) {
            report(why);
        }
        tell();
        if (ended) {
            co_await ended->close();
        }
        if (!stopping_) {
            co_await pause_before_next(begun);
        }
    }
    running_ = false;
    tell();
}

/// Runs one session from its first message to its end. Returns why it is over.
asio::awaitable<mcp_failure> mcp_link::session() {
    const auto client = std::make_shared<mcp_client>(
        executor_, settings_.channel(executor_), settings_.client, log_,
        [weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                ++self->news_count_;
                self->tell();
            }
        }
    );
    latest_ = client;
    list_ = {}; // That of the session before.
    std::optional<mcp_failure> failed = co_await client->connect();
    if (!failed) {
        failed = co_await list(*client);
    }
    if (failed) {
        co_return *std::move(failed);
    }
    client_ = client;
    tried_ = true;
    reported_.clear();
    tell();
    while (client->closed() == nullptr && !stopping_) {
        if (client->tools_notices() == list_.notices && !lists_again_) {
            co_await news(never);
            continue;
        }
        failed = co_await list(*client);
        if (failed && client->closed() == nullptr) {
            report(*failed);
        }
        asio::steady_timer pause(executor_, settings_.list_pause);
        if (client->closed() == nullptr && !stopping_) {
            co_await pause.async_wait(as_result);
        }
    }
    co_return client->closed() != nullptr ? *client->closed() : mcp_failure{};
}

asio::awaitable<std::optional<mcp_failure>> mcp_link::list(mcp_client& client) {
    // Such a list may only be read because of a caller's session that has changed tools.
    const bool is_repeated = is_current(list_, client);
    list_ = {.notices = client.tools_notices(), .requested = std::chrono::steady_clock::now()};
    lists_again_ = false;
    mcp_result<mcp_client::tool_list> listed = co_await client.list_tools();
    if (listed && !listed->is_whole && accepted_.is_pinned()) { // Its digest says nothing.
        listed = broken_list();
    }
    if (!listed) {
        lists_again_ = lists_again_ || accepted_.refuses() || accepted_.is_pinned();
        co_return listed.error();
    }
    list_.is_read = true;
    ++news_count_;
    register_tools(*std::move(listed), is_repeated);
    tell(); // Calls may wait for the list.
    co_return std::nullopt;
}

void mcp_link::register_tools(mcp_client::tool_list list, bool is_repeated) {
    const std::string& server = settings_.client.server;
    const mcp_tool_digests::changes changes = accepted_.take(list.tools, is_repeated);
    if (accepted_.refuses()) {
        (void)tools_.replace(server, {});
        accepted_.report(changes);
        return;
    }
    std::vector<server_tool> tools;
    for (mcp_tool& tool : list.tools) {
        server_tool& added = tools.emplace_back();
        added.definition.name = mcp_offered_name(server, tool.name);
        added.definition.description = std::move(tool.description);
        added.definition.parameters = std::move(tool.schema);
        added.options.approval = settings_.approval;
        added.options.destructive = tool.destructive;
        added.options.is_foreign = true;
        added.function = function_of(std::move(tool));
    }
    const std::string count = std::to_string(tools.size());
    const std::size_t refused = tools_.replace(server, std::move(tools)).size();
    log_.log(
        log_level::info, "the tools of an MCP server are registered",
        {{"server", server}, {"tools", count}, {"digest", accepted_.digest()}}
    );
    accepted_.report(changes);
    if (const std::size_t left_out = list.left_out + refused; left_out > 0) {
        log_.log(
            log_level::warning, "some tools of an MCP server cannot be offered",
            {{"server", server}, {"tools", std::to_string(left_out)}}
        );
    }
}

/// Calls a tool of the last list.
tool_function mcp_link::function_of(mcp_tool tool) {
    std::string definition(accepted_.digest_of(tool.name));
    // Not a coroutine itself, so its captures need not outlive the call that it starts.
    return
        [home = executor_, link = weak_from_this(), name = std::move(tool.name),
         definition = std::move(definition), resource_uri = std::move(tool.resource_uri),
         names = settings_.pass_headers, callers = settings_.callers](tool_invocation invocation) {
            std::string session_key;
            std::optional<std::pair<std::string, std::string>> credentials;
            if (callers.are_required()) {
                credentials = callers.of(invocation);
                if (!credentials) {
                    return refused_call();
                }
            }
            std::erase_if(invocation.headers, [&names](const auto& header) {
                return !contains(names, header.first);
            });
            if (credentials) {
                invocation.headers.push_back(*std::move(credentials));
                session_key = session_key_of(invocation);
            }
            const auto progress = invocation.run == nullptr
                                      ? nullptr
                                      : std::make_shared<mcp_progress>(
                                            invocation.run, invocation.call_id, invocation.name
                                        );
            return cross(
                home, link,
                {.tool = name,
                 .definition = definition,
                 .resource_uri = resource_uri,
                 .arguments = std::move(invocation.arguments),
                 .inputs = std::move(invocation.inputs),
                 .headers = std::move(invocation.headers),
                 .session_key = std::move(session_key),
                 .on_progress = {}},
                progress
            );
        };
}

/// Warns once of a dead server, however often it is tried.
void mcp_link::report(const mcp_failure& why) {
    const bool known = why.detail == reported_;
    reported_ = why.detail;
    log_.log(
        known ? log_level::debug : log_level::warning, "an MCP server is not available",
        {{"server", settings_.client.server},
         {"reason", to_string(why.what)},
         {"detail", why.detail}}
    );
}

asio::awaitable<void> mcp_link::pause_before_next(clock_point begun) {
    const clock_point now = std::chrono::steady_clock::now();
    if (now - begun > settings_.reconnect_max) {
        pause_ = settings_.reconnect_min; // The session worked for a while.
    }
    const clock_point until = now + pause_;
    const clock_point earliest = now + settings_.reconnect_min;
    pause_ = std::min(2 * pause_, settings_.reconnect_max);
    for (;;) {
        const clock_point next = wanted_ ? std::min(until, earliest) : until;
        if (stopping_ || std::chrono::steady_clock::now() >= next) {
            co_return;
        }
        co_await news(next);
    }
}

asio::awaitable<void> mcp_link::wait_tried(clock_point deadline) {
    const auto self = shared_from_this();
    while (!tried_ && !stopping_ && std::chrono::steady_clock::now() < deadline) {
        co_await news(deadline);
    }
}

asio::awaitable<void> mcp_link::stop() {
    const auto self = shared_from_this();
    stopping_ = true;
    tell();
    if (const std::shared_ptr<mcp_client> latest = latest_) {
        co_await latest->close();
    }
    idle_.clear();
    idle_end_.cancel();
    const auto left = own_; // A copy, because each one removes itself.
    for (const std::shared_ptr<mcp_client>& client : left) {
        begin_leaving(client, false);
    }
    while (!own_.empty()) {
        co_await news(never);
    }
    while (running_) {
        co_await news(never);
    }
}

/// True if the list was read not long ago, and the server has not said since that it has another
/// one. A session may last for days, and some servers report no changes.
bool mcp_link::is_current(const listing& list, const mcp_client& of) const {
    return list.is_read && list.notices == of.tools_notices() &&
           std::chrono::steady_clock::now() - list.requested < settings_.session_idle;
}

/// False while it is not known whether the tools of the link's own session are the accepted ones.
bool mcp_link::may_call(const mcp_client& in) const {
    return !accepted_.is_pinned() || accepted_.refuses() ||
           (is_current(list_, in) && !lists_again_);
}

/// The session that is ready, or the next one; null if there is none until `deadline`, or if its
/// tools may not be called until then.
asio::awaitable<std::shared_ptr<mcp_client>> mcp_link::session_until(clock_point deadline) {
    for (;;) {
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        const bool is_open = client_ && client_->closed() == nullptr;
        if (is_open && may_call(*client_)) {
            co_return client_;
        }
        if (stopping_ || state.cancelled() != asio::cancellation_type::none ||
            std::chrono::steady_clock::now() >= deadline) {
            co_return nullptr;
        }
        // Only the first waiting call tells; otherwise waiting calls would wake each other
        // endlessly.
        if (is_open && list_.is_read && !lists_again_) { // The list is too old.
            lists_again_ = true;
            tell();
        }
        if (!is_open && !wanted_) {
            wanted_ = true;
            tell();
        }
        co_await news(deadline);
    }
}

asio::awaitable<tool_outcome> mcp_link::read_result(boost::json::object answer, mcp_app_call app) {
    const std::size_t size = counted_bytes(answer.storage());
    auto reading = [answer = std::move(answer), app = std::move(app)] {
        tool_outcome outcome = read_mcp_call_result(answer);
        add_mcp_app(outcome, answer, app);
        return outcome;
    };
    tool_outcome outcome = co_await run_heavy(settings_.client.heavy, size, std::move(reading));
    co_return outcome;
}

mcp_app_call mcp_link::app_of(tool_call what) const {
    return {settings_.client.server, std::move(what.resource_uri), std::move(what.arguments)};
}

asio::awaitable<tool_outcome> mcp_link::call(tool_call what) {
    const auto self = shared_from_this();
    co_await asio::this_coro::throw_if_cancelled(false);
    if (const auto failed = accepted_.check_offered(what.tool, what.definition)) {
        co_return mcp_call_failure(*failed);
    }
    if (!what.headers.empty()) {
        if (stopping_) {
            co_return mcp_call_failure(
                {.what = mcp_failure::kind::closed, .detail = "the server is shutting down"}
            );
        }
        co_return co_await call_alone(std::move(what));
    }
    const clock_point begun = std::chrono::steady_clock::now();
    mcp_failure why{
        .what = mcp_failure::kind::unavailable, .detail = "there is no session with the server"
    };
    // Tries again only if the first session was over before the server took the call.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const std::shared_ptr<mcp_client> client =
            co_await session_until(begun + settings_.reconnect_wait);
        if (!client) {
            if (client_ && client_->closed() == nullptr) {
                why = unconfirmed_definition();
            }
            break;
        }
        // The session may have begun while the call waited.
        if (const auto failed = accepted_.check_offered(what.tool, what.definition)) {
            co_return mcp_call_failure(*failed);
        }
        mcp_result<boost::json::object> answer =
            co_await client->call_tool(what.tool, what.arguments, what.on_progress, what.inputs);
        if (answer) {
            co_return co_await read_result(*std::move(answer), app_of(std::move(what)));
        }
        why = answer.error();
        if (!why.not_taken) {
            break;
        }
        const bool alive = co_await client->check();
        if (alive) {
            break;
        }
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none ? cancelled_call()
                                                                 : mcp_call_failure(why);
}

} // namespace agui::runner
