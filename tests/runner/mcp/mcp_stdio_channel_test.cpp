#include "runner/mcp/mcp_stdio_channel.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using list = std::vector<std::string>;
using std::chrono::milliseconds;

class McpStdioChannel : public test::coroutine_test, protected mcp_channel::receiver {
protected:
    McpStdioChannel() {
        settings.server = "s";
        settings.command.command = "sh";
        settings.grace = milliseconds(100);
        settings.command.environment = {{"PATH", "/usr/bin:/bin"}};
    }
    ~McpStdioChannel() override {
        if (channel_) {
            run(channel_->close());
        }
    }

    /// Opens a channel to a shell with this script.
    mcp_channel& open(std::string script) {
        settings.command.args = {"-c", std::move(script)};
        channel_ = make_mcp_stdio_channel(context().get_executor(), settings, log);
        refused = channel_->open(*this);
        return *channel_;
    }

    template <class Condition>
    void until(Condition condition) {
        run([](asio::io_context& on, Condition so) -> asio::awaitable<void> {
            asio::steady_timer pause(on);
            while (!so()) {
                pause.expires_after(milliseconds(1));
                co_await pause.async_wait(asio::use_awaitable);
            }
        }(context(), condition));
    }
    void until_closed() {
        until([this] { return closed.has_value(); });
    }

    asio::awaitable<void> on_message(std::string text) override {
        heard.push_back(std::move(text));
        co_return;
    }
    void on_unanswered(std::int64_t, mcp_failure) override {}
    void on_closed(mcp_failure why) override { closed = std::move(why); }

    static bool alive(pid_t process) { return ::kill(process, 0) == 0; }

    mcp_stdio_settings settings;
    memory_logger log;
    std::optional<mcp_failure> refused;
    list heard;
    std::optional<mcp_failure> closed;

private:
    std::shared_ptr<mcp_channel> channel_;
};

TEST_F(McpStdioChannel, SendsAndReceivesLines) {
    mcp_channel& channel = open("while read -r line; do echo \"got $line\"; done");
    channel.send("one", 1);
    channel.send("two", std::nullopt);
    until([&] { return heard.size() == 2; });
    EXPECT_EQ(heard, (list{"got one", "got two"}));
    EXPECT_FALSE(closed);
}

TEST_F(McpStdioChannel, JoinsALineThatComesInPieces) {
    open("printf 'a'; sleep 0.05; printf 'b\\r\\n\\n'; printf 'c\\nd'");
    until_closed();
    EXPECT_EQ(heard, (list{"ab", "c"}));
}

TEST_F(McpStdioChannel, ReportsTheEndOfTheProcess) {
    open("exit 3");
    until_closed();
    EXPECT_EQ(closed->what, mcp_failure::kind::lost);
}

TEST_F(McpStdioChannel, WritingToAProcessThatIsGoneIsNoSignal) {
    mcp_channel& channel = open("exec 0<&-; exec sleep 100");
    const std::string large(1U << 20U, 'x');
    until([&] {
        channel.send(large, std::nullopt);
        return closed.has_value();
    });
}

TEST_F(McpStdioChannel, ReportsACommandThatCannotBeStarted) {
    settings.command.command = "/there/is/no/such/program";
    open("");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->what, mcp_failure::kind::unavailable);
    EXPECT_EQ(refused->detail, "it cannot be started: No such file or directory");
}

TEST_F(McpStdioChannel, ReportsAMissingFolder) {
    settings.command.cwd = "/there/is/no/such/folder";
    open("");
    EXPECT_TRUE(refused);
}

TEST_F(McpStdioChannel, StartsItInItsFolder) {
    const test::temporary_folder folder;
    settings.command.cwd = folder.path().string();
    open("pwd -P; cat >/dev/null");
    until([&] { return !heard.empty(); });
    char* const real = ::realpath(settings.command.cwd.c_str(), nullptr);
    EXPECT_EQ(heard.front(), std::string(real));
    ::free(real);
}

TEST_F(McpStdioChannel, PassesNothingButTheGivenEnvironment) {
    ::setenv("AGUI_TEST_SECRET", "hunter2", 1);
    settings.command.environment.emplace_back("TOKEN", "a b");
    open("/usr/bin/env; cat >/dev/null");
    until([&] { return heard.size() >= 2; });
    ::unsetenv("AGUI_TEST_SECRET");
    EXPECT_NE(std::ranges::find(heard, "TOKEN=a b"), heard.end());
    for (const std::string& line : heard) {
        EXPECT_EQ(line.find("hunter2"), std::string::npos) << line;
    }
}

TEST_F(McpStdioChannel, PassesNoDescriptor) {
    const int ours = ::open("/dev/null", O_RDONLY); // This descriptor has no O_CLOEXEC.
    open("[ -e /proc/self/fd/" + std::to_string(ours) + " ] && echo open || echo closed; cat");
    until([&] { return !heard.empty(); });
    ::close(ours);
    EXPECT_EQ(heard.front(), "closed");
}

TEST_F(McpStdioChannel, IsInAProcessGroupOfItsOwn) {
    open("echo $$; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat; cat >/dev/null");
    until([&] { return heard.size() >= 2; });
    EXPECT_NE(heard[1].find(heard[0]), std::string::npos);
}

TEST_F(McpStdioChannel, ClosingItsInputEndsTheProcess) {
    settings.grace = milliseconds(10'000);
    mcp_channel& channel = open("echo $$; cat >/dev/null; echo bye >&2");
    until([&] { return !heard.empty(); });
    const auto child = static_cast<pid_t>(std::stol(heard.front()));
    run(channel.close());
    EXPECT_FALSE(alive(child));
    EXPECT_FALSE(closed);
}

TEST_F(McpStdioChannel, AProcessThatDoesNotEndIsTerminatedThenKilled) {
    settings.grace = milliseconds(30);
    for (const std::string trap : {"trap 'exit 0' TERM", "trap '' TERM"}) {
        SCOPED_TRACE(trap);
        heard.clear();
        mcp_channel& channel = open(trap + "; echo $$; while true; do sleep 0.01; done </dev/null");
        until([&] { return !heard.empty(); });
        const auto child = static_cast<pid_t>(std::stol(heard.front()));
        run(channel.close());
        EXPECT_FALSE(alive(child));
    }
}

TEST_F(McpStdioChannel, ItsRemainingChildrenAreKilled) {
    mcp_channel& channel = open("sleep 1000 </dev/null & echo $!; cat >/dev/null");
    until([&] { return !heard.empty(); });
    const auto grandchild = static_cast<pid_t>(std::stol(heard.front()));
    ASSERT_TRUE(alive(grandchild));
    run(channel.close());
    // Its new parent may need a moment to collect it.
    until([&] {
        std::string state = "gone";
        if (FILE* const stat = ::fopen(("/proc/" + heard.front() + "/stat").c_str(), "r")) {
            char letter = 0;
            if (::fscanf(stat, "%*d %*s %c", &letter) == 1) {
                state = letter;
            }
            ::fclose(stat);
        }
        return state == "gone" || state == "Z";
    });
}

TEST_F(McpStdioChannel, ItsErrorsGoToTheLogWithoutSecrets) {
    settings.secrets = {"hunter2"};
    open("echo 'my token is hunter2' >&2; head -c 5000 /dev/zero | tr '\\0' x >&2; echo >&2;"
         "echo done >&2; cat >/dev/null");
    until([&] {
        return std::ranges::any_of(log.lines(), [](const std::string& line) {
            return line.ends_with("text=done");
        });
    });
    const list lines = log.lines();
    EXPECT_EQ(
        lines.front(),
        "debug an MCP server wrote to its standard error server=s text=\"my token is [secret]\""
    );
    for (const std::string& line : lines) {
        EXPECT_LT(line.size(), 2 * mcp_stderr_line_max);
    }
}

TEST_F(McpStdioChannel, BoundsALine) {
    open(
        "head -c " + std::to_string(mcp_message_bytes_max + 1) +
        " /dev/zero | tr '\\0' x; cat >/dev/null"
    );
    until_closed();
    EXPECT_EQ(closed->what, mcp_failure::kind::protocol);
    EXPECT_TRUE(heard.empty());
}

TEST_F(McpStdioChannel, BoundsUnreadInput) {
    mcp_channel& channel = open("exec sleep 1000");
    const std::string large(mcp_message_bytes_max, 'x');
    for (int i = 0; i < 6; ++i) {
        channel.send(large, std::nullopt);
    }
    until_closed();
    EXPECT_EQ(closed->detail, "it does not read its standard input");
}

} // namespace
} // namespace agui::runner
