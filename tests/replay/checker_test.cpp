#include "proto-fixtures/replay/checker.hpp"

#include "proto-fixtures/replay/stage.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace agui::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view answer =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: [DONE]\n\n";

constexpr std::string_view events =
    "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n"
    "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"$id:m\",\"role\":\"assistant\"}\n"
    "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"$id:m\",\"delta\":\"Hi.\"}\n"
    "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"$id:m\"}\n"
    "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n";

/// A fixture of one request, in its own folder. Each test changes one thing about it.
class FixtureCheck : public ::testing::Test {
protected:
    FixtureCheck() {
        write("answer.sse", answer);
        write("events.jsonl", events);
    }

    void write(const std::string& name, std::string_view text) const {
        std::ofstream(folder_.path() / name, std::ios::binary) << text;
    }

    /// Checks the fixture whose only step has these members besides its request.
    [[nodiscard]] std::vector<std::string> check(const std::string& members) const {
        write(
            "fixture.json",
            R"({"description":"d","shows":["x"],"steps":[{"request":{"threadId":"t","runId":"r",)"
            R"("messages":[{"id":"u","role":"user","content":"Hello."}]},)" +
                members + "}]}"
        );
        return check_fixture(load_fixture(folder_.path()));
    }

    /// Returns true if some line of the report contains `text`.
    static bool reports(const std::vector<std::string>& report, std::string_view text) {
        for (const std::string& line : report) {
            if (line.find(text) != std::string::npos) {
                return true;
            }
        }
        return false;
    }

    temporary_folder folder_;
};

TEST_F(FixtureCheck, PassesWhereAllAgrees) {
    const auto report = check(
        R"("upstream":[{"answer":"answer.sse","expect":{"messages":[{"role":"user","content":"Hello."}]}}],)"
        R"("events":"events.jsonl","journal":{"user.message":["u"]},"warnings":[])"
    );

    EXPECT_EQ(report, std::vector<std::string>{});
}

TEST_F(FixtureCheck, ReportsEventsThatDiffer) {
    write("events.jsonl", "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n");

    const auto report = check(R"("upstream":[{"answer":"answer.sse"}],"events":"events.jsonl")");

    EXPECT_TRUE(reports(report, "the events differ from events.jsonl"));
    EXPECT_TRUE(reports(report, "+ {\"type\":\"RUN_FINISHED\""));
}

TEST_F(FixtureCheck, ReportsAnotherUpstreamRequest) {
    const auto report = check(
        R"("upstream":[{"answer":"answer.sse","expect":{"messages":[{"role":"user","content":"Bye."}]}}])"
    );

    EXPECT_TRUE(reports(report, "messages[0].content: expected \"Bye.\", got \"Hello.\""));
}

TEST_F(FixtureCheck, ReportsModelCallsThatNobodyExpects) {
    write(
        "events.jsonl",
        "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n"
        "{\"type\":\"RUN_ERROR\",\"message\":\"$any\",\"code\":\"model_unavailable\"}\n"
    );

    const auto report = check(R"("events":"events.jsonl")");

    EXPECT_TRUE(reports(report, "expected 0 model calls, got 1"));
    EXPECT_FALSE(reports(report, "the events differ"));
}

TEST_F(FixtureCheck, ReportsModelCallsThatAreMissing) {
    const auto report = check(
        R"("upstream":[{"answer":"answer.sse"},{"answer":"answer.sse"}],"events":"events.jsonl")"
    );

    EXPECT_TRUE(reports(report, "expected 2 model calls, got 1"));
}

TEST_F(FixtureCheck, ReportsAStreamWhereARefusalIsExpected) {
    const auto report =
        check(R"("upstream":[{"answer":"answer.sse"}],"error":{"status":409,"code":"thread_busy"})"
        );

    EXPECT_TRUE(reports(report, "expected status 409 thread_busy, got a stream"));
}

TEST_F(FixtureCheck, ReportsAnotherJournal) {
    const auto report =
        check(R"("upstream":[{"answer":"answer.sse"}],"journal":{"tool.response":["call_1"]})");

    EXPECT_TRUE(reports(report, "session events tool.response differ"));
}

TEST_F(FixtureCheck, EndsARunThatDoesNotEndByItself) {
    write(
        "fixture.json", R"({"description":"d","shows":["x"],"steps":[{"request":{"threadId":"t",)"
                        R"("runId":"r","messages":[{"id":"u","role":"user","content":"Hello."}]},)"
                        R"("upstream":[{"answer":"answer.sse","stallAfterFrames":1}],)"
                        R"("events":"events.jsonl"}]})"
    );

    const auto report = check_fixture(load_fixture(folder_.path()), std::chrono::seconds(1));

    EXPECT_TRUE(reports(report, "did not end in time"));
    EXPECT_TRUE(reports(report, "\"code\":\"shutdown\""));
}

TEST_F(FixtureCheck, NamesAMemberThatIsNotKnown) {
    try {
        (void)check(R"("evnts":"events.jsonl")");
        FAIL() << "a misspelt member was accepted";
    } catch (const fixture_error& error) {
        EXPECT_NE(std::string_view(error.what()).find("steps[0].evnts"), std::string_view::npos);
    }
}

TEST_F(FixtureCheck, NamesAFileThatIsMissing) {
    try {
        (void)check(R"("events":"other.jsonl")");
        FAIL() << "a missing file was accepted";
    } catch (const fixture_error& error) {
        EXPECT_NE(std::string_view(error.what()).find("other.jsonl"), std::string_view::npos);
    }
}

} // namespace
} // namespace agui::replay
