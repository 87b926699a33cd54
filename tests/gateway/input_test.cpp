// The messages, the state and the ids of a request, over HTTP.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

class Input : public server_test {
protected:
    // One run with these messages and further members.
    raw_reply
    run(std::string_view run_id, std::string_view messages, std::string_view members = {},
        std::string_view headers = {}) {
        return ask(post(
            "/agui",
            R"({"threadId":"t","runId":")" + std::string(run_id) + R"(","messages":[)" +
                std::string(messages) + "]" + std::string(members) + "}",
            headers
        ));
    }

    boost::json::value json_of(std::string_view path) {
        const raw_reply reply = ask(get(path));
        EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
        boost::system::error_code ec;
        return boost::json::parse(reply.body, ec);
    }

    std::size_t messages() {
        return json_of("/agui/threads/t/messages").at("messages").as_array().size();
    }

    std::string state() {
        return boost::json::serialize(json_of("/agui/threads/t/state").at("state"));
    }

    raw_reply patch(std::string_view path, std::string_view body) {
        std::string request = post(path, body);
        return ask(request.replace(0, 4, "PATCH"));
    }

    static std::string user(std::string_view id, std::string_view text) {
        return R"({"role":"user","id":")" + std::string(id) + R"(","content":")" +
               std::string(text) + "\"}";
    }

    // A client that sends everything has had two turns.
    void talk() {
        run("r1", user("u1", "One"));
        run("r2", user("u1", "One") + R"(,{"role":"assistant","id":"x","content":"Hello"},)" +
                      user("u2", "Two"));
        ASSERT_EQ(messages(), 4U);
    }
};

TEST_F(Input, AReloadedPageContinuesTheConversation) {
    start();
    talk();

    run("r3", user("u9", "Three"));

    EXPECT_EQ(messages(), 6U);
    EXPECT_EQ(json_of("/agui/threads/t/branches").at("branches").as_array().size(), 1U);
}

TEST_F(Input, AClientThatSendsEverythingEditsTheFirstMessage) {
    start();
    talk();

    run("r3", user("u9", "Three"), "", "X-Client-History: full\r\n");

    EXPECT_EQ(messages(), 2U);
    EXPECT_EQ(run("r4", user("u10", "x"), "", "X-Client-History: some\r\n").status, 422);
}

TEST_F(Input, IsReadAsTheAgentSays) {
    settings.agents.at(0).client_history = session::client_history::full;
    start();
    talk();

    run("r3", user("u8", "Three"), "", "X-Client-History: auto\r\n");
    EXPECT_EQ(messages(), 6U) << "the header counts before the agent";
    run("r4", user("u9", "Three"));
    EXPECT_EQ(messages(), 2U);
}

TEST_F(Input, ClearsTheStateOnlyWhereItSaysSo) {
    start();
    run("r1", user("u1", "One"), R"(,"state":{"a":1})");
    ASSERT_EQ(state(), R"({"a":1})");

    run("r2", user("u2", "Two"), R"(,"state":{})");
    EXPECT_EQ(state(), R"({"a":1})");
    run("r3", user("u3", "Three"), R"(,"state":{})", "X-Client-History: full\r\n");
    EXPECT_EQ(state(), "{}");
}

TEST_F(Input, ThePatchBodyIsTheState) {
    start();
    run("r1", user("u1", "One"), R"(,"state":{"a":1})");

    const raw_reply changed = patch("/agui/threads/t/state", R"({"b":[1,2]})");
    EXPECT_EQ(changed.status, 200);
    EXPECT_EQ(changed.body, R"({"state":{"b":[1,2]}})");
    EXPECT_EQ(state(), R"({"b":[1,2]})");
    EXPECT_THAT(ask(get("/agui/threads/t/events")).body, HasSubstr("state.changed"));
    EXPECT_EQ(patch("/agui/threads/t/state", "{}").status, 200);
    EXPECT_EQ(state(), "{}");
    EXPECT_EQ(patch("/agui/threads/other/state", "{}").status, 404);
    EXPECT_EQ(patch("/agui/threads/t/state", R"({"a":1,"a":2})").status, 400);
}

TEST_F(Input, TitlesItsThread) {
    start();
    run("r1", user("u1", "  Paint the\\nsea blue "));
    EXPECT_EQ(json_of("/agui/threads/t").at("title").as_string(), "Paint the sea blue");

    patch("/agui/threads/t", R"({"title":"Sea"})");
    run("r2", user("u2", "Another"));
    EXPECT_EQ(json_of("/agui/threads/t").at("title").as_string(), "Sea");
    patch("/agui/threads/t", R"({"title":""})");
    run("r3", user("u3", "Another"));
    EXPECT_EQ(json_of("/agui/threads/t").at("title").as_string(), "");
}

TEST_F(Input, TitlesNothingWhereTheAgentSaysSo) {
    settings.agents.at(0).title = gateway::title_source::off;
    start();
    run("r1", user("u1", "Paint"));

    EXPECT_EQ(json_of("/agui/threads/t").at("title").as_string(), "");
}

TEST_F(Input, AThreadThatDoesNotExistYetHasNoMessages) {
    start();

    EXPECT_EQ(ask(get("/agui/threads/new/messages")).body, R"({"messages":[]})");
    EXPECT_EQ(json_of("/agui/threads/new").at("title"), "");
}

TEST_F(Input, AValueThatCannotBeSerializedIsRefusedWithItsPath) {
    start();

    const raw_reply number = run("r1", user("u1", "One"), R"(,"state":{"a":[1e400]})");
    EXPECT_EQ(number.status, 400);
    EXPECT_THAT(number.body, HasSubstr(R"("path":"state.a[0]")"));
    EXPECT_THAT(number.body, HasSubstr("invalid_json"));
    const raw_reply twice = run("r1", R"({"role":"user","id":"u","id":"v","content":""})");
    EXPECT_EQ(twice.status, 400);
    EXPECT_THAT(twice.body, HasSubstr(R"("path":"messages[0].id")"));
}

TEST_F(Input, WithTwoMessagesOfOneIdIsShownWithOne) {
    start();
    const raw_reply first = run("r1", user("u", "One") + "," + user("u", "Two"));
    const raw_reply other =
        run("r2", R"({"role":"assistant","id":"u","content":"x"},)" + user("u", "Two") + "," +
                      user("v", "Three"));

    EXPECT_THAT(first.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(other.body, HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(messages(), 4U);
    const raw_reply shown =
        ask(post("/agui/history", R"({"threadId":"t","runId":"h","messages":[]})"));
    EXPECT_THAT(shown.body, HasSubstr("MESSAGES_SNAPSHOT"));
    EXPECT_THAT(shown.body, HasSubstr("RUN_FINISHED"));
}

TEST_F(Input, IsAnsweredUnderIdsThatAreUuids) {
    start();
    const raw_reply reply = run("r1", user("u", "One"));

    EXPECT_THAT(
        reply.body,
        ::testing::ContainsRegex("\"messageId\":\"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-")
    );
}

} // namespace
} // namespace agui::test
