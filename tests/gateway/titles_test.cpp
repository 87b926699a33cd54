// Titles by a model (`title = "model"`), through the whole server.
#include "tests/gateway/held_model.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Titles : public server_test, public ::testing::WithParamInterface<bool> {
protected:
    Titles() {
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        settings.models.push_back(settings.models.front());
        settings.models.back().name = "titles";
        settings.agents.at(0).title = gateway::title_source::model;
        settings.agents.at(0).title_model = "titles";
        options.log = &log;
        use_models();
        if (GetParam()) {
            use_sqlite();
        }
    }
    ~Titles() override { server.reset(); } // It uses the members.

    // To be called before each start.
    void use_models() {
        options.provider_of = [this](const gateway::model_config& model) {
            return (model.name == "titles" ? titles : chat).make_provider();
        };
    }

    std::string run(std::string_view run_id, std::string_view text, held_answer answer) {
        chat.answer(std::move(answer));
        return ask(post("/agui", run_body("t", run_id, text))).body;
    }
    [[nodiscard]] std::string title(std::string_view thread = "t") const {
        return std::string(json_of("/agui/threads/" + std::string(thread)).at("title").as_string());
    }
    /// Waits for a line of the log.
    bool wait_for_line(std::string_view text) const {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < end) {
            for (const std::string& line : log.lines()) {
                if (line.find(text) != std::string::npos) {
                    return true;
                }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return false;
    }
    /// Work for a title that began before a run of another thread, of the same server thread, has
    /// asked its model before that run's title has.
    void let_titles_begin() {
        const std::size_t before = titles.calls();
        chat.answer({"Another"});
        ask(post("/agui", run_body("probe" + std::to_string(++probes_), "r", "Probe")));
        ASSERT_TRUE(titles.wait_for_calls(before + 1));
        EXPECT_THAT(titles.request(before), ElementsAre(HasSubstr("Probe")));
    }

    held_model chat;
    held_model titles;
    memory_logger log;

private:
    int probes_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, Titles, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Sqlite" : "Memory";
});

constexpr std::string_view given = "a model gave a thread its title";
constexpr std::string_view failed = "a model gave no title";

TEST_P(Titles, AModelReplacesTheTitleAfterTheFirstTurn) {
    start();

    EXPECT_THAT(
        run("r1", "Paint the \"sea\" blue", {"It is blue now."}), HasSubstr("RUN_FINISHED")
    );
    ASSERT_TRUE(titles.wait_for_calls(1));
    EXPECT_EQ(title(), "Paint the \"sea\" blue") << "until the model has answered";
    titles.answer({"\"A blue\n sea.\""});

    ASSERT_TRUE(wait_for_line(given));
    EXPECT_EQ(title(), "A blue sea");
    EXPECT_EQ(json_of("/agui/threads").at("threads").at(0).at("title"), "A blue sea");
    EXPECT_THAT(
        titles.request(0),
        ElementsAre(R"(user: {"user":"Paint the \"sea\" blue","assistant":"It is blue now."})")
    );
    EXPECT_EQ(chat.calls(), 1U);
}

TEST_P(Titles, OnlyOnceAThread) {
    start();
    run("r1", "Paint", {"Done."});
    titles.answer({"Painting"});
    ASSERT_TRUE(wait_for_line(given));
    ask("PATCH /agui/threads/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 17\r\n\r\n{\"title\":\"Paint\"}");
    ASSERT_EQ(title(), "Paint");

    run("r2", "Again", {"Done again."});
    let_titles_begin();

    EXPECT_EQ(titles.calls(), 2U) << "one for each thread";
    EXPECT_EQ(title(), "Paint");
}

TEST_P(Titles, NotAgainAfterAFailure) {
    start();
    run("r1", "Paint", {"Done."});
    titles.answer({.fails = true});
    ASSERT_TRUE(wait_for_line(failed));

    EXPECT_THAT(run("r2", "Again", {"Done again."}), HasSubstr("RUN_FINISHED"));
    let_titles_begin();

    EXPECT_EQ(titles.calls(), 2U);
    EXPECT_EQ(title(), "Paint");
    for (const std::string& line : log.lines()) {
        if (line.find(failed) != std::string::npos) {
            EXPECT_THAT(line, HasSubstr("status=400"));
            EXPECT_THAT(line, Not(HasSubstr("Paint")));
        }
    }
}

TEST_P(Titles, OfTheFirstRunThatSucceeds) {
    start();
    EXPECT_THAT(run("r1", "Paint", {.fails = true}), HasSubstr("RUN_ERROR"));
    let_titles_begin();
    ASSERT_EQ(titles.calls(), 1U) << "only the other thread's";

    run("r2", "Paint it", {"Done."});
    ASSERT_TRUE(titles.wait_for_calls(2));
    EXPECT_THAT(titles.request(1), ElementsAre(HasSubstr(R"("assistant":"Done.")")));
    titles.answer({"For the other thread"});
    titles.answer({"Painting"});
    ASSERT_TRUE(wait_for_line("thread=t run=r2"));
    EXPECT_EQ(title(), "Painting");
}

TEST_P(Titles, ATitleThatSomebodySetWins) {
    start();
    run("r1", "Paint", {"Done."});
    ASSERT_TRUE(titles.wait_for_calls(1));
    ask("PATCH /agui/threads/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 16\r\n\r\n{\"title\":\"Mine\"}");
    titles.answer({"Painting"});

    ASSERT_TRUE(wait_for_line("a title of a model was dropped"));
    EXPECT_EQ(title(), "Mine");
}

TEST_P(Titles, AnEmptyAnswerIsNoTitle) {
    start();
    run("r1", "Paint", {"Done."});
    titles.answer({" \"\". "});

    ASSERT_TRUE(wait_for_line(failed));
    EXPECT_EQ(title(), "Paint");
}

TEST_P(Titles, EphemeralThreadsAndClientsHistoriesHaveNone) {
    settings.session.history.mode = session::history_mode::client;
    start();
    run("r1", "Paint", {"Done."});
    server.reset();
    settings.session.history.mode = session::history_mode::server;
    use_models();
    start();
    chat.answer({"Done."});
    ask(post(
        "/agui", R"({"threadId":"e","runId":"r1","forwardedProps":{"ephemeral":true},)"
                 R"("messages":[{"id":"u1","role":"user","content":"Paint"}]})"
    ));
    let_titles_begin();

    EXPECT_EQ(titles.calls(), 1U);
}

TEST_P(Titles, ADrainEndsTheRequest) {
    settings.server.drain = std::chrono::seconds(3600);
    start();
    run("r1", "Paint", {"Done."});
    ASSERT_TRUE(titles.wait_for_calls(1));

    server->request_stop();
    server->wait();

    EXPECT_TRUE(wait_for_line("the server is shutting down"));
    if (!GetParam()) {
        return;
    }
    server.reset();
    use_models();
    start();
    EXPECT_EQ(title(), "Paint");
    run("r2", "Again", {"Done again."});
    let_titles_begin();
    EXPECT_EQ(titles.calls(), 2U) << "not again after a restart";
}

TEST_P(Titles, TakeAnEighthOfTheRunsAtMost) {
    settings.server.max_runs = 8;
    start();
    run("r1", "Paint", {"Done."});
    ASSERT_TRUE(titles.wait_for_calls(1));

    chat.answer({"Done."});
    ask(post("/agui", run_body("second", "r1", "Second")));
    ASSERT_TRUE(wait_for_line("no place among the runs is free"));
    EXPECT_EQ(title("second"), "Second");
    titles.answer({"Painting"});
    ASSERT_TRUE(wait_for_line(given));

    let_titles_begin();
    EXPECT_EQ(titles.calls(), 2U);
}

} // namespace
} // namespace agui::test
