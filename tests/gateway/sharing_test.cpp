// Threads that their owner opens to other users.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using gateway::auth_config;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string token_line(std::string_view name) {
    return "Authorization: Bearer the-token-of-" + std::string(name) + "\r\n";
}

class Sharing : public server_test {
protected:
    Sharing() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        for (const std::string user : {"ada", "eve", "bob"}) {
            add_token(user, user, {"run", "read", "delete", "approve"});
        }
        settings.server.copilotkit_path = "/copilotkit";
        options.log = &log;
    }
    ~Sharing() override { server.reset(); }

    void add_token(std::string name, std::string user, std::vector<std::string> scopes) {
        gateway::token_config& added = settings.auth->tokens.emplace_back();
        added.name = std::move(user);
        added.token.value = "the-token-of-" + std::move(name);
        added.scopes = std::move(scopes);
    }
    raw_reply read_as(std::string_view who, std::string_view path) {
        return ask(get(path, token_line(who)));
    }
    raw_reply post_as(std::string_view who, std::string_view path, std::string_view body) {
        return ask(post(path, body, token_line(who)));
    }
    raw_reply patch_as(std::string_view who, std::string_view path, std::string_view body) {
        std::string request = post(path, body, token_line(who));
        return ask(request.replace(0, 4, "PATCH"));
    }
    raw_reply open_to(std::string_view list, std::string_view who = "ada") {
        return patch_as(who, "/agui/threads/t/access", R"({"access":[)" + std::string(list) + "]}");
    }
    /// Makes ada's thread `t`, opens it to eve and returns its shared id.
    std::string share(std::string_view rights) {
        EXPECT_EQ(post_as("ada", "/agui", run_body("t", "r", "words of ada")).status, 200);
        const raw_reply opened =
            open_to(R"({"user":"eve","rights":")" + std::string(rights) + "\"}");
        EXPECT_EQ(opened.status, 200);
        return std::string(boost::json::parse(opened.body).at("sharedId").as_string());
    }
    std::string messages(std::string_view who, std::string_view id) {
        return read_as(who, "/agui/threads/" + std::string(id) + "/messages").body;
    }

    memory_logger log;
};

TEST_F(Sharing, AReaderReadsTheThreadByItsSharedId) {
    start();
    const std::string id = share("read");

    EXPECT_THAT(messages("eve", id), HasSubstr("words of ada"));
    EXPECT_THAT(messages("bob", id), Not(HasSubstr("words of ada")));
    EXPECT_THAT(messages("eve", "t"), Not(HasSubstr("words of ada"))) << "it is not eve's id";
    EXPECT_THAT(messages("ada", id), Not(HasSubstr("words of ada"))) << "it is not ada's id";
    const raw_reply events = read_as("eve", "/agui/threads/" + id + "/runs/r/events");
    EXPECT_EQ(events.status, 200);
    EXPECT_THAT(events.body, HasSubstr(R"("threadId":")" + id + '"'));
    EXPECT_THAT(events.body, Not(HasSubstr(R"("threadId":"t")")));
    EXPECT_EQ(post_as("eve", "/agui", run_body(id, "r2")).status, 403);
    EXPECT_EQ(post_as("eve", "/agui/cancel", R"({"threadId":")" + id + "\"}").status, 403);
}

TEST_F(Sharing, AWriterContinuesTheOwnersThread) {
    start();
    const std::string id = share("write");

    const raw_reply run = post_as("eve", "/agui", run_body(id, "r2", "words of eve"));

    EXPECT_EQ(run.status, 200);
    EXPECT_THAT(run.body, HasSubstr(R"("threadId":")" + id + '"'));
    EXPECT_THAT(run.body, Not(HasSubstr(R"("threadId":"t")")));
    EXPECT_THAT(messages("ada", "t"), HasSubstr("words of eve"));
    // The same request is the same run, and another one of ada's is not.
    EXPECT_EQ(post_as("eve", "/agui", run_body(id, "r2", "words of eve")).status, 200);
    EXPECT_EQ(post_as("ada", "/agui", run_body("t", "r2", "words of ada")).status, 409);
    const raw_reply own = read_as("ada", "/agui/threads/t/runs/r2/events");
    EXPECT_THAT(own.body, HasSubstr(R"("threadId":"t")"));
}

TEST_F(Sharing, ChatFramesAndSnapshotsShowTheSharedId) {
    start();
    const std::string id = share("write");

    const raw_reply chat = post_as(
        "eve", "/chat/stream", R"({"sessionId":")" + id + R"(","message":"hi","messages":[]})"
    );
    EXPECT_EQ(chat.status, 200);
    EXPECT_THAT(chat.body, HasSubstr(id));
    EXPECT_THAT(chat.body, Not(HasSubstr(R"("t")")));
    const raw_reply history = post_as(
        "eve", "/agui/history", R"({"threadId":")" + id + R"(","runId":"h","messages":[]})"
    );
    EXPECT_THAT(history.body, HasSubstr(R"("threadId":")" + id + '"'));
    EXPECT_THAT(history.body, HasSubstr("words of ada"));
    EXPECT_THAT(history.body, Not(HasSubstr(R"("threadId":"t")")));
    const raw_reply thread = read_as("eve", "/agui/threads/" + id);
    EXPECT_THAT(thread.body, HasSubstr(R"("threadId":")" + id + '"'));
}

TEST_F(Sharing, TheRecordOfAThreadSaysWhatItsReaderMayDo) {
    start();
    std::string id;
    for (const std::string right : {"read", "write", "approve"}) {
        id = share(right);
        const raw_reply shown = read_as("eve", "/agui/threads/" + id);
        EXPECT_THAT(shown.body, HasSubstr(R"("rights":")" + right + '"'));
    }
    const auto own = boost::json::parse(read_as("ada", "/agui/threads/t").body).as_object();
    EXPECT_FALSE(own.contains("rights"));
    EXPECT_EQ(open_to("").status, 200);
    EXPECT_THAT(read_as("eve", "/agui/threads/" + id).body, Not(HasSubstr("rights")));
}

TEST_F(Sharing, NobodyButTheOwnerRenamesDeletesOrSharesTheThread) {
    start();
    const std::string id = share("approve");
    const std::string path = "/agui/threads/" + id;

    EXPECT_EQ(patch_as("eve", path, R"({"title":"x"})").status, 403);
    EXPECT_EQ(patch_as("eve", path + "/access", R"({"access":[]})").status, 403);
    EXPECT_EQ(read_as("eve", path + "/access").status, 403);
    std::string removal = get(path, token_line("eve"));
    EXPECT_EQ(ask(removal.replace(0, 3, "DELETE")).status, 403);
    EXPECT_EQ(patch_as("bob", path + "/access", R"({"access":[]})").status, 404);
    EXPECT_EQ(read_as("bob", path + "/access").status, 404);
    EXPECT_THAT(messages("eve", id), HasSubstr("words of ada"));
}

TEST_F(Sharing, AClosedThreadLooksUnknown) {
    start();
    const std::string id = share("write");
    EXPECT_EQ(open_to("").status, 200);
    const std::string never = "shared-" + std::string(32, '0');

    EXPECT_EQ(messages("eve", id), messages("eve", never));
    const raw_reply refused = post_as("eve", "/agui", run_body(id, "r2"));
    EXPECT_EQ(refused.status, 404) << "a thread of eve's with that id would hide it";
    EXPECT_EQ(refused.body, post_as("eve", "/agui", run_body(never, "r2")).body);
    EXPECT_EQ(read_as("eve", "/agui/threads/" + id + "/runs/r/events").status, 404);

    const raw_reply again = open_to(R"({"user":"eve","rights":"read"})");
    EXPECT_THAT(again.body, HasSubstr(id)) << "the id is made once";
    EXPECT_THAT(messages("eve", id), HasSubstr("words of ada"));
}

TEST_F(Sharing, ListsThreadsThatAreOpenedToTheSender) {
    start();
    const std::string id = share("write");

    EXPECT_EQ(read_as("eve", "/agui/threads").body, R"({"threads":[]})");
    const raw_reply list = read_as("eve", "/agui/threads?shared=true");
    EXPECT_EQ(list.status, 200);
    const auto threads = boost::json::parse(list.body).at("threads").as_array();
    ASSERT_EQ(threads.size(), 1U);
    EXPECT_EQ(threads[0].at("threadId").as_string(), id);
    EXPECT_EQ(threads[0].at("rights").as_string(), "write");
    EXPECT_EQ(read_as("ada", "/agui/threads?shared=true").body, R"({"threads":[]})");
    EXPECT_EQ(read_as("eve", "/agui/threads?shared=yes").status, 422);
}

TEST_F(Sharing, ShowsTheListToTheOwner) {
    start();
    const std::string id = share("read");
    EXPECT_EQ(
        open_to(R"({"user":"eve","rights":"write"},{"tenant":"a/b","user":"x","rights":"read"})")
            .status,
        200
    );

    const auto shown = boost::json::parse(read_as("ada", "/agui/threads/t/access").body);
    EXPECT_EQ(shown.at("sharedId").as_string(), id);
    EXPECT_EQ(
        shown.at("access"), boost::json::parse(R"([{"tenant":"a/b","user":"x","rights":"read"},)"
                                               R"({"tenant":"","user":"eve","rights":"write"}])")
    );
    EXPECT_THAT(log.lines(), Contains(HasSubstr("the access to a thread was changed")));
}

TEST_F(Sharing, RefusesListsThatAreWrong) {
    start();
    EXPECT_EQ(open_to("").status, 404) << "there is no such thread yet";
    (void)share("read");
    for (const std::string_view wrong : {
             R"(7)",
             R"({})",
             R"({"user":"","rights":"read"})",
             R"({"user":"bob"})",
             R"({"user":"bob","rights":"all"})",
             R"({"user":"ada","rights":"read"})",
             R"({"tenant":7,"user":"bob","rights":"read"})",
             R"({"user":"bob","rights":"read"},{"user":"bob","rights":"write"})",
         }) {
        EXPECT_EQ(open_to(wrong).status, 422) << wrong;
    }
    std::string many;
    for (int i = 0; i <= 100; ++i) {
        many +=
            (i > 0 ? "," : "") + (R"({"user":"u)" + std::to_string(i) + R"(","rights":"read"})");
    }
    EXPECT_EQ(open_to(many).status, 422);
    EXPECT_EQ(patch_as("ada", "/agui/threads/t/access", "[]").status, 422);
    EXPECT_EQ(patch_as("ada", "/agui/threads/t/access", "{").status, 400);
    EXPECT_EQ(patch_as("ada", "/agui/threads/t/access", R"({"access":[],"more":1})").status, 422);
}

TEST_F(Sharing, NobodyGivesARightThatItsOwnScopesDoNotInclude) {
    add_token("ada-who-runs", "ada", {"run"});
    add_token("ada-who-reads", "ada", {"run", "read"});
    start();
    (void)share("read");

    EXPECT_EQ(open_to(R"({"user":"bob","rights":"read"})", "ada-who-runs").status, 403);
    EXPECT_EQ(open_to(R"({"user":"bob","rights":"write"})", "ada-who-reads").status, 200);
    EXPECT_EQ(open_to(R"({"user":"bob","rights":"approve"})", "ada-who-reads").status, 403);
    EXPECT_EQ(open_to("", "ada-who-runs").status, 200) << "anybody who may change it may close it";
}

TEST_F(Sharing, ARightDoesNotReplaceAScope) {
    add_token("eve-who-reads", "eve", {"read"});
    start();
    const std::string id = share("approve");

    EXPECT_THAT(messages("eve-who-reads", id), HasSubstr("words of ada"));
    EXPECT_EQ(post_as("eve-who-reads", "/agui", run_body(id, "r2")).status, 403);
}

TEST_F(Sharing, AnswersToApprovalsNeedTheirOwnRight) {
    start();
    const std::string id = share("write");
    const std::string resume =
        R"({"threadId":")" + id +
        R"(","runId":"r2","messages":[],"resume":[{"interruptId":"approval-c1","status":"resolved",)"
        R"("payload":{"approved":true}}]})";

    const raw_reply refused = post_as("eve", "/agui", resume);

    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("approve"));
    EXPECT_EQ(open_to(R"({"user":"eve","rights":"approve"})").status, 200);
    EXPECT_NE(post_as("eve", "/agui", resume).status, 403);
}

TEST_F(Sharing, AFileOfAWriterIsTheThreads) {
    start();
    const std::string id = share("write");
    const raw_reply kept = post_as(
        "eve", "/agui/threads/" + id + "/parts",
        R"({"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}})"
    );
    ASSERT_EQ(kept.status, 200) << kept.body;
    const auto part = boost::json::parse(kept.body);
    const std::string link(part.at("source").at("value").as_string());
    EXPECT_THAT(link, HasSubstr("/agui/threads/" + id + "/parts/"));
    const std::string path = link.substr(link.find("/agui/"));
    EXPECT_EQ(ask(get(path)).body, "hi") << "a link needs no token";

    std::string body = run_body(id, "r2", "TEXT");
    body.replace(body.find(R"("TEXT")"), 6, "[" + kept.body + "]");
    EXPECT_EQ(post_as("eve", "/agui", body).status, 200);
    EXPECT_THAT(messages("ada", "t"), HasSubstr("aGk=")) << "the thread has the file itself";

    EXPECT_EQ(open_to("").status, 200);
    EXPECT_EQ(ask(get(path)).status, 404);
}

// Stored URLs are shown to readers and may be fetched by the model's server, so they must not hold
// the owner's id.
TEST_F(Sharing, OnlyALinkToAFileGetsTheIdOfTheOwner) {
    start();
    const std::string id = share("write");
    const std::string path = "/agui/threads/" + id + "/parts/";
    const std::vector<std::string> urls{
        "https://x/?" + path, "https://x/#" + path + std::string(64, 'a'), "https://x" + path,
        "https://x" + path + std::string(63, 'a'), "https://x" + path + "a" + path
    };
    for (std::size_t i = 0; i < urls.size(); ++i) {
        std::string part = R"([{"type":"image","source":{"type":"url","value":")";
        part.append(urls[i]).append(R"("}}])");
        std::string body = run_body(id, std::to_string(i), "TEXT");
        body.replace(body.find(R"("TEXT")"), 6, part);
        EXPECT_EQ(post_as("eve", "/agui", body).status, 200) << urls[i];
    }
    EXPECT_THAT(messages("ada", "t"), Not(HasSubstr("/agui/threads/t/")));
}

// The right is that of the route in the envelope, not of the envelope's own.
TEST_F(Sharing, EnvelopesNeedTheRightOfTheirContent) {
    start();
    const std::string id = share("read");
    const auto envelope = [&](std::string_view method, const std::string& body) {
        return post_as(
            "eve", "/copilotkit",
            R"({"method":")" + std::string(method) +
                R"(","params":{"agentId":"default","threadId":")" + id + R"("},"body":)" + body +
                "}"
        );
    };
    const std::string connect = R"({"threadId":")" + id + R"(","runId":"c","messages":[]})";

    EXPECT_THAT(envelope("agent/connect", connect).body, HasSubstr("words of ada"));
    EXPECT_EQ(envelope("agent/run", run_body(id, "r2")).status, 403);
    EXPECT_EQ(envelope("agent/stop", "{}").status, 403);
    EXPECT_EQ(open_to(R"({"user":"eve","rights":"write"})").status, 200);
    const raw_reply run = envelope("agent/run", run_body(id, "r2"));
    EXPECT_EQ(run.status, 200);
    EXPECT_THAT(run.body, HasSubstr(R"("threadId":")" + id + '"'));
    EXPECT_EQ(envelope("agent/stop", "{}").status, 200);
}

TEST_F(Sharing, IsRemovedWithTheThread) {
    start();
    const std::string id = share("write");
    std::string removal = get("/agui/threads/t", token_line("ada"));
    EXPECT_EQ(ask(removal.replace(0, 3, "DELETE")).status, 204);

    EXPECT_EQ(post_as("ada", "/agui", run_body("t", "r", "new words")).status, 200);
    EXPECT_THAT(messages("eve", id), Not(HasSubstr("new words")));
    EXPECT_EQ(read_as("eve", "/agui/threads?shared=true").body, R"({"threads":[]})");
}

} // namespace
} // namespace agui::test
