#include "proto-fixtures/replay/checker.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/server_parts.hpp"
#include "proto-fixtures/replay/frame_reader.hpp"
#include "proto-fixtures/replay/placeholders.hpp"
#include "proto-fixtures/replay/stage.hpp"
#include "proto-fixtures/replay/stream_reader.hpp"
#include "session/conversation/message_json.hpp"
#include "translator/chat_stream/chat_request.hpp"
#include "translator/input/run_input.hpp"
#include "translator/input/steer_request.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <exception>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::replay {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Limit of journal entries read for one thread; no fixture has nearly as many.
constexpr std::size_t journal_limit = 10'000;

/// Plays the steps of one fixture and collects the differences.
class player {
public:
    player(const fixture& what, recording* record)
        : fixture_(what), stage_(what.settings), record_(record) {}

    asio::awaitable<void> play() {
        co_await stage_.open();
        std::exception_ptr thrown;
        try {
            for (std::size_t i = 0; i < fixture_.steps.size() && !over_; ++i) {
                co_await play(fixture_.steps[i], false);
            }
        } catch (...) {
            thrown = std::current_exception(); // The stage must still be closed.
        }
        co_await stage_.close();
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    }

    /// When the time is up, ends the active runs as in a shutdown.
    asio::awaitable<void> give_up() {
        over_ = true;
        report_.emplace_back("the fixture did not end in time; what ran was shut down");
        stage_.service().begin_drain();
        co_await stage_.service().drain(std::chrono::steady_clock::now());
    }

    [[nodiscard]] std::vector<std::string> take_report() { return std::move(report_); }

private:
    using outcome = result<std::shared_ptr<gateway::event_log>>;

    asio::awaitable<void> play(const step& next, bool nested) {
        stage_.time().advance(std::chrono::seconds(1));
        if (const auto* request = std::get_if<request_step>(&next.what)) {
            co_await play(*request, next.label, nested);
        } else if (const auto* cancel = std::get_if<cancel_step>(&next.what)) {
            co_await play(*cancel, next.label);
        } else if (const auto* steer = std::get_if<steer_step>(&next.what)) {
            co_await play(*steer, next.label);
        } else {
            co_await stage_.close();
            co_await stage_.open();
        }
    }

    asio::awaitable<void> play(const request_step& request, const std::string& label, bool nested) {
        if (!nested) {
            stage_.model().expect(request.upstream);
        }
        const std::size_t logged = stage_.log().lines().size();
        const json::value input = known_.fill(request.input);
        const session::thread_key key{"", thread_of(request, input)};
        const std::string before = request.error ? co_await stored(key) : std::string();

        outcome answer =
            request.is_chat ? co_await chat(input) : co_await post(input, request.on_disconnect);
        if (!answer) {
            compare_refusal(request, answer.error(), label);
            if (request.error && co_await stored(key) != before) {
                say(label, "the request was refused, but something of it was stored");
            }
        } else if (request.error) {
            say(label, "expected status " + std::to_string(request.error->status) + " " +
                           request.error->code + ", got a stream");
            (void)co_await read_log(*answer, translator::projection::v1_1);
        } else {
            const auto projection =
                request.is_chat ? translator::projection::v1_1 : projection_of(input);
            co_await compare_stream(request, *answer, projection, label);
            if (record_ != nullptr && (*answer)->ended()) {
                co_await record_->add_run(request.is_chat ? json::value() : input, *answer);
            }
        }
        if (!nested) {
            co_await compare_steered();
            compare_upstream(request, label);
            if (record_ != nullptr && !key.thread_id.empty()) {
                co_await record_->add_history(stage_.service(), key.thread_id);
            }
        }
        co_await compare_journal(request, key, label);
        compare_warnings(request, logged, label);
    }

    asio::awaitable<void> play(const cancel_step& cancel, const std::string& label) {
        const auto cancelled =
            co_await stage_.service().cancel({"", cancel.thread_id}, cancel.run_id);
        if (!cancelled || *cancelled != cancel.cancelled) {
            say(label, std::string("expected cancelled: ") + (cancel.cancelled ? "true" : "false"));
        }
    }

    // Returns once the message waits for the run. A repeat learns what has become of it.
    asio::awaitable<void> play(const steer_step& steer, const std::string& label) {
        const auto decided = co_await send(steer, std::chrono::steady_clock::now());
        if (decided && !*decided) {
            steered_.emplace_back(&steer, label);
        } else {
            say(label, "the message does not wait for the run");
        }
    }

    asio::awaitable<result<std::optional<gateway::steered_run>>>
    send(const steer_step& steer, std::chrono::steady_clock::time_point give_up) {
        auto read = translator::read_steer_request(
            json::serialize(known_.fill(steer.input)), gateway::make_input_limits(stage_.config())
        );
        if (!read) {
            co_return read.error();
        }
        gateway::steering what;
        what.key.thread_id = std::move(read->thread_id);
        what.run_id = std::move(read->run_id);
        what.message = std::move(read->message);
        co_return co_await stage_.service().steer(std::move(what), give_up);
    }

    asio::awaitable<void> compare_steered() {
        for (const auto& [steer, label] : std::exchange(steered_, {})) {
            const auto decided = co_await send(*steer, std::chrono::steady_clock::now());
            const bool is_taken = decided && decided->has_value();
            const bool is_returned = !decided && decided.error().code == errc::run_ended;
            if (steer->taken ? !is_taken : !is_returned) {
                say(label, steer->taken ? "the run has not taken the message"
                                        : "the message was not returned");
            }
        }
    }

    asio::awaitable<outcome>
    post(const json::value& input, std::optional<gateway::disconnect_policy> on_disconnect) {
        auto read = translator::read_run_input(
            json::serialize(input), gateway::make_input_limits(stage_.config())
        );
        if (!read) {
            co_return read.error();
        }
        gateway::requested_run request;
        request.input = std::move(*read);
        request.on_disconnect = on_disconnect;
        co_return co_await begin(std::move(request));
    }

    // Does the same as the route of the chat stream.
    asio::awaitable<outcome> chat(const json::value& input) {
        auto read = translator::read_chat_request(
            json::serialize(input), gateway::make_input_limits(stage_.config())
        );
        if (!read) {
            co_return read.error();
        }
        gateway::requested_run request;
        request.only_new = true;
        request.input = std::move(read->input);
        const std::size_t results = translator::tool_results_of(request.input);
        auto answer = co_await begin(std::move(request));
        if (!answer) {
            failure refused = answer.error();
            refused.path = translator::chat_path(refused.path, results);
            co_return refused;
        }
        co_return answer;
    }

    asio::awaitable<outcome> begin(gateway::requested_run request) {
        auto accepted = co_await stage_.service().accept(std::move(request));
        if (!accepted) {
            co_return accepted.error();
        }
        const std::shared_ptr<gateway::event_log> log = accepted->log;
        const auto begun = co_await stage_.service().begin(std::move(*accepted));
        if (!begun) {
            co_return begun.error();
        }
        co_return log;
    }

    // Called after `count` events of the stream.
    asio::awaitable<bool>
    reads_on(const request_step& request, std::size_t count, bool& interrupted) {
        if (!interrupted && !request.meanwhile.empty() && count >= request.meanwhile_after) {
            interrupted = true;
            for (const step& next : request.meanwhile) {
                co_await play(next, true);
            }
        }
        co_return !request.leave_after || count < *request.leave_after;
    }

    asio::awaitable<void> compare_stream(
        const request_step& request, std::shared_ptr<gateway::event_log> log,
        translator::projection own, const std::string& label
    ) {
        bool interrupted = false;
        const read_stream live = co_await read_log(log, own, [&](std::size_t count) {
            return reads_on(request, count, interrupted);
        });
        say_all(label, live.problems);
        if (!request.meanwhile.empty() && !interrupted) {
            say(label, "the stream ended before the steps of `meanwhile` could be played");
        }
        if (!live.ended) {
            // The gateway's reaction to a reader that left is queued on this executor.
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
            for (const expected_events& expected : request.events) {
                compare(expected, live.events, label);
            }
            co_return;
        }
        // Every kind of reader must get a valid stream, even if the fixture does not spell it out.
        for (const translator::projection projection :
             {translator::projection::v1_1, translator::projection::v1_0,
              translator::projection::undeclared}) {
            const read_stream again = co_await read_log(log, projection);
            if (projection == translator::projection::v1_1) {
                co_await compare_frames(request, log, again.events, label);
            }
            if (projection != own) {
                say_all(label, again.problems);
            } else if (again.events != live.events) {
                say(label, "reading the log again gives other events than the live stream");
            }
            for (const expected_events& expected : request.events) {
                if (expected.projection == projection) {
                    compare(expected, again.events, label);
                }
            }
        }
    }

    // Every run must make valid frames, even if the fixture does not spell them out.
    asio::awaitable<void> compare_frames(
        const request_step& request, std::shared_ptr<gateway::event_log> log,
        const std::vector<json::object>& events, const std::string& label
    ) {
        const auto id = [&](std::string_view key) {
            return events.empty() ? std::string() : text_of(events.front(), key);
        };
        const read_run_frames read =
            co_await read_frames(std::move(log), events, id("threadId"), id("runId"));
        say_all(label, read.problems);
        for (const expected_frames& expected : request.frames) {
            const bool full = expected.mode == translator::chat_mode::full;
            compare(expected.label, expected.frames, full ? read.full : read.incremental, label);
        }
    }

    static std::string text_of(const json::object& event, std::string_view key) {
        const json::value* text = event.if_contains(key);
        return text != nullptr && text->is_string() ? std::string(text->get_string())
                                                    : std::string();
    }

    void compare(
        const expected_events& expected, const std::vector<json::object>& got,
        const std::string& label
    ) {
        compare(expected.label, expected.events, got, label);
    }

    void compare(
        const std::string& file, const std::vector<json::object>& expected,
        const std::vector<json::object>& got, const std::string& label
    ) {
        const auto lines = compare_events(known_, expected, got);
        if (differs(lines)) {
            say(label, "the events differ from " + file + " (- expected, + got):");
            for (const std::string& line : render(lines)) {
                report_.push_back("    " + line);
            }
        }
    }

    void
    compare_refusal(const request_step& request, const failure& error, const std::string& label) {
        const gateway::http_reply reply = gateway::to_reply(error);
        const json::value body = json::parse(reply.body);
        const json::object& got = body.as_object().at("error").as_object();
        const std::string text = std::to_string(reply.status) + " " + reply.body;
        if (!request.error) {
            say(label, "refused with " + text);
            return;
        }
        json::object expected{{"code", request.error->code}};
        if (request.error->path) {
            expected.emplace("path", *request.error->path);
        }
        const auto problem = known_.compare_members(expected, got);
        if (problem || reply.status != request.error->status) {
            say(label, "expected status " + std::to_string(request.error->status) + " " +
                           json::serialize(expected) + ", got " + text);
        }
    }

    void compare_upstream(const request_step& request, const std::string& label) {
        const std::vector<std::string> asked = stage_.model().asked();
        if (asked.size() != request.upstream.size()) {
            say(label, "expected " + std::to_string(request.upstream.size()) +
                           " model calls, got " + std::to_string(asked.size()));
        }
        for (std::size_t i = 0; i < asked.size(); ++i) {
            if (i >= request.upstream.size()) {
                report_.push_back("    + " + asked[i]);
                continue;
            }
            if (!request.upstream[i].expect) {
                continue;
            }
            const json::object& expected = *request.upstream[i].expect;
            const json::value body = json::parse(asked[i]);
            if (const auto problem = known_.compare_members(expected, body.as_object())) {
                say(label, "model call " + std::to_string(i + 1) + " differs:");
                report_.push_back("    - " + json::serialize(expected));
                report_.push_back("    + " + asked[i]);
                report_.push_back("    ! " + *problem);
            }
        }
    }

    asio::awaitable<void> compare_journal(
        const request_step& request, const session::thread_key& key, const std::string& label
    ) {
        if (request.journal.empty()) {
            co_return;
        }
        const auto events = co_await stage_.store().events(key, 0, journal_limit);
        if (!events) {
            say(label, "the session events cannot be read: " + events.error().detail);
            co_return;
        }
        for (const auto& [type, expected] : request.journal) {
            json::array got;
            for (const session::session_event& event : *events) {
                if (event.type == type) {
                    got.push_back(concerned(event));
                }
            }
            const json::array wanted(expected.begin(), expected.end());
            if (const auto problem = known_.compare(wanted, got)) {
                say(label, "session events " + type + " differ:");
                report_.push_back("    - " + json::serialize(wanted));
                report_.push_back("    + " + json::serialize(got));
            }
        }
    }

    /// The id that distinguishes entries of one type.
    static json::value concerned(const session::session_event& event) {
        for (const std::string_view member : {"toolCallId", "messageId"}) {
            if (const json::value* id = event.data.if_contains(member)) {
                return *id;
            }
        }
        return json::value(event.run_id);
    }

    void
    compare_warnings(const request_step& request, std::size_t logged, const std::string& label) {
        if (!request.warnings) {
            return;
        }
        std::vector<std::string> got;
        const std::vector<std::string> lines = stage_.log().lines();
        for (std::size_t i = logged; i < lines.size(); ++i) {
            if (lines[i].starts_with("warning ")) {
                got.push_back(lines[i]);
            }
        }
        bool same = got.size() == request.warnings->size();
        for (std::size_t i = 0; same && i < got.size(); ++i) {
            same = got[i].find((*request.warnings)[i]) != std::string::npos;
        }
        if (same) {
            return;
        }
        say(label, "the warnings differ:");
        for (const std::string& text : *request.warnings) {
            report_.push_back("    - " + text);
        }
        for (const std::string& line : got) {
            report_.push_back("    + " + line);
        }
    }

    /// Everything that a refused request must not change.
    asio::awaitable<std::string> stored(const session::thread_key& key) {
        const auto thread = co_await stage_.store().load(key);
        if (!thread || !*thread) {
            co_return "";
        }
        json::array all;
        for (const session::stored_message& node : (*thread)->nodes) {
            all.push_back(session::to_json(node.message));
        }
        for (const session::call_record& call : (*thread)->calls) {
            all.push_back(json::string(call.id + " " + std::string(to_string(call.status))));
        }
        for (const session::branch& branch : (*thread)->branches) {
            all.push_back(branch.tip);
        }
        all.push_back((*thread)->head);
        all.push_back((*thread)->updated_at);
        const auto run = co_await stage_.store().latest_run(key);
        all.push_back(run && *run ? (*run)->number : 0);
        co_return json::serialize(all);
    }

    static std::string thread_of(const request_step& request, const json::value& input) {
        return text_of(input.as_object(), request.is_chat ? "sessionId" : "threadId");
    }

    static translator::projection projection_of(const json::value& input) {
        const json::value* declared = input.as_object().if_contains("protocolVersion");
        if (declared == nullptr || !declared->is_string()) {
            return translator::projection::undeclared;
        }
        const std::string_view version = declared->get_string();
        const auto projection = translator::choose_projection(version);
        return projection ? *projection : translator::projection::undeclared;
    }

    void say(const std::string& label, const std::string& text) {
        report_.push_back("  " + label + ": " + text);
    }

    void say_all(const std::string& label, const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            say(label, text);
        }
    }

    const fixture& fixture_;
    stage stage_;
    recording* record_; ///< Null if nothing is recorded.
    placeholders known_;
    std::vector<std::string> report_;
    /// Messages that wait for the active run, with the labels of their steps.
    std::vector<std::pair<const steer_step*, std::string>> steered_;
    bool over_ = false;
};

/// Runs handlers until `done`, or until the time is up; then it returns false.
bool run_until(
    asio::io_context& context, const bool& done, std::chrono::steady_clock::time_point deadline
) {
    while (!done && std::chrono::steady_clock::now() < deadline) {
        // If no handler is left here, the store's thread must act next.
        if (context.run_one_for(std::chrono::milliseconds(20)) == 0) {
            context.restart();
        }
    }
    return done;
}

} // namespace

std::vector<std::string>
check_fixture(const fixture& what, std::chrono::seconds limit, recording* record) {
    asio::io_context context{1};
    player playing(what, record);
    bool done = false;
    std::exception_ptr thrown;
    asio::co_spawn(context, playing.play(), [&](const std::exception_ptr& error) {
        thrown = error;
        done = true;
    });
    const auto deadline = std::chrono::steady_clock::now() + limit;
    if (!run_until(context, done, deadline)) {
        bool stopped = false;
        asio::co_spawn(context, playing.give_up(), [&](const std::exception_ptr&) {
            stopped = true;
        });
        const auto last = deadline + limit;
        if (!run_until(context, stopped, last) || !run_until(context, done, last)) {
            throw std::runtime_error(what.name + ": a run did not end at its shutdown either");
        }
    }
    std::vector<std::string> report = playing.take_report();
    if (thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& error) {
            report.push_back(std::string("  stopped by an exception: ") + error.what());
        }
    }
    return report;
}

} // namespace agui::replay
