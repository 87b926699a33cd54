#include "runner/mcp/mcp_client.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "runner/tools/tool_question.hpp"
#include "session/base/as_result.hpp"
#include "session/base/json_member.hpp"
#include "session/base/json_memory.hpp"
#include "session/base/sound_text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::string_view offered_version = "2025-06-18";
/// The parts needed for tools are unchanged since this revision, and revisions stay compatible, so
/// a server that names a later revision than ours is used all the same.
constexpr std::string_view oldest_version = "2024-11-05";
constexpr std::size_t version_bytes_max = 64; // Sent with every request.
constexpr std::int64_t method_not_found = -32601;
constexpr std::string_view initialize_method = "initialize";

/// True for a text that a header can carry.
bool is_version(std::string_view text) noexcept {
    return !text.empty() && text.size() <= version_bytes_max &&
           std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

/// The start of a server's text for the model, without invisible characters, at most
/// mcp_error_text_characters_max characters.
std::string error_text(std::string_view text) {
    constexpr std::size_t character_bytes_max = 4; // Limits the part of the text to be read.
    std::string start = sound_text(
        to_utf8(text.substr(0, character_bytes_max * mcp_error_text_characters_max)), "\n\t"
    );
    std::size_t characters = 0;
    const auto end = std::ranges::find_if(start, [&characters](char c) {
        const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        return begins && ++characters > mcp_error_text_characters_max;
    });
    start.erase(end, start.end());
    return start;
}

mcp_failure cancelled_failure() {
    return {.what = mcp_failure::kind::cancelled, .detail = "cancelled"};
}

/// Adds the tools of all pages to a list, within its limits. Of tools that are shown under one name
/// it takes the one whose own name is shown as it is, or else sorts first, so that the server's
/// order does not decide which one is called.
class distinct_tools {
public:
    explicit distinct_tools(mcp_client::tool_list& to) : to_(to) {}

    void add(mcp_tool tool) {
        const std::string shown = sound_text(tool.name);
        const auto known = places_.find(shown);
        mcp_tool* const other = known == places_.end() ? nullptr : &to_.tools[known->second];
        const std::size_t with_it = bytes_ + tool.bytes - (other == nullptr ? 0 : other->bytes);
        const bool is_wanted = other == nullptr ? to_.tools.size() < mcp_tools_max
                                                : goes_before(tool.name, other->name, shown);
        if (!is_wanted || with_it > mcp_definitions_bytes_max) {
            ++to_.left_out;
            return;
        }
        bytes_ = with_it;
        if (other != nullptr) {
            ++to_.left_out;
            *other = std::move(tool);
        } else {
            places_.emplace(shown, to_.tools.size());
            to_.tools.push_back(std::move(tool));
        }
    }

private:
    static bool
    goes_before(std::string_view name, std::string_view other, std::string_view shown) noexcept {
        return other != shown && (name == shown || name < other);
    }

    mcp_client::tool_list& to_;
    std::map<std::string, std::size_t, std::less<>> places_; ///< By the name that is shown.
    std::size_t bytes_ = 0;
};

} // namespace

mcp_client::mcp_client(
    asio::any_io_executor executor, std::shared_ptr<mcp_channel> channel,
    mcp_client_settings settings, logger& log, std::function<void()> changed
)
    : executor_(std::move(executor)),
      channel_(std::move(channel)),
      settings_(std::move(settings)),
      log_(log),
      changed_(std::move(changed)),
      last_sign_(clock::now()) {}

asio::awaitable<std::optional<mcp_failure>> mcp_client::connect() {
    const auto self = shared_from_this();
    if (std::optional<mcp_failure> failed = channel_->open(*this)) {
        end(*failed);
        co_return failed;
    }
    json::object params{
        {"protocolVersion", offered_version},
        {"capabilities", json::object{}},
        {"clientInfo", json::object{{"name", "agui-gateway"}, {"version", settings_.client_version}}
        }
    };
    const mcp_result<json::object> greeting = co_await request(
        initialize_method, std::move(params), {.timeout = settings_.connect_timeout}
    );
    std::optional<mcp_failure> failed =
        greeting ? accept(*greeting) : std::optional(greeting.error());
    if (!failed) {
        channel_->use_version(version_);
        failed =
            co_await channel_->deliver(write_mcp_notification("notifications/initialized", {}));
    }
    if (!failed && closed_) {
        failed = closed_;
    }
    if (failed) {
        end(*failed);
        co_return failed;
    }
    if (settings_.listens) {
        channel_->listen();
    }
    co_return std::nullopt;
}

std::optional<mcp_failure> mcp_client::accept(const json::object& greeting) {
    if (!session::check_protocol_object(greeting)) {
        return mcp_protocol_failure("its answer to initialize has too many members");
    }
    const std::string_view version = string_in(greeting, "protocolVersion");
    if (!is_version(version)) {
        return mcp_protocol_failure("its answer to initialize has no valid protocolVersion");
    }
    if (version < oldest_version) {
        return mcp_protocol_failure("its version of the protocol is too old");
    }
    version_ = version;
    const json::object* const capabilities = object_in(greeting, "capabilities");
    const json::value* const tools =
        capabilities == nullptr ? nullptr : capabilities->if_contains("tools");
    declares_tools_ = tools != nullptr && !tools->is_null();
    return std::nullopt;
}

asio::awaitable<mcp_result<mcp_client::tool_list>> mcp_client::list_tools() {
    const auto self = shared_from_this();
    tool_list all;
    distinct_tools distinct(all);
    std::set<std::string> cursors;
    json::object params;
    for (;;) {
        mcp_result<json::object> answer =
            co_await request("tools/list", params, {.timeout = settings_.call_timeout});
        std::optional<mcp_tool_page> page;
        mcp_failure failed = mcp_protocol_failure("its answer to tools/list cannot be read");
        if (answer) {
            const std::size_t size = counted_bytes(answer->storage());
            auto read = [from = std::make_unique<json::object>(*std::move(answer))] {
                return read_mcp_tool_page(std::move(*from));
            };
            page = co_await run_heavy(settings_.heavy, size, std::move(read));
        } else {
            failed = answer.error();
        }
        if (!page) {
            // A server without tools may refuse to list them. If a later page fails, the tools of
            // earlier pages are kept.
            const bool is_needed = cursors.empty() && declares_tools_;
            if (is_needed || closed_ || failed.what == mcp_failure::kind::cancelled) {
                co_return failed;
            }
            all.left_out += cursors.empty() ? 0U : 1U;
            all.is_whole = cursors.empty();
            co_return all;
        }
        all.left_out += page->left_out;
        for (mcp_tool& tool : page->tools) {
            distinct.add(std::move(tool));
        }
        // A repeated cursor would lead to endless requests.
        if (page->next_cursor.empty() || !cursors.insert(page->next_cursor).second) {
            co_return all;
        }
        if (cursors.size() == mcp_list_pages_max) {
            ++all.left_out;
            co_return all;
        }
        params["cursor"] = page->next_cursor;
    }
}

asio::awaitable<mcp_result<json::object>> mcp_client::call_tool(
    std::string_view name, json::object arguments, progress_handler on_progress,
    std::vector<json::value> inputs
) {
    const auto self = shared_from_this();
    json::object params{{"name", name}, {"arguments", std::move(arguments)}};
    if (!inputs.empty()) {
        params["_meta"] = json::object{{inputs_member, json::array(inputs.begin(), inputs.end())}};
    }
    wait_limits limits{.timeout = settings_.call_timeout, .progress = true};
    limits.on_progress = std::move(on_progress);
    mcp_result<json::object> answer = co_await request("tools/call", std::move(params), limits);
    co_return answer;
}

asio::awaitable<bool> mcp_client::check() {
    const auto self = shared_from_this();
    const wait_limits limits{.timeout = settings_.ping_timeout, .probe = true};
    const mcp_result<json::object> answer = co_await request("ping", {}, limits);
    // An error is a sign of life, too. A cancelled check shows nothing.
    const bool alive = answer || answer.error().what == mcp_failure::kind::error ||
                       answer.error().what == mcp_failure::kind::cancelled;
    if (!alive) {
        end(answer.error());
    }
    co_return !closed_;
}

asio::awaitable<void> mcp_client::flush(clock::time_point until) {
    const auto self = shared_from_this();
    co_await channel_->flush(until);
}

asio::awaitable<void> mcp_client::close() {
    const auto self = shared_from_this();
    const bool first = !std::exchange(shut_, true);
    end({.what = mcp_failure::kind::closed, .detail = "the session was closed"});
    if (first) {
        co_await channel_->close();
    }
}

asio::awaitable<mcp_result<json::object>>
mcp_client::request(std::string_view method, json::object params, wait_limits limits) {
    // Awaits do not throw, so a cancelled caller gets a value.
    co_await asio::this_coro::throw_if_cancelled(false);
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) {
        co_return cancelled_failure();
    }
    if (closed_) {
        mcp_failure never_sent = *closed_;
        never_sent.not_taken = true;
        co_return never_sent;
    }
    const std::int64_t id = ++last_id_;
    const auto entry = std::make_shared<pending>(executor_);
    const clock::time_point begun = clock::now();
    entry->deadline = begun + limits.timeout;
    entry->progresses = limits.progress;
    entry->on_progress = std::move(limits.on_progress);
    entry->probe = limits.probe;
    if (limits.progress) {
        json::value& meta = params["_meta"];
        if (!meta.is_object()) {
            meta.emplace_object();
        }
        meta.get_object()["progressToken"] = id;
    }
    pending_.emplace(id, entry);
    channel_->send(write_mcp_request(id, method, std::move(params)), id);

    co_await wait_for(*entry, begun + std::max(limits.timeout, settings_.call_max));
    pending_.erase(id);
    if (entry->answer) {
        channel_->forget(id);
        co_return *std::move(entry->answer);
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        give_up(id, method, "The run was stopped.");
        co_return cancelled_failure();
    }
    give_up(id, method, "There was no answer in time.");
    if (!limits.probe && !version_.empty() && last_sign_ < begun) {
        check_soon();
    }
    co_return mcp_failure{.what = mcp_failure::kind::timeout, .detail = "no answer in time"};
}

/// Returns when the answer arrives, the time is over, or the caller is cancelled.
asio::awaitable<void> mcp_client::wait_for(pending& entry, clock::time_point last) {
    for (;;) {
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        entry.deadline = std::min(entry.deadline, last);
        if (entry.answer || state.cancelled() != asio::cancellation_type::none ||
            clock::now() >= entry.deadline) {
            co_return;
        }
        entry.timer.expires_at(entry.deadline);
        co_await entry.timer.async_wait(as_result);
    }
}

// MCP forbids cancelling the handshake.
void mcp_client::give_up(std::int64_t id, std::string_view method, std::string_view reason) {
    if (!closed_ && method != initialize_method) {
        const json::object params{{"requestId", id}, {"reason", reason}};
        channel_->send(write_mcp_notification("notifications/cancelled", params), std::nullopt);
    }
    channel_->forget(id);
}

asio::awaitable<void> mcp_client::on_message(std::string text) {
    const auto self = shared_from_this();
    const std::size_t size = text.size();
    auto reading = [text = std::move(text), budget = budget_of(settings_.heavy)] {
        return read_mcp_messages(text, budget);
    };
    mcp_messages read = co_await run_heavy(settings_.heavy, size, std::move(reading));
    if (read.ignored > 0) {
        log_.log(
            log_level::debug, "an MCP server sent an invalid message",
            {{"server", settings_.server}}
        );
    }
    if (!read.messages.empty()) {
        last_sign_ = clock::now();
    }
    for (mcp_message& each : read.messages) {
        if (closed_) {
            break;
        }
        handle(std::move(each));
    }
    // Frees the messages that were not taken where that may take long.
    auto freeing = [left = std::move(read.messages)] {
        return left.empty();
    };
    (void)co_await run_heavy(settings_.heavy, size, std::move(freeing));
}

void mcp_client::handle(mcp_message message) {
    switch (message.what) {
    case mcp_message::kind::request:
        refuse_or_pong(message);
        return;
    case mcp_message::kind::notification:
        notice(message);
        return;
    case mcp_message::kind::result:
        settle(message.answered.value_or(0), std::move(message.body));
        return;
    case mcp_message::kind::error: {
        mcp_failure why{
            .what = mcp_failure::kind::error,
            .detail = "JSON-RPC error " + std::to_string(message.code),
            .upstream = error_text(message.text)
        };
        settle(message.answered.value_or(0), std::move(why));
        return;
    }
    case mcp_message::kind::too_large:
        settle(
            message.answered.value_or(0),
            mcp_failure{
                .what = mcp_failure::kind::memory,
                .detail = "there is not enough memory for its answer"
            }
        );
        return;
    case mcp_message::kind::malformed:
        settle(
            message.answered.value_or(0),
            mcp_protocol_failure("its answer has neither a result nor an error")
        );
        return;
    }
}

void mcp_client::refuse_or_pong(const mcp_message& asked) {
    std::string answer = asked.method == "ping"
                             ? write_mcp_result(asked.id, {})
                             : write_mcp_error(asked.id, method_not_found, "Method not found");
    channel_->send(std::move(answer), std::nullopt);
}

void mcp_client::notice(const mcp_message& told) {
    if (told.method == "notifications/tools/list_changed") {
        ++tools_notices_;
        changed_();
        return;
    }
    if (told.method == "notifications/progress") {
        const json::value* const token = told.body.if_contains("progressToken");
        const auto found =
            token == nullptr ? pending_.end() : pending_.find(read_mcp_id(*token).value_or(0));
        if (found != pending_.end() && found->second->progresses) {
            // wait_for() checks the new deadline when the old one has passed.
            found->second->deadline = clock::now() + settings_.call_timeout;
            if (found->second->on_progress) {
                found->second->on_progress(told.body);
            }
        }
    }
}

void mcp_client::settle(std::int64_t id, mcp_result<json::object> answer) {
    const auto found = pending_.find(id);
    if (found == pending_.end() || found->second->answer) {
        return; // A mistake of the server, or the caller no longer waits.
    }
    found->second->answer.emplace(std::move(answer));
    found->second->timer.cancel();
}

void mcp_client::on_unanswered(std::int64_t id, mcp_failure why) {
    const auto self = shared_from_this();
    const auto found = pending_.find(id);
    if (closed_ || found == pending_.end() || found->second->answer) {
        return;
    }
    const bool probe = found->second->probe;
    const bool over = why.session_over || why.what == mcp_failure::kind::unavailable;
    settle(id, why);
    if (over) {
        end(std::move(why));
    } else if (!probe && why.what != mcp_failure::kind::memory && !version_.empty()) {
        check_soon();
    }
}

void mcp_client::on_closed(mcp_failure why) {
    const auto self = shared_from_this();
    end(std::move(why));
}

void mcp_client::check_soon() {
    if (checking_ || closed_) {
        return;
    }
    checking_ = true;
    asio::co_spawn(
        executor_,
        [](std::shared_ptr<mcp_client> self) -> asio::awaitable<void> {
            (void)co_await self->check();
            self->checking_ = false;
        }(shared_from_this()),
        asio::detached
    );
}

void mcp_client::end(mcp_failure why) {
    if (closed_) {
        return;
    }
    closed_ = std::move(why);
    for (const auto& [id, entry] : pending_) {
        if (!entry->answer) {
            mcp_failure lost = *closed_;
            // These requests were sent, so the server may have executed them.
            const bool by_us =
                lost.what == mcp_failure::kind::closed || lost.what == mcp_failure::kind::memory;
            if (!by_us && !version_.empty()) {
                lost.what = mcp_failure::kind::lost;
                lost.not_taken = false;
            }
            entry->answer.emplace(std::move(lost));
            entry->timer.cancel();
        }
    }
    if (!shut_) {
        changed_();
    }
}

} // namespace agui::runner
