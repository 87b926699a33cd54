// `agui-gateway threads`, through the control socket of a real server.

#include "gateway/control/control_client.hpp"
#include "gateway/control/threads_command.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agui::test {
namespace {

using gateway::threads_command;
using ::testing::HasSubstr;
using ::testing::Not;

class ThreadsCommand : public server_test {
protected:
    ThreadsCommand() {
        settings.server.control_socket = folder().file("control");
        options.log = &null_logger();
    }
    ~ThreadsCommand() override { server.reset(); }

    threads_command command(threads_command::action what) const {
        threads_command made;
        made.what = what;
        made.socket = settings.server.control_socket;
        return made;
    }
    int run(const threads_command& what, const std::string& input = {}, bool asks = false) {
        std::istringstream in(input);
        std::ostringstream out;
        std::ostringstream log;
        const int status = run_threads_command(what, in, out, log, asks);
        out_ = out.str();
        log_ = log.str();
        return status;
    }
    std::string copy_all() {
        EXPECT_EQ(run(command(threads_command::action::copy_out)), 0);
        return out_;
    }
    int copy_in(const std::string& lines, bool skip_existing = false) {
        threads_command what = command(threads_command::action::copy_in);
        what.skip_existing = skip_existing;
        return run(what, lines);
    }
    threads_command purge_command() const {
        threads_command what = command(threads_command::action::purge);
        what.user = "";
        what.yes = true;
        return what;
    }
    void begin(std::string_view thread, std::string_view text = "hello") {
        EXPECT_EQ(ask(post("/agui", run_body(thread, "r1", text))).status, 200);
    }
    std::string body_of(const std::string& path) const { return ask(get(path)).body; }
    int status_of(const std::string& path) const { return ask(get(path)).status; }

    std::string out_;
    std::string log_;
};

TEST_F(ThreadsCommand, CopiesThreadsOutAndInAgain) {
    answer = call_tool("paint");
    start();
    begin("t1");
    begin("t2");
    const std::string messages = body_of("/agui/threads/t1/messages");
    const std::string shown = body_of("/agui/threads/t1");

    const std::string lines = copy_all();
    EXPECT_EQ(log_, "exported 2 threads of 1 user\n");
    EXPECT_EQ(run(purge_command()), 0);
    EXPECT_EQ(
        log_, "removed 2 threads of \"\", 0 rights in threads of others, 0 other attachments\n"
    );
    EXPECT_THAT(body_of("/agui/threads"), Not(HasSubstr("t1")));
    EXPECT_EQ(copy_in(lines), 0);

    EXPECT_EQ(log_, "imported 2 threads, skipped 0, refused 0\n");
    EXPECT_EQ(body_of("/agui/threads/t1/messages"), messages);
    EXPECT_EQ(body_of("/agui/threads/t1"), shown);
    // All but the time of the copy.
    EXPECT_EQ(copy_all().substr(100), lines.substr(100));
}

TEST_F(ThreadsCommand, CopiesNoThreadThatTheMemoryHasNoRoomFor) {
    use_sqlite();
    const gateway::server_options again = options;
    start();
    begin("t1", std::string(400'000, 'x'));
    server.reset();
    settings.server.max_memory_bytes = 300'000;
    options = again;
    start();

    try {
        (void)run(command(threads_command::action::copy_out));
        ADD_FAILURE() << "there is no room";
    } catch (const std::runtime_error& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("not enough memory for a copy of this thread"));
    }
}

TEST_F(ThreadsCommand, RefusesThreadsThatExist) {
    start();
    begin("t1");
    const std::string lines = copy_all();

    EXPECT_EQ(copy_in(lines), 1);
    EXPECT_THAT(log_, HasSubstr("from line 2 on was refused: there is such a thread already"));
    EXPECT_EQ(copy_in(lines, true), 0);
    EXPECT_EQ(log_, "imported 0 threads, skipped 1, refused 0\n");
}

TEST_F(ThreadsCommand, ImportsTheOtherThreadsOfAFileWithAWrongOne) {
    start();
    begin("t1");
    begin("t2");
    std::string lines = copy_all();
    EXPECT_EQ(run(purge_command()), 0);
    const std::size_t first = lines.find(R"("role":"user")");
    lines.replace(first, 13, R"("role":"king")");

    EXPECT_EQ(copy_in(lines), 1);

    EXPECT_THAT(log_, HasSubstr("from line 2 on was refused: line "));
    EXPECT_THAT(log_, HasSubstr("imported 1 thread, skipped 0, refused 1"));
}

TEST_F(ThreadsCommand, RefusesAFileThatIsNone) {
    start();
    begin("t1");
    const std::string lines = copy_all();

    for (const std::string& wrong :
         {std::string(), std::string("{}\n"), std::string("text\n"),
          R"({"format":"agui-gateway-threads","version":2})" + std::string("\n"),
          lines.substr(0, lines.size() - 40), lines + "{}\n"}) {
        SCOPED_TRACE(wrong.substr(0, 60));
        EXPECT_THROW((void)copy_in(wrong), std::runtime_error);
    }
}

// A head that is nested deeper than other JSON may be is read like any other.
TEST_F(ThreadsCommand, ImportsOnlyTheThreadsThatAreMeant) {
    start();
    begin("t1");
    const std::string copy = copy_all();
    std::string deep = R"(,"x":)" + std::string(100, '[') + std::string(100, ']') + "}\n";
    std::string lines = copy;
    lines.replace(lines.find('}', lines.find(R"("type":"thread")")), 2, deep);
    EXPECT_EQ(run(purge_command()), 0);
    threads_command what = command(threads_command::action::copy_in);
    what.user = "ada";
    EXPECT_EQ(run(what, lines), 0);
    EXPECT_EQ(log_, "imported 0 threads, skipped 0, refused 0\n");

    lines.replace(lines.find(R"("archived":false)"), 16, R"("archived":"no")");
    EXPECT_EQ(run(what, lines), 1) << "nobody can tell whose it is";
    EXPECT_THAT(log_, HasSubstr("from line 2 on was refused: archived: must be true or false"));
    EXPECT_EQ(status_of("/agui/threads/t1/state"), 404);

    what.user = "";
    what.thread = "t1";
    EXPECT_EQ(run(what, copy), 0);
    EXPECT_EQ(log_, "imported 1 thread, skipped 0, refused 0\n");
}

TEST_F(ThreadsCommand, PurgesOneThread) {
    start();
    begin("t1");
    begin("t2");
    threads_command what = purge_command();
    what.thread = "t1";

    EXPECT_EQ(run(what), 0);
    EXPECT_EQ(log_, "removed 1 thread of \"\"\n");
    EXPECT_EQ(run(what), 1);

    EXPECT_EQ(status_of("/agui/threads/t1/state"), 404);
    EXPECT_EQ(status_of("/agui/threads/t2/state"), 200);
}

TEST_F(ThreadsCommand, AsksBeforeAPurge) {
    start();
    begin("t1");
    threads_command what = purge_command();
    what.yes = false;

    EXPECT_EQ(run(what), 2);
    EXPECT_THAT(log_, HasSubstr("add --yes"));
    EXPECT_EQ(run(what, "no\n", true), 2);
    what.dry_run = true;
    EXPECT_EQ(run(what), 0);
    EXPECT_EQ(log_, "would remove 1 thread of \"\"\n");
    EXPECT_EQ(status_of("/agui/threads/t1/state"), 200);
    what.dry_run = false;
    EXPECT_EQ(run(what, "yes\n", true), 0);
    EXPECT_EQ(status_of("/agui/threads/t1/state"), 404);
}

TEST_F(ThreadsCommand, StopsTheRunOfAThreadThatItRemoves) {
    answer = say_and_stall("working");
    start();
    raw_client reader(port());
    reader.send(post("/agui", run_body("t1", "r1")));
    EXPECT_THAT(reader.read_until("working"), HasSubstr("working"));

    EXPECT_EQ(run(purge_command()), 0);

    EXPECT_THAT(reader.read_until("RUN_FINISHED"), HasSubstr("user_stop"));
    EXPECT_EQ(status_of("/agui/threads/t1/state"), 404);
}

TEST_F(ThreadsCommand, RemovesConversationsThatAreNotStored) {
    start();
    std::string input = run_body("t1", "r1", "secret");
    const std::string_view none = R"("forwardedProps":{})";
    input.replace(input.find(none), none.size(), R"("forwardedProps":{"ephemeral":true})");
    EXPECT_EQ(ask(post("/agui", input)).status, 200);
    const std::string events = "/agui/threads/t1/runs/r1/events";
    EXPECT_THAT(body_of(events), HasSubstr("Hello"));

    EXPECT_EQ(run(purge_command()), 0);

    EXPECT_EQ(status_of(events), 404);
}

TEST_F(ThreadsCommand, StopsConversationsThatAreNotStored) {
    answer = say_and_stall("working");
    start();
    std::string input = run_body("t1", "r1", "secret");
    const std::string_view none = R"("forwardedProps":{})";
    input.replace(input.find(none), none.size(), R"("forwardedProps":{"ephemeral":true})");
    raw_client reader(port());
    reader.send(post("/agui", input));
    EXPECT_THAT(reader.read_until("working"), HasSubstr("working"));

    EXPECT_EQ(run(purge_command()), 0);

    EXPECT_THAT(reader.read_until("RUN_FINISHED"), HasSubstr("user_stop"));
    EXPECT_EQ(status_of("/agui/threads/t1/runs/r1/events"), 404);
}

// The console keeps requests in memory.
TEST_F(ThreadsCommand, RemovesWhatTheConsoleHasOfThreadsThatAreGone) {
    settings.server.console = true;
    start();
    begin("t1", "first secret");
    const std::string removal = get("/agui/threads/t1");
    ASSERT_EQ(ask(get("/console/requests/1")).status, 200);
    EXPECT_EQ(ask("DELETE" + removal.substr(removal.find(' '))).status, 204);
    EXPECT_EQ(ask(get("/console/requests/1")).status, 404);

    begin("t2", "second secret");
    EXPECT_EQ(ask(get("/console/requests/2")).status, 200);
    EXPECT_EQ(run(purge_command()), 0);
    EXPECT_EQ(ask(get("/console/requests/2")).status, 404);
}

TEST_F(ThreadsCommand, IsWrittenToTheAudit) {
    settings.audit.file = folder().file("audit.log");
    start();
    begin("t1");
    const std::string lines = copy_all();
    EXPECT_EQ(run(purge_command()), 0);
    EXPECT_EQ(copy_in(lines), 0);

    std::ifstream file(folder().file("audit.log"));
    const std::string audit{std::istreambuf_iterator<char>(file), {}};
    for (const char* const what :
         {"thread_exported", "thread_deleted", "user_purged", "thread_imported"}) {
        EXPECT_THAT(audit, HasSubstr(std::string(R"("event":")") + what + R"(","user":"uid:)"));
    }
    EXPECT_THAT(audit, HasSubstr(R"("address":"control socket","thread":"t1","outcome":"ok")"));
}

TEST_F(ThreadsCommand, HasRoutesOfItsOwn) {
    start();
    begin("t1");
    for (const char* const path : {"/users", "/thread?user=&thread=t1", "/threads?user="}) {
        EXPECT_EQ(status_of(path), 404) << path;
    }
    gateway::control_client client(settings.server.control_socket);
    EXPECT_EQ(client.send("GET", "/agui/threads").status, 404);
    EXPECT_EQ(client.send("GET", "/thread").status, 422);
    EXPECT_EQ(client.send("DELETE", "/thread", {{"user", ""}}).status, 422);
    EXPECT_EQ(client.send("GET", "/threads").status, 422);
    EXPECT_EQ(client.send("POST", "/forget").status, 422);
    EXPECT_EQ(client.send("GET", "/thread", {{"user", ""}, {"thread", "none"}}).status, 404);
}

TEST_F(ThreadsCommand, SaysThatNoGatewayIsThere) {
    EXPECT_THROW((void)run(command(threads_command::action::copy_out)), std::runtime_error);
}

TEST(ThreadsCommandLine, NeedsAUserAndASocket) {
    threads_command what;
    EXPECT_NE(problem_of(what), "");
    what.socket = "/run/control";
    EXPECT_EQ(problem_of(what), "");
    what.thread = "t1";
    EXPECT_NE(problem_of(what), "");
    what.user = "ada";
    EXPECT_EQ(problem_of(what), "");
    what.what = threads_command::action::purge;
    EXPECT_EQ(problem_of(what), "");
    what.user.reset();
    what.thread.reset();
    EXPECT_NE(problem_of(what), "");
}

TEST(ThreadsCommandLine, PurgesNobodyOnlyIfAskedTo) {
    threads_command what;
    what.socket = "/run/control";
    what.user = "";
    EXPECT_EQ(problem_of(what), "") << "an export of the threads of nobody";
    what.what = threads_command::action::purge;
    EXPECT_THAT(problem_of(what), HasSubstr("--nobody"));
    what.nobody = true;
    EXPECT_EQ(problem_of(what), "");
}

TEST(ThreadsCommandLine, NeedsNamesThatUsersCanHave) {
    threads_command what;
    what.socket = "/run/control";
    const auto problem = [&](std::string user, std::string tenant) {
        what.user = std::move(user);
        what.tenant = std::move(tenant);
        return problem_of(what);
    };
    EXPECT_EQ(problem("ada", "acme"), "");
    EXPECT_NE(problem("ada\n", "acme"), "");
    EXPECT_NE(problem("ada", "\xFF"), "");
    EXPECT_NE(problem(std::string(256, 'a'), ""), "");
    EXPECT_NE(problem("", "acme"), "") << "no user has an empty name in a tenant";
}

} // namespace
} // namespace agui::test
