// Failed model calls are kept for the operator, and nobody else can read them.

#include "session/base/failpoint.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

class FailedAttempts : public server_test {
protected:
    FailedAttempts() {
        use_sqlite();
        gateway::model_config spare = settings.models.at(0);
        spare.name = "spare";
        settings.models.push_back(std::move(spare));
        settings.models.at(0).api_key.value = "sk-12345";
        settings.agents.at(0).models = {"main", "spare"};
        options.script_of = [](const gateway::model_config& model) -> runner::script {
            const bool fails = model.name == "main";
            return [fails](const runner::transport_request&) {
                runner::scripted_answer said = say("Hello");
                if (fails) {
                    said.status = 400;
                    said.body = R"({"error":"upstream words, sk-12345"})";
                    said.headers = {{"x-request-id", "upstream-id"}};
                }
                return std::optional(said);
            };
        };
    }

    /// The attempts in the server's store: `model|status|request_id|body`, and "no time" if one has
    /// none.
    std::vector<std::string> kept() {
        server.reset();
        session::database db(settings.session.sqlite_path);
        session::statement select(
            db, "SELECT model || '|' || status || '|' || request_id || '|' || body || "
                "iif(at > 0, '', '|no time') FROM failed_attempts"
        );
        std::vector<std::string> found;
        session::statement::rows row = select.query();
        while (row.next()) {
            found.emplace_back(row.text(0));
        }
        return found;
    }
};

TEST_F(FailedAttempts, AreKeptForTheOperatorAndServedByNoRoute) {
    start();

    const raw_reply stream = ask(post("/agui", run_body("t", "r")));

    EXPECT_NE(stream.body.find("RUN_FINISHED"), std::string::npos) << stream.body;
    std::vector<std::string> served{post("/agui/history", run_body("t", "other"))};
    for (const std::string_view route :
         {"/agui/threads", "/agui/threads/t", "/agui/threads/t/messages", "/agui/threads/t/state",
          "/agui/threads/t/events", "/agui/threads/t/pending", "/agui/threads/t/branches",
          "/agui/threads/t/runs/r/events", "/version", "/readyz"}) {
        served.push_back(get(route));
    }
    for (const std::string& request : served) {
        const raw_reply reply = ask(request);
        EXPECT_EQ(reply.status, 200) << request;
        EXPECT_EQ(reply.body.find("upstream"), std::string::npos) << request;
    }
    EXPECT_EQ(stream.body.find("upstream"), std::string::npos);
    const std::vector<std::string> attempts = kept();
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(attempts[0], R"(main|400|upstream-id|{"error":"upstream words, [secret]"})");
}

TEST_F(FailedAttempts, ThoseOfAnEphemeralThreadAreNotWritten) {
    start();
    std::string body = run_body("t", "r");
    const std::string_view none = R"("forwardedProps":{})";
    body.replace(body.find(none), none.size(), R"("forwardedProps":{"ephemeral":true})");

    const raw_reply stream = ask(post("/agui", body));

    EXPECT_NE(stream.body.find("RUN_FINISHED"), std::string::npos) << stream.body;
    EXPECT_TRUE(kept().empty());
}

#ifdef AGUI_FAILPOINTS

TEST_F(FailedAttempts, AreDroppedAfterLogDays) {
    const auto again = options;
    start();
    ask(post("/agui", run_body("t", "r")));
    server.reset();

    std::promise<void> swept;
    std::optional<failpoint_hook> hook(std::in_place, [&](std::string_view place) {
        if (place == "sweep.done") {
            swept.set_value();
        }
    });
    settings.session.log_age = std::chrono::hours(-1);
    options = again;
    start();
    swept.get_future().wait();
    hook.reset();

    EXPECT_TRUE(kept().empty());
}

TEST_F(FailedAttempts, ARunContinuesIfOneCannotBeKept) {
    start();
    const failpoint_hook hook([](std::string_view place) {
        if (place == "run.keep_attempt") {
            throw std::runtime_error("no room");
        }
    });

    const raw_reply stream = ask(post("/agui", run_body("t", "r")));

    EXPECT_NE(stream.body.find("RUN_FINISHED"), std::string::npos) << stream.body;
    EXPECT_TRUE(kept().empty());
}

#endif // AGUI_FAILPOINTS

} // namespace
} // namespace agui::test
