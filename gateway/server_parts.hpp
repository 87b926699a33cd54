#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/key_source.hpp"
#include "gateway/config/config.hpp"
#include "gateway/http/http_connection.hpp"
#include "gateway/quota/quotas.hpp"
#include "gateway/replaceable_provider.hpp"
#include "gateway/run/run_settings.hpp"
#include "gateway/server.hpp"
#include "gateway/tool_credentials.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/mcp/mcp_tools.hpp"
#include "runner/provider/call_observer.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <boost/json/object.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

// The parts of class server: each function turns a part of the configuration into an object or
// settings for a lower layer. Failures are std::runtime_error and name the key. A passed heavy_work
// must outlive all users of the result.

using provider_map = std::map<std::string, std::unique_ptr<replaceable_provider>, std::less<>>;

[[nodiscard]] std::unique_ptr<session::store>
make_store(const session_config& session, logger& log, memory_budget* memory = nullptr);
/// The provider of one [models.NAME]: a dialect over HTTP, the OpenAI dialect played from a script,
/// or the provider that the embedding program supplies. `log` must outlive it, and so must
/// `observer`, which may be null. The observer does not see the program's own providers. With
/// `limits`, which must outlive it too, its calls are counted.
[[nodiscard]] std::unique_ptr<runner::model_provider> make_provider(
    const config& all, const model_config& model, const server_options& options, logger& log,
    heavy_work* heavy, runner::call_observer* observer, quotas* limits = nullptr
);
[[nodiscard]] provider_map make_providers(
    const config& all, const server_options& options, logger& log, heavy_work* heavy = nullptr,
    runner::call_observer* observer = nullptr, quotas* limits = nullptr
);
[[nodiscard]] std::vector<quota_rule> make_quota_rules(const config& all);
/// The state of each model's circuit, for GET /readyz?detail:
/// `{"main":{"circuit":"closed","failures":0}}`.
[[nodiscard]] boost::json::object circuits_of(const provider_map& providers);
/// The secrets that are sent to a model server, which may repeat them in its error messages,
/// perhaps in other forms: the key, the values of headers and of the URL's query, each string of
/// the extra body. Also the secrets sent to webhooks and MCP servers, which may repeat them in a
/// result that the model server gets.
[[nodiscard]] std::vector<std::string>
secrets_of(const model_config& model, const tools_config& tools);
/// Adds the webhooks to `registry`, which has the functions of the embedding program.
const runner::tool_registry& add_webhooks(
    runner::tool_registry& registry, const tools_config& tools, const tool_credentials& users,
    logger& log, heavy_work& heavy
);
/// The headers of a run's request that webhooks and MCP servers may get, in lower case.
[[nodiscard]] std::vector<std::string> passed_headers(const tools_config& tools);
/// `log` must outlive them.
[[nodiscard]] std::vector<runner::mcp_server_settings> make_mcp_servers(
    const tools_config& tools, const tool_credentials& users, logger& log, heavy_work& heavy
);
/// The id of the agent that answers where a request names none: `default`, or the first one.
[[nodiscard]] std::string default_agent(const config& all);
/// `providers` must outlive the settings. Throws std::runtime_error for executors of an agent that
/// does not exist.
[[nodiscard]] run_settings make_run_settings(
    const config& all, const provider_map& providers, const runner::loop_callback& decide_loop = {},
    const std::map<std::string, runner::tool_executors>& executors = {}
);

/// The limits of a request, with the members of forwardedProps that any agent's instructions use.
[[nodiscard]] translator::input_limits make_input_limits(const config& all);

/// How the process's memory is divided, in bytes.
struct memory_limits {
    std::size_t budget = 0;     ///< Limit for the whole process.
    std::size_t reserve = 0;    ///< The part of it reserved for small requests.
    std::size_t unfinished = 0; ///< Limit for one client's bodies that have not fully arrived.
};
/// The number of I/O threads.
[[nodiscard]] std::size_t thread_count(const server_config& server);
[[nodiscard]] memory_limits make_memory_limits(const server_config& server);
/// Limits the connections to the number that fits into `descriptors` open files, with one more file
/// each for the model server or a file to send.
[[nodiscard]] place_limits make_place_limits(const config& all, std::size_t descriptors);
/// The number of files that the process may have open.
[[nodiscard]] std::size_t descriptor_limit() noexcept;
[[nodiscard]] connection_limits make_connection_limits(const server_config& server);
[[nodiscard]] std::vector<network> make_networks(const std::vector<std::string>& texts);
[[nodiscard]] access_settings make_access(const config& all);
// In server_auth.cpp:

/// The keys of `auth.jwks_url`; null if there is no such key. `log` must outlive them.
[[nodiscard]] std::shared_ptr<key_source> make_fetched_keys(const config& all, logger& log);
/// The authenticator of [auth]. `fetched` is what make_fetched_keys() returned for it, and
/// `session_secret` a secret for sessions if [auth.session] has none.
[[nodiscard]] std::shared_ptr<authenticator> make_authenticator(
    const config& all, std::shared_ptr<key_source> fetched, const std::string& session_secret
);

} // namespace agui::gateway
