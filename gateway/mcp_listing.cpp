#include "gateway/mcp_listing.hpp"

#include "gateway/server_parts.hpp"
#include "runner/mcp/mcp_client.hpp"
#include "runner/mcp/mcp_tool_digests.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/log.hpp"
#include "session/base/sound_text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <exception>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace agui::gateway {
namespace {

namespace asio = boost::asio;
using listed_tools = runner::mcp_client::tool_list;

asio::awaitable<runner::mcp_result<listed_tools>>
tools_of_server(asio::any_io_executor executor, const runner::mcp_server_settings& server) {
    runner::mcp_client_settings settings = server.client;
    settings.listens = false;
    const auto client = std::make_shared<runner::mcp_client>(
        executor, server.channel(executor), std::move(settings), null_logger(), [] {}
    );
    runner::mcp_result<listed_tools> listed = listed_tools();
    if (const auto failed = co_await client->connect()) {
        listed = *failed;
    } else {
        listed = co_await client->list_tools();
    }
    co_await client->close();
    if (listed && !listed->is_whole) {
        co_return runner::mcp_protocol_failure("its list of tools could not be read to the end");
    }
    co_return listed;
}

runner::mcp_result<listed_tools> ask_for_tools(const runner::mcp_server_settings& server) {
    asio::io_context context(1);
    runner::mcp_result<listed_tools> listed = listed_tools();
    asio::co_spawn(
        context, tools_of_server(context.get_executor(), server),
        [&listed](const std::exception_ptr& thrown, runner::mcp_result<listed_tools> found) {
            listed =
                thrown ? runner::mcp_protocol_failure("an exception was thrown") : std::move(found);
        }
    );
    context.run();
    return listed;
}

/// In one line.
std::string definition_of(const runner::mcp_tool& tool) {
    boost::json::object definition{
        {"name", tool.name},
        {"description", tool.description},
        {"inputSchema", tool.schema},
        {"destructive", tool.destructive}
    };
    if (!tool.resource_uri.empty()) {
        definition["resourceUri"] = tool.resource_uri;
    }
    return boost::json::serialize(definition);
}

/// In lines that cannot change what a terminal shows, and that hide nothing.
void print_tool(std::ostream& out, const runner::mcp_tool& tool) {
    const std::string definition = definition_of(tool);
    const std::string visible = visible_text(definition);
    if (visible != definition) {
        out << "# Characters of the next tool that are not seen are written as \\u and a number:\n";
    }
    out << "# " << visible << '\n';
}

void print_tools(
    std::ostream& out, const runner::mcp_server_settings& server, const listed_tools& list
) {
    runner::mcp_tool_digests digests;
    (void)digests.update(list.tools);
    const std::string digest = digests.digest();
    out << "[[mcp_servers]]\nname = \"" << server.client.server << "\"\ndigest = \"" << digest
        << "\"";
    if (!server.digest.empty()) {
        out
            << (server.digest == digest ? " # as in the configuration"
                                        : " # the configuration has another one");
    }
    out << '\n';
    for (const runner::mcp_tool& tool : list.tools) {
        print_tool(out, tool);
    }
    if (list.left_out > 0) {
        out << "# " << list.left_out << " more that cannot be offered\n";
    }
}

} // namespace

bool print_mcp_tools(const config& what, std::ostream& out, std::ostream& problems) {
    heavy_work heavy(nullptr);
    bool all = true;
    const tool_credentials users(what.tools);
    for (const auto& server : make_mcp_servers(what.tools, users, null_logger(), heavy)) {
        const runner::mcp_result<listed_tools> listed = ask_for_tools(server);
        if (listed) {
            print_tools(out, server, *listed);
        } else {
            problems << "mcp_servers " << server.client.server << ": "
                     << to_string(listed.error().what) << ": " << listed.error().detail << '\n';
            all = false;
        }
    }
    return all;
}

} // namespace agui::gateway
