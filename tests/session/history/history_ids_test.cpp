#include "session/history/history_ids.hpp"

#include "tests/support/history_request.hpp"

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::other;
using test::user;

using lines = std::vector<std::string>;

std::vector<message> distinct(std::vector<message> messages) {
    make_ids_distinct(messages);
    return messages;
}

lines ids_of(const std::vector<message>& messages) {
    lines ids;
    for (const message& one : messages) {
        ids.push_back(one.id);
    }
    return ids;
}

TEST(DistinctIds, LeaveDistinctOnesAlone) {
    std::vector<message> given{user("u", "x"), assistant("a", "y"), answer("c", "z")};
    const std::vector<message> before = given;

    EXPECT_FALSE(make_ids_distinct(given));
    EXPECT_EQ(given, before);
}

TEST(DistinctIds, DropRepeatedMessages) {
    const std::vector<message> given{
        user("u", "x"), assistant("a", "y"), user("u", "x"), assistant("a", "y")
    };

    EXPECT_EQ(test::outline(distinct(given)), (lines{"user u: x", "assistant a: y"}));
}

TEST(DistinctIds, KeepTheLastOfSeveralUserMessages) {
    const std::vector<message> given{
        user("u", "x"), user("v", "y"), user("u", "z"), user("u", "x")
    };

    EXPECT_EQ(test::outline(distinct(given)), (lines{"user v: y", "user u: x"}));
}

TEST(DistinctIds, RenameOtherMessages) {
    std::vector<message> given{assistant("1", "one"), answer("c1", "a"),
                               answer("c2", "b"),     user("1", "x"),
                               assistant("1", "two"), assistant("1:1", "three")};
    given[1].id = "1";
    given[2].id = "t";

    EXPECT_EQ(ids_of(distinct(given)), (lines{"1:2", "1:3", "t", "1", "1:4", "1:1"}));
    EXPECT_EQ(distinct(given), distinct(given));
}

TEST(HistoryPlan, StoresAnAnswerUnderAnIdThatTheThreadDoesNotHave) {
    test::thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, call_status::pending);
    message given = answer("c1", "done");
    given.id = "u1";

    const test::planned made = test::plan(thread, {given});

    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.thread.nodes[made.thread.nodes.size() - 1].message.id, "u1:1");
    EXPECT_EQ(made.plan.answers.front().message_id, "u1:1");
}

TEST(HistoryPlan, RefusesAUserMessageWithTheIdOfAnotherKind) {
    test::thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const test::planned made = test::plan(thread, {user("u1", "One"), user("a1", "Two")});

    EXPECT_TRUE(made.refused);
    EXPECT_EQ(made.error, errc::invalid_input);
    EXPECT_EQ(made.path, "messages[1].id");
}

} // namespace
} // namespace agui::session
