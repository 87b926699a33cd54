#include "gateway/mcp_listing.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

/// An MCP server with the tool `echo`, as a shell script, which runs on every system. The gateway
/// numbers its requests from 1.
constexpr const char* script = R"(
echo $$ > "$1"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case "$line" in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}' ;;
    *'"tools/list"'*)
        answer '{"tools":[{"name":"echo","description":"d","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) answer '{"content":[{"type":"text","text":"from the process"}]}' ;;
    esac
done
)";

class McpServers : public server_test {
protected:
    McpServers() {
        options.log = &log;
        // The model calls the tool until it has a result.
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                offered = request.body.find(R"("name":"mcp__local__echo","description")") !=
                          std::string::npos;
                const bool called = request.body.find("tool_call_id") != std::string::npos;
                return std::optional(called ? say("Done") : call_tool("mcp__local__echo"));
            };
        };
    }

    ~McpServers() override { server.reset(); } // The server uses the log, so it ends first.

    gateway::mcp_server_config process() {
        gateway::mcp_server_config made;
        made.name = "local";
        made.command = "sh";
        made.args = {"-c", script, "sh", folder().file("pid")};
        return made;
    }

    pid_t child() const {
        pid_t id = 0;
        std::ifstream(folder().file("pid")) >> id;
        return id;
    }

    std::size_t lines(std::string_view part) const {
        const std::vector<std::string> all = log.lines();
        return static_cast<std::size_t>(std::ranges::count_if(all, [part](const std::string& one) {
            return one.find(part) != std::string::npos;
        }));
    }

    memory_logger log;
    bool offered = false;
};

TEST_F(McpServers, AModelCallsAToolOfAnMcpServer) {
    settings.tools.mcp_servers = {process()};
    start();
    const raw_reply reply = ask(post("/agui", run_body("t", "r")));
    EXPECT_TRUE(offered);
    EXPECT_NE(reply.body.find("\"toolCallName\":\"mcp__local__echo\""), std::string::npos);
    EXPECT_NE(reply.body.find("\"content\":\"from the process\""), std::string::npos) << reply.body;
    EXPECT_NE(reply.body.find("RUN_FINISHED"), std::string::npos);
}

TEST_F(McpServers, ATextThatWasCutInTwoIsAResultAtOnce) {
    gateway::mcp_server_config cutting = process();
    std::string& code = cutting.args.at(1);
    const std::string text = "from the process";
    code.replace(code.find(text), text.size(), "cut \\ud83d \xFF");
    settings.tools.mcp_servers = {cutting};
    start();
    const raw_reply reply = ask(post("/agui", run_body("t", "r")));
    EXPECT_NE(reply.body.find("\"content\":\"cut \xEF\xBF\xBD \xEF\xBF\xBD\""), std::string::npos)
        << reply.body;
    EXPECT_NE(reply.body.find("RUN_FINISHED"), std::string::npos);
}

TEST_F(McpServers, AreListedWithTheDigestsThatAcceptThem) {
    gateway::mcp_server_config changed = process();
    changed.name = "changed";
    changed.digest = std::string(64, '0');
    settings.tools.mcp_servers = {process(), changed};
    std::ostringstream out;
    std::ostringstream problems;

    EXPECT_TRUE(gateway::print_mcp_tools(settings, out, problems));

    const std::string text = out.str();
    const std::string begin = "[[mcp_servers]]\nname = \"local\"\ndigest = \"";
    ASSERT_TRUE(text.starts_with(begin)) << text;
    const std::string digest = text.substr(begin.size(), 64);
    EXPECT_EQ(
        text,
        begin + digest + "\"\n" +
            R"(# {"name":"echo","description":"d","inputSchema":{"type":"object"},"destructive":true})" +
            "\n[[mcp_servers]]\nname = \"changed\"\ndigest = \"" + digest +
            "\" # the configuration has another one\n" +
            R"(# {"name":"echo","description":"d","inputSchema":{"type":"object"},"destructive":true})" +
            "\n"
    );
    EXPECT_EQ(problems.str(), "");

    settings.tools.mcp_servers = {process()};
    settings.tools.mcp_servers[0].digest = digest;
    start();
    (void)ask(post("/agui", run_body("t", "r")));
    EXPECT_TRUE(offered);
}

TEST_F(McpServers, AreListedWithWhatAReaderOfATerminalWouldNotSee) {
    gateway::mcp_server_config hiding = process();
    std::string& code = hiding.args.at(1);
    const std::string schema = R"({"type":"object"})";
    code.replace(
        code.find(schema), schema.size(), "{\"enum\":[\"a\xE2\x80\x8B\xF3\xA0\x81\x81\xC2\x9B\"]}"
    );
    settings.tools.mcp_servers = {hiding};
    std::ostringstream out;
    std::ostringstream problems;

    EXPECT_TRUE(gateway::print_mcp_tools(settings, out, problems));

    EXPECT_NE(
        out.str().find("\"\n# Characters of the next tool that are not seen are written as \\u and "
                       "a number:\n"
                       R"(# {"name":"echo","description":"d","inputSchema":{"enum":)"
                       R"(["a\u200b\u{e0041}\u009b"]},"destructive":true})"
                       "\n"),
        std::string::npos
    ) << out.str();
}

TEST_F(McpServers, ThatCannotBeListedAreSaid) {
    gateway::mcp_server_config missing = process();
    missing.name = "missing";
    missing.command = "/there/is/no/such/program";
    settings.tools.mcp_servers = {missing, process()};
    std::ostringstream out;
    std::ostringstream problems;

    EXPECT_FALSE(gateway::print_mcp_tools(settings, out, problems));

    EXPECT_NE(out.str().find("name = \"local\""), std::string::npos);
    EXPECT_TRUE(problems.str().starts_with("mcp_servers missing: ")) << problems.str();
}

TEST_F(McpServers, OfAnotherDigestOfferNothing) {
    settings.tools.mcp_servers = {process()};
    settings.tools.mcp_servers[0].digest = std::string(64, '0');
    start();
    const raw_reply reply = ask(post("/agui", run_body("t", "r")));
    EXPECT_FALSE(offered);
    EXPECT_EQ(reply.body.find("from the process"), std::string::npos) << reply.body;
    EXPECT_EQ(lines("are not the accepted ones server=local"), 1U);
}

TEST_F(McpServers, AnAgentHasOnlyTheToolsOfItsPatterns) {
    settings.tools.mcp_servers = {process()};
    settings.agents.at(0).tools = {"mcp__other__*"};
    start();
    (void)ask(post("/agui", run_body("t", "r")));
    EXPECT_FALSE(offered);
}

TEST_F(McpServers, TheProcessEndsWithTheServer) {
    settings.tools.mcp_servers = {process()};
    start();
    const pid_t id = child();
    ASSERT_GT(id, 0);
    EXPECT_EQ(::kill(id, 0), 0);
    server->request_stop();
    server->wait();
    EXPECT_NE(::kill(id, 0), 0);
}

TEST_F(McpServers, AProcessThatIsKilledIsStartedAgain) {
    settings.tools.mcp_servers = {process()};
    start();
    const pid_t first = child();
    ASSERT_GT(first, 0);
    ::kill(first, SIGKILL);
    while (lines("not available server=local reason=lost") == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // Leaves the CPU to the server.
    }
    // The call waits for the server's next process.
    const raw_reply reply = ask(post("/agui", run_body("t", "r")));
    EXPECT_NE(reply.body.find("\"content\":\"from the process\""), std::string::npos) << reply.body;
    EXPECT_NE(child(), first);
}

TEST_F(McpServers, AnUnreachableServerDelaysNothing) {
    gateway::mcp_server_config missing = process();
    missing.command = "/there/is/no/such/program";
    gateway::mcp_server_config remote;
    remote.name = "remote";
    remote.url = "http://127.0.0.1:1/mcp";
    settings.tools.mcp_servers = {missing, remote};
    start();
    const raw_reply reply = ask(post("/agui", run_body("t", "r")));
    EXPECT_NE(reply.body.find("RUN_FINISHED"), std::string::npos) << reply.body;
    EXPECT_FALSE(offered);
    EXPECT_EQ(lines("warning an MCP server is not available server=local"), 1U);
    EXPECT_EQ(lines("warning an MCP server is not available server=remote"), 1U);
}

TEST_F(McpServers, AStopDuringTheStartEndsIt) {
    gateway::mcp_server_config silent = process();
    silent.args = {"-c", "echo $$ > \"$1\"; cat >/dev/null", "sh", folder().file("pid")};
    settings.tools.mcp_servers = {silent};
    const auto begun = std::chrono::steady_clock::now();
    server = std::make_unique<gateway::server>(settings, std::move(options));
    std::thread starting([this] { (void)server->start(); });
    while (child() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // Leaves the CPU to the server.
    }
    server->request_stop();
    starting.join();
    server->wait();
    EXPECT_NE(::kill(child(), 0), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(McpServers, AResultThatThereIsNoMemoryForIsAnErrorResult) {
    settings.server.max_memory_bytes = 16U << 20U;
    gateway::mcp_server_config large = process();
    std::string& code = large.args.at(1);
    const std::string answer =
        R"(answer '{"content":[{"type":"text","text":"from the process"}]}')";
    code.replace(code.find(answer), answer.size(), R"(
        printf '{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"a":[' "$id"
        head -c 1000000 /dev/zero | tr '\0' 0 | sed 's/0/0,/g'
        echo '0]}}}')");
    settings.tools.mcp_servers = {large};
    start();
    const std::size_t before = server->memory_used();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_NE(
        reply.body.find("The server has not enough memory for the tool's answer."),
        std::string::npos
    ) << reply.body;
    EXPECT_NE(reply.body.find("RUN_FINISHED"), std::string::npos);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (server->memory_used() > before + (1U << 20U)) { // Only the log of the run is kept.
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server->memory_used();
        std::this_thread::yield();
    }
}

} // namespace
} // namespace agui::test
