// Two tabs, one pending call: the one that executes it says so.

#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class Claims : public server_test {
protected:
    ~Claims() override { server.reset(); }

    /// A run that ends with the pending call `c1` of the client's tool.
    void make_call() {
        answer = call_tool("paint");
        json::object body = json::parse(run_body("t", "r")).as_object();
        body["tools"] = {{{"name", "paint"}, {"description", ""}}};
        EXPECT_THAT(ask(post("/agui", json::serialize(body))).body, HasSubstr("RUN_FINISHED"));
    }
    static std::string claim(
        std::string_view body, std::string_view call_id = "c1", std::string_view thread_id = "t"
    ) {
        return post(
            "/agui/threads/" + std::string(thread_id) + "/calls/" + std::string(call_id) + "/claim",
            body
        );
    }
    raw_reply give_up(std::string_view holder, std::string_view call_id = "c1") const {
        std::string request = claim(R"({"holder":")" + std::string(holder) + R"("})", call_id);
        return ask(request.replace(0, 4, "DELETE"));
    }
    json::object pending_call() const {
        return json_of("/agui/threads/t/pending").at("toolCalls").as_array().at(0).as_object();
    }
};

TEST_F(Claims, TheSecondTabLearnsThatTheCallIsBeingExecuted) {
    start();
    make_call();
    EXPECT_FALSE(pending_call().contains("claimedUntil"));
    const auto before = std::chrono::duration_cast<std::chrono::milliseconds>(
                            std::chrono::system_clock::now().time_since_epoch()
    )
                            .count();

    const raw_reply first = ask(claim(R"({"holder":"tab 1"})"));

    EXPECT_EQ(first.status, 200) << first.body;
    const json::object claimed = json::parse(first.body).as_object();
    EXPECT_EQ(claimed.at("toolCallId"), "c1");
    EXPECT_EQ(claimed.at("holder"), "tab 1");
    EXPECT_GE(claimed.at("claimedUntil").as_int64(), before + 30'000);
    EXPECT_EQ(pending_call().at("claimedUntil"), claimed.at("claimedUntil"));
    const raw_reply second = ask(claim(R"({"holder":"tab 2"})"));
    EXPECT_EQ(second.status, 409);
    EXPECT_EQ(error_code(second), "claimed");
    EXPECT_EQ(ask(claim(R"({"holder":"tab 1"})")).status, 200) << "renewed";
}

TEST_F(Claims, AreGivenUpByTheirHolderOnly) {
    start();
    make_call();
    EXPECT_EQ(give_up("tab 1").status, 204) << "nobody has a claim";
    ASSERT_EQ(ask(claim(R"({"holder":"tab 1"})")).status, 200);

    const raw_reply refused = give_up("tab 2");

    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "claimed");
    EXPECT_TRUE(pending_call().contains("claimedUntil"));
    for (const char* const time : {"first", "second"}) {
        EXPECT_EQ(give_up("tab 1").status, 204) << time;
        EXPECT_FALSE(pending_call().contains("claimedUntil")) << time;
    }
    EXPECT_EQ(ask(claim(R"({"holder":"tab 2"})")).status, 200);
    EXPECT_EQ(error_code(give_up("tab 1", "other")), "not_found");
    EXPECT_EQ(error_code(give_up("")), "invalid_input");
}

// A claim binds nobody who does not ask for one.
TEST_F(Claims, AnAnswerCountsWhoeverHasTheClaim) {
    start();
    make_call();
    ASSERT_EQ(ask(claim(R"({"holder":"tab 1"})")).status, 200);
    answer = say("Painted");
    json::object body = json::parse(run_body("t", "r2")).as_object();
    body["messages"] = {{{"id", "a1"}, {"role", "tool"}, {"toolCallId", "c1"}, {"content", "done"}}
    };

    EXPECT_THAT(ask(post("/agui", json::serialize(body))).body, HasSubstr("Painted"));

    const raw_reply late = ask(claim(R"({"holder":"tab 1"})"));
    EXPECT_EQ(late.status, 404);
    EXPECT_EQ(error_code(late), "not_found");
}

TEST_F(Claims, SurviveARestart) {
    use_sqlite();
    const auto script = options.script_of;
    start();
    make_call();
    ASSERT_EQ(ask(claim(R"({"holder":"tab 1"})")).status, 200);
    server.reset();
    options.script_of = script;
    options.log = &null_logger();

    start();

    EXPECT_EQ(ask(claim(R"({"holder":"tab 2"})")).status, 409);
    EXPECT_EQ(ask(claim(R"({"holder":"tab 1"})")).status, 200);
    EXPECT_TRUE(pending_call().contains("claimedUntil"));
}

TEST_F(Claims, RefuseWhatIsNoClaim) {
    start();
    make_call();

    for (const std::string& body :
         {std::string("{}"), std::string("[]"), std::string(R"({"holder":""})"),
          std::string(R"({"holder":1})"), R"({"holder":")" + std::string(257, 'x') + R"("})"}) {
        const raw_reply reply = ask(claim(body));
        EXPECT_EQ(reply.status, 422) << body;
        EXPECT_EQ(error_code(reply), "invalid_input");
    }
    EXPECT_EQ(error_code(ask(claim("{"))), "invalid_json");
    EXPECT_EQ(ask(claim(R"({"holder":"tab 1"})", "other")).status, 404);
    EXPECT_EQ(ask(claim(R"({"holder":"tab 1"})", "c1", "other")).status, 404);
    EXPECT_EQ(ask(claim(std::string(20'000, ' '))).status, 413);
    EXPECT_FALSE(pending_call().contains("claimedUntil"));
}

} // namespace
} // namespace agui::test
