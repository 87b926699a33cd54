// Sessions with the credentials of a caller, of which each serves one call at a time.

#include "runner/mcp/mcp_link.hpp"
#include "runner/mcp/mcp_link_failures.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

// How long the notice of a cancelled call may take to reach the server.
constexpr std::chrono::seconds cancel_notice{1};

// How often a call compares the list of a server that keeps reporting changes.
constexpr int comparisons_max = 3;

} // namespace

/// Ends the session of one call, without waiting for its end.
void mcp_link::begin_leaving(std::shared_ptr<mcp_client> client, bool cancelled) {
    asio::co_spawn(
        executor_,
        [](std::shared_ptr<mcp_link> self, std::shared_ptr<mcp_client> leaving,
           bool notice) -> asio::awaitable<void> {
            try {
                if (notice && !self->stopping_) {
                    // The server must learn of the cancellation before its session ends.
                    co_await leaving->flush(std::chrono::steady_clock::now() + cancel_notice);
                }
                co_await leaving->close();
            } catch (const std::exception&) {
                // The session is dropped all the same; stop() waits for that.
            }
            self->own_.erase(leaving);
            self->tell();
        }(shared_from_this(), std::move(client), cancelled),
        asio::detached
    );
}

mcp_link::caller_session mcp_link::begin_own(mcp_server_settings::headers headers) {
    mcp_client_settings settings = settings_.client;
    settings.listens = false;
    auto client = std::make_shared<mcp_client>(
        executor_, settings_.own_channel(executor_, std::move(headers)), std::move(settings), log_,
        [] {}
    );
    own_.insert(client);
    return {.client = std::move(client)};
}

/// Without a client if no session waits for calls with this key.
mcp_link::caller_session mcp_link::take_idle(std::string_view key) {
    const auto found = std::ranges::find(idle_, key, &idle_session::key);
    if (key.empty() || found == idle_.end()) {
        return {};
    }
    caller_session taken = std::move(found->session);
    idle_.erase(found);
    return taken;
}

void mcp_link::keep_idle(caller_session session, std::string key) {
    const clock_point now = std::chrono::steady_clock::now();
    idle_.push_back({std::move(session), std::move(key), now});
    end_idle();
}

/// Ends the sessions that nothing has used for too long, and those above the limit.
void mcp_link::end_idle() {
    const clock_point now = std::chrono::steady_clock::now();
    while (!idle_.empty() && (idle_.size() > settings_.idle_sessions_max ||
                              idle_.front().since + settings_.session_idle <= now)) {
        begin_leaving(std::move(idle_.front().session.client), false);
        idle_.pop_front();
    }
    if (idle_.empty()) {
        idle_end_.cancel();
        return;
    }
    idle_end_.expires_at(idle_.front().since + settings_.session_idle);
    idle_end_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
        if (const auto self = weak.lock(); self && !ec && !self->stopping_) {
            self->end_idle();
        }
    });
}

/// Makes a call in that session, which begins first if it is new.
asio::awaitable<mcp_result<boost::json::object>>
mcp_link::call_in(caller_session& in, bool is_new, const tool_call& what) {
    std::optional<mcp_failure> failed;
    if (is_new) {
        failed = co_await in.client->connect();
    }
    if (!failed) {
        failed = co_await check_definition(in, what);
    }
    if (failed) {
        co_return *std::move(failed);
    }
    co_return co_await in.client->call_tool(
        what.tool, what.arguments, what.on_progress, what.inputs
    );
}

/// False if there is any news since the session's list was compared. A caller's session does not
/// listen, so a change that the server reports in the link's own session counts as one of each.
bool mcp_link::is_compared(const caller_session& in) const {
    return is_current(in.list, *in.client) && in.compared_at == news_count_;
}

/// Nullopt if the session's list has the accepted definition of the tool.
asio::awaitable<std::optional<mcp_failure>>
mcp_link::check_definition(caller_session& in, const tool_call& what) {
    for (int comparisons = 0; accepted_.is_pinned(); ++comparisons) {
        if (std::optional<mcp_failure> failed =
                accepted_.check_offered(what.tool, what.definition)) {
            co_return failed;
        }
        if (is_compared(in)) {
            co_return check_accepted(in, what.tool);
        }
        if (comparisons == comparisons_max) {
            co_return unconfirmed_definition();
        }
        std::optional<mcp_failure> failed = co_await compare(in);
        if (failed) {
            co_return failed;
        }
    }
    co_return std::nullopt; // SIGHUP may have removed the digest meanwhile.
}

std::optional<mcp_failure>
mcp_link::check_accepted(const caller_session& in, std::string_view tool) {
    if (in.accepted.contains(tool)) {
        return std::nullopt;
    }
    if (!in.is_changed) {
        return mcp_failure{
            .what = mcp_failure::kind::absent,
            .detail = "the list in the caller's session lacks the tool"
        };
    }
    lists_again_ = true; // The list of the link's own session may have changed, too.
    tell();
    mcp_failure failed =
        changed_definition("the tool's definition in the caller's session is not the accepted one");
    failed.not_taken = true;
    return failed;
}

/// Compares the session's list with the last one of the link's own session.
asio::awaitable<std::optional<mcp_failure>> mcp_link::compare(caller_session& in) {
    in.list = {
        .notices = in.client->tools_notices(), .requested = std::chrono::steady_clock::now()
    };
    in.compared_at = news_count_;
    in.accepted.clear();
    mcp_result<mcp_client::tool_list> listed = co_await in.client->list_tools();
    if (listed && !listed->is_whole) {
        listed = broken_list();
    }
    if (!listed) {
        co_return listed.error();
    }
    if (accepted_.refuses()) { // Then the last list is not the accepted one.
        co_return std::nullopt;
    }
    in.list.is_read = true;
    mcp_tool_digests::comparison found = accepted_.compare(listed->tools);
    in.is_changed = !found.changed.empty();
    if (!in.is_changed) {
        in.accepted = std::move(found.same);
    }
    co_return std::nullopt;
}

/// Makes a call in a session of its own, or in one that waits for calls of this caller.
asio::awaitable<tool_outcome> mcp_link::call_alone(tool_call what) {
    std::string key = std::move(what.session_key);
    caller_session session = take_idle(key);
    const bool is_new = session.client == nullptr;
    if (is_new) {
        session = begin_own(what.headers);
    }
    tool_outcome outcome;
    bool is_usable = false; // The session may serve another call.
    try {
        mcp_result<boost::json::object> answer = co_await call_in(session, is_new, what);
        if (!answer && !is_new && answer.error().not_taken && !stopping_) {
            // The server has ended the session while it was idle, or has other tools since.
            begin_leaving(std::exchange(session, begin_own(what.headers)).client, false);
            answer = co_await call_in(session, true, what);
        }
        const bool is_sound = answer || answer.error().what == mcp_failure::kind::error ||
                              answer.error().what == mcp_failure::kind::absent;
        is_usable = is_sound && session.client->closed() == nullptr;
        if (answer) {
            outcome = co_await read_result(*std::move(answer), app_of(std::move(what)));
        } else {
            outcome = mcp_call_failure(answer.error());
        }
    } catch (const std::exception&) { // The session must be ended in any case.
        outcome = mcp_call_failure({.detail = "an exception was thrown"});
        is_usable = false;
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (is_usable && !cancelled && !key.empty() && !stopping_) {
        keep_idle(std::move(session), std::move(key));
    } else {
        begin_leaving(std::move(session.client), cancelled);
    }
    co_return cancelled ? cancelled_call() : std::move(outcome);
}

} // namespace agui::runner
