// Runs as protobuf: who gets them in this form, and that a broken stream is never taken for a whole
// one.

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"
#include "tests/translator/protobuf/decoded_event.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view media_type = "application/vnd.ag-ui.event+proto";
constexpr std::string_view wants_protobuf = "Accept: application/vnd.ag-ui.event+proto\r\n";
constexpr std::string_view events_of_run = "/agui/threads/t/runs/r/events";

/// Takes the next whole frame from the beginning of a body; nullopt if there is none.
std::optional<json::value> take_frame(std::string_view& body) {
    static const proto_file proto = read_proto_file(AGUI_PROTO_FILE);
    constexpr std::size_t head = 4;
    std::size_t length = 0;
    for (const char byte : body.substr(0, head)) {
        length = length << 8U | static_cast<unsigned char>(byte);
    }
    if (body.size() < head || body.size() - head < length) {
        return std::nullopt;
    }
    json::value event = decode_event(proto, body.substr(head, length));
    body.remove_prefix(head + length);
    return event;
}

/// The events of a body, which ends with a whole frame.
std::vector<json::value> decoded(std::string_view body) {
    std::vector<json::value> events;
    while (auto event = take_frame(body)) {
        events.push_back(std::move(*event));
    }
    EXPECT_EQ(body.size(), 0U) << "bytes after the last frame";
    return events;
}

/// The events of a body of server-sent events, as they are decoded.
std::vector<json::value> parsed(std::string_view body) {
    constexpr std::string_view data = "\ndata: ";
    std::vector<json::value> events;
    for (std::size_t at = body.find(data); at != std::string_view::npos; at = body.find(data, at)) {
        at += data.size();
        events.push_back(as_decoded(json::parse(body.substr(at, body.find('\n', at) - at))));
    }
    return events;
}

std::string type_of(const json::value& event) { return std::string(event.at("type").as_string()); }

class Protobuf : public server_test {
protected:
    /// A run that stops when the test says so, read by two clients: one of each form.
    void begin_stalled(raw_client& binary) const {
        binary.send(post("/agui", run_body("t", "r"), wants_protobuf));
        const raw_reply head = binary.read_head();
        ASSERT_EQ(head.status, 200);
        ASSERT_EQ(head.header("content-type"), media_type);
    }
    void stop() const {
        ASSERT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    }
    static raw_reply rest_of(raw_client& client) {
        raw_reply reply;
        reply.headers["transfer-encoding"] = "chunked";
        client.read_body(reply);
        return reply;
    }
};

TEST_F(Protobuf, ShowsTheEventsThatServerSentEventsShow) {
    answer = call_tool("page_tool", R"({"text":"\"你好\"\n"})");
    start();
    std::string body = run_body("t", "r", "say \"hi\"\n😀");
    body.replace(
        body.find(R"("tools":[])"), 10,
        R"("protocolVersion":"1.1","tools":[{"name":"page_tool","description":"d"}])"
    );

    const raw_reply binary = ask(post("/agui", body, wants_protobuf));
    const raw_reply text = ask(post("/agui", body));

    EXPECT_TRUE(binary.complete);
    EXPECT_EQ(binary.header("content-type"), media_type);
    EXPECT_EQ(text.header("content-type"), "text/event-stream; charset=utf-8");
    const std::vector<json::value> events = decoded(binary.body);
    EXPECT_EQ(events, parsed(text.body));
    EXPECT_EQ(type_of(events.front()), "RUN_STARTED");
    EXPECT_EQ(events.back().at("outcome").at("pendingToolCallIds").as_array().size(), 1U);
}

TEST_F(Protobuf, IsTheFormOfEachStreamOfEvents) {
    start();
    EXPECT_THAT(ask(get("/agui/capabilities")).body, HasSubstr(R"("httpBinary":true)"));
    const raw_reply run = ask(post("/agui/agents/default", run_body("t", "r"), wants_protobuf));
    ASSERT_EQ(run.header("content-type"), media_type);

    const raw_reply again = ask(get(events_of_run, wants_protobuf));
    EXPECT_EQ(again.header("content-type"), media_type);
    EXPECT_EQ(again.body, run.body);

    const std::string path = std::string(events_of_run) + "?after=2";
    const raw_reply rest = ask(get(path, wants_protobuf));
    EXPECT_EQ(decoded(rest.body), parsed(ask(get(path)).body));
    EXPECT_LT(rest.body.size(), run.body.size());

    const std::string asks = R"({"threadId":"t","runId":"h","messages":[]})";
    const raw_reply history = ask(post("/agui/history", asks, wants_protobuf));
    EXPECT_EQ(history.header("content-type"), media_type);
    std::vector<std::string> types;
    for (const json::value& event : decoded(history.body)) {
        types.push_back(type_of(event));
    }
    EXPECT_THAT(types, ElementsAre("RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"));
    EXPECT_THAT(decoded(history.body)[1].at("messages").as_array(), SizeIs(2));
}

TEST_F(Protobuf, LeavesEverythingElseAsItIs) {
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    const std::string last = std::string(events_of_run) + "?after=";

    EXPECT_EQ(
        ask(post("/chat/stream", R"({"message":"hello"})", wants_protobuf)).header("content-type"),
        "text/event-stream; charset=utf-8"
    );
    EXPECT_EQ(ask(post("/agui", "{", wants_protobuf)).header("content-type"), "application/json");
    EXPECT_EQ(ask(get(last + "5", wants_protobuf)).status, 204);
    EXPECT_EQ(ask(get(last + "99", wants_protobuf)).status, 410);
    EXPECT_EQ(
        ask(get("/agui/threads/t/messages", wants_protobuf)).header("content-type"),
        "application/json"
    );
}

TEST_F(Protobuf, ReadersOfBothFormsFollowOneRun) {
    answer = say_and_stall("Hello");
    start();
    raw_client binary(port());
    begin_stalled(binary);
    raw_client text(port());
    text.send(get(events_of_run));
    ASSERT_EQ(text.read_head().status, 200);
    raw_client follower(port());
    follower.send(post(
        "/agui/history",
        R"({"threadId":"t","runId":"h","messages":[],"forwardedProps":{"follow":true}})",
        wants_protobuf
    ));
    ASSERT_EQ(follower.read_head().header("content-type"), media_type);

    stop();

    const raw_reply all = rest_of(binary);
    EXPECT_TRUE(all.complete);
    const std::vector<json::value> events = decoded(all.body);
    EXPECT_EQ(events, parsed("\n" + rest_of(text).body));
    const raw_reply both = rest_of(follower);
    EXPECT_TRUE(both.complete);
    std::vector<json::value> followed = decoded(both.body);
    ASSERT_GT(followed.size(), events.size());
    followed.erase(followed.begin(), followed.end() - static_cast<std::ptrdiff_t>(events.size()));
    EXPECT_EQ(followed, events);
}

// A decoder takes any other bytes for the length of a frame, and a frame of no bytes is no event.
TEST_F(Protobuf, HasNoHeartbeats) {
    settings.server.heartbeat = std::chrono::milliseconds(20);
    answer = say_and_stall("Hello");
    start();
    raw_client binary(port());
    begin_stalled(binary);
    raw_client text(port());
    text.send(get(events_of_run));
    // The comments of the other reader tell that time has passed.
    for (int beats = 0; beats < 5; ++beats) {
        ASSERT_THAT(text.read_until(": keep-alive"), Not(SizeIs(0)));
    }

    stop();

    const raw_reply all = rest_of(binary);
    EXPECT_TRUE(all.complete);
    EXPECT_EQ(type_of(decoded(all.body).back()), "RUN_FINISHED");
}

// A clean end of the body would be taken for the end of the run.
TEST_F(Protobuf, AReaderThatIsCutOffSeesABrokenBody) {
    settings.server.reader_buffer_bytes = 16'384;
    settings.server.lag = std::chrono::milliseconds(600);
    answer = flood();
    start();
    raw_client slow(port(), small_window);
    slow.send(post("/agui", run_body("t", "r"), wants_protobuf));
    ASSERT_EQ(slow.read_head().status, 200);

    slow.read_slowly(4'000, std::chrono::milliseconds(5));

    const raw_reply taken = rest_of(slow);
    EXPECT_FALSE(taken.complete);
    std::string_view body = taken.body;
    ASSERT_EQ(type_of(*take_frame(body)), "RUN_STARTED");
    while (const auto event = take_frame(body)) {
        EXPECT_THAT(type_of(*event), Not("RUN_FINISHED"));
    }
    stop();
}

} // namespace
} // namespace agui::test
