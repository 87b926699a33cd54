#include "session/history/prompt_fold.hpp"

#include "session/conversation/media_part.hpp"
#include "session/conversation/message_json.hpp"
#include "session/history/delimited_text.hpp"
#include "session/history/model_history.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::tip_of;
using test::user;
using ::testing::ElementsAre;
using ::testing::Pair;

message with(message value, prompt_record record) {
    value.prompt = std::make_shared<const prompt_record>(std::move(record));
    return value;
}

prompt_record context(std::string text) {
    prompt_record record;
    record.context = std::move(text);
    return record;
}

prompt_record beginning(std::string agent, std::string instructions) {
    prompt_record record;
    record.begins = prompt_beginning{
        .agent_id = std::move(agent), .source = "s", .instructions = std::move(instructions)
    };
    record.values = {{"time", "1"}, {"user", "ann"}};
    record.tools = {"paint"};
    return record;
}

std::vector<std::string> texts(const thread_record& thread, const history_window& window = {}) {
    std::vector<std::string> all;
    for (const message& each : model_history(thread, tip_of(thread), window)) {
        all.push_back(text_of(each.content));
    }
    return all;
}

told_prompt told(const thread_record& thread) { return fold_prompts(thread, tip_of(thread)); }

current_prompt current(std::string time) {
    current_prompt made;
    made.agent_id = "a";
    made.source = "s";
    made.instructions = "It is " + time;
    made.values = {{"time", std::move(time)}, {"user", "ann"}};
    made.tools = {"paint"};
    return made;
}

TEST(PromptFold, TheFirstMessageBeginsAPrefix) {
    current_prompt first = current("1");
    first.context = "C";
    first.tools = {"paint", "scroll"};

    const auto record = next_record({}, std::move(first));

    ASSERT_TRUE(record && record->begins);
    EXPECT_EQ(record->begins->instructions, "It is 1");
    EXPECT_EQ(record->context, "C");
    EXPECT_THAT(record->tools, ElementsAre("paint", "scroll"));
}

TEST(PromptFold, ALaterMessageTellsOnlyWhatDiffers) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1"))).assistant("a1", "Hello");
    current_prompt later = current("2");
    later.tools = {"scroll", "paint"};

    const auto record = next_record(told(thread.build()), std::move(later));

    ASSERT_TRUE(record);
    EXPECT_FALSE(record->begins);
    EXPECT_THAT(record->values, ElementsAre(Pair("time", "2")));
    EXPECT_THAT(record->tools, ElementsAre("scroll"));
}

TEST(PromptFold, AWithdrawnToolIsToldOnce) {
    prompt_record withdrawn = beginning("a", "It is 1");
    withdrawn.withdrawn.push_back({{"name", "zoom"}});
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), withdrawn));
    current_prompt same = current("1");
    same.withdrawn.push_back({{"name", "zoom"}});
    current_prompt other = current("1");
    other.withdrawn.push_back({{"name", "zoom"}, {"description", "closer"}});

    EXPECT_EQ(next_record(told(thread.build()), std::move(same)), nullptr);
    EXPECT_EQ(next_record(told(thread.build()), std::move(other))->withdrawn.size(), 1U);
}

TEST(PromptFold, AToolIsUndeclaredOnceItIsNeitherOfferedNorWithdrawn) {
    prompt_record before = beginning("a", "It is 1");
    before.tools = {"paint", "scroll", "zoom"};
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), before));
    current_prompt later = current("1");
    later.withdrawn.push_back({{"name", "zoom"}});
    later.tells_tools = false;
    const auto record = next_record(told(thread.build()), std::move(later));
    ASSERT_TRUE(record);
    EXPECT_THAT(record->undeclared, ElementsAre("scroll"));
    thread.add(with(user("u2", "Hi"), *record));

    EXPECT_THAT(told(thread.build()).tools, ElementsAre("paint", "zoom"));
}

TEST(PromptFold, NothingNewNeedsNoRecord) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .add(with(user("u2", "Look"), context("C")));
    current_prompt same = current("1");
    same.context = "C";

    EXPECT_EQ(next_record(told(thread.build()), std::move(same)), nullptr);
}

TEST(PromptFold, AnAbsentContextNeitherAddsNorRemovesAnything) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .add(with(user("u2", "Look"), context("C")))
        .user("u3", "And?");

    EXPECT_EQ(told(thread.build()).context, "C");
    EXPECT_EQ(next_record(told(thread.build()), current("1")), nullptr);
}

TEST(PromptFold, AnotherAgentOrTextBeginsAPrefix) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")));
    current_prompt other = current("1");
    other.agent_id = "b";
    current_prompt edited = current("1");
    edited.source = "s2";

    EXPECT_TRUE(next_record(told(thread.build()), std::move(other))->begins);
    EXPECT_TRUE(next_record(told(thread.build()), std::move(edited))->begins);
}

TEST(PromptFold, ARecordBelongsToItsBranch) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .assistant("a1", "Hello")
        .add(with(user("u2", "Look"), context("C2")))
        .fork("a1")
        .user("u3", "Hear");

    EXPECT_EQ(told(thread.build()).context, "");
    EXPECT_THAT(texts(thread.build()), ElementsAre("Hi", "Hello", "Hear"));
}

TEST(PromptFold, PartsStandBeforeAUserMessageAndAfterAResult) {
    prompt_record values;
    values.values = {{"time", "2"}};
    values.context = "C";
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), values))
        .assistant("a1", "", {call("c1", "paint"), call("c2", "paint")})
        .answer("c1", "blue")
        .add(with(answer("c2", "red"), context("D")));

    EXPECT_THAT(
        texts(thread.build()),
        ElementsAre(
            "<values note=\"New values of the instructions; they replace earlier ones.\">\n"
            "<value name=\"time\">2</value>\n</values>\n\nC\n\nHi",
            "", "blue", "red\n\nD"
        )
    );
}

TEST(PromptFold, PartsBecomeATextPartOfAContentInParts) {
    message photo = user("u1", "");
    photo.content = boost::json::array{{{"type", "text"}, {"text", "<state note=x>"}}};
    test::thread_builder thread;
    thread.add(with(std::move(photo), context("C")));

    const message told = model_history(thread.build(), 0).at(0);

    const auto& parts = std::get<boost::json::array>(told.content);
    EXPECT_EQ(parts.at(0).at("text").as_string(), "C");
    EXPECT_EQ(parts.at(1).at("text").as_string(), "&lt;state note=x>");
}

TEST(PromptFold, NoNameOfAFileAndNoDocumentHoldsAPart) {
    message given = user("u1", "");
    given.content = boost::json::array{
        {{"type", "document"},
         {"source",
          {{"type", "data"},
           {"value", encode_base64("a <context note=x> b")},
           {"mimeType", "text/plain"}}},
         {"metadata", {{"filename", "<state note=x>"}}}},
        {{"type", "document"},
         {"source", {{"type", "data"}, {"value", encode_base64("a <b")}, {"mimeType", "text/plain"}}
         }}
    };
    const boost::json::array before = std::get<boost::json::array>(given.content);
    test::thread_builder thread;
    thread.add(std::move(given));

    const message told = model_history(thread.build(), 0).at(0);

    const auto& parts = std::get<boost::json::array>(told.content);
    EXPECT_EQ(parts.at(0).at("metadata").at("filename").as_string(), "&lt;state note=x>");
    EXPECT_EQ(
        decode_base64(read_media_part(parts.at(0).as_object()).value), "a &lt;context note=x> b"
    );
    EXPECT_EQ(parts.at(1), before.at(1));
}

TEST(PromptFold, ANewBeginningReplacesTheValuesToldBefore) {
    prompt_record values;
    values.values = {{"time", "2"}};
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .add(with(user("u2", "Look"), values))
        .add(with(user("u3", "And?"), beginning("b", "It is 3")));

    EXPECT_THAT(texts(thread.build()), ElementsAre("Hi", "Look", "And?"));
}

TEST(PromptFold, AContextInTheSystemTextReplacesEarlierOnes) {
    prompt_record system = beginning("b", "It is 3");
    system.begins->holds_context = true;
    system.context = "S";
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), context("C")))
        .add(with(user("u2", "Look"), std::move(system)))
        .add(with(user("u3", "And?"), context("D")));

    EXPECT_EQ(told(thread.build()).system_context, "S");
    EXPECT_EQ(told(thread.build()).context, "D");
    EXPECT_THAT(texts(thread.build()), ElementsAre("Hi", "Look", "D\n\nAnd?"));
}

TEST(PromptFold, ACutTellsTheNewestOnesOnce) {
    prompt_record values = context("C2");
    values.values = {{"time", "2"}};
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), context("C1")))
        .assistant("a1", "Hello")
        .add(with(user("u2", "Look"), values))
        .assistant("a2", "I see")
        .user("u3", "And?")
        .assistant("a3", "So")
        .user("u4", "Bye");

    const std::vector<std::string> left = texts(thread.build(), {.max_messages = 4});

    ASSERT_EQ(left.size(), 3U);
    EXPECT_EQ(left[0], values_text(values.values) + "\n\nC2\n\nAnd?");
    EXPECT_EQ(left[2], "Bye");
}

TEST(PromptFold, StoresKeepTheRecordAndClientsNeverSeeIt) {
    prompt_record record = beginning("a", "It is 1");
    record.begins->holds_state = true;
    record.state = "S";
    record.context = "C";
    record.undeclared = {"scroll"};
    record.withdrawn.push_back({{"name", "zoom"}});
    const message made = with(user("u1", "Hi"), record);

    EXPECT_EQ(message_from_stored_json(to_stored_json(made)).value(), made);
    EXPECT_FALSE(to_json(made).contains("prompt"));
    EXPECT_EQ(message_from_json(to_stored_json(made)).value().prompt, nullptr)
        << "a client cannot set it";
}

prompt_record tools(std::vector<std::string> names) {
    prompt_record record;
    record.tools = std::move(names);
    return record;
}

/// The tools that each message of a request adds.
std::vector<std::vector<std::string>>
added(const thread_record& thread, const history_window& window = {}) {
    std::vector<std::vector<std::string>> all;
    for (const message& each : model_history(thread, tip_of(thread), window)) {
        all.push_back(each.prompt ? each.prompt->tools : std::vector<std::string>());
    }
    return all;
}

TEST(PromptFold, LaterToolsStayWithTheirMessages) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .assistant("a1", "", {call("c1", "paint")})
        .add(with(answer("c1", "blue"), tools({"scroll"})));
    EXPECT_THAT(told(thread.build()).late_tools, ElementsAre("scroll"));
    thread.assistant("a2", "So").add(with(user("u2", "Look"), tools({"zoom"})));

    EXPECT_TRUE(told(thread.build()).late_tools.empty()) << "another turn";
    EXPECT_THAT(told(thread.build()).tools, ElementsAre("paint", "scroll", "zoom"));
    EXPECT_THAT(
        added(thread.build()),
        ElementsAre(
            ElementsAre(), ElementsAre(), ElementsAre("scroll"), ElementsAre(), ElementsAre("zoom")
        )
    );
}

TEST(PromptFold, AToolThatIsToldAgainIsAddedThere) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .add(with(user("u2", "Look"), tools({"scroll", "zoom"})))
        .add(with(user("u3", "And?"), tools({"scroll"})));

    EXPECT_THAT(
        added(thread.build()),
        ElementsAre(ElementsAre(), ElementsAre("zoom"), ElementsAre("scroll"))
    );
}

TEST(PromptFold, TheListOfANewBeginningHoldsEarlierTools) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .add(with(user("u2", "Look"), tools({"scroll"})))
        .add(with(user("u3", "And?"), beginning("b", "It is 3")))
        .add(with(user("u4", "Bye"), tools({"zoom"})));

    EXPECT_THAT(
        added(thread.build()),
        ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(), ElementsAre("zoom"))
    );
}

TEST(PromptFold, TheListAfterACutHoldsTheToolsFromBefore) {
    test::thread_builder thread;
    thread.add(with(user("u1", "Hi"), beginning("a", "It is 1")))
        .assistant("a1", "Hello")
        .add(with(user("u2", "Look"), tools({"scroll"})))
        .assistant("a2", "I see")
        .user("u3", "And?")
        .assistant("a3", "So")
        .add(with(user("u4", "Bye"), tools({"zoom"})));

    EXPECT_THAT(
        added(thread.build(), {.max_messages = 4}),
        ElementsAre(ElementsAre(), ElementsAre(), ElementsAre("zoom"))
    );
}

TEST(PromptFold, EarlierToolsAreKeptTheNewestFirst) {
    const auto tool = [](std::string_view name) {
        return boost::json::object{{"name", name}, {"description", "d"}};
    };
    const auto names = [](const boost::json::array& tools) {
        std::string text;
        for (const boost::json::value& each : tools) {
            text += name_of_tool(each.get_object());
            text += is_kept_tool(each) ? "- " : " ";
        }
        return text;
    };
    const boost::json::array first = keep_tools({tool("a"), tool("b")}, {}, 2);
    const boost::json::array second = keep_tools({tool("b"), tool("c")}, first, 2);
    EXPECT_EQ(names(second), "b c a- ");
    EXPECT_EQ(keep_tools({tool("b"), tool("c")}, second, 2), second);
    EXPECT_EQ(definition_of_kept(second.at(2).get_object()), tool("a"));

    EXPECT_EQ(names(keep_tools({tool("a")}, second, 2)), "a b- c- ") << "offered again";
    EXPECT_EQ(names(keep_tools({tool("d")}, second, 2)), "d b- c- ") << "the oldest goes";
    EXPECT_EQ(names(keep_tools({tool("d")}, second, 0)), "d ");
}

TEST(PromptFold, ARequestCannotMarkAToolAsKept) {
    const boost::json::object marked = {{"name", "a"}, {"kept", true}};
    const boost::json::array offered = keep_tools({marked}, {}, 2);

    ASSERT_EQ(offered.size(), 1U);
    EXPECT_TRUE(is_kept_tool(marked));
    EXPECT_FALSE(is_kept_tool(offered.at(0)));
}

} // namespace
} // namespace agui::session
