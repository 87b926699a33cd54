#include "gateway/routes/begin_anywhere.hpp"

#include "gateway/auth/authenticator.hpp"
#include "gateway/http/http_error.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"
#include "session/store/store_failures.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace asio = boost::asio;

namespace {

using outcome = std::variant<begun_anywhere, failure, http_reply>;

// A thread that moves between gateways this often counts as busy.
constexpr int looks_max = 3;
// After a lost answer, the run may still be found once it has begun.
constexpr std::chrono::milliseconds look_again{250};
constexpr std::chrono::seconds looks_for{3};

// On success the run has begun, and its events are in `begun`.
asio::awaitable<result<void>>
begin_here(run_service& runs, requested_run what, begun_anywhere& begun) {
    auto accepted = co_await runs.accept(std::move(what));
    if (!accepted) {
        co_return accepted.error();
    }
    begun.log = accepted->log;
    begun.run_id = accepted->run_id;
    co_return co_await runs.begin(std::move(*accepted));
}

// The answer for another gateway, which reads the events separately.
outcome answer_to_other(
    const run_service& runs, passed_request& to, const result<void>& here, begun_anywhere begun
) {
    if (here) {
        to.begun = std::move(begun.run_id);
        return http_reply();
    }
    const failure& why = here.error();
    // If this gateway is shutting down, another one may begin the run.
    to.is_elsewhere = (why.code == errc::thread_busy && why.gateway != 0) ||
                      (why.code == errc::draining && runs.draining());
    return why;
}

// Returns nullopt if the begun run is gone.
asio::awaitable<std::optional<outcome>> outcome_of(
    run_service& runs, const http_request& request, const named_thread& thread,
    std::int64_t gateway, client_answer answer
) {
    if (answer.run_id.empty()) {
        co_return reply_of(std::move(answer));
    }
    auto log = co_await runs.follow(thread.key, answer.run_id, gateway);
    if (!log) {
        co_return std::nullopt;
    }
    co_return begun_anywhere{
        std::move(*log), std::move(answer.run_id), naming_for(runs, thread, request)
    };
}

std::vector<std::string> answered_approvals(const translator::run_input& input) {
    std::vector<std::string> ids;
    for (const translator::resume_entry& each : input.resume) {
        ids.push_back(each.interrupt_id);
    }
    if (input.forwarded.legacy_resume) {
        ids.push_back(input.forwarded.legacy_resume->interrupt_id);
    }
    return ids;
}

// The scope that the sender lacks, now that the agent is known. An answer to an approval decides
// what a tool does. So it needs the scope for the agent that asked, whichever agent goes on.
asio::awaitable<result<std::optional<auth_error>>>
lacking_scope(run_service& runs, const http_request& request, const requested_run& what) {
    const std::string agent = what.agent_id.empty() ? runs.default_agent() : what.agent_id;
    const scope_set held = request.sender ? request.sender->scopes : scope_set();
    if (!held.allows(scope::run, agent)) {
        co_return missing_scope(scope::run, agent);
    }
    std::vector<std::string> answered = answered_approvals(what.input);
    if (answered.empty() || held.allows(scope::approve)) {
        co_return std::nullopt;
    }
    if (!held.may_allow(scope::approve)) {
        co_return missing_scope(scope::approve);
    }
    session::thread_key key{what.principal, what.input.thread_id};
    const auto agents = co_await runs.agents_that_asked(
        std::move(key), what.input.forwarded.ephemeral, std::move(answered)
    );
    if (!agents) {
        co_return agents.error();
    }
    for (const std::string& each : *agents) {
        // No scope is limited to an agent without an id.
        if (!held.allows(scope::approve, each)) {
            co_return missing_scope(scope::approve, each);
        }
    }
    co_return std::nullopt;
}

// Finds the thread of a parsed request and puts it into the request, in place of the names that the
// sender has for it.
asio::awaitable<found_thread>
find_thread(run_service& runs, const http_request& request, requested_run& what) {
    auto thread =
        co_await find_named_thread(runs.services().store, request, std::move(what.input.thread_id));
    if (!thread) {
        co_return thread.error();
    }
    if (thread->is_closed) {
        co_return thread_refusal(session::no_such_thread());
    }
    what.principal = thread->key.principal;
    what.input.thread_id = thread->key.thread_id;
    use_own_links(what.input.messages, *thread);
    if (thread->right < session::access_right::approve && !answered_approvals(what.input).empty()) {
        co_return needs_right(session::access_right::approve);
    }
    co_return thread;
}

failure no_memory() {
    return {errc::overloaded, "there is not enough memory: try again later", {}, {}};
}

failure unknown_outcome() {
    return {
        errc::store_unavailable,
        "the server that holds the thread has not answered and may have started the run: send the "
        "same request again",
        {},
        {}
    };
}

} // namespace

client_request request_for_other(
    const http_request& request, const named_thread& thread, std::string run_id, std::string body
) {
    client_request what;
    what.method = request.method;
    what.pattern = request.pattern;
    what.path_parameters = request.path_parameters;
    what.headers = request.headers;
    what.body = std::move(body);
    what.principal = thread.key.principal;
    what.address = request.address;
    if (request.sender) {
        what.sender = write_caller(*request.sender);
    }
    what.thread_id = thread.key.thread_id;
    if (thread.is_shared) {
        what.shared_id = thread.shown_id;
        what.right = thread.right;
    }
    what.run_id = std::move(run_id);
    what.received = request.received;
    return what;
}

http_reply reply_of(client_answer answer) {
    http_reply reply;
    reply.status = answer.status;
    reply.headers = std::move(answer.headers);
    reply.content_type = std::move(answer.content_type);
    reply.body = std::move(answer.body);
    return reply;
}

input_parser::afterwards body_afterwards(const run_service& runs, const http_request& request) {
    const bool may_be_passed = request.passed == nullptr && runs.can_pass();
    return may_be_passed ? input_parser::afterwards::keep_body
                         : input_parser::afterwards::free_body;
}

asio::awaitable<outcome> begin_anywhere(
    run_service& runs, http_request& request,
    std::function<asio::awaitable<result<read_request>>(std::string)> read
) {
    std::string body = std::move(request.body);
    memory_budget* const budget = request.memory.budget();
    bool is_reached = true; // Whether the gateway that has the thread could be reached.
    // After a lost answer: how long to look for the run.
    std::optional<std::chrono::steady_clock::time_point> uncertain_until;
    for (int look = 1;; ++look) {
        auto what = co_await read(std::move(body));
        if (!what) {
            co_return what.error();
        }
        const auto thread = co_await find_thread(runs, request, what->what);
        if (!thread) {
            co_return to_reply(thread.error());
        }
        const auto lacking = co_await lacking_scope(runs, request, what->what);
        if (!lacking) {
            co_return lacking.error();
        }
        if (*lacking) {
            request.audited = {
                .what = audit_event::auth_failed,
                .owner = thread->key.principal,
                .thread = what->what.input.thread_id,
                .run = what->what.input.run_id,
                .agent = what->what.agent_id,
                .outcome = "missing_scope"
            };
            co_return to_reply(**lacking);
        }
        body = std::move(what->body);
        const std::string run_id = what->what.input.run_id;
        // Limited, because a draining gateway may have the thread for long.
        what->what.may_be_passed =
            request.passed != nullptr ||
            (runs.can_pass() && (look <= looks_max || uncertain_until.has_value()));
        begun_anywhere begun;
        begun.naming = naming_for(runs, *thread, request);
        const auto here = co_await begin_here(runs, std::move(what->what), begun);
        if (request.passed != nullptr) {
            co_return answer_to_other(runs, *request.passed, here, std::move(begun));
        }
        if (here) {
            co_return begun;
        }
        const failure& why = here.error();
        if (why.code != errc::thread_busy) {
            co_return why;
        }
        if (uncertain_until) {
            if (why.gateway == 0 || std::chrono::steady_clock::now() >= *uncertain_until) {
                co_return unknown_outcome();
            }
            co_await pause(look_again);
        } else if (why.gateway == 0 || look > looks_max || (look == looks_max && !is_reached)) {
            co_return why;
        }
        pass_failpoint("request.passed_on");
        memory_share copies(budget); // Three copies: the body here, in transit, and in a message.
        if (!copies.grow_to(3 * body.size())) {
            co_return no_memory();
        }
        auto answer =
            co_await runs.pass(why.gateway, request_for_other(request, *thread, run_id, body));
        if (!answer && !uncertain_until) {
            uncertain_until = std::chrono::steady_clock::now() + looks_for;
        }
        is_reached = answer && !answer->is_unreached;
        if (!is_reached || answer->is_elsewhere) {
            continue;
        }
        if (auto out =
                co_await outcome_of(runs, request, *thread, why.gateway, std::move(*answer))) {
            co_return std::move(*out);
        }
    }
}

} // namespace agui::gateway
