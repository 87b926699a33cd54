#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_reader.hpp"

namespace agui::gateway {

// The tables of the configuration, one function each, in files of their names ([auth] is with
// [server]): fills what is there, records what is wrong. Checks that need several tables are
// load_config()'s.

void read_server(config_reader& table, server_config& server);
void read_auth(config_reader& table, auth_config& auth);
void read_session(config_reader& table, session_config& session);
/// `history` receives on_partial and on_abandoned.
void read_tools(config_reader& table, tools_config& tools, session::history_policy& history);
void read_model(config_reader& table, model_config& model);
void read_agent(config_reader& table, agent_config& agent);

} // namespace agui::gateway
