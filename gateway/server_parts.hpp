#pragma once

#include "gateway/config/config.hpp"
#include "gateway/http/http_connection.hpp"
#include "gateway/replaceable_provider.hpp"
#include "gateway/run/run_settings.hpp"
#include "gateway/server.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/mcp/mcp_tools.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

// What class server is put together from: each function turns a part of the configuration into what
// a layer below takes. Failures are std::runtime_error, naming the key. A heavy_work, where one is
// given, outlives what uses the result.

using provider_map = std::map<std::string, std::unique_ptr<replaceable_provider>, std::less<>>;

[[nodiscard]] std::unique_ptr<session::store>
make_store(const session_config& session, logger& log);
/// The provider of one [models.NAME]: the OpenAI dialect, over HTTP or played from a script, or the
/// provider that the embedding program supplies.
[[nodiscard]] std::unique_ptr<runner::model_provider> make_provider(
    const config& all, const model_config& model, const server_options& options, heavy_work* heavy
);
[[nodiscard]] provider_map
make_providers(const config& all, const server_options& options, heavy_work* heavy = nullptr);
/// The secrets that a model server is sent and may repeat in its error messages, also in other
/// forms than those it was sent: the key, the values of headers and of the URL's query, each string
/// of the extra body. Also what webhooks and MCP servers are sent: one may repeat it in a result,
/// which the model server is sent.
[[nodiscard]] std::vector<std::string>
secrets_of(const model_config& model, const tools_config& tools);
/// The functions of the embedding program, the webhooks added to them.
const runner::tool_registry& add_webhooks(
    runner::tool_registry& registry, const tools_config& tools, logger& log, heavy_work& heavy
);
/// Which headers of a run's request its webhooks may be passed, in lower case.
[[nodiscard]] std::vector<std::string> passed_headers(const tools_config& tools);
/// `log` outlives them.
[[nodiscard]] std::vector<runner::mcp_server_settings>
make_mcp_servers(const tools_config& tools, logger& log, heavy_work& heavy);
/// `providers` outlives the settings. Throws std::runtime_error for executors of an agent that does
/// not exist.
[[nodiscard]] run_settings make_run_settings(
    const config& all, const provider_map& providers, const runner::loop_callback& decide_loop = {},
    const std::map<std::string, runner::tool_executors>& executors = {}
);

/// The limits of a request, with the members of forwardedProps that any agent's instructions use.
[[nodiscard]] translator::input_limits make_input_limits(const config& all);

/// How the process's memory is divided, in bytes.
struct memory_limits {
    std::size_t budget = 0;     ///< For the whole process.
    std::size_t reserve = 0;    ///< The part of it that is kept for small requests.
    std::size_t unfinished = 0; ///< For one client's bodies that have not fully arrived.
};
/// How many I/O threads there are.
[[nodiscard]] std::size_t thread_count(const server_config& server);
[[nodiscard]] memory_limits make_memory_limits(const server_config& server);
/// At most as many connections as fit among `descriptors` open files, each with one more for the
/// model server or a file that it is sent.
[[nodiscard]] place_limits make_place_limits(const config& all, std::size_t descriptors);
/// How many files the process may have open.
[[nodiscard]] std::size_t descriptor_limit() noexcept;
[[nodiscard]] connection_limits make_connection_limits(const server_config& server);
[[nodiscard]] std::vector<network> make_networks(const std::vector<std::string>& texts);
[[nodiscard]] access_settings make_access(const config& all);
/// The token that requests must carry; nullopt: none.
[[nodiscard]] std::optional<std::string> expected_token(const config& all);

} // namespace agui::gateway
