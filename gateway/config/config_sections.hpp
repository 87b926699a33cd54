#pragma once

#include "gateway/config/config.hpp"
#include "gateway/config/config_table.hpp"

namespace agui::gateway {

// One function for each table of the configuration, in a file with the table's name. It lists every
// key with its valid values, for reading and for printing. load_config() makes the checks that need
// several tables.

void describe_server(config_table& table, server_config& server);
void describe_auth(config_table& table, auth_config& auth);
void describe_audit(config_table& table, audit_config& audit);
void describe_access_log(config_table& table, access_log_config& log);
void describe_session(config_table& table, session_config& session);
/// on_partial and on_abandoned are in `history`.
void describe_tools(config_table& table, tools_config& tools, session::history_policy& history);
void describe_mcp_server(config_table& table, mcp_server_config& server);
void describe_model(config_table& table, model_config& model);
/// The keys of a model that are about quotas.
void describe_metering(config_table& table, metering& model);
void describe_agent(config_table& table, agent_config& agent);
void describe_quota(config_table& table, quota_config& quota);
/// The parameters that both a model and an agent may have.
void describe_agent_parameters(config_table& table, runner::model_parameters& parameters);

} // namespace agui::gateway
