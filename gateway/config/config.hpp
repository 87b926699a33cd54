#pragma once

#include "gateway/audit/access_log.hpp"
#include "gateway/auth/session_cookie.hpp"
#include "gateway/quota/model_price.hpp"
#include "gateway/quota/quota_rules.hpp"
#include "gateway/run/context_place.hpp"
#include "gateway/run/disconnect_policy.hpp"
#include "gateway/run/state_prediction.hpp"
#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/base/model_circuit.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/openai/openai_chat.hpp"
#include "runner/responses/responses_chat.hpp"
#include "session/base/clock.hpp"
#include "session/base/log.hpp"
#include "session/history/history_plan.hpp"
#include "session/store/store.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/input/run_input.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/json/object.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

using header_list = std::vector<std::pair<std::string, std::string>>;

/// A value from the environment or a file, and where it came from. Only the source is ever printed.
struct secret {
    std::string value;
    std::string environment; ///< Name of the variable. Empty if the value is from elsewhere.
    std::string file;        ///< Path of the file. Empty if the value is from elsewhere.

    friend bool operator==(const secret&, const secret&) = default;
};

struct server_config {
    std::string listen = "127.0.0.1:8080";
    std::uint32_t threads = 0; ///< 0 means one per core.
    std::string base_path;
    /// The URL at which clients reach base_path. If empty, effective_public_url() decides.
    std::string public_url;
    /// The URL at which other gateways reach base_path. If empty, effective_peer_url() decides.
    std::string peer_url;
    std::string peer_ca_file;    ///< More trusted certificates (PEM); may be empty.
    std::string copilotkit_path; ///< Path of CopilotKit's routes below base_path; empty for none.
    bool console = false;        ///< Serve the console at /console.
    std::string ai_path;         ///< Path of the AI SDK's routes below base_path; empty for none.
    /// Path of the Unix socket of `agui-gateway threads`; empty for none.
    std::string control_socket;
    std::string static_dir;
    bool spa = false; ///< See static_settings::spa.
    /// The Content-Security-Policy of the files of static_dir: the default if nullopt, none if
    /// empty.
    std::optional<std::string> csp;
    std::vector<std::string> cors_origins;
    bool cors_credentials = false;
    std::vector<std::string> allowed_hosts; ///< If empty, effective_hosts() decides.
    disconnect_policy on_disconnect;
    std::chrono::milliseconds heartbeat{15'000};
    std::chrono::milliseconds header{10'000};
    std::chrono::milliseconds body{60'000};
    // These have no keys; they are described at connection_limits.
    std::chrono::milliseconds body_idle{15'000};
    std::chrono::milliseconds stall{30'000};
    std::chrono::milliseconds reply{60'000};
    std::size_t reply_rate = 32'768;
    std::size_t min_reply_rate = 8'192;
    std::chrono::milliseconds lag{10'000};
    std::chrono::milliseconds farewell{10'000};
    std::chrono::seconds run_timeout{3600};
    std::chrono::seconds drain{25};
    std::chrono::seconds detached{3600};
    std::size_t max_body_bytes = 33'554'432;
    /// Limit for bodies, logs and replies together. If 0, effective_memory() decides.
    std::size_t max_memory_bytes = 0;
    /// Limit for one client's unfinished bodies; 0 means four times max_body_bytes. Has no key.
    std::size_t max_unfinished_bytes = 0;
    std::vector<std::string> trusted_proxies; ///< Addresses and networks.
    std::size_t max_header_bytes = 32'768;
    std::size_t max_connections = 20'000;
    std::size_t max_connections_per_address = 0; ///< 0 means a quarter of max_connections.
    std::chrono::milliseconds spare_idle{5'000}; ///< See place_limits::idle. Has no key.
    std::size_t max_runs = 10'000;
    std::size_t max_run_bytes = 64U << 20U; ///< A run with more bytes of events is ended.
    std::size_t max_detached_runs = 1'000;
    std::size_t reader_buffer_bytes = 1'048'576;
    translator::input_limits input;
    translator::translator_settings::usage_detail usage =
        translator::translator_settings::usage_detail::full;
    agui::log_level log_level = agui::log_level::info;
};

/// `[[auth.tokens]]`: a bearer token that is the credential of one user.
struct token_config {
    std::string name; ///< The user's.
    std::string tenant;
    secret token;
    std::vector<std::string> scopes;
    std::string expires;               ///< As written; empty for never.
    std::optional<unix_ms> expires_at; ///< The same as a time.

    friend bool operator==(const token_config&, const token_config&) = default;
};

/// `[auth.session]`: sessions of browsers, by cookie.
struct auth_session_config {
    bool enabled = false;
    /// `secret_env` or `secret_file`. Without one, the secret is that of this start of the process.
    secret key;
    std::chrono::seconds life{3600};          ///< `seconds`
    same_site site = gateway::same_site::lax; ///< `same_site`

    friend bool operator==(const auth_session_config&, const auth_session_config&) = default;
};

struct auth_config {
    enum class mode { none, bearer, jwt, proxy };
    mode kind = mode::none;
    secret token; ///< Opens everything: its caller is everybody(). May be empty.
    std::vector<token_config> tokens;
    std::vector<std::string> scopes; ///< Of every caller that a proxy or a JWT names.
    std::string user_header = "X-Forwarded-User";
    std::string tenant_header; ///< Empty if users have no tenant.
    std::string groups_header; ///< Empty if groups decide nothing.
    /// The scopes of the members of a group, separated by spaces.
    std::map<std::string, std::string> group_scopes;
    // For JWTs; see jwt_rules.
    std::string jwks_url;     ///< Either this or jwks_file.
    std::string jwks_ca_file; ///< More trusted certificates (PEM) for jwks_url; may be empty.
    std::string jwks_file;
    std::string jwks; ///< Content of jwks_file.
    std::string issuer;
    std::vector<std::string> audience;
    std::vector<std::string> algorithms = {"RS256", "ES256", "EdDSA"};
    std::chrono::seconds leeway{30};
    std::string user_claim = "sub";
    std::string tenant_claim;
    std::string scope_claim = "scope";
    auth_session_config session; ///< With bearer and jwt.

    friend bool operator==(const auth_config&, const auth_config&) = default;
};

/// `on_busy`: how a user message for a thread with an active run is handled.
enum class busy_policy {
    reject,    ///< It is refused.
    enqueue,   ///< It waits for the thread's next run.
    supersede, ///< It stops the run.
    steer,     ///< The run takes it, if it can; otherwise it waits as with `enqueue`.
};

struct session_config {
    enum class store_kind { memory, sqlite, postgres };
    store_kind store = store_kind::sqlite;
    std::string sqlite_path = "agui.db";
    std::string postgres_url;            ///< Without a password, of the form that libpq reads.
    secret store_password;               ///< `store_password_env` or `store_password_file`.
    bool prepared = true;                ///< False behind a pooler without prepared statements.
    std::chrono::milliseconds batch{25}; ///< How long a delta may wait for others (PostgreSQL).
    std::size_t store_connections = 8;
    std::chrono::seconds lease{30};
    std::chrono::seconds store_wait{10}; ///< How long a call waits for an unreachable server.
    session::durability durability = session::durability::process;
    /// on_partial, on_abandoned and approval_life come from [tools].
    session::history_policy history;
    busy_policy on_busy = busy_policy::reject;
    std::size_t queue_max = 100; ///< Limit for each thread.
    std::chrono::seconds queue_hold{600};
    bool supersede_detached = true;           ///< `on_busy_detached = "supersede"`.
    std::chrono::milliseconds busy_wait{500}; ///< How long a user message waits for a busy thread.
    std::chrono::seconds replay{600};
    /// `log_days`: logs of runs that ended longer ago are dropped.
    std::chrono::hours log_age{7 * 24};
    /// `link_days`: how long links to parts of a thread are valid. If only log_days is set, it
    /// applies here too.
    std::chrono::hours link_age{7 * 24};
    std::uint64_t max_thread_bytes = 64U << 20U; ///< Limit for one thread's messages and documents.
    /// Approximate limit for all logs, above which the oldest are dropped. 0 means no limit.
    std::uint64_t log_max_bytes = 0;
};

struct external_tool_config {
    runner::tool_definition definition;
    bool always = true; ///< `when = "always"`. If false, the request must list the tool too.
};

/// One of `user_tokens`: the credentials of a user for one tool server.
struct user_token_config {
    std::string user;
    std::string tenant; ///< May be empty.
    secret token;

    friend bool operator==(const user_token_config&, const user_token_config&) = default;
};

/// Where a tool server gets the credentials of the caller; see runner::caller_credentials.
struct caller_credentials_config {
    std::vector<user_token_config> tokens; ///< `user_tokens`
    /// There is a list of user_tokens, which may be empty: then no user has any. It stays true if
    /// it was when the process began (with_secrets_of()).
    bool lists_tokens = false;
    std::string from;                 ///< `user_token_from`, in lower case; may be empty.
    std::string as = "Authorization"; ///< `user_token_as`

    [[nodiscard]] bool may_have_tokens() const noexcept { return lists_tokens || !tokens.empty(); }
    [[nodiscard]] bool are_required() const noexcept { return !from.empty() || may_have_tokens(); }
};

struct webhook_config {
    runner::tool_definition definition;
    std::string url;
    header_list headers;                          ///< Values are treated as secrets.
    std::map<std::string, secret> secret_headers; ///< `header_env`, by header name.
    bool get = false;                             ///< `method = "GET"`.
    bool idempotent = false;                      ///< A call may be sent again.
    std::vector<std::string> pass_headers; ///< Passed on from the run's request; in lower case.
    caller_credentials_config callers;
    std::chrono::seconds timeout{30};
    runner::approval_rule approval = runner::approval_rule::never;
};

/// `[[mcp_servers]]`: a server over HTTP, with a url, or a process, with a command.
struct mcp_server_config {
    std::string name;
    std::string url;
    header_list headers;                          ///< Values are treated as secrets.
    std::map<std::string, secret> secret_headers; ///< `header_env`, by header name.
    std::string ca_file;                          ///< Certificates (PEM) for an https url.
    std::vector<std::string> pass_headers; ///< Passed on from the run's request; in lower case.
    caller_credentials_config callers;
    std::string command;
    std::vector<std::string> args; ///< Treated as secrets.
    std::string cwd;               ///< If empty, this process's directory.
    std::vector<std::string> env_allow;
    header_list environment; ///< The variables in env_allow that are set; values are secrets.
    std::chrono::seconds timeout{30};
    runner::approval_rule approval = runner::approval_rule::never;
    std::string digest; ///< See runner::mcp_server_settings::digest.
};

struct tools_config {
    bool reject_name_clash = false;
    /// Patterns for the names of the tools that clients may offer besides `external`; nullopt
    /// allows all.
    std::optional<std::vector<std::string>> client_names;
    std::size_t max_result_bytes = 1'048'576;
    std::vector<external_tool_config> external;
    std::vector<webhook_config> webhooks;
    std::vector<mcp_server_config> mcp_servers;
};

struct model_config {
    /// custom: the embedding program supplies it (server_options::provider_of).
    enum class provider_kind { openai, anthropic, responses, scripted, custom };
    std::string name; ///< From the name of its table: `[models.main]`.
    provider_kind provider = provider_kind::openai;
    std::string base_url;
    std::string script; ///< The file or folder that a scripted model plays.
    /// Of a scripted model: openai, anthropic or responses.
    provider_kind dialect = provider_kind::openai;
    secret api_key;
    header_list headers;
    std::string ca_file;
    runner::model_parameters parameters;
    boost::json::object extra_body;
    std::vector<std::string> media_urls = {"https"};
    bool file_sources = false;
    bool merge_roles = false; ///< Adjacent user messages are sent as one.
    runner::openai_variant variant = runner::openai_variant::openai;
    std::string reasoning_tags; ///< Around thoughts in the text; see runner::openai_settings.
    // These are for the Messages dialect; see runner::anthropic_settings.
    runner::anthropic_thinking thinking = runner::anthropic_thinking::model_default;
    runner::anthropic_display thinking_display = runner::anthropic_display::model_default;
    runner::anthropic_mismatch thinking_mismatch = runner::anthropic_mismatch::model_default;
    runner::anthropic_cache prompt_cache = runner::anthropic_cache::five_minutes;
    bool eager_input = true;
    bool tool_addition = false;
    std::string api_version = runner::anthropic_settings().api_version;
    std::vector<std::string> betas;
    std::vector<std::string> drop; ///< For the Responses dialect, too.
    // These are for the Responses dialect; see runner::responses_settings.
    runner::responses_summary reasoning_summary = runner::responses_summary::model_default;
    bool encrypted_reasoning = true;
    std::chrono::seconds connect{10};
    std::chrono::seconds first_byte{60};
    std::chrono::seconds first_content{600};
    std::chrono::seconds idle{60};
    runner::model_circuit::settings circuit; ///< Without `model`.
    gateway::metering metering;              ///< `price`, `reserve_output_tokens`
};

/// True if a model server is asked, in one of the dialects.
[[nodiscard]] bool is_served(model_config::provider_kind provider) noexcept;

/// The dialect whose keys the model has: openai, anthropic or responses; openai for a custom model.
[[nodiscard]] model_config::provider_kind dialect_of(const model_config& model) noexcept;

/// The part of the configuration that the Messages dialect has.
[[nodiscard]] runner::anthropic_settings anthropic_settings_of(const model_config& model);

/// The parameters that the model's server is known to refuse or its dialect cannot carry.
/// Settings in `drop` are not among them.
[[nodiscard]] std::vector<runner::anthropic_refusal>
refusals_of(const model_config& model, const runner::model_parameters& parameters);

/// Who gives a new thread its title. A model replaces that from the first message.
enum class title_source { off, first_message, model };

struct agent_config {
    std::string id = "default";
    std::vector<std::string> models;       ///< At least one; tried in this order.
    std::string instructions;              ///< A session::prompt_template.
    std::vector<std::string> prompt_props; ///< Members of forwardedProps for the instructions.
    std::vector<std::string> tools;        ///< Patterns; empty means all tools.
    /// Takes the place of tools.client_names for requests to the agent.
    std::optional<std::vector<std::string>> client_tools;
    std::string description;         ///< Told to agents that may call it.
    std::vector<std::string> agents; ///< Ids of the agents that it may call.
    /// For all server tools of the agent, unless a tool's own rule is stricter.
    runner::approval_rule approval = runner::approval_rule::never;
    std::uint32_t max_rounds = 10;
    std::uint32_t max_parallel_tools = 8;
    bool detects_loops = true;  ///< False for `loop_detection = "off"`.
    runner::turn_limits limits; ///< loop_threshold is ignored without detects_loops.
    session::history_window window;
    bool delimits_results = false; ///< `tool_results = "delimited"`
    std::vector<std::string> overridable;
    /// Precede those of the models. Only top_p, stop, seed and reasoning_effort are used.
    runner::model_parameters parameters;
    runner::reply_format reply = runner::reply_format::text; ///< `reply_format`
    bool reply_schema = false;                               ///< Of the form `items`.
    /// `reply_schema` as text: the JSON Schema of the model's text. Empty if there is none.
    std::string reply_schema_text;
    /// nullopt means session.client_history.
    std::optional<session::client_history> client_history;
    context_place context = context_place::user;
    context_place state = context_place::off;
    bool state_tool = false; ///< The model may change the state (runner::make_state_tool).
    std::vector<predicted_member> predictions; ///< `predict_state`
    std::string state_schema; ///< Text of a JSON Schema for state_tool; empty allows all.
    /// nullopt (`auto`): `append` if one of the models binds_tools(), else `exact`.
    std::optional<gateway::tool_list> tool_list;
    gateway::instructions_refresh instructions_refresh = gateway::instructions_refresh::append;
    bool legacy_interrupts = false;  ///< CUSTOM on_interrupt and forwardedProps.command.resume.
    std::vector<std::string> events; ///< `events`: more events, for the clients that it names.
    bool prefix_check = true;        ///< `prefix_check = "log"`
    title_source title = title_source::first_message;
    std::string title_model; ///< Name of a model; empty unless `title = "model"`.
};

/// True if the agent's runs have the events for TanStack AI.
[[nodiscard]] bool sends_tanstack(const agent_config& agent) noexcept;

/// The model's parameters with those of the agent, including its reply_schema.
[[nodiscard]] runner::model_parameters
parameters_of(const agent_config& agent, const model_config& model);

/// One `[[quotas]]`.
struct quota_config {
    quota_scope per = quota_scope::principal;
    std::string user;   ///< With per = "principal", the user whom it is for; empty for all.
    std::string tenant; ///< The tenant of the user, or the one that it is for; empty for all.
    quota_limits limits;
};

/// `[audit]`: who did what.
struct audit_config {
    std::string file; ///< Empty for none; "-" for standard output.
};

/// `[access_log]`: the requests.
struct access_log_config {
    std::string file; ///< As above.
    access_form form = access_form::combined;
};

/// The whole configuration: validated, and with the values of secrets.
struct config {
    server_config server;
    std::optional<auth_config> auth;
    audit_config audit;
    access_log_config access_log;
    session_config session;
    tools_config tools;
    std::vector<model_config> models;
    std::vector<agent_config> agents;
    std::vector<quota_config> quotas;
};

/// All problems of a configuration, one line each: `FILE:LINE:COLUMN: key: what is wrong`. No line
/// holds a secret.
struct config_problems {
    std::vector<std::string> lines;
};

[[noreturn]] void
throw_exception_from_error(const config_problems& problems, const boost::source_location& where);

template <class T>
using config_result = boost::system::result<T, config_problems>;

/// Sources of the configuration; later ones override earlier ones.
struct config_sources {
    std::string file; ///< Path of the file, or empty.
    std::string text; ///< TOML that is used without a file; for tests and programs.
    /// `key.path=value`; arrays by index: `agents.0.max_rounds=3`.
    std::vector<std::string> overrides;
};

/// Reads, overrides and validates the configuration, and reads the values of secrets. Relative
/// paths are relative to the working directory. Reports all problems at once.
[[nodiscard]] config_result<config> load_config(const config_sources& sources);

/// A running configuration with what it takes of a later reading.
struct reread_config {
    config settings;
    std::vector<std::string> left_out; ///< What it does not take, one line each.
};

/// `running` with the secrets, the [auth], the user_tokens and the digests of MCP servers of
/// `fresh`, a later reading of the same configuration. Everything else in `fresh` is ignored,
/// including models that `running` does not have. Whether a tool has user_tokens is decided at the
/// start: one that had none gets none, and one that is no longer in `fresh` as it was loses them
/// all, so that its calls are refused. Fails if the result breaks a rule of load_config().
[[nodiscard]] config_result<reread_config> with_secrets_of(config running, const config& fresh);

/// Warnings, one line each, about secrets that others may guess or read: `auth.token_env: …`.
/// Checks file permissions too. No line holds a secret.
[[nodiscard]] std::vector<std::string> weak_secrets(const config& what);

/// What works, but probably not as it is meant, each in one line: weak_secrets(), and CopilotKit's
/// routes without an agent `default`, which its pages use unless they are told another one.
[[nodiscard]] std::vector<std::string> warnings_of(const config& what);

/// The configuration as TOML, with every default; secrets and header values are masked.
[[nodiscard]] std::string print_config(const config& what);

/// The size of the process's memory budget. Without a setting, it is half of usable_memory().
[[nodiscard]] std::size_t effective_memory(const server_config& server);

/// The configured Host names. Without a setting: the loopback names and the listen address if the
/// server listens on loopback, otherwise empty, which allows any.
[[nodiscard]] std::vector<std::string> effective_hosts(const server_config& server);

/// The URL at which clients reach base_path: server.public_url or, for a loopback address, the
/// listen address with the bound `port`. Empty if it is unknown.
[[nodiscard]] std::string effective_public_url(const server_config& server, std::uint16_t port);

/// The URL at which other gateways on the same store reach base_path: server.peer_url, or the
/// listen address with the bound `port`. If the server listens on all addresses, `address_at_store`
/// (this machine's address as the store's server sees it) is used, unless it is loopback. Empty if
/// it is unknown.
[[nodiscard]] std::string effective_peer_url(
    const server_config& server, std::uint16_t port, const std::string& address_at_store
);

} // namespace agui::gateway
