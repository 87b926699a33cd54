#include "runner/loop/bound_data.hpp"

#include "session/conversation/prompt_record.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/array.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using session::message;
using session::turn_block;
using session::turn_origin;

/// A conversation with one model, request by request.
class talk {
public:
    /// Sends a request with these additional messages, and returns the messages that it has.
    const std::vector<message>& ask(const std::vector<message>& more = {}) {
        stored.insert(stored.end(), more.begin(), more.end());
        sent = stored;
        model_request request;
        request.instructions = instructions;
        request.tools = &tools;
        request.messages = &sent;
        request.adds_tools = adds_tools;
        request_parts parts = parts_of(request);
        prefix_ = bind_data(sent, parts, owner);
        left_out = parts.left_out;
        return sent;
    }

    /// The model answers the last request, with signed thoughts.
    void answer(std::string id) {
        turn_origin origin;
        origin.provider = owner.provider;
        origin.model = owner.model;
        origin.account = owner.account;
        origin.prefix = prefix_;
        origin.data = {{"reasoning", "content"}, {"blocks", boost::json::array{"signed"}}};
        origin.blocks.push_back({turn_block::kind::call, "c1", 0, "signature"});
        message made = test::assistant(std::move(id), "Here.");
        made.origin = std::make_shared<const turn_origin>(std::move(origin));
        stored.push_back(std::move(made));
    }

    /// The beginning of the last request.
    [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }

    data_owner owner{.provider = "main", .model = "m", .account = "a"};
    std::string instructions = "Be brief.";
    std::vector<tool_definition> tools = {{"paint", "", {}}};
    bool adds_tools = false;
    std::vector<message> stored;
    std::vector<message> sent;
    std::optional<std::size_t> left_out; ///< request_parts::left_out of the last request

private:
    std::string prefix_;
};

/// Says how much of the answer's data is left: "all", "plain" (without bound data) or "none".
std::string data_of(const message& answer) {
    if (!answer.origin) {
        return "none";
    }
    const bool is_whole =
        answer.origin->data.contains("blocks") && !answer.origin->blocks.at(0).data.is_null();
    const bool is_plain = !answer.origin->data.contains("blocks") &&
                          answer.origin->data.contains("reasoning") &&
                          answer.origin->blocks.at(0).data.is_null();
    return is_whole ? "all" : is_plain ? "plain" : "?";
}

class BoundData : public ::testing::Test {
protected:
    BoundData() {
        (void)said.ask({test::user("u1", "Hi")});
        said.answer("a1");
        (void)said.ask({test::user("u2", "And?")});
        said.answer("a2");
    }
    std::string first() { return data_of(said.ask({test::user("u3", "So?")}).at(1)); }
    std::string second() { return data_of(said.sent.at(3)); }

    talk said;
};

TEST(BoundDataOfAPause, IsAllThatTheAnswerHas) {
    talk said;
    message paused = test::assistant("a1", "");
    turn_origin origin;
    origin.provider = said.owner.provider;
    origin.model = said.owner.model;
    origin.account = said.owner.account;
    origin.data = {{"blocks", boost::json::array{"signed"}}};
    origin.end = session::turn_end::paused;
    const auto pause = [&](std::string prefix) {
        origin.prefix = std::move(prefix);
        paused.origin = std::make_shared<const turn_origin>(origin);
        said.stored = {
            test::user("u1", "Hi"), test::other(session::role::reasoning, "r1", "Hm"), paused
        };
    };
    (void)said.ask({test::user("u1", "Hi")});

    pause(said.prefix());
    EXPECT_EQ(said.ask().size(), 3U);
    said.owner.provider = "another";
    EXPECT_EQ(said.ask().size(), 1U);
    said.owner.provider = "main";
    pause("0.0");
    EXPECT_EQ(said.ask({test::user("u2", "And?")}).size(), 2U);
}

TEST_F(BoundData, GoesBackWhileTheBeginningStands) {
    EXPECT_EQ(first(), "all");
    EXPECT_EQ(second(), "all");
}

TEST_F(BoundData, IsLeftOutWhereTheInstructionsChanged) {
    said.instructions = "Be verbose.";
    EXPECT_EQ(first(), "plain");
    EXPECT_EQ(second(), "plain");
}

TEST_F(BoundData, IsLeftOutBehindAMessageThatChanged) {
    said.stored.at(2).content = std::string("Well?");
    EXPECT_EQ(first(), "all");
    EXPECT_EQ(second(), "plain");
}

TEST_F(BoundData, IsLeftOutBehindDataThatIsLeftOut) {
    auto origin = std::make_shared<turn_origin>(*said.stored.at(1).origin);
    origin->prefix = "0.1";
    said.stored.at(1).origin = origin;
    EXPECT_EQ(first(), "plain");
    EXPECT_EQ(second(), "plain") << "it was made with the other data before it";
}

TEST_F(BoundData, GoesToItsProviderModelAndAccountOnly) {
    said.owner.account = "b";
    EXPECT_EQ(first(), "plain") << "plain reasoning is bound to no account";
    said.owner = {.provider = "main", .model = "n", .account = "a"};
    EXPECT_EQ(data_of(said.ask().at(1)), "none");
    said.owner = {.provider = "other", .model = "m", .account = "a"};
    EXPECT_EQ(data_of(said.ask().at(1)), "none");
    said.owner = {.provider = "main", .model = "m", .account = "a"};
    EXPECT_EQ(data_of(said.ask().at(1)), "all") << "it stays stored";
}

TEST_F(BoundData, TheRequestSaysWhetherTheLastAnswerLostSome) {
    (void)first();
    EXPECT_EQ(said.left_out, std::nullopt);
    said.owner.account = "b";
    (void)said.ask();
    EXPECT_EQ(said.left_out, 3U);
    said.answer("a3");
    (void)said.ask({test::user("u4", "So?")});
    EXPECT_EQ(said.left_out, std::nullopt) << "only earlier ones lost some";
    said.owner.provider = "other";
    (void)said.ask();
    EXPECT_EQ(said.left_out, std::nullopt) << "this model gets none";
}

TEST_F(BoundData, AnAnswerWithoutDataLosesNone) {
    auto origin = std::make_shared<turn_origin>(*said.stored.at(3).origin);
    origin->data = {};
    origin->blocks = {};
    said.stored.at(3).origin = origin;
    said.instructions = "Be verbose.";
    (void)said.ask();
    EXPECT_EQ(said.left_out, std::nullopt);
}

TEST_F(BoundData, GoesBackAfterATurnOfAnotherModel) {
    said.owner.provider = "other";
    (void)said.ask({test::user("u3", "So?")});
    said.answer("a3");
    said.owner.provider = "main";
    (void)said.ask({test::user("u4", "Then?")});

    EXPECT_EQ(data_of(said.sent.at(3)), "all");
    EXPECT_EQ(data_of(said.sent.at(5)), "none");
}

TEST_F(BoundData, TheListOfToolsMayChange) {
    said.tools.push_back({"scroll", "", {}});
    EXPECT_EQ(first(), "all");
    said.tools = {};
    EXPECT_EQ(data_of(said.ask().at(1)), "all");
}

TEST(BoundDataOfAServerThatBindsTools, IsLeftOutWhereTheListChanged) {
    talk said;
    said.owner.binds_tools = true;
    (void)said.ask({test::user("u1", "Hi")});
    said.answer("a1");
    EXPECT_EQ(data_of(said.ask({test::user("u2", "And?")}).at(1)), "all");
    said.tools.push_back({"scroll", "", {}});
    EXPECT_EQ(data_of(said.ask().at(1)), "plain");
    said.tools = {};
    EXPECT_EQ(data_of(said.ask().at(1)), "plain");
}

TEST(BoundDataOfAServerThatBindsTools, GoesBackWhereAMessageAddsATool) {
    talk said;
    said.owner.binds_tools = true;
    said.adds_tools = true;
    (void)said.ask({test::user("u1", "Hi")});
    said.answer("a1");
    session::prompt_record record;
    record.tools = {"scroll"};
    message adding = test::user("u2", "And?");
    adding.prompt = std::make_shared<const session::prompt_record>(record);
    said.tools.push_back({"scroll", "", {}});
    EXPECT_EQ(data_of(said.ask({adding}).at(1)), "all");
    said.answer("a2");
    EXPECT_EQ(data_of(said.ask({test::user("u3", "So?")}).at(3)), "all");
    said.tools.back().description = "Scrolls.";

    EXPECT_EQ(data_of(said.ask().at(1)), "all");
    EXPECT_EQ(data_of(said.sent.at(3)), "plain") << "it was made with another tool";
}

} // namespace
} // namespace agui::runner
