#include "session/history/title.hpp"

#include "tests/support/history_request.hpp"

namespace agui::session {
namespace {

using test::plan;
using test::thread_builder;
using test::user;

TEST(Title, IsOneLineOfWholeCharacters) {
    EXPECT_EQ(title_line("  Hello,\n\n world\t! "), "Hello, world !");
    EXPECT_EQ(
        title_line("a\x01"
                   "b\x7f\xC2\x9B"
                   "c\xE2\x80\xAE"
                   "d"),
        "abcd"
    );
    EXPECT_EQ(title_line("e\xE2\x80\x8F\xF3\xA0\x81\x81"), "e");
    EXPECT_EQ(title_line("h\xC3\xA9\xF0\x9F\x98\x80x", 3), "h\xC3\xA9\xF0\x9F\x98\x80");
    EXPECT_EQ(title_line(std::string(1000, 'x')), std::string(title_characters_max, 'x'));
    EXPECT_EQ(title_line(" \n"), "");
    EXPECT_EQ(title_line("ab cd", 3), "ab c");
}

TEST(Title, IsTheBeginningOfTheFirstUserMessage) {
    const auto first =
        plan(thread_record(), test::request({user("u1", "Paint it"), user("u2", "x")}));
    EXPECT_EQ(title_of_change({}, first.plan.change), "Paint it");

    thread_builder known;
    known.user("u1", "Old").assistant("a1", "y");
    const auto next = plan(known, {user("u2", "New")});
    EXPECT_EQ(title_of_change(known.build(), next.plan.change), std::nullopt);
}

TEST(Title, IsNotChangedOnceThereIsOne) {
    thread_builder greeted;
    greeted.assistant("a0", "Welcome");
    thread_record titled = greeted.build();
    titled.title = "Mine";
    const auto made = plan(titled, test::request({user("u1", "Hello")}));

    EXPECT_EQ(title_of_change(titled, made.plan.change), std::nullopt);
    EXPECT_EQ(title_of_change(greeted.build(), made.plan.change), "Hello");
}

} // namespace
} // namespace agui::session
