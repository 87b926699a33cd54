// The active runs of all users, which an administrator lists and ends.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <string>
#include <string_view>

namespace agui::test {
namespace {

using gateway::auth_config;
using ::testing::HasSubstr;

class AdminRuns : public server_test {
protected:
    AdminRuns() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        add_token("ada", {"run", "read"});
        add_token("eve", {"run", "read"});
        add_token("root", {"admin"});
        answer = say_and_stall("working");
        options.log = &null_logger();
    }
    ~AdminRuns() override { server.reset(); }

    void add_token(const std::string& user, std::vector<std::string> scopes) {
        gateway::token_config& added = settings.auth->tokens.emplace_back();
        added.name = user;
        added.token.value = "the-token-of-" + user;
        added.scopes = std::move(scopes);
    }
    static std::string line_for(std::string_view user) {
        return "Authorization: Bearer the-token-of-" + std::string(user) + "\r\n";
    }
    boost::json::array listed() {
        const raw_reply reply = ask(get("/agui/runs", line_for("root")));
        EXPECT_EQ(reply.status, 200);
        return boost::json::parse(reply.body).at("runs").as_array();
    }
    raw_reply end_as(std::string_view user, std::string_view handle) {
        std::string request = get("/agui/runs/" + std::string(handle), line_for(user));
        return ask(request.replace(0, 3, "DELETE"));
    }
};

TEST_F(AdminRuns, AreListedAndEndedOneByOne) {
    start();
    // Both users have the same ids.
    raw_client ada(port());
    ada.send(post("/agui", run_body("t", "r"), line_for("ada")));
    EXPECT_THAT(ada.read_until("working"), HasSubstr("working"));
    raw_client eve(port());
    eve.send(post("/agui", run_body("t", "r"), line_for("eve")));
    EXPECT_THAT(eve.read_until("working"), HasSubstr("working"));

    const auto runs = listed();

    ASSERT_EQ(runs.size(), 2U);
    EXPECT_NE(runs[0].at("handle"), runs[1].at("handle"));
    const bool first_is_ada = runs[0].at("user").as_string() == "ada";
    const boost::json::value& of_ada = runs[first_is_ada ? 0 : 1];
    EXPECT_EQ(of_ada.at("user").as_string(), "ada");
    EXPECT_EQ(of_ada.at("tenant").as_string(), "");
    EXPECT_EQ(of_ada.at("threadId").as_string(), "t");
    EXPECT_EQ(of_ada.at("runId").as_string(), "r");
    EXPECT_EQ(of_ada.at("agentId").as_string(), "default");
    EXPECT_GT(of_ada.at("startedAt").as_int64(), 0);
    EXPECT_EQ(of_ada.at("readers").as_int64(), 1);

    const std::string handle(of_ada.at("handle").as_string());
    EXPECT_EQ(end_as("eve", handle).status, 403);
    EXPECT_EQ(end_as("root", handle).body, R"({"cancelled":true})");
    const auto left = listed();
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].at("user").as_string(), "eve");
    EXPECT_EQ(end_as("root", left[0].at("handle").as_string()).body, R"({"cancelled":true})");
    EXPECT_TRUE(listed().empty());
}

TEST_F(AdminRuns, OtherTextsAreNoHandles) {
    start();
    for (const std::string_view wrong : {"x", "W10", "WzEsMiwzXQ", "WyJhIiwiYiJd"}) {
        EXPECT_EQ(end_as("root", wrong).status, 404) << wrong;
    }
}

} // namespace
} // namespace agui::test
