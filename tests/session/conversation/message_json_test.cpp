#include "session/conversation/message_json.hpp"

#include "session/conversation/message_size.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace agui::session {
namespace {

namespace json = boost::json;

message read(std::string_view text) {
    result<message> outcome = message_from_json(json::parse(text));
    return std::move(outcome).value();
}

std::string path_of_failure(std::string_view text) {
    const result<message> outcome = message_from_json(json::parse(text));
    if (outcome) {
        return "(accepted)";
    }
    return outcome.error().code == errc::invalid_input ? outcome.error().path : "(other code)";
}

content parts(std::string_view text) { return json::parse(text).as_array(); }

// Reading and writing again must give the same bytes, with the members in AG-UI's order and none
// added.
void expect_unchanged(std::string_view text) {
    EXPECT_EQ(json::serialize(to_json(read(text))), text);
}

TEST(MessageJson, OnlyStoresSeeThePartsOfAnActivity) {
    const json::value stored = json::parse(
        R"({"id":"m","role":"activity","content":{"a":1},"activityType":"A","parts":[{"type":"x"}]})"
    );

    const message kept = message_from_stored_json(stored).value();

    EXPECT_EQ(kept.content, parts(R"([{"type":"x"}])"));
    EXPECT_EQ(to_stored_json(kept), stored);
    EXPECT_EQ(to_json(kept).if_contains("parts"), nullptr);
    EXPECT_TRUE(is_empty(message_from_json(stored).value().content)) << "a client set them";
}

TEST(MessageJson, WritesEachRoleAsItWasRead) {
    expect_unchanged(R"({"id":"m","role":"system","content":"s","name":"n"})");
    expect_unchanged(R"({"id":"m","role":"developer","content":"d"})");
    expect_unchanged(
        R"({"id":"m","role":"user","content":"u","encryptedValue":"e","encryptedValueType":"t"})"
    );
    expect_unchanged(
        R"({"id":"m","role":"user","content":[{"type":"text","text":"a","id":"p"},{"type":"new","x":1}],)"
        R"("metadata":{"k":[1,null]}})"
    );
    expect_unchanged(
        R"({"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":)"
        R"({"name":"f","arguments":"{"},"encryptedValue":"e","encryptedValueType":"t"}],)"
        R"("subagentRunId":"s"})"
    );
    expect_unchanged(R"({"id":"m","role":"assistant","content":"text"})");
    expect_unchanged(
        R"({"id":"m","role":"tool","content":"","toolCallId":"c","error":"","metadata":{}})"
    );
    expect_unchanged(R"({"id":"m","role":"activity","content":{"a":1},"activityType":"PLAN"})");
    expect_unchanged(R"({"id":"m","role":"reasoning","content":"r","encryptedValue":"e"})");
}

TEST(MessageJson, NullOptionalsAreAbsent) {
    const message value =
        read(R"({"id":null,"role":"assistant","content":null,"name":null,"toolCalls":null,)"
             R"("encryptedValue":null,"subagentRunId":null,"metadata":null})");

    message expected;
    expected.role = role::assistant;
    EXPECT_EQ(value, expected);
    EXPECT_EQ(json::serialize(to_json(value)), R"({"id":"","role":"assistant"})");
}

TEST(MessageJson, UnknownMembersAndThoseOfOtherRolesAreIgnored) {
    const message value = read(
        R"({"id":"m","role":"user","content":"u","toolCalls":"x","toolCallId":5,"error":1,"new":{}})"
    );

    EXPECT_EQ(json::serialize(to_json(value)), R"({"id":"m","role":"user","content":"u"})");
}

TEST(MessageJson, AcceptsTheOlderSpellingOfToolMessages) {
    const message value = read(R"({"role":"tool","tool_id":"c","tool_name":"f","content":"done"})");

    EXPECT_EQ(value.tool_call_id, "c");
    EXPECT_EQ(value.name, "f");
    EXPECT_EQ(value.id, "");
}

TEST(MessageJson, TheProtocolSpellingCountsBeforeTheOlderOne) {
    const message value = read(
        R"({"role":"tool","toolCallId":"c","tool_id":"x","name":"f","tool_name":"y","content":""})"
    );

    EXPECT_EQ(value.tool_call_id, "c");
    EXPECT_EQ(value.name, "f");
}

TEST(MessageJson, ArgumentsMayBeMissing) {
    const message value =
        read(R"({"role":"assistant","toolCalls":[{"id":"c","function":{"name":"f"}}]})");

    ASSERT_EQ(value.tool_calls.size(), 1U);
    EXPECT_EQ(value.tool_calls[0].arguments, "");
}

TEST(MessageJson, NamesTheMemberThatIsWrong) {
    EXPECT_EQ(path_of_failure(R"("text")"), "");
    EXPECT_EQ(path_of_failure(R"({"content":"x"})"), "role");
    EXPECT_EQ(path_of_failure(R"({"role":"critic"})"), "role");
    EXPECT_EQ(path_of_failure(R"({"role":7})"), "role");
    EXPECT_EQ(path_of_failure(R"({"role":"user","id":7})"), "id");
    EXPECT_EQ(path_of_failure(R"({"role":"user","content":7})"), "content");
    EXPECT_EQ(path_of_failure(R"({"role":"user","content":["x"]})"), "content[0]");
    EXPECT_EQ(path_of_failure(R"({"role":"user","content":[{}]})"), "content[0].type");
    EXPECT_EQ(
        path_of_failure(R"({"role":"user","content":[{"type":"x"},{"type":"text"}]})"),
        "content[1].text"
    );
    EXPECT_EQ(path_of_failure(R"({"role":"user","metadata":[]})"), "metadata");
    EXPECT_EQ(path_of_failure(R"({"role":"tool","content":"x"})"), "toolCallId");
    EXPECT_EQ(path_of_failure(R"({"role":"tool","toolCallId":""})"), "toolCallId");
    EXPECT_EQ(path_of_failure(R"({"role":"tool","toolCallId":1})"), "toolCallId");
    EXPECT_EQ(path_of_failure(R"({"role":"tool","toolCallId":"c","error":{}})"), "error");
    EXPECT_EQ(path_of_failure(R"({"role":"activity","content":"x"})"), "content");
    EXPECT_EQ(path_of_failure(R"({"role":"assistant","toolCalls":{}})"), "toolCalls");
    EXPECT_EQ(path_of_failure(R"({"role":"assistant","toolCalls":[1]})"), "toolCalls[0]");
    EXPECT_EQ(
        path_of_failure(R"({"role":"assistant","toolCalls":[{"id":"c"}]})"), "toolCalls[0].function"
    );
    EXPECT_EQ(
        path_of_failure(R"({"role":"assistant","toolCalls":[{"id":"c","function":{"name":1}}]})"),
        "toolCalls[0].function.name"
    );
    EXPECT_EQ(
        path_of_failure(
            R"({"role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":{}}}]})"
        ),
        "toolCalls[0].function.arguments"
    );
}

TEST(MessageJson, AMessageDoesNotUseTheMemoryOfTheRequest) {
    message value;
    {
        json::monotonic_resource memory;
        const json::value parsed = json::parse(
            R"({"role":"user","content":[{"type":"text","text":"a text that is not small"}],)"
            R"("metadata":{"key":"another text that is not small"}})",
            &memory
        );
        value = message_from_json(parsed).value();
    }

    EXPECT_EQ(text_of(value.content), "a text that is not small");
    EXPECT_EQ(value.metadata->at("key"), "another text that is not small");
}

TEST(Message, NamesOfRolesAreReadBack) {
    for (const role value :
         {role::developer, role::system, role::user, role::assistant, role::tool, role::activity,
          role::reasoning}) {
        EXPECT_EQ(role_from_string(to_string(value)), value);
    }
    EXPECT_EQ(role_from_string("User"), std::nullopt);
}

TEST(Message, TextOfContentJoinsItsTextParts) {
    EXPECT_EQ(text_of(std::string("plain")), "plain");
    EXPECT_EQ(
        text_of(parts(R"([{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}])")
        ),
        "ab"
    );
    EXPECT_TRUE(is_empty(std::string()));
    EXPECT_TRUE(is_empty(json::array()));
    EXPECT_FALSE(is_empty(parts(R"([{"type":"text","text":""}])")));
}

TEST(Message, ContentOfWhiteSpaceIsBlankWhereverItStands) {
    EXPECT_TRUE(is_blank(std::string(" \n")));
    EXPECT_TRUE(is_blank(json::array()));
    EXPECT_TRUE(is_blank(parts(R"([{"type":"text","text":""},{"type":"text","text":" "}])")));
    EXPECT_FALSE(is_blank(std::string(".")));
    EXPECT_FALSE(is_blank(parts(R"([{"type":"text","text":""},{"type":"image"}])")));
    EXPECT_FALSE(is_blank(parts(R"([{"type":"text","text":""},"text"])")));
}

TEST(Message, ContentIsTheSameAfterNormalising) {
    const content text = std::string("hi");
    EXPECT_TRUE(same_content(text, parts(R"([{"type":"text","text":"hi","id":"1"}])")));
    EXPECT_TRUE(same_content(std::string(), json::array()));
    EXPECT_TRUE(same_content(
        parts(R"([{"type":"text","text":"hi","metadata":{"a":1}}])"),
        parts(R"([{"type":"text","text":"hi","metadata":null}])")
    ));
    EXPECT_FALSE(same_content(text, std::string("ho")));
    EXPECT_FALSE(
        same_content(text, parts(R"([{"type":"text","text":"hi"},{"type":"text","text":"ho"}])"))
    );
    EXPECT_FALSE(same_content(
        parts(R"([{"type":"image","source":{"type":"url","value":"a"}}])"),
        parts(R"([{"type":"image","source":{"type":"url","value":"b"}}])")
    ));
}

TEST(Message, LegacyBinaryPartsEqualTheirModernForm) {
    const content modern =
        parts(R"([{"type":"image","source":{"mimeType":"image/png","type":"data","value":"AAAA"}}])"
        );
    const content legacy =
        parts(R"([{"type":"binary","mimeType":"image/png","data":"AAAA","filename":"x.png"}])");
    const content both =
        parts(R"([{"type":"binary","mimeType":"image/png","data":"AAAA"},)"
              R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"}}])"
        );
    EXPECT_TRUE(same_content(modern, legacy));
    EXPECT_TRUE(same_content(modern, both));
    EXPECT_TRUE(same_content(
        parts(R"([{"type":"binary","mimeType":"application/pdf","url":"https://x/y"}])"),
        parts(
            R"([{"type":"document","source":{"type":"url","value":"https://x/y","mimeType":"application/pdf"}}])"
        )
    ));
    EXPECT_TRUE(same_content(
        std::string("hi"),
        parts(
            R"([{"type":"text","text":"hi"},{"type":"binary","mimeType":"image/png","id":"file-1"}])"
        )
    ));
    EXPECT_FALSE(
        same_content(modern, parts(R"([{"type":"binary","mimeType":"image/png","data":"BBBB"}])"))
    );
}

message answer_with_origin() {
    turn_origin origin;
    origin.provider = "main";
    origin.model = "thinker-1";
    origin.blocks.push_back({turn_block::kind::reasoning, "rsn1", 0, nullptr});
    origin.blocks.push_back({turn_block::kind::text, "", 5, nullptr});
    origin.blocks.push_back(
        {turn_block::kind::call, "call_1", 0, boost::json::object{{"extra_content", "signed"}}}
    );
    origin.data = {{"reasoning", "reasoning_content"}};
    origin.tokens = 1234;
    message answer;
    answer.id = "m1";
    answer.role = role::assistant;
    answer.content = std::string("Hello");
    answer.tool_calls.push_back({"call_1", "f", "{}", {}, {}});
    answer.origin = std::make_shared<const turn_origin>(origin);
    return answer;
}

TEST(MessageJson, KeepsTheOriginOfAnAnswerInTheStore) {
    const message answer = answer_with_origin();

    const boost::json::value stored =
        boost::json::parse(boost::json::serialize(to_stored_json(answer)));
    const result<message> read = message_from_stored_json(stored);

    ASSERT_TRUE(read);
    EXPECT_EQ(*read, answer);
    ASSERT_TRUE(read->origin);
    EXPECT_EQ(*read->origin, *answer.origin);
}

TEST(MessageJson, KeepsHowAnAnswerEndedInTheStore) {
    for (const turn_end end : {turn_end::complete, turn_end::paused, turn_end::refused}) {
        message answer = answer_with_origin();
        turn_origin origin = *answer.origin;
        origin.end = end;
        answer.origin = std::make_shared<const turn_origin>(origin);

        const result<message> read = message_from_stored_json(to_stored_json(answer));

        ASSERT_TRUE(read && read->origin);
        EXPECT_EQ(read->origin->end, end);
    }
}

TEST(MessageJson, ShowsTheOriginToNobody) {
    EXPECT_FALSE(to_json(answer_with_origin()).contains("origin"));
}

TEST(MessageJson, TakesNoOriginFromAClient) {
    const boost::json::value sent = to_stored_json(answer_with_origin());

    const result<message> read = message_from_json(sent);

    ASSERT_TRUE(read);
    EXPECT_FALSE(read->origin);
}

TEST(MessageJson, ReadsAStoredMessageWithoutOrWithADamagedOrigin) {
    for (const std::string text :
         {R"({"id":"m1","role":"assistant","content":"a"})",
          R"({"id":"m1","role":"assistant","content":"a","origin":7})",
          R"({"id":"m1","role":"assistant","content":"a","origin":{"blocks":[{"type":"song"}]}})",
          R"({"id":"m1","role":"user","content":"a","origin":{"provider":"p","model":"m","blocks":[]}})"
         }) {
        SCOPED_TRACE(text);
        const result<message> read = message_from_stored_json(boost::json::parse(text));
        ASSERT_TRUE(read);
        EXPECT_FALSE(read->origin);
        EXPECT_EQ(text_of(read->content), "a");
    }
}

TEST(MessageJson, TheModelsOwnContentIsStoredAndShownToNobody) {
    message result;
    result.id = "m1";
    result.role = role::tool;
    result.tool_call_id = "c1";
    result.content = std::string("a chart");
    const message plain = result;
    for (const content& own :
         {content("42"), content(json::array{json::object{{"type", "text"}, {"text", "42"}}})}) {
        result.for_model = std::make_shared<const content>(own);

        EXPECT_EQ(to_json(result), to_json(plain));
        EXPECT_EQ(message_from_stored_json(to_stored_json(result)).value(), result);
        EXPECT_NE(result, plain);
        EXPECT_GT(stored_size(result), stored_size(plain));
        // A client cannot set it.
        EXPECT_EQ(message_from_json(to_stored_json(result)).value(), plain);
    }
    message said = result;
    said.role = role::assistant;
    said.tool_call_id.clear();
    EXPECT_EQ(message_from_stored_json(to_stored_json(said)).value(), said);
    EXPECT_EQ(message_from_json(to_stored_json(said)).value().for_model, nullptr);
    json::object damaged = to_stored_json(plain);
    damaged["forModel"] = 5;
    EXPECT_EQ(message_from_stored_json(damaged).value(), plain);
}

TEST(MessageJson, APluginsMarkIsStoredAndShownToNobody) {
    message hint;
    hint.id = "p1";
    hint.content = std::string("Be quick.");
    const message plain = hint;
    hint.by_plugin = true;

    EXPECT_EQ(to_json(hint), to_json(plain));
    EXPECT_EQ(message_from_stored_json(to_stored_json(hint)).value(), hint);
    EXPECT_NE(hint, plain);
    EXPECT_TRUE(begins_user_turn(plain));
    EXPECT_FALSE(begins_user_turn(hint));
    // A client cannot set it.
    EXPECT_EQ(message_from_json(to_stored_json(hint)).value(), plain);
}

} // namespace
} // namespace agui::session
