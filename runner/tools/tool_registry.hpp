#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/tools/argument_schema.hpp"
#include "runner/tools/run_context.hpp"
#include "runner/tools/tool_effects.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/input_question.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

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

/// One call of a server tool. It is a value, because the function may outlive the run that called
/// it (P9).
struct tool_invocation {
    std::string name;
    boost::json::object arguments;
    std::string arguments_text; ///< The text that the model wrote; `{}` if it wrote nothing.
    std::string call_id;
    std::string thread_id;
    std::string run_id;
    std::string agent_id;
    std::string principal = {}; ///< The thread's owner; empty if the server knows only one.
    /// The principal whose request began the run, to whom the thread may just be opened. Empty if
    /// the server knows only one, or if it is unknown, as with a message that another process has
    /// left in the queue.
    std::string sender = {};
    /// Headers of the request that began the run, if they may be passed on; names in lower case.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// The run's state and events. Null only if the caller is not a run.
    std::shared_ptr<run_context> run = {};
    /// A person's answers to the questions that the tool has asked for this call, in order; each
    /// fits the schema of its question. Empty when the tool is called for the first time.
    std::vector<boost::json::value> inputs = {};
};

struct tool_outcome {
    enum class kind {
        result,
        error,    ///< Executed or refused, with an error that the model should see.
        external, ///< Not executed here: the call is handed to the caller.
        /// Disabled or unavailable before it began, so another executor may execute the call. A
        /// tool that may have begun never returns it.
        unavailable,
        /// The call's subagent waits for an answer of the caller or for an approval. The call stays
        /// open, and a later run goes on with it. Only agents that are tools return it.
        suspended,
        /// The tool has asked a person for input (ask()). The call stays open and the run ends;
        /// with the answer, the tool is called again, with all answers so far
        /// (tool_invocation::inputs). Everything that it did before is done again, so it should
        /// ask before it changes anything.
        input,
    };
    kind what = kind::result;
    session::content content;
    /// For the log only: the reason for an error, which the model does not get. Holds no content.
    std::string log_detail = {};
    /// Shown to clients instead of `content`, which is the model's; nullopt shows `content`.
    std::optional<session::content> shown = {};
    /// Carried out before the result is shown; may be null.
    std::shared_ptr<const tool_effects> effects = {};
    /// With kind::input; otherwise null.
    std::shared_ptr<const session::input_question> question = {};

    /// Asks a person for input instead of giving a result. A call that asks for more than
    /// session::questions_max inputs, and one whose question cannot be asked (question_problem),
    /// gets an error result.
    [[nodiscard]] static tool_outcome ask(session::input_question question) {
        tool_outcome made;
        made.what = kind::input;
        made.question = std::make_shared<const session::input_question>(std::move(question));
        return made;
    }
};

/// Thrown by a tool to give the model an error: its text becomes the result.
class tool_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A server tool. Runs on the run's executor. An exception other than tool_error becomes an error
/// result whose text says only that the tool failed. When the run is stopped, the call is cancelled
/// (terminal) and not waited for: each call holds its function until it returns. Handlers that it
/// connects to its cancellation slot must not throw (Asio's rule).
using tool_function = std::function<boost::asio::awaitable<tool_outcome>(tool_invocation)>;

/// The calls of server tools that a person has to approve before they are executed; the later ones
/// are the stricter.
enum class approval_rule {
    never,
    destructive, ///< Calls of tools that may destroy something.
    always,
};

/// Options for each call of a tool.
struct tool_options {
    /// Time after which the call ends with an error result; the tool is cancelled and not waited
    /// for. 0 means no limit.
    std::chrono::milliseconds timeout{0};
    /// An agent may have a stricter rule.
    approval_rule approval = approval_rule::never;
    bool destructive = true; ///< For approval_rule::destructive.
    /// True for a further call that a person has to approve; such a call has its parsed arguments.
    /// An exception counts as true. May be called on any thread; must not block.
    std::function<bool(const tool_invocation&)> needs_approval = {};
    /// Its results come from another program; see agent_settings::delimits_results.
    bool is_foreign = false;
    /// The tool may ask a person for input (tool_outcome::ask). Only told to clients.
    bool asks_for_input = false;
};

/// Executors of one agent by tool name. They execute tools that the registry lacks or has only as
/// unavailable.
using tool_executors = std::map<std::string, tool_function, std::less<>>;

/// A tool's function, and the schema for its arguments.
struct registered_tool {
    tool_function function;
    tool_options options = {};
    std::shared_ptr<const argument_schema> schema = {}; ///< If null, arguments are not checked.
    std::string schema_problem = {}; ///< Why it is null although the definition has a schema.
};

/// The tools at one moment. Never changes; may be used on any thread.
class tool_set {
public:
    [[nodiscard]] bool contains(std::string_view name) const noexcept;
    /// Null if there is no tool of that name. Lives as long as the set.
    [[nodiscard]] const tool_function* find(std::string_view name) const noexcept;
    [[nodiscard]] const registered_tool* find_tool(std::string_view name) const noexcept;

    /// Definitions, with parameters as tool_schema(), whose names match one of `patterns` (a name,
    /// or a prefix that ends in `*`), in their order; all definitions if there are no patterns.
    [[nodiscard]] std::vector<tool_definition> definitions(const std::vector<std::string>& patterns
    ) const;
    /// The names of these definitions.
    [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& patterns) const;

private:
    friend class tool_registry;
    void collect();

    std::vector<tool_definition> added_;
    std::map<std::string, std::vector<tool_definition>, std::less<>> groups_;
    std::vector<tool_definition> definitions_; ///< Added ones first, then group by group.
    std::map<std::string, registered_tool, std::less<>> tools_;
};

/// A tool and its function.
struct server_tool {
    tool_definition definition;
    tool_function function;
    tool_options options = {};
};

/// The tools that the server executes. It may change during runs: each run uses the set that it
/// found when it began. May be used on any thread.
class tool_registry {
public:
    tool_registry() : tools_(std::make_shared<tool_set>()) {}
    /// Calls add() for each.
    explicit tool_registry(std::vector<server_tool> tools);
    tool_registry(const tool_registry& other);
    tool_registry& operator=(const tool_registry& other);
    ~tool_registry() = default;

    /// Logs the tools whose schema cannot be compiled, so that their arguments are not checked:
    /// those registered and those added later. `log` must outlive the registry and its copies.
    void log_to(logger& log);

    /// Throws std::invalid_argument if the name is taken. Copies the set, so it suits occasional
    /// changes. Copies of the registry are not changed.
    void add(tool_definition definition, tool_function function, tool_options options = {});
    void add(server_tool tool);

    /// Replaces all tools of a group, such as those of one MCP server; an empty list removes the
    /// group. Groups come after the tools of add(), sorted by group name, so that the order does
    /// not depend on their arrival. Returns the names that are in use elsewhere; those tools are
    /// left out. Arguments are not checked for tools whose schemas exceed the group's limit. Copies
    /// the set.
    std::vector<std::string> replace(std::string_view group, std::vector<server_tool> tools);

    /// The current tools; never null.
    [[nodiscard]] std::shared_ptr<const tool_set> snapshot() const;
    /// Like snapshot()->contains(), for a single question.
    [[nodiscard]] bool contains(std::string_view name) const { return snapshot()->contains(name); }

private:
    mutable mutex mutex_;
    std::shared_ptr<const tool_set> tools_ AGUI_GUARDED_BY(mutex_); ///< Replaced as a whole.
    logger* log_ AGUI_GUARDED_BY(mutex_) = nullptr;
};

/// True if `name` equals `pattern`, or begins with the part before its final `*`.
[[nodiscard]] bool matches_tool_pattern(std::string_view name, std::string_view pattern) noexcept;

} // namespace agui::runner
