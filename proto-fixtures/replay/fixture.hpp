#pragma once

#include "gateway/config/config.hpp"
#include "gateway/runs/run_service.hpp"
#include "runner/http/scripted_transport.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/conversation/input_question.hpp"
#include "translator/agui/protocol_version.hpp"
#include "translator/chat_stream/chat_messages.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::replay {

/// An unusable fixture: names the file, the wrong member, and the expected value.
class fixture_error final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One answer of the model server, and the expected request.
struct model_turn {
    std::string label; ///< Its file or a description, for reports.
    runner::scripted_answer answer;
    std::optional<boost::json::object> expect; ///< Members that the request's body must have.
};

/// A tool that the server executes, with a canned outcome.
struct canned_tool {
    runner::tool_definition definition;
    runner::tool_outcome outcome;
    std::chrono::milliseconds delay{0};
    /// Asked one after the other, before the outcome.
    std::vector<session::input_question> questions = {};
    std::string step;       ///< Begins and ends with the tool's work; empty if there is none.
    boost::json::value raw; ///< Sent as a RAW event, unless it is null.
};

/// The events expected by a reader of one projection.
struct expected_events {
    translator::projection projection = translator::projection::undeclared;
    std::string label;
    std::vector<boost::json::object> events;
};

/// The frames of the chat stream expected by a reader that keeps up with every frame.
struct expected_frames {
    translator::chat_mode mode = translator::chat_mode::incremental;
    std::string label;
    std::vector<boost::json::object> frames;
};

struct expected_error {
    int status = 0;
    std::string code;
    std::optional<std::string> path;
};

struct step;

/// POST /agui, or POST /chat/stream.
struct request_step {
    boost::json::object input;
    bool is_chat = false; ///< POST /chat/stream.
    std::optional<gateway::disconnect_policy> on_disconnect;
    std::vector<model_turn> upstream; ///< All model calls that the run makes, in order.
    std::vector<expected_events>
        events; ///< Empty if there is an `error`; the stream is then not compared.
    std::vector<expected_frames> frames; ///< Frames of the same run.
    std::optional<expected_error> error; ///< The request is refused, and nothing is stored.
    std::size_t meanwhile_after = 0;     ///< Events read before the steps of `meanwhile`.
    std::vector<step> meanwhile;
    std::optional<std::size_t> leave_after; ///< The reader leaves after that many events.
    /// Session events of the thread so far: type to the ids they concern, in order.
    std::map<std::string, std::vector<boost::json::value>> journal;
    std::optional<std::vector<std::string>> warnings; ///< One text within each warning logged.
};

/// POST /agui/cancel.
struct cancel_step {
    std::string thread_id;
    std::optional<std::string> run_id;
    bool cancelled = false;
};

/// POST /agui/steer, while a run is active. Its answer is compared when the run has ended.
struct steer_step {
    boost::json::object input;
    bool taken = true; ///< Otherwise it is refused with run_ended.
};

/// The process shuts down and starts again with the same database.
struct restart_step {};

struct step {
    std::string label; ///< "step 2", "step 2.1": of `meanwhile`.
    std::variant<request_step, cancel_step, steer_step, restart_step> what;
};

/// The gateway that a fixture is played against.
struct fixture_settings {
    /// Its model is `[models.main]`, scripted; its agent is "default". Nothing needs the network.
    gateway::config config;
    std::vector<canned_tool> server_tools;
};

/// A transcript with its expected results; the format is described in proto-fixtures/README.md.
struct fixture {
    std::string name; ///< Name of its folder.
    std::filesystem::path folder;
    std::string description;
    std::vector<std::string> shows;
    fixture_settings settings;
    std::vector<step> steps;
};

/// Reads `folder`/fixture.json and the files that it names. Throws fixture_error.
[[nodiscard]] fixture load_fixture(const std::filesystem::path& folder);

/// The folders at or below `where` that hold a fixture.json, sorted by path. Throws
/// fixture_error if there are none.
[[nodiscard]] std::vector<std::filesystem::path> find_fixtures(const std::filesystem::path& where);

} // namespace agui::replay
