#include "runner/mcp/mcp_http_channel.hpp"
#include "runner/mcp/mcp_tools.hpp"
#include "runner/openai/openai_chat.hpp"
#include "runner/tools/check_budget.hpp"
#include "runner/tools/tool_registry.hpp"
#include "tests/bench/input_side.hpp"
#include "tests/bench/server_shapes.hpp"
#include "tests/runner/http/http_test_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {

namespace {

namespace asio = boost::asio;

std::string_view id_in(std::string_view request) {
    constexpr std::string_view name = "\"id\":";
    const std::size_t at = request.find(name);
    const std::string_view rest = request.substr(at == request.npos ? 0 : at + name.size());
    return rest.substr(0, rest.find_first_of(",}"));
}

/// A list of tools, from the connection to the request of a model that is offered them.
class mcp_list_side final : public input_side {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "mcp-list"; }

    std::size_t feed(std::uint32_t seed, std::size_t bytes, cost_meter& meter) override {
        const seeded_shape shape(seed, bytes);
        // The greeting is the first request. A list continues if it has a cursor.
        const std::string list = mcp_list_of(shape, "2");
        asio::io_context context(1);
        http_test_server server(context, [&](server_connection& connection) {
            return serve(connection, list);
        });
        runner::tool_registry tools;
        const auto endpoint = runner::mcp_http_endpoint::make(
                                  {.url = server.url("/mcp"), .headers = {}, .ca_file = {}}
        ).value();
        runner::mcp_server_settings settings;
        settings.client.server = "m";
        settings.channel = [endpoint](asio::any_io_executor executor) {
            return endpoint.channel(std::move(executor));
        };
        runner::mcp_tools servers(context.get_executor(), {settings}, tools, null_logger());
        meter.measure("list", [&] {
            asio::co_spawn(
                context, servers.start(std::chrono::milliseconds(2000)),
                [&context](const std::exception_ptr&) { context.stop(); }
            );
            context.run();
            const std::size_t count = tools.snapshot()->definitions({}).size();
            return std::to_string(count) + " tools";
        });
        std::vector<runner::tool_definition> offered = tools.snapshot()->definitions({});
        meter.measure("offer", [&] {
            std::vector<session::message> messages;
            runner::model_request request;
            request.messages = &messages;
            request.tools = &offered;
            return std::to_string(runner::write_openai_request(request, {}).size()) + " bytes";
        });
        meter.measure("check", [&] {
            for (const runner::tool_definition& tool : offered) {
                const auto* const known = tools.snapshot()->find_tool(tool.name);
                if (known != nullptr && known->schema != nullptr) {
                    boost::json::object arguments;
                    runner::check_budget budget;
                    (void)known->schema->fit(arguments, budget);
                    break;
                }
            }
            return std::string("checked");
        });
        context.restart();
        asio::co_spawn(context, servers.stop(), [&](const std::exception_ptr&) {
            server.close();
            context.stop();
        });
        context.run();
        return list.size();
    }

    [[nodiscard]] std::string describe(std::uint32_t seed) const override {
        return "seed " + std::to_string(seed);
    }

private:
    static asio::awaitable<void> serve(server_connection& connection, const std::string& list) {
        for (;;) {
            const std::string request = co_await connection.read_request();
            if (request.empty()) {
                co_return;
            }
            const std::string answer = answer_to(request, list);
            co_await connection.send(answer);
            if (answer.find("\r\nContent-Length: ") == answer.npos) {
                co_return;
            }
        }
    }

    static std::string result_of(std::string_view request, std::string_view result) {
        return http_answer(
            "application/json", R"({"jsonrpc":"2.0","id":)" + std::string(id_in(request)) +
                                    R"(,"result":)" + std::string(result) + "}"
        );
    }

    static std::string answer_to(std::string_view request, const std::string& list) {
        if (request.find("\"tools/list\"") != request.npos) {
            return id_in(request) == "2" ? list : result_of(request, R"({"tools":[]})");
        }
        if (request.find("\"initialize\"") != request.npos) {
            return result_of(
                request, R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})"
            );
        }
        return request.starts_with("POST")
                   ? "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
                   : "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
    }
};

} // namespace

void add_mcp_sides(input_sides& to) { to.push_back(std::make_unique<mcp_list_side>()); }

} // namespace agui::test
