#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_reader.hpp"

namespace agui::gateway {

// One function per table of the configuration, in a file of the table's name ([auth] is with
// [server]). Each reads the keys that are set and records problems. load_config() makes the checks
// that need several tables.

void read_server(config_reader& table, server_config& server);
void read_auth(config_reader& table, auth_config& auth);
void read_session(config_reader& table, session_config& session);
/// Also sets on_partial and on_abandoned of `history`.
void read_tools(config_reader& table, tools_config& tools, session::history_policy& history);
void read_mcp_server(config_reader& table, mcp_server_config& server);
void read_model(config_reader& table, model_config& model);
void read_agent(config_reader& table, agent_config& agent);

} // namespace agui::gateway
