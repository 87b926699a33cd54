// The thread store and the history stream over HTTP.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/colliding_names.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ThreadRoutes : public server_test {
protected:
    raw_reply patch(std::string_view path, std::string_view body) {
        std::string request = post(path, body);
        return ask(request.replace(0, 4, "PATCH"));
    }

    raw_reply remove(std::string_view path) {
        std::string request = get(path);
        return ask(request.replace(0, 3, "DELETE"));
    }

    std::string run_with_tool(std::string_view run_id) {
        return R"({"threadId":"t","runId":")" + std::string(run_id) +
               R"(","protocolVersion":"1.1","state":{"color":"red"},"messages":[{"id":"u1","role":"user","content":"x"}],)"
               R"("tools":[{"name":"paint","description":"","parameters":{"type":"object"}}]})";
    }

    static runner::scripted_answer call_paint() {
        return call_tool("paint", R"({"color":"blue"})");
    }
};

TEST_F(ThreadRoutes, ShowsChangesAndDeletesAThread) {
    start();
    ask(post("/agui", run_body("t", "r")));

    const boost::json::value thread = json_of("/agui/threads/t");
    EXPECT_EQ(thread.at("threadId").as_string(), "t");
    EXPECT_EQ(thread.at("agentId").as_string(), "default");
    EXPECT_FALSE(thread.at("archived").as_bool());
    EXPECT_GT(thread.at("createdAt").as_int64(), 0);
    EXPECT_FALSE(thread.as_object().contains("activeRunId"));

    const raw_reply changed =
        patch("/agui/threads/t", R"({"title":"Sea","archived":true,"metadata":{"pin":1}})");
    EXPECT_EQ(changed.status, 200);
    EXPECT_THAT(changed.body, HasSubstr(R"("title":"Sea")"));
    EXPECT_EQ(json_of("/agui/threads/t").at("metadata").at("pin").as_int64(), 1);
    EXPECT_EQ(patch("/agui/threads/t", R"({"title":7})").status, 422);
    EXPECT_EQ(patch("/agui/threads/t", R"({"owner":"me"})").status, 422);
    EXPECT_EQ(patch("/agui/threads/other", R"({"title":"x"})").status, 404);

    EXPECT_EQ(remove("/agui/threads/t").status, 204);
    EXPECT_EQ(remove("/agui/threads/t").status, 404);
    EXPECT_EQ(json_of("/agui/threads/t").at("lastRunAt"), 0);
    EXPECT_THAT(ask(post("/agui", run_body("t", "r"))).body, HasSubstr("RUN_FINISHED"))
        << "the thread begins anew";
}

TEST_F(ThreadRoutes, ATitleIsOneLineWithoutControlAndBidiCharacters) {
    start();
    ask(post("/agui", run_body("t", "r")));

    const raw_reply changed =
        patch("/agui/threads/t", R"({"title":" Sea\u001b[2J\nand \u202egnp.exe\u202c\u0085sky "})");

    EXPECT_EQ(changed.status, 200);
    EXPECT_EQ(json_of("/agui/threads/t").at("title").as_string(), "Sea[2J and gnp.exesky");
}

TEST_F(ThreadRoutes, APatchHasABodyLimitOfItsOwn) {
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    // Metadata of the maximal size, each byte of which is escaped.
    std::string escaped;
    for (int i = 0; i < 65'000; ++i) {
        escaped += "\\u0061";
    }
    const std::string largest = R"({"metadata":{"a":")" + escaped + "\"}}";

    EXPECT_EQ(patch("/agui/threads/t", largest).status, 200);
    EXPECT_EQ(patch("/agui/threads/t", largest + std::string(200'000, ' ')).status, 413);
}

TEST_F(ThreadRoutes, TakesNamesThatWereChosenToCollide) {
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    const std::string metadata = R"({"metadata":{"bucket":)" +
                                 object_text(names_of_one_bucket(11)) + R"(,"digest":)" +
                                 object_text(names_of_one_digest(128)) + "}}";
    const std::string state = object_text(names_of_one_bucket(15));

    EXPECT_EQ(patch("/agui/threads/t", metadata).status, 200);
    EXPECT_EQ(patch("/agui/threads/t/state", state).status, 200);
    const boost::json::value kept = json_of("/agui/threads/t").at("metadata");
    EXPECT_EQ(kept.at("bucket").as_object().size(), 2048U);
    EXPECT_EQ(kept.at("digest").as_object().size(), 128U);
    EXPECT_EQ(ask(get("/agui/threads/t/state")).body, R"({"state":)" + state + "}");
}

TEST_F(ThreadRoutes, MetadataAreAnObjectOfAtMost64KiB) {
    start();
    ask(post("/agui", run_body("t", "r")));
    const auto answer = [&](std::string_view metadata) {
        return patch("/agui/threads/t", R"({"title":"x","metadata":)" + std::string(metadata) + "}")
            .status;
    };
    std::string objects = R"({"a":[{})";
    while (objects.size() < 65'500) {
        objects += ",{}";
    }

    EXPECT_EQ(answer(R"({"pin": [ 1, "\u00e9" ]})"), 200);
    EXPECT_THAT(
        ask(get("/agui/threads/t")).body, HasSubstr("\"metadata\":{\"pin\":[1,\"\xc3\xa9\"]}}")
    );
    EXPECT_THAT(
        ask(get("/agui/threads")).body, HasSubstr("\"metadata\":{\"pin\":[1,\"\xc3\xa9\"]}}]}")
    );
    EXPECT_EQ(answer("[1]"), 422);
    EXPECT_EQ(answer("7"), 422);
    EXPECT_EQ(answer(R"({"a":1,"a":2})"), 400);
    EXPECT_EQ(answer(objects + std::string(100'000, ' ') + "]}"), 200);
    EXPECT_EQ(answer(objects + R"(,{},{},{},{},{},{},{},{},{},{},{},{}]})"), 422);
    EXPECT_EQ(json_of("/agui/threads/t").at("metadata").at("a").as_array().size(), 21'832U);
    EXPECT_EQ(answer("{}"), 200);
    EXPECT_FALSE(json_of("/agui/threads/t").as_object().contains("metadata"));
    EXPECT_EQ(answer(R"({"a":1})"), 200);
    EXPECT_EQ(patch("/agui/threads/t", R"({"title":"y"})").status, 200);
    EXPECT_TRUE(json_of("/agui/threads/t").as_object().contains("metadata")) << "left as it was";
    EXPECT_EQ(answer("null"), 200);
    EXPECT_FALSE(json_of("/agui/threads/t").as_object().contains("metadata"));
}

TEST_F(ThreadRoutes, ListsByPages) {
    start();
    for (const char* id : {"a", "b", "c"}) {
        ask(post("/agui", run_body(id, "r")));
    }
    patch("/agui/threads/b", R"({"archived":true})");

    const boost::json::value first = json_of("/agui/threads?limit=1");
    ASSERT_EQ(first.at("threads").as_array().size(), 1U);
    const boost::json::value second =
        json_of("/agui/threads?limit=1&cursor=" + std::string(first.at("nextCursor").as_string()));
    ASSERT_EQ(second.at("threads").as_array().size(), 1U);

    EXPECT_EQ(first.at("threads").at(0).at("threadId").as_string(), "c");
    EXPECT_EQ(second.at("threads").at(0).at("threadId").as_string(), "a");
    EXPECT_FALSE(second.as_object().contains("nextCursor"));
    EXPECT_EQ(json_of("/agui/threads?archived=true").at("threads").as_array().size(), 1U);
    EXPECT_EQ(json_of("/agui/threads?agentId=other").at("threads").as_array().size(), 0U);
    EXPECT_EQ(ask(get("/agui/threads?limit=0")).status, 422);
    EXPECT_EQ(ask(get("/agui/threads?limit=x")).status, 422);
    EXPECT_EQ(ask(get("/agui/threads?limit=")).status, 422);
    EXPECT_EQ(ask(get("/agui/threads?limit=-1")).status, 422);
    EXPECT_EQ(ask(get("/agui/threads?cursor=x")).status, 422);
    EXPECT_EQ(ask(get("/agui/threads?archived=maybe")).status, 422);
}

TEST_F(ThreadRoutes, AnActiveThreadIsNotDeleted) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    ASSERT_THAT(client.read_until("Hello"), HasSubstr("Hello"));

    EXPECT_EQ(json_of("/agui/threads/t").at("activeRunId").as_string(), "r");
    const raw_reply refused = remove("/agui/threads/t");
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr(R"("activeRunId":"r")"));
    ask(post("/agui/cancel", R"({"threadId":"t"})"));
    EXPECT_EQ(remove("/agui/threads/t").status, 204);
}

#ifdef AGUI_FAILPOINTS

TEST_F(ThreadRoutes, AThreadWhoseRemovalThrowsIsFreeAgain) {
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    {
        const failpoint_hook hook([](std::string_view place) {
            if (place == "thread.removing") {
                throw std::runtime_error("no memory");
            }
        });
        EXPECT_EQ(remove("/agui/threads/t").status, 500);
    }

    EXPECT_EQ(ask(post("/agui", run_body("t", "r2"))).status, 200);
    EXPECT_EQ(remove("/agui/threads/t").status, 204);
}

#endif

TEST_F(ThreadRoutes, ShowMessagesStateAndPendingCalls) {
    answer = call_paint();
    start();
    ask(post("/agui", run_with_tool("r1")));

    const boost::json::value messages = json_of("/agui/threads/t/messages").at("messages");
    ASSERT_EQ(messages.as_array().size(), 2U);
    EXPECT_EQ(messages.at(0).at("id").as_string(), "u1");
    EXPECT_EQ(messages.at(1).at("toolCalls").at(0).at("id").as_string(), "c1");
    EXPECT_EQ(json_of("/agui/threads/t/state").at("state").at("color").as_string(), "red");
    const boost::json::value pending = json_of("/agui/threads/t/pending");
    ASSERT_EQ(pending.at("toolCalls").as_array().size(), 1U);
    EXPECT_EQ(pending.at("toolCalls").at(0).at("toolCallName").as_string(), "paint");
    EXPECT_EQ(pending.at("toolCalls").at(0).at("arguments").as_string(), R"({"color":"blue"})");
    EXPECT_EQ(pending.at("toolCalls").at(0).at("messageId"), messages.at(1).at("id"));

    const boost::json::value events = json_of("/agui/threads/t/events").at("events");
    ASSERT_EQ(events.as_array().size(), 4U);
    EXPECT_EQ(events.at(0).at("type").as_string(), "run.started");
    EXPECT_EQ(events.at(0).at("seq").as_int64(), 1);
    EXPECT_EQ(events.at(3).at("type").as_string(), "run.finished");
    EXPECT_EQ(json_of("/agui/threads/t/events?after=3").at("events").as_array().size(), 1U);

    ask(post(
        "/agui",
        R"({"threadId":"t","runId":"r2","messages":[{"id":"u1","role":"user","content":"other"}]})"
    ));
    const boost::json::value branches = json_of("/agui/threads/t/branches").at("branches");
    ASSERT_EQ(branches.as_array().size(), 2U);
    EXPECT_TRUE(branches.at(1).at("head").as_bool());
    for (const boost::json::value& branch : branches.as_array()) {
        EXPECT_GT(branch.at("updatedAt").as_int64(), 0);
    }
    EXPECT_EQ(json_of("/agui/threads/t/messages?branch=0").at("messages").as_array().size(), 2U);
    EXPECT_EQ(ask(get("/agui/threads/t/messages?branch=9")).status, 404);
}

TEST_F(ThreadRoutes, ShowsMessagesByPages) {
    start();
    for (const std::string n : {"1", "2", "3"}) {
        const std::string head = R"({"threadId":"t","runId":"r)" + n + R"(","messages":[{"id":"u)";
        ask(post("/agui", head + n + R"(","role":"user","content":"x"}]})"));
    }
    const std::string path = "/agui/threads/t/messages";
    const auto first_id = [](const boost::json::value& page) {
        return std::string(page.at("messages").at(0).at("id").as_string());
    };

    EXPECT_FALSE(json_of(path).as_object().contains("hasEarlier"));
    const boost::json::value last = json_of(path + "?limit=3");
    EXPECT_EQ(last.at("messages").as_array().size(), 4U) << "two whole turns";
    EXPECT_TRUE(last.at("hasEarlier").as_bool());
    EXPECT_EQ(first_id(last), "u2");
    const boost::json::value first = json_of(path + "?before=u2");
    EXPECT_EQ(first.at("messages").as_array().size(), 2U);
    EXPECT_FALSE(first.at("hasEarlier").as_bool());
    EXPECT_EQ(first_id(first), "u1");
    const boost::json::value none = json_of("/agui/threads/none/messages?limit=3");
    EXPECT_EQ(none.at("messages").as_array().size(), 0U);
    EXPECT_FALSE(none.at("hasEarlier").as_bool());

    EXPECT_EQ(ask(get(path + "?before=u9")).status, 404);
    EXPECT_EQ(ask(get(path + "?before=")).status, 422);
    EXPECT_EQ(ask(get(path + "?limit=0")).status, 422);
    EXPECT_EQ(ask(get(path + "?limit=x&before=u2")).status, 422);
    EXPECT_EQ(json_of(path + "?limit=99999").at("messages").as_array().size(), 6U);
}

TEST_F(ThreadRoutes, PagesAreThoseOfABranch) {
    start();
    const auto run = [this](std::string_view id, std::string_view text) {
        const std::string message = R"({"id":"u1","role":"user","content":")" + std::string(text);
        ask(post(
            "/agui", R"({"threadId":"t","runId":")" + std::string(id) + R"(","messages":[)" +
                         message + R"("}]})"
        ));
    };
    run("r1", "one");
    run("r2", "other");

    const auto text_of = [this](std::string_view query) {
        const boost::json::value page = json_of("/agui/threads/t/messages?" + std::string(query));
        return std::string(page.at("messages").at(0).at("content").as_string());
    };
    EXPECT_EQ(text_of("limit=1"), "other");
    EXPECT_EQ(text_of("limit=1&branch=0"), "one");
    EXPECT_EQ(ask(get("/agui/threads/t/messages?limit=1&branch=9")).status, 404);
}

TEST_F(ThreadRoutes, ALimitAboveTheLargestIsCut) {
    start();
    for (const std::string id : {"a", "b"}) {
        ask(post("/agui", run_body(id, "r")));
    }
    for (const char* limit : {"200", "201", "1000", "99999999999999999999"}) {
        SCOPED_TRACE(limit);
        const std::string query = "?limit=" + std::string(limit);
        EXPECT_EQ(json_of("/agui/threads" + query).at("threads").as_array().size(), 2U);
        EXPECT_EQ(ask(get("/agui/threads/a/events" + query)).status, 200);
    }
}

TEST_F(ThreadRoutes, AThreadThatDoesNotExistYetIsEmpty) {
    start();
    const boost::json::value thread = json_of("/agui/threads/none");
    EXPECT_EQ(thread.at("threadId"), "none");
    EXPECT_EQ(thread.at("title"), "");
    EXPECT_EQ(thread.at("archived"), false);
    EXPECT_EQ(thread.at("createdAt"), 0);
    EXPECT_EQ(json_of("/agui/threads").at("threads").as_array().size(), 0U);
}

TEST_F(ThreadRoutes, DocumentsOfAnUnknownThreadAreNotFound) {
    start();
    for (const char* part : {"/events", "/state", "/pending", "/branches"}) {
        EXPECT_EQ(ask(get("/agui/threads/none" + std::string(part))).status, 404) << part;
    }
}

TEST_F(ThreadRoutes, HistoryIsARunOfSnapshots) {
    start();
    ask(post("/agui", run_with_tool("r1")));

    const raw_reply history = ask(post(
        "/agui/history", R"({"threadId":"t","runId":"h","protocolVersion":"1.1","messages":[]})"
    ));

    EXPECT_TRUE(history.complete);
    EXPECT_THAT(history.body, HasSubstr(R"("type":"RUN_STARTED")"));
    EXPECT_THAT(history.body, HasSubstr(R"("runId":"h")"));
    EXPECT_THAT(history.body, HasSubstr(R"("type":"MESSAGES_SNAPSHOT")"));
    EXPECT_THAT(history.body, HasSubstr(R"("content":"Hello")"));
    EXPECT_THAT(history.body, HasSubstr(R"("snapshot":{"color":"red"})"));
    EXPECT_THAT(history.body, HasSubstr(R"("type":"RUN_FINISHED")"));
    // The runId remains free.
    EXPECT_THAT(ask(post("/agui", run_body("t", "h"))).body, HasSubstr("RUN_FINISHED"));
}

TEST_F(ThreadRoutes, HistoryOfAnUnknownThreadIsEmpty) {
    start();

    const raw_reply history =
        ask(post("/agui/history", R"({"threadId":"none","runId":"h","messages":[]})"));

    EXPECT_THAT(history.body, HasSubstr(R"("messages":[])"));
    EXPECT_THAT(history.body, Not(HasSubstr("STATE_SNAPSHOT")));
    EXPECT_THAT(history.body, HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(json_of("/agui/threads").at("threads").as_array().size(), 0U);
}

TEST_F(ThreadRoutes, HistoryContinuesWithTheActiveRun) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    ASSERT_THAT(client.read_until("Hello"), HasSubstr("Hello"));

    raw_client reader(port());
    reader.send(post(
        "/agui/history",
        R"({"threadId":"t","runId":"h","messages":[],"forwardedProps":{"follow":true}})"
    ));
    const std::string snapshot = reader.read_until("RUN_FINISHED");
    EXPECT_THAT(snapshot, HasSubstr(R"("id":"r-u")")) << "what the user said is in the snapshot";
    EXPECT_THAT(snapshot, Not(HasSubstr("Hello"))) << "what the run says is not";
    const std::string live = reader.read_until("Hello");
    EXPECT_THAT(live, HasSubstr(R"("runId":"r")"));
    ask(post("/agui/cancel", R"({"threadId":"t"})"));
    EXPECT_THAT(reader.read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
}

} // namespace
} // namespace agui::test
