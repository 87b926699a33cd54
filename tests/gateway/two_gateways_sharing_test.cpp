// A thread that is opened to another user, through two gateways.

#include "tests/gateway/two_gateways_fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class TwoGatewaysSharing : public TwoGateways {
protected:
    TwoGatewaysSharing() {
        settings.auth.emplace();
        settings.auth->kind = gateway::auth_config::mode::bearer;
        for (const std::string user : {"ada", "eve", "bob"}) {
            gateway::token_config& added = settings.auth->tokens.emplace_back();
            added.name = user;
            added.token.value = "the-token-of-" + user;
            added.scopes = {"run", "read"};
        }
        settings.session.on_busy = gateway::busy_policy::enqueue;
    }

    static std::string line_of(std::string_view user) {
        return "Authorization: Bearer the-token-of-" + std::string(user) + "\r\n";
    }
    static std::string
    patch_of(std::string_view user, std::string_view path, std::string_view body) {
        return post(path, body, line_of(user)).replace(0, 4, "PATCH");
    }
    /// A run of ada's thread `t` at A; opens the thread to eve, at B, and returns its shared id.
    std::string share_active(std::string_view rights) {
        start_both();
        ada = open(a(), post("/agui", run_body("t", "r"), line_of("ada")));
        EXPECT_TRUE(model.wait_for_calls(1));
        const raw_reply opened = ask_at(
            b(), patch_of(
                     "ada", "/agui/threads/t/access",
                     R"({"access":[{"user":"eve","rights":")" + std::string(rights) + "\"}]}"
                 )
        );
        EXPECT_EQ(opened.status, 200) << opened.body;
        return std::string(boost::json::parse(opened.body).at("sharedId").as_string());
    }

    std::unique_ptr<raw_client> ada;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGatewaysSharing,
    ::testing::Values(common_store_kind::doors, common_store_kind::postgres), name_of_store
);

TEST_P(TwoGatewaysSharing, AWriterUsesTheRunOfTheOtherGateway) {
    const std::string id = share_active("write");
    const std::string shown = R"("threadId":")" + id + '"';

    const auto reader =
        open(b(), get("/agui/threads/" + id + "/runs/r/events", line_of("eve")), shown);
    EXPECT_EQ(
        ask_at(b(), patch_of("eve", "/agui/threads/" + id + "/state", R"({"a":1})")).status, 200
    );
    const auto queued =
        open(b(), post("/agui", run_body(id, "r2", "words of eve"), line_of("eve")), shown);
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});

    const std::string first = rest_of(*reader);
    EXPECT_THAT(first, HasSubstr("One"));
    EXPECT_THAT(first, HasSubstr(shown));
    EXPECT_THAT(first, Not(HasSubstr(R"("threadId":"t")")));
    const std::string second = rest_of(*queued);
    EXPECT_THAT(second, HasSubstr("Two"));
    EXPECT_THAT(second, HasSubstr(shown));
    EXPECT_THAT(second, Not(HasSubstr(R"("threadId":"t")")));
    EXPECT_THAT(rest_of(*ada), HasSubstr(R"("threadId":"t")"));
    EXPECT_THAT(
        ask_at(a(), get("/agui/threads/t/messages", line_of("ada"))).body, HasSubstr("words of eve")
    );
}

TEST_P(TwoGatewaysSharing, ToolsOfAPassedRequestGetItsSenderAndItsHeaders) {
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "hook";
    hook.url = "http://127.0.0.1:1/";
    hook.callers.from = "x-hook-token";
    std::promise<runner::tool_invocation> seen;
    options.tools.add(
        {"paint", "", {}},
        [&seen](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
            seen.set_value(std::move(call));
            co_return runner::tool_outcome{runner::tool_outcome::kind::result, "done"};
        }
    );
    const std::string id = share_active("write");

    const auto queued = open(
        b(), post("/agui", run_body(id, "r2"), line_of("eve") + "X-Hook-Token: of-eve\r\n"),
        R"("threadId":")" + id + '"'
    );
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.call_id = "c1"});
    ASSERT_TRUE(model.wait_for_calls(3));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*queued), HasSubstr("RUN_FINISHED"));

    const runner::tool_invocation call = seen.get_future().get();
    EXPECT_EQ(call.principal, "ada");
    EXPECT_EQ(call.sender, "eve");
    EXPECT_THAT(call.headers, ElementsAre(Pair("x-hook-token", "of-eve")));
}

TEST_P(TwoGatewaysSharing, AWriterStopsTheRunOfTheOtherGateway) {
    const std::string id = share_active("write");
    const std::string stop = R"({"threadId":")" + id + "\"}";

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", stop, line_of("bob"))).body, R"({"cancelled":false})"
    );
    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", stop, line_of("eve"))).body, R"({"cancelled":true})"
    );
}

TEST_P(TwoGatewaysSharing, AReaderChangesNothingThroughTheOtherGateway) {
    const std::string id = share_active("read");

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", R"({"threadId":")" + id + "\"}", line_of("eve"))).status,
        403
    );
    EXPECT_EQ(ask_at(b(), post("/agui", run_body(id, "r2"), line_of("eve"))).status, 403);
    EXPECT_EQ(
        ask_at(b(), patch_of("eve", "/agui/threads/" + id + "/state", R"({"a":1})")).status, 403
    );
    EXPECT_EQ(ask_at(b(), get("/agui/threads/" + id + "/state", line_of("bob"))).status, 404);
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*ada), HasSubstr("One"));
}

} // namespace
} // namespace agui::test
