// Reading a run again (P8) and repeating its request (P6), over HTTP, with both stores.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string code_of(const raw_reply& reply) {
    boost::system::error_code ec;
    const boost::json::value body = boost::json::parse(reply.body, ec);
    const auto* error = ec                 ? nullptr
                        : body.if_object() ? body.get_object().if_contains("error")
                                           : nullptr;
    return error == nullptr ? "no error: " + reply.body
                            : std::string(error->at("code").as_string());
}

// The frames of a stream, each with its empty line.
std::vector<std::string> frames_of(std::string_view stream) {
    std::vector<std::string> frames;
    while (!stream.empty()) {
        const std::size_t end = stream.find("\n\n");
        const std::size_t size = end == std::string_view::npos ? stream.size() : end + 2;
        frames.emplace_back(stream.substr(0, size));
        stream.remove_prefix(size);
    }
    return frames;
}

std::string
events_path(std::string_view thread, std::string_view run, std::string_view query = {}) {
    std::string path = "/agui/threads/";
    path.append(thread).append("/runs/").append(run).append("/events").append(query);
    return path;
}

enum class store_kind { memory, sqlite };

class Reattach : public server_test, public ::testing::WithParamInterface<store_kind> {
protected:
    Reattach() {
        if (GetParam() == store_kind::sqlite) {
            use_sqlite();
        }
        answer = say("Hello");
    }

    raw_reply read_again(std::string_view query, std::string_view headers = {}) {
        return ask(get(events_path("t", "r", query), headers));
    }
};

TEST_P(Reattach, GivesTheSameBytesFromAnyNumberOn) {
    start();
    const raw_reply whole = ask(post("/agui", run_body("t", "r")));
    const std::vector<std::string> frames = frames_of(whole.body);
    ASSERT_GE(frames.size(), 4U);

    EXPECT_EQ(read_again("").body, whole.body);
    for (std::size_t after = 0; after <= frames.size(); ++after) {
        std::string rest;
        for (std::size_t i = after; i < frames.size(); ++i) {
            rest += frames[i];
        }
        const raw_reply reply = read_again("?after=" + std::to_string(after));
        EXPECT_EQ(reply.status, rest.empty() ? 204 : 200);
        EXPECT_TRUE(reply.complete);
        EXPECT_EQ(reply.body, rest) << "after " << after;
    }
}

TEST_P(Reattach, OnceItsPeriodIsOverARunIsReadWithFewerDeltasOrNotAtAll) {
    settings.session.replay = std::chrono::seconds(0);
    answer = say("One");
    answer.body = text_frame("One, ") + answer.body;
    start();
    const raw_reply whole = ask(post("/agui", run_body("t", "r")));
    const std::vector<std::string> frames = frames_of(whole.body);

    const raw_reply reply = read_again("");

    if (GetParam() == store_kind::memory) {
        EXPECT_EQ(reply.status, 410);
        EXPECT_EQ(read_again("?after=" + std::to_string(frames.size())).status, 410);
        return;
    }
    const std::vector<std::string> joined = frames_of(reply.body);
    ASSERT_EQ(joined.size(), frames.size() - 1);
    EXPECT_THAT(joined, ::testing::Contains(HasSubstr(R"("delta":"One, One"})")));
    EXPECT_EQ(joined.front(), frames.front());
    EXPECT_EQ(joined.back(), frames.back());
    // The reader has the first of the two joined deltas.
    EXPECT_THAT(read_again("?after=3").body, HasSubstr(R"("delta":"One"})"));
}

TEST_P(Reattach, TheHeaderOfAReconnectCountsMoreThanTheQuery) {
    start();
    const std::size_t count = frames_of(ask(post("/agui", run_body("t", "r"))).body).size();

    const raw_reply reply =
        read_again("?after=0", "Last-Event-ID: " + std::to_string(count - 1) + "\r\n");

    EXPECT_EQ(frames_of(reply.body).size(), 1U);
    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
}

TEST_P(Reattach, AnEventSourceThatHasTheWholeRunIsToldToStop) {
    start();
    const std::string count =
        std::to_string(frames_of(ask(post("/agui", run_body("t", "r"))).body).size());

    const raw_reply reply = read_again("", "Last-Event-ID: " + count + "\r\n");
    EXPECT_EQ(reply.status, 204);
    EXPECT_EQ(reply.header("content-type"), "");
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(read_again("?form=chat-stream&responseMode=full&after=" + count).status, 204);
    EXPECT_EQ(read_again("?form=chat-stream&after=" + count).status, 204);
    EXPECT_EQ(read_again("?protocolVersion=&after=" + count).status, 204);
    // A repeated POST of the run is answered with its events.
    EXPECT_EQ(
        ask(post("/agui", run_body("t", "r"), "Last-Event-ID: " + count + "\r\n")).status, 200
    );
}

TEST_P(Reattach, RefusesCursorsThatNoEventHas) {
    start();
    const std::size_t count = frames_of(ask(post("/agui", run_body("t", "r"))).body).size();

    EXPECT_EQ(read_again("?after=" + std::to_string(count)).status, 204);
    EXPECT_EQ(code_of(read_again("?after=" + std::to_string(count + 1))), "cursor_expired");
    EXPECT_EQ(code_of(read_again("?after=x")), "bad_cursor");
    EXPECT_EQ(code_of(read_again("?after=-1")), "bad_cursor");
    EXPECT_EQ(code_of(read_again("?after=99999999999999999999")), "bad_cursor");
    EXPECT_EQ(code_of(read_again("?after=%zz")), "invalid_input");
    EXPECT_EQ(code_of(ask(get(events_path("t", "other")))), "not_found");
    EXPECT_EQ(code_of(ask(get(events_path("other", "r")))), "not_found");
}

TEST_P(Reattach, SpeaksAsItDidOrAsAsked) {
    start();
    const std::string declared =
        R"({"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u","role":"user","content":"x"}]})";
    const raw_reply first = ask(post("/agui", declared));
    ASSERT_THAT(first.body, HasSubstr(R"("protocolVersion":"1.0")"));

    EXPECT_EQ(read_again("").body, first.body);
    EXPECT_THAT(read_again("?protocolVersion=1.1").body, HasSubstr(R"("protocolVersion":"1.1")"));
    EXPECT_THAT(read_again("?protocolVersion=").body, Not(HasSubstr("protocolVersion")));
    EXPECT_EQ(code_of(read_again("?protocolVersion=2.0")), "unsupported_protocol_version");
}

TEST_P(Reattach, FollowsARunUnderWay) {
    answer = say_and_stall("Hello");
    start();
    raw_client first(port());
    first.send(post("/agui", run_body("t", "r")));
    const std::string seen = first.read_until("Hello");
    first.close();

    raw_client second(port());
    second.send(get(events_path("t", "r", "?after=1")));
    const std::string again = second.read_until("Hello");
    EXPECT_THAT(again, Not(HasSubstr("RUN_STARTED")));
    EXPECT_EQ(code_of(read_again("?after=1000")), "cursor_expired");
    ask(post("/agui/cancel", R"({"threadId":"t"})"));

    EXPECT_THAT(second.read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
}

TEST_P(Reattach, ARepeatUnderAnIdempotencyKeyReadsTheFirstRun) {
    start();
    const std::string header = "Idempotency-Key: k1\r\n";
    const std::string body = run_body("t", "r1");
    const raw_reply first = ask(post("/agui", body, header));
    std::string again = body;
    again.replace(again.find(R"("runId":"r1")"), 12, R"("runId":"r2")");

    EXPECT_EQ(ask(post("/agui", again, header)).body, first.body);
    EXPECT_EQ(code_of(ask(get(events_path("t", "r2")))), "not_found")
        << "the repeat started no run";
    EXPECT_EQ(
        code_of(ask(post("/agui", run_body("t", "r3", "something else"), header))), "run_id_reused"
    );
    EXPECT_EQ(
        code_of(ask(
            post("/agui", run_body("t", "r4"), "Idempotency-Key: " + std::string(513, 'k') + "\r\n")
        )),
        "invalid_input"
    );
}

TEST_P(Reattach, RecognisesARepeatWhateverTheOrderOfItsMembers) {
    start();
    const raw_reply first = ask(post(
        "/agui",
        R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}]})"
    ));

    EXPECT_EQ(
        ask(post(
                "/agui",
                R"({ "messages":[{"content":"x","role":"user","id":"u"}], "runId":"r", "threadId":"t" })"
            ))
            .body,
        first.body
    );
    EXPECT_EQ(
        code_of(ask(post(
            "/agui",
            R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"y"}]})"
        ))),
        "run_id_reused"
    );
}

TEST_P(Reattach, AnEphemeralRunLeavesNoThread) {
    start();
    std::string body = run_body("t", "r");
    body.replace(body.find(R"("forwardedProps":{})"), 19, R"("forwardedProps":{"ephemeral":true})");

    const raw_reply first = ask(post("/agui", body));

    EXPECT_THAT(first.body, HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(ask(post("/agui", body)).body, first.body) << "a repeat runs nothing twice";
    EXPECT_EQ(read_again("").body, first.body);
    EXPECT_THAT(ask(get("/agui/threads")).body, HasSubstr(R"("threads":[])"));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, Reattach, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& of) { return of.param == store_kind::memory ? "Memory" : "Sqlite"; }
);

// While this object exists, every write to a file fails, as on a full disk.
class full_disk {
public:
    full_disk() {
        std::signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        rlimit full = before_;
        full.rlim_cur = 1;
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    }
    ~full_disk() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;

private:
    rlimit before_{};
};

class FullDisk : public server_test, public ::testing::WithParamInterface<session::durability> {
protected:
    FullDisk() {
        use_sqlite();
        settings.session.durability = GetParam();
    }
};

INSTANTIATE_TEST_SUITE_P(
    Durability, FullDisk,
    ::testing::Values(session::durability::process, session::durability::power),
    [](const auto& info) { return info.param == session::durability::power ? "Power" : "Process"; }
);

TEST_P(FullDisk, ARunWhoseEndCannotBeStoredIsEndedLater) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    const std::string seen = client.read_until("Hello\"}\n\n");
    std::string end;
    {
        const full_disk nothing_is_written;
        ask(post("/agui/cancel", R"({"threadId":"t"})"));
        end = client.read_until("store_unavailable");
        EXPECT_EQ(ask(get("/agui/threads/t/messages")).status, 200) << "what is stored can be read";
        EXPECT_EQ(code_of(ask(post("/agui", run_body("t2", "r")))), "store_unavailable");
        EXPECT_EQ(ask(get("/readyz")).status, 503);
        EXPECT_EQ(ask(get("/readyz")).status, 503) << "it has tried again";
    }

    // The stream closes everything that is open before it ends. Events that are not stored have no
    // number.
    EXPECT_THAT(end, HasSubstr("\r\ndata: {\"type\":\"TEXT_MESSAGE_END\""));
    EXPECT_THAT(end, Not(HasSubstr("id: ")));
    // The disk has room again, so a new reader gets the durable end, and the thread can continue.
    const raw_reply again = ask(get(events_path("t", "r")));
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_THAT(again.body, HasSubstr("\nid: 4\ndata: {\"type\":\"TEXT_MESSAGE_END\""));
    EXPECT_THAT(again.body, HasSubstr(R"("code":"internal")"));
    EXPECT_THAT(ask(get("/agui/threads/t/messages")).body, HasSubstr(R"("content":"Hello")"))
        << "what was said is kept";
    raw_client next(port()); // Its answer stalls, too.
    next.send(post("/agui", run_body("t2", "r")));
    EXPECT_EQ(next.read_head().status, 200);
}

class LaggingReader : public server_test {};

TEST_F(LaggingReader, IsCutOffAndCanComeBack) {
    settings.server.reader_buffer_bytes = 16'384;
    settings.server.lag = std::chrono::milliseconds(600);
    answer = flood();
    start();
    raw_client slow(port(), small_window);
    slow.send(post("/agui", run_body("t", "r")));
    ASSERT_EQ(slow.read_head().status, 200);
    slow.read_slowly(4'000, std::chrono::milliseconds(5));
    raw_reply taken;
    taken.headers["transfer-encoding"] = "chunked";
    slow.read_body(taken);

    EXPECT_FALSE(taken.complete) << "a clean end would be taken for success";
    EXPECT_THAT(taken.body, HasSubstr(": cut off"));
    const std::size_t last = taken.body.rfind("\nid: ");
    ASSERT_NE(last, std::string::npos);
    const std::string cursor =
        taken.body.substr(last + 5, taken.body.find('\n', last + 5) - last - 5);
    raw_client again(port());
    again.send(get(events_path("t", "r", "?after=" + cursor)));
    EXPECT_THAT(
        again.read_until("data: "),
        HasSubstr("\r\nid: " + std::to_string(std::stoull(cursor) + 1) + "\n")
    );
    ask(post("/agui/cancel", R"({"threadId":"t"})"));
}

// It reads so slowly that the kernel reports room in its buffer less often than a stall may last.
TEST_F(LaggingReader, IsNotTakenForOneThatTakesNothing) {
    settings.server.stall = std::chrono::milliseconds(2000);
    answer = say_and_stall(std::string(10'000, 'x'));
    const std::string piece = answer.body;
    for (int i = 1; i < 80; ++i) {
        answer.body += piece;
    }
    answer.stall_after_frames = 80;
    start();
    raw_client slow(port(), small_window);
    slow.send(post("/agui", run_body("t", "r")));
    ASSERT_EQ(slow.read_head().status, 200);

    EXPECT_TRUE(slow.read_slowly(500, std::chrono::milliseconds(20), 200));
    ask(post("/agui/cancel", R"({"threadId":"t"})"));
}

} // namespace
} // namespace agui::test
