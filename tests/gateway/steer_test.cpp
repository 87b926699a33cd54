// User messages for a run that is active: POST /agui/steer.

#include "tests/gateway/steer_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Steer : public steer_test {};

INSTANTIATE_TEST_SUITE_P(
    Stores, Steer, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& info) { return info.param == store_kind::memory ? "memory" : "sqlite"; }
);

TEST_P(Steer, AMessageMakesTheRunGoOnInsteadOfEnding) {
    start();
    ASSERT_TRUE(let_wait("s"));

    model.answer({.text = "One"});
    const raw_reply answer = steering->read_reply();
    model.answer({.text = "Two"});
    const std::string stream = rest_of(*reader);

    EXPECT_EQ(answer.status, 200);
    const std::string number = std::to_string(number_of(stream, "MESSAGES_SNAPSHOT"));
    EXPECT_EQ(answer.body, R"({"taken":true,"runId":"r","seq":)" + number + "}");
    EXPECT_THAT(
        types_of(stream),
        ElementsAre(
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"
        )
    );
    EXPECT_EQ(conversation(), "r-u - s -");
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: text of s"));
    EXPECT_THAT(
        events_of("r").body, HasSubstr(stream.substr(stream.find("data: {\"type\":\"MESS"), 200))
    );
}

TEST_P(Steer, AMessageComesAfterTheResultsOfARound) {
    options.tools.add(
        {"paint", "", {}},
        [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            co_return runner::tool_outcome{runner::tool_outcome::kind::result, std::string("red")};
        }
    );
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto steering = steer("s", "r");
    ASSERT_TRUE(places.wait_for("steer.waits"));

    model.answer({.call_id = "c"});
    EXPECT_EQ(steering->read_reply().status, 200);
    model.answer({.text = "Two"});

    EXPECT_THAT(types_of(rest_of(*reader)).back(), "RUN_FINISHED");
    EXPECT_EQ(conversation(), "r-u - result s -");
}

TEST_P(Steer, AHandOffReturnsTheMessage) {
    start();
    ASSERT_TRUE(let_wait("s"));

    model.answer({.call_id = "c"});
    const raw_reply refused = steering->read_reply();
    rest_of(*reader);

    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "run_ended");
    EXPECT_THAT(conversation(), Not(HasSubstr("s")));
    EXPECT_EQ(ask(post("/agui/steer", steer_body("s"))).status, 409) << "no run is active";
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(Steer, AStopReturnsTheMessage) {
    start();
    ASSERT_TRUE(let_wait("s"));

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");

    EXPECT_EQ(error_code(steering->read_reply()), "run_ended");
    rest_of(*reader);
    EXPECT_EQ(conversation(), "r-u");
}

TEST_P(Steer, AFailureOfTheModelReturnsTheMessage) {
    start();
    ASSERT_TRUE(let_wait("s"));

    model.answer({.fails = true});

    EXPECT_EQ(error_code(steering->read_reply()), "run_ended");
    EXPECT_THAT(rest_of(*reader), HasSubstr("RUN_ERROR"));
    EXPECT_THAT(conversation(), Not(HasSubstr("s")));
}

TEST_P(Steer, OnlyAnActiveRunTakesAMessage) {
    start();
    EXPECT_EQ(error_code(ask(post("/agui/steer", steer_body("s")))), "run_ended");
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(error_code(ask(post("/agui/steer", steer_body("s", "other")))), "run_ended");
    EXPECT_EQ(error_code(ask(post("/agui/steer", steer_body("s", "", "u")))), "run_ended");

    model.answer({.text = "One"});
    rest_of(*reader);
    EXPECT_EQ(error_code(ask(post("/agui/steer", steer_body("s", "r")))), "run_ended");
    EXPECT_EQ(conversation(), "r-u -");
}

TEST_P(Steer, ARepeatGetsTheSameAnswer) {
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto first = steer("s");
    ASSERT_TRUE(places.wait_for("steer.waits"));
    const auto second = steer("s");
    ASSERT_TRUE(places.wait_for("steer.waits", 2));

    model.answer({.text = "One"});
    const raw_reply answer = first->read_reply();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(second->read_reply().body, answer.body);
    EXPECT_EQ(ask(post("/agui/steer", steer_body("s"))).body, answer.body) << "taken, and active";
    model.answer({.text = "Two"});
    rest_of(*reader);
    EXPECT_EQ(ask(post("/agui/steer", steer_body("s"))).body, answer.body) << "after its end";
    EXPECT_EQ(
        ask(post("/agui/steer", steer_body("r-u"))).body, R"({"taken":true,"runId":"r","seq":1})"
    ) << "the run began with it";
    if (GetParam() == store_kind::sqlite) {
        server.reset();
        use_model();
        start();
        EXPECT_EQ(ask(post("/agui/steer", steer_body("s"))).body, answer.body) << "after a restart";
    }
    EXPECT_EQ(conversation(), "r-u - s -");
}

TEST_P(Steer, SeveralMessagesAreTakenInOrder) {
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    std::vector<std::unique_ptr<raw_client>> all;
    for (int i = 1; i <= 3; ++i) {
        all.push_back(steer("s" + std::to_string(i)));
        ASSERT_TRUE(places.wait_for("steer.waits", i));
    }

    model.answer({.text = "One"});
    model.answer({.text = "Two"});

    for (const auto& each : all) {
        EXPECT_EQ(each->read_reply().status, 200);
    }
    EXPECT_THAT(types_of(rest_of(*reader)), Contains("MESSAGES_SNAPSHOT").Times(1));
    EXPECT_EQ(conversation(), "r-u - s1 s2 s3 -");
}

TEST_P(Steer, TheWaitingMessagesAreLimited) {
    settings.session.queue_max = 1;
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto first = steer("s1");
    ASSERT_TRUE(places.wait_for("steer.waits"));

    const raw_reply refused = ask(post("/agui/steer", steer_body("s2")));

    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "queue_full");
    model.answer({.text = "One"});
    EXPECT_EQ(first->read_reply().status, 200);
    model.answer({.text = "Two"});
    rest_of(*reader);
    EXPECT_EQ(conversation(), "r-u - s1 -");
}

TEST_P(Steer, AThreadDoesNotOutgrowItsLimit) {
    settings.session.max_thread_bytes = 65'536;
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    std::string body = steer_body("s");
    body.replace(body.find("text of s"), 9, std::string(65'536, 'x'));

    const raw_reply refused = ask(post("/agui/steer", body));

    EXPECT_EQ(refused.status, 413);
    EXPECT_EQ(error_code(refused), "body_too_large");
    model.answer({.text = "One"});
    rest_of(*reader);
    EXPECT_EQ(conversation(), "r-u -");
}

TEST_P(Steer, OnlyUserMessagesAreTaken) {
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const std::vector<std::string> wrong = {
        R"({"threadId":"t"})",
        R"({"message":{"id":"s","role":"user","content":"x"}})",
        R"({"threadId":"t","message":{"role":"user","content":"x"}})",
        R"({"threadId":"t","message":{"id":"s","role":"assistant","content":"x"}})",
        R"({"threadId":"t","message":{"id":"s","role":"system","content":"x"}})",
        R"({"threadId":"t","message":{"id":"s","role":"tool","toolCallId":"c","content":"x"}})",
        R"({"threadId":"t","message":{"id":"s","role":"other","content":"x"}})",
        R"({"threadId":"t","message":{"id":"s","role":"user","content":7}})",
        R"({"threadId":"t","message":"hello"})",
        R"({"threadId":"t","runId":7,"message":{"id":"s","role":"user","content":"x"}})",
        R"([])",
    };
    for (const std::string& body : wrong) {
        const raw_reply refused = ask(post("/agui/steer", body));
        EXPECT_EQ(refused.status, 422) << body;
        EXPECT_EQ(error_code(refused), "invalid_input") << body;
    }
    EXPECT_EQ(ask(post("/agui/steer", "{")).status, 400);
    model.answer({.text = "One"});
    rest_of(*reader);
    EXPECT_EQ(conversation(), "r-u -");
}

TEST_P(Steer, AnIdOfAnotherMessageIsRefused) {
    start();
    ASSERT_TRUE(let_wait("s"));
    model.answer({.text = "One"});
    EXPECT_EQ(steering->read_reply().status, 200);
    const raw_reply thread = ask(get("/agui/threads/t/messages"));
    const std::string id(boost::json::parse(thread.body).at("messages").at(1).at("id").as_string());

    EXPECT_EQ(ask(post("/agui/steer", steer_body(id))).status, 422);

    model.answer({.text = "Two"});
    rest_of(*reader);
}

TEST_P(Steer, TheRequestsGoOnFromTheOnesBefore) {
    start();
    std::string body = body_of("r");
    body.insert(body.size() - 1, R"(,"context":[{"description":"cart","value":"3 items"}])");
    const auto reader = open(body);
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto steering = steer("s");
    ASSERT_TRUE(places.wait_for("steer.waits"));
    model.answer({.text = "One"});
    EXPECT_EQ(steering->read_reply().status, 200);
    model.answer({.text = "Two"});
    rest_of(*reader);
    const auto next = open(body_of("n"));
    ASSERT_TRUE(model.wait_for_calls(3));
    model.answer({.text = "Three"});
    rest_of(*next);

    const std::vector<std::string> first = model.request(0);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_THAT(first[0], HasSubstr("3 items"));
    const std::vector<std::string> second = model.request(1);
    EXPECT_THAT(second, ElementsAre(first[0], "assistant: One", "user: text of s"));
    const std::vector<std::string> third = model.request(2);
    ASSERT_EQ(third.size(), 5U);
    EXPECT_TRUE(std::equal(second.begin(), second.end(), third.begin()));
}

TEST_P(Steer, AMessageMayHoldAnAttachmentOfTheThread) {
    start();
    const raw_reply kept = ask(post(
        "/agui/threads/t/parts",
        R"({"type":"image","source":{"type":"data","value":"aGVsbG8=","mimeType":"image/png"}})"
    ));
    ASSERT_EQ(kept.status, 200) << kept.body;
    ASSERT_THAT(kept.body, Not(HasSubstr("aGVsbG8=")));
    for (const bool by_request : {false, true}) {
        const std::string number = by_request ? "2" : "1";
        const auto reader = open(body_of("r" + number));
        ASSERT_TRUE(model.wait_for_calls(by_request ? 3 : 1));
        std::string body = by_request ? body_of("q") : steer_body("s");
        const std::string text = by_request ? R"("q"}])" : R"("text of s"})";
        const std::size_t at = body.find(text);
        body.replace(at, text.find_last_of('"') + 1, "[" + kept.body + "]");
        passed_places places;
        raw_client sender(port());
        sender.send(post(by_request ? "/agui" : "/agui/steer", body));
        ASSERT_TRUE(places.wait_for(by_request ? "queue.offered" : "steer.waits"));

        model.answer({.text = "One"});
        EXPECT_EQ(sender.read_reply().status, 200);
        model.answer({.text = "Two"});
        rest_of(*reader);
    }

    EXPECT_EQ(conversation(), "r1-u - s - r2-u - q-u -");
    const std::string stored = ask(get("/agui/threads/t/messages")).body;
    const std::size_t first = stored.find("aGVsbG8=");
    ASSERT_NE(first, std::string::npos) << stored;
    EXPECT_NE(stored.find("aGVsbG8=", first + 1), std::string::npos) << stored;
}

TEST_P(Steer, AnEphemeralRunTakesAMessage) {
    start();
    std::string body = body_of("r");
    body.insert(body.size() - 1, R"(,"forwardedProps":{"ephemeral":true})");
    const auto reader = open(body);
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto steering = steer("s");
    ASSERT_TRUE(places.wait_for("steer.waits"));

    model.answer({.text = "One"});
    EXPECT_EQ(steering->read_reply().status, 200);
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*reader), HasSubstr("Two"));
    EXPECT_THAT(model.request(1), Contains("user: text of s"));
}

#endif

} // namespace
} // namespace agui::test
