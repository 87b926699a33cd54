// A whole hand-off through the real server, during which each write and each sync of the file
// system fails once.

#include "tests/gateway/server_fixture.hpp"
#include "tests/session/sqlite/failing_vfs.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::size_t times_in(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

bool finished(const raw_reply& reply) {
    return reply.status == 200 && reply.body.find("RUN_FINISHED") != std::string::npos;
}

std::string question(std::string_view run) {
    std::string body = R"({"threadId":"t","runId":")";
    body.append(run).append(R"(","messages":[{"id":"u1","role":"user","content":"paint it"}],)");
    return body + R"("tools":[{"name":"paint","description":"","parameters":{"type":"object"}}]})";
}

// An answer to the call that the stream handed over. The id is taken from the stream, because a
// lost run may have used the model's own id.
std::string tool_answer(std::string_view run, std::string_view stream) {
    constexpr std::string_view member = R"("toolCallId":")";
    const std::size_t begin = stream.find(member) + member.size();
    const std::string_view id = stream.substr(begin, stream.find('"', begin) - begin);
    std::string body = R"({"threadId":"t","runId":")";
    body.append(run).append(R"(","messages":[{"id":"a1","role":"tool","toolCallId":")");
    return body.append(id).append(R"(","content":"painted"}]})");
}

class StoreFaultsTest : public server_test {
protected:
    /// Waits until the server has noticed that it can write again.
    void expect_ready_soon() {
        const auto give_up = std::chrono::steady_clock::now() + patience;
        int status = 0;
        while (status != 200 && std::chrono::steady_clock::now() < give_up) {
            status = ask(get("/readyz")).status;
        }
        EXPECT_EQ(status, 200);
    }
};

struct how_it_fails {
    failing_vfs::failure failure;
    session::durability durability;
};

class StoreFaults : public StoreFaultsTest, public ::testing::WithParamInterface<how_it_fails> {
protected:
    StoreFaults() {
        settings.session.durability = GetParam().durability;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& asked) {
                const std::lock_guard lock(mutex_);
                asked_.push_back(asked.body);
                if (asked.body.find(R"("role":"tool")") != std::string::npos) {
                    return std::optional(say("Done"));
                }
                return std::optional(call_tool("paint"));
            };
        };
        kept_options_ = options;
    }
    // The server ends before the things that its model uses.
    ~StoreFaults() override { server.reset(); }

    void start_again() {
        server.reset();
        options = kept_options_;
        start();
    }

    /// Whatever fails, a stream has a terminal event and a clean end, and a refusal gives its
    /// reason.
    void expect_clear(const raw_reply& reply) {
        EXPECT_TRUE(reply.complete);
        if (finished(reply)) {
            return;
        }
        EXPECT_THAT(reply.status, AnyOf(200, 503));
        EXPECT_THAT(reply.body, HasSubstr("store_unavailable"));
        EXPECT_EQ(times_in(reply.body, "RUN_ERROR"), reply.status == 200 ? 1U : 0U) << reply.body;
    }

    raw_reply ask_clearly(std::string_view body) {
        raw_reply reply = ask(post("/agui", body));
        expect_clear(reply);
        return reply;
    }

    /// Returns true if an operation failed; otherwise there are fewer than `n`.
    bool hand_off_while_operation_fails(int n, failing_vfs& files) {
        use_sqlite("agui" + std::to_string(n) + ".db");
        start_again();
        files.fail_at(n, GetParam().failure);
        const raw_reply first = ask_clearly(question("r1"));
        const bool called = finished(first);
        if (called) { // Events that were shown can be read again, whatever fails.
            EXPECT_EQ(ask(get("/agui/threads/t/messages")).status, 200);
        }
        const raw_reply second = called ? ask_clearly(tool_answer("r2", first.body)) : raw_reply();
        const bool answered = finished(second);
        if (answered) {
            expect_whole_conversation();
        }
        // The store answers a read before it keeps the result. After this further read, the result
        // is kept.
        EXPECT_EQ(ask(get("/agui/threads/unknown/state")).status, 404);
        const bool failed = files.has_failed();
        files.heal();

        // The process lives, and the thread continues where the client was told.
        expect_ready_soon();
        const raw_reply handed = called ? first : ask_clearly(question("r3"));
        EXPECT_TRUE(finished(handed));
        if (!answered) {
            EXPECT_TRUE(finished(ask_clearly(tool_answer("r4", handed.body))));
        }
        expect_whole_conversation();
        start_again();
        expect_whole_conversation();
        if (called) {
            EXPECT_EQ(ask(get("/agui/threads/t/runs/r1/events")).body, first.body);
        }
        if (answered) {
            EXPECT_EQ(ask(get("/agui/threads/t/runs/r2/events")).body, second.body);
        }
        return failed;
    }

    void expect_whole_conversation() {
        const raw_reply reply = ask(get("/agui/threads/t/messages"));
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(times_in(reply.body, R"("painted")"), 1U) << reply.body;
        EXPECT_EQ(times_in(reply.body, R"("role":"user")"), 1U) << reply.body;
        EXPECT_GE(times_in(reply.body, R"("Done")"), 1U) << reply.body;
        const std::lock_guard lock(mutex_);
        EXPECT_EQ(times_in(asked_.back(), R"("role":"tool")"), 1U) << asked_.back();
    }

private:
    gateway::server_options kept_options_;
    std::mutex mutex_;
    std::vector<std::string> asked_;
};

TEST_P(StoreFaults, NoAcknowledgedAnswerIsLostWhateverFails) {
    failing_vfs files;
    int n = 1;
    while (hand_off_while_operation_fails(n, files) && !HasFailure()) {
        ++n;
    }
    EXPECT_FALSE(HasFailure()) << "operation " << n;
    // A transaction is one write and, if it has to survive a power cut, one sync. Otherwise a run's
    // commits need no sync before they are read.
    EXPECT_GT(n, GetParam().durability == session::durability::power ? 8 : 2);
    RecordProperty("operations", n - 1);
    server.reset(); // The server's files need `files`, so it ends first.
}

INSTANTIATE_TEST_SUITE_P(
    Failures, StoreFaults,
    ::testing::Values(
        how_it_fails{failing_vfs::failure::once, session::durability::process},
        how_it_fails{failing_vfs::failure::from_then_on, session::durability::process},
        how_it_fails{failing_vfs::failure::once, session::durability::power},
        how_it_fails{failing_vfs::failure::from_then_on, session::durability::power}
    ),
    [](const auto& how) {
        const bool once = how.param.failure == failing_vfs::failure::once;
        const bool power = how.param.durability == session::durability::power;
        return std::string(once ? "Once" : "FromThenOn") + (power ? "WithPower" : "");
    }
);

class Readiness : public StoreFaultsTest {
protected:
    ~Readiness() override { server.reset(); } // The server's files need the other members.
    failing_vfs files_;
};

TEST_F(Readiness, IsRefusedWithAReasonWhileTheStoreCannotBeWritten) {
    use_sqlite();
    start();
    EXPECT_EQ(ask(get("/readyz")).status, 200);

    files_.fail_at(1, failing_vfs::failure::from_then_on);
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"))).status, 503);

    for (int i = 0; i < 3; ++i) {
        const raw_reply refused = ask(get("/readyz"));
        EXPECT_EQ(refused.status, 503);
        EXPECT_EQ(
            refused.body, R"({"status":"store_unavailable","reason":"the store is not writable"})"
        );
    }
    EXPECT_EQ(ask(get("/healthz")).status, 200);
    files_.heal();
    expect_ready_soon();
}

} // namespace
} // namespace agui::test
