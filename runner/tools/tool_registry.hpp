#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/tools/argument_schema.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// One call of a server tool. A value: the function may outlive the run that called it (P9).
struct tool_invocation {
    std::string name;
    boost::json::object arguments;
    std::string arguments_text; ///< As the model wrote them; `{}` if it wrote nothing.
    std::string call_id;
    std::string thread_id;
    std::string run_id;
    std::string agent_id;
    std::string principal = {}; ///< Empty if the server knows only one.
    /// Of the request that began the run, those that may be passed on; names in lower case.
    std::vector<std::pair<std::string, std::string>> headers = {};
};

struct tool_outcome {
    enum class kind {
        result,
        error,    ///< Executed or refused with an error the model should see.
        external, ///< Not executed here after all: the call is handed to the caller.
        /// Disabled or unavailable before it began: another may execute the call. Never said by a
        /// tool that may have begun.
        unavailable,
    };
    kind what = kind::result;
    session::content content;
    /// For the log only: a reason for an error that the model is not told. Holds no content.
    std::string log_detail = {};
    /// What clients are shown in place of `content`, which is the model's; nothing: the same.
    std::optional<session::content> shown = {};
};

/// Thrown by a tool that wants the model to be told of an error: its text is the result.
class tool_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A server tool. Runs on the run's executor; an exception other than tool_error becomes an error
/// result whose text says only that the tool failed. Cancelled (terminal) when the run is stopped,
/// and then not waited for: each call holds its function until it returns. Handlers that it
/// connects to its cancellation slot must not throw (Asio's rule).
using tool_function = std::function<boost::asio::awaitable<tool_outcome>(tool_invocation)>;

/// What holds for each call of a tool.
struct tool_options {
    /// Then the call ends with an error result; the tool is cancelled and not waited for. 0: none.
    std::chrono::milliseconds timeout{0};
};

/// Executors of one agent, by the names of their tools: they execute what the registry has no tool
/// for, or only one that is unavailable.
using tool_executors = std::map<std::string, tool_function, std::less<>>;

/// What executes a tool, and what its calls are checked against before.
struct registered_tool {
    tool_function function;
    tool_options options = {};
    std::shared_ptr<const argument_schema> schema = {}; ///< Null: nothing is checked.
    std::string schema_problem = {}; ///< Why it has none although its definition has.
};

/// Tools at one moment. Never changes; any thread.
class tool_set {
public:
    [[nodiscard]] bool contains(std::string_view name) const noexcept;
    /// Null: there is none of that name. Lives as long as the set.
    [[nodiscard]] const tool_function* find(std::string_view name) const noexcept;
    [[nodiscard]] const registered_tool* find_tool(std::string_view name) const noexcept;

    /// Definitions, their parameters as tool_schema(), whose names match one of `patterns` (a name,
    /// or a prefix that ends in `*`), in their order; all of them if there are no patterns.
    [[nodiscard]] std::vector<tool_definition> definitions(const std::vector<std::string>& patterns
    ) const;

private:
    friend class tool_registry;
    void collect();

    std::vector<tool_definition> added_;
    std::map<std::string, std::vector<tool_definition>, std::less<>> groups_;
    std::vector<tool_definition> definitions_; ///< Those added, then group by group.
    std::map<std::string, registered_tool, std::less<>> tools_;
};

/// A tool and what executes it.
struct server_tool {
    tool_definition definition;
    tool_function function;
    tool_options options = {};
};

/// The tools that the server executes. May change while runs are under way: each run works with the
/// set that it found when it began. Any thread.
class tool_registry {
public:
    tool_registry() : tools_(std::make_shared<tool_set>()) {}
    /// add() for each.
    explicit tool_registry(std::vector<server_tool> tools);
    tool_registry(const tool_registry& other);
    tool_registry& operator=(const tool_registry& other);
    ~tool_registry() = default;

    /// Logs, now and whenever tools come: those whose schema cannot be compiled, so that their
    /// arguments are not checked. `log` must outlive the registry and the copies of it.
    void log_to(logger& log);

    /// Throws std::invalid_argument for a second tool of the same name. Copies the set: for
    /// occasional changes. Copies of the registry do not see it.
    void add(tool_definition definition, tool_function function, tool_options options = {});
    void add(server_tool tool);

    /// Replaces all tools of a group, such as those of one MCP server; without tools, the group is
    /// gone. The groups come after what add() added, in the order of their names, so that the order
    /// does not depend on which of them came first. Returns the names that are in use elsewhere:
    /// those tools are left out. Arguments are not checked for tools whose schemas exceed
    /// what a group may have. Copies the set.
    std::vector<std::string> replace(std::string_view group, std::vector<server_tool> tools);

    /// What is registered now; never null.
    [[nodiscard]] std::shared_ptr<const tool_set> snapshot() const;
    /// The same, for a single question.
    [[nodiscard]] bool contains(std::string_view name) const { return snapshot()->contains(name); }

private:
    mutable mutex mutex_;
    std::shared_ptr<const tool_set> tools_ AGUI_GUARDED_BY(mutex_); ///< Replaced as a whole.
    logger* log_ AGUI_GUARDED_BY(mutex_) = nullptr;
};

/// True if `name` equals `pattern`, or begins with the part before its final `*`.
[[nodiscard]] bool matches_tool_pattern(std::string_view name, std::string_view pattern) noexcept;

} // namespace agui::runner
