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

TEST(Title, IsAutomaticWhileItIsThatOfTheFirstUserMessage) {
    thread_builder said;
    said.assistant("a0", "Welcome").user("u1", " Paint\nit ").assistant("a1", "y").user("u2", "z");
    thread_record thread = said.build();

    EXPECT_EQ(automatic_title(thread), "") << "it has none";
    thread.title = "Paint it";
    EXPECT_EQ(automatic_title(thread), "Paint it");
    thread.title = "Mine";
    EXPECT_EQ(automatic_title(thread), "");
    EXPECT_EQ(automatic_title({}), "");
}

TEST(Title, OfAnAnswerHasNoMarksAroundIt) {
    EXPECT_EQ(title_of_answer(" A blue\n sea "), "A blue sea");
    EXPECT_EQ(title_of_answer("\"A blue sea.\""), "A blue sea");
    EXPECT_EQ(title_of_answer("\xE2\x80\x9EMeer\xE2\x80\x9C."), "Meer");
    EXPECT_EQ(title_of_answer("A \"blue\" sea"), "A \"blue\" sea");
    EXPECT_EQ(title_of_answer("To be continued..."), "To be continued...");
    EXPECT_EQ(title_of_answer("\xE6\xB5\xB7\xE3\x80\x82"), "\xE6\xB5\xB7");
    EXPECT_EQ(title_of_answer("\"\"."), "");
    EXPECT_EQ(title_of_answer(std::string(200, 'x')), std::string(title_characters_max, 'x'));
}

} // namespace
} // namespace agui::session
