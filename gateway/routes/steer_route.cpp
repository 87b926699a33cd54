#include "gateway/routes/steer_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/routes/begin_anywhere.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

using std::chrono::steady_clock;

// A gateway answers another one within this time, so that the other one does not take it for lost.
// The other one then asks again.
constexpr std::chrono::seconds answers_other_within{10};
constexpr int undecided_status = 202; // Between gateways only.
// The message may be given again: its id shows whether the run has taken it.
constexpr std::chrono::milliseconds gives_again_after{250};
constexpr int unanswered_max = 12;

http_reply taken_reply(const steered_run& by) {
    http_reply reply;
    reply.body = boost::json::serialize(
        boost::json::object{{"taken", true}, {"runId", by.run_id}, {"seq", by.sequence}}
    );
    return reply;
}

// The answer of this process. nullopt: another one has the run, whose number is in `elsewhere`.
asio::awaitable<std::optional<http_reply>>
steer_here(run_service& runs, passed_request* passed, steering what, failure& elsewhere) {
    const auto give_up = passed != nullptr ? steady_clock::now() + answers_other_within
                                           : steady_clock::time_point::max();
    const auto here = co_await runs.steer(std::move(what), give_up);
    if (here && *here) {
        co_return taken_reply(**here);
    }
    if (here) {
        http_reply undecided;
        undecided.status = undecided_status;
        co_return undecided;
    }
    const bool is_elsewhere = here.error().code == errc::thread_busy && here.error().gateway != 0;
    if (is_elsewhere && passed == nullptr) {
        elsewhere = here.error();
        co_return std::nullopt;
    }
    if (passed != nullptr) {
        passed->is_elsewhere = is_elsewhere;
    }
    co_return to_reply(here.error());
}

asio::awaitable<handler_reply>
steer_run(run_service& runs, input_parser& parser, http_request& request) {
    auto read = co_await parser.read_steer(
        std::move(request.body), std::move(request.memory), body_afterwards(runs, request)
    );
    if (!read) {
        co_return to_reply(read.error());
    }
    translator::steer_request& given = read->request;
    const auto thread = co_await find_named_thread(runs.services().store, request, given.thread_id);
    if (!thread) {
        co_return to_reply(thread.error());
    }
    use_own_links(given.message, *thread);
    memory_budget* const budget = read->memory.budget();
    for (int unanswered = 0; unanswered < unanswered_max;) {
        failure elsewhere;
        auto here = co_await steer_here(
            runs, request.passed, {thread->key, given.run_id, given.message, given.notes}, elsewhere
        );
        if (here) {
            co_return std::move(*here);
        }
        if (!runs.can_pass()) {
            co_return to_reply(elsewhere);
        }
        pass_failpoint("steer.passed_on");
        memory_share copies(budget); // The body here, in transit, and in a message.
        if (!copies.grow_to(3 * read->body.size())) {
            co_return to_reply(failure{errc::overloaded, "there is not enough memory"});
        }
        auto answer = co_await runs.pass(
            elsewhere.gateway,
            request_for_other(request, *thread, elsewhere.active_run_id, read->body)
        );
        if (answer && !answer->is_unreached && !answer->is_elsewhere) {
            if (answer->status != undecided_status) {
                co_return reply_of(std::move(*answer));
            }
            continue;
        }
        ++unanswered;
        co_await pause(gives_again_after);
    }
    co_return to_reply(failure{
        errc::store_unavailable,
        "the server that has the run has not answered and may have taken the message: send the "
        "same message again"
    });
}

} // namespace

http_handler make_steer_route(run_service& runs, input_parser& parser) {
    return [&runs, &parser](http_request& request) {
        return steer_run(runs, parser, request);
    };
}

} // namespace agui::gateway
