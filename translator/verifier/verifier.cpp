#include "translator/verifier/verifier.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "translator/verifier/verifier_chunks.hpp"
#include "translator/verifier/verifier_schema.hpp"
#include "translator/verifier/verifier_streams.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <utility>

namespace agui::translator {
namespace {

/// The state of the stream between and within runs.
enum class phase { before, active, finished, failed };

/// The outcome's type; success if there is none.
std::string_view outcome_of(const boost::json::object& finished) {
    const auto* outcome = finished.if_contains("outcome");
    return outcome == nullptr ? std::string_view("success")
                              : string_in(outcome->as_object(), "type");
}

} // namespace

struct event_verifier::state {
    explicit state(settings given) : options(given) {}

    settings options;
    phase at = phase::before;
    std::string thread_id;
    std::string run_id;
    chunk_expander chunks;
    run_streams run;

    violation check(const boost::json::object& event);
    violation apply(const boost::json::object& event);
    [[nodiscard]] violation check_place(std::string_view type) const;
    violation start(const boost::json::object& event);
    violation finish(const boost::json::object& event);
    [[nodiscard]] violation check_pending(const boost::json::object& event) const;
};

violation event_verifier::state::check(const boost::json::object& event) {
    if (auto found = check_schema(event)) {
        return found;
    }
    // Checked before the expansion, so that a misplaced chunk is reported for its place.
    if (auto found = check_place(string_in(event, "type"))) {
        return found;
    }
    chunk_expander::expansion expanded = chunks.expand(event);
    if (expanded.wrong) {
        return expanded.wrong;
    }
    for (const boost::json::object& explicit_event : expanded.events) {
        if (auto found = apply(explicit_event)) {
            return found;
        }
    }
    return std::nullopt;
}

violation event_verifier::state::check_place(std::string_view type) const {
    const bool starts = type == "RUN_STARTED";
    switch (at) {
    case phase::before:
        if (starts) {
            return std::nullopt;
        }
        return type == "RUN_ERROR" ? wrong("O1", "RUN_ERROR without RUN_STARTED")
                                   : wrong("V3", std::string(type) + " before RUN_STARTED");
    case phase::active:
        return starts ? wrong("V4", "RUN_STARTED while a run is active") : violation();
    case phase::finished:
    case phase::failed:
        break;
    }
    if (starts) {
        return options.allow_several_runs ? violation()
                                          : wrong("O8", "a second run on the stream of one run");
    }
    if (at == phase::failed) {
        return wrong("V1", std::string(type) + " after RUN_ERROR");
    }
    return type == "RUN_ERROR" ? wrong("O2", "RUN_ERROR after RUN_FINISHED")
                               : wrong("V2", std::string(type) + " after RUN_FINISHED");
}

violation event_verifier::state::apply(const boost::json::object& event) {
    const std::string_view type = string_in(event, "type");
    if (type == "RUN_STARTED") {
        return start(event);
    }
    if (type == "RUN_FINISHED") {
        return finish(event);
    }
    if (type == "RUN_ERROR") {
        if (auto found = run.check_closed(false)) {
            return found;
        }
        at = phase::failed;
        return std::nullopt;
    }
    return run.apply(event);
}

violation event_verifier::state::start(const boost::json::object& event) {
    run = run_streams();
    thread_id = string_in(event, "threadId");
    run_id = string_in(event, "runId");
    at = phase::active;
    return run.seed(event);
}

violation event_verifier::state::finish(const boost::json::object& event) {
    if (auto found = run.check_closed(true)) {
        return found;
    }
    if (string_in(event, "threadId") != thread_id || string_in(event, "runId") != run_id) {
        return wrong("O1", "RUN_FINISHED has other ids than RUN_STARTED");
    }
    if (outcome_of(event) == "cancelled" && event.contains("result")) {
        return wrong("S8", "a cancelled run has no result");
    }
    if (auto found = check_pending(event)) {
        return found;
    }
    at = phase::finished;
    return std::nullopt;
}

/// A success names exactly the calls of its run that are left to the application (S5). Without an
/// outcome there is nothing to check.
violation event_verifier::state::check_pending(const boost::json::object& event) const {
    const auto* outcome = event.if_contains("outcome");
    if (outcome == nullptr || outcome_of(event) != "success") {
        return std::nullopt;
    }
    std::vector<std::string> named;
    if (const auto* pending = outcome->as_object().if_contains("pendingToolCallIds")) {
        if (pending->as_array().empty()) {
            return wrong("S5", "an empty pendingToolCallIds is left out");
        }
        for (const auto& id : pending->as_array()) {
            named.emplace_back(id.as_string());
        }
    }
    if (named != run.unanswered()) {
        return wrong("S5", "pendingToolCallIds are not the run's unanswered calls in their order");
    }
    return std::nullopt;
}

event_verifier::event_verifier() : event_verifier(settings()) {}

event_verifier::event_verifier(settings options) : state_(std::make_unique<state>(options)) {}

event_verifier::~event_verifier() = default;
event_verifier::event_verifier(event_verifier&&) noexcept = default;
event_verifier& event_verifier::operator=(event_verifier&&) noexcept = default;

std::optional<std::string> event_verifier::check(const boost::json::value& event) {
    if (!event.is_object()) {
        return wrong("T4", "an event is a JSON object");
    }
    if (string_in(event.get_object(), "type").empty()) {
        return wrong("T5", "an event has a type");
    }
    return state_->check(event.get_object());
}

std::optional<std::string> event_verifier::check(std::string_view json) {
    constexpr std::size_t depth = 1000; // Opaque members may nest to any depth.
    const result<boost::json::value> event = parse_json(json, {.max_depth = depth});
    return event ? check(*event) : wrong("T3", "a frame is JSON in UTF-8");
}

std::optional<std::string> event_verifier::end() const {
    switch (state_->at) {
    case phase::before:
        return wrong("O1", "the stream has no run");
    case phase::active:
        return wrong("O2", "the stream ends without a terminal event");
    case phase::finished:
    case phase::failed:
        break;
    }
    return std::nullopt;
}

} // namespace agui::translator
