#pragma once

#include "http_client.hpp"

#include <boost/json/object.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace externaltool {

/// A refusal or failure that the gateway reported: "code: message".
class gateway_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A tool call of the model, put together from TOOL_CALL_START and TOOL_CALL_ARGS.
struct call {
    std::string id;
    std::string name;
    std::string arguments;
    bool answered = false; ///< Answered by the server, because the tool is the server's.
};

/// The data that a client keeps of one run's events.
struct agent_run {
    std::vector<call> calls; ///< In the order made.
    std::optional<std::vector<std::string>> pending_ids;
    std::string text;
    std::string stop_reason; ///< Why the gateway stopped it, such as "run_timeout".
    std::string outcome;     ///< Empty until RUN_FINISHED; "success" if that names none.
};

/// Adds an event. RUN_ERROR throws gateway_error.
void take_event(agent_run& into, const boost::json::object& event);

/// The calls that the client must answer: the ones that RUN_FINISHED names or, if it names none,
/// all without a result.
[[nodiscard]] std::vector<call> pending_calls(const agent_run& of);

/// Describes a request that was refused before its run began: status, code, message, and the path
/// of the bad member.
[[nodiscard]] std::string describe_refusal(const reply& refusal);

} // namespace externaltool
