#include "translator/verifier/verifier.hpp"

#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

namespace agui::translator {
namespace {

/// Expands a line of a script: `TYPE key=value …`, where a value is JSON or a bare word, which
/// stands for a string.
boost::json::object event_of(const std::string& line) {
    std::istringstream words(line);
    std::string type;
    words >> type;
    boost::json::object event{{"type", type}};
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string text = word.substr(equals + 1);
        boost::json::error_code ec;
        boost::json::value value = boost::json::parse(text, ec);
        event[word.substr(0, equals)] = ec ? boost::json::value(text) : value;
    }
    return event;
}

/// Feeds the lines after RUN_STARTED, without adding an end. Returns the verdict on the first wrong
/// one, or "".
std::string verdict(std::string_view script, event_verifier::settings options = {}) {
    event_verifier verifier(options);
    std::istringstream lines{std::string(script)};
    for (std::string line; std::getline(lines, line);) {
        if (line.find_first_not_of(' ') == std::string::npos) {
            continue;
        }
        if (const auto wrong = verifier.check(boost::json::value(event_of(line)))) {
            return *wrong;
        }
    }
    return verifier.end().value_or("");
}

std::string run(std::string_view body, std::string_view end = "RUN_FINISHED threadId=t runId=r") {
    return "RUN_STARTED threadId=t runId=r\n" + std::string(body) + "\n" + std::string(end);
}

struct sequence {
    std::string_view name;
    std::string_view rule; ///< The rule that the wrong script violates.
    std::string_view wrong;
    std::string_view right; ///< The most similar legal script.
};

std::string sequence_name(const ::testing::TestParamInfo<sequence>& info) {
    return std::string(info.param.name);
}

class VerifierRule : public ::testing::TestWithParam<sequence> {};

TEST_P(VerifierRule, RefusesTheWrongSequenceByName) {
    EXPECT_THAT(
        verdict(run(GetParam().wrong)), ::testing::StartsWith(std::string(GetParam().rule) + ": ")
    );
}

TEST_P(VerifierRule, AcceptsTheRightSequence) { EXPECT_EQ(verdict(run(GetParam().right)), ""); }

INSTANTIATE_TEST_SUITE_P(
    Streams, VerifierRule,
    ::testing::Values(
        sequence{
            "V5", "V5", "STEP_STARTED stepName=a",
            "STEP_STARTED stepName=a\nSTEP_FINISHED stepName=a"
        },
        sequence{
            "V6", "V6", "TEXT_MESSAGE_START messageId=m",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "V7", "V7",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m role=reasoning",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m "
            "role=reasoning\nREASONING_MESSAGE_END messageId=m\nREASONING_END messageId=s"
        },
        sequence{
            "V8", "V8", "REASONING_START messageId=s",
            "REASONING_START messageId=s\nREASONING_END messageId=s"
        },
        sequence{
            "V9", "V9", "TOOL_CALL_START toolCallId=c toolCallName=f",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END toolCallId=c"
        },
        sequence{
            "V10", "V10", "SUBAGENT_STARTED subagentRunId=a name=n",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_FINISHED subagentRunId=a"
        },
        sequence{
            "V11", "V11", "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_START messageId=m",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\nTEXT_MESSAGE_START "
            "messageId=m\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "V12", "V12", "TEXT_MESSAGE_CONTENT messageId=m delta=x",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_CONTENT messageId=m "
            "delta=x\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "V12AfterEnd", "V12",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\nTEXT_MESSAGE_CONTENT "
            "messageId=m delta=x",
            ""
        },
        sequence{
            "V13", "V13", "TEXT_MESSAGE_END messageId=m",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "V14", "V14",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_START toolCallId=c "
            "toolCallName=f",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_START toolCallId=d "
            "toolCallName=f\nTOOL_CALL_END toolCallId=d\nTOOL_CALL_END toolCallId=c"
        },
        sequence{
            "V15", "V15", "TOOL_CALL_ARGS toolCallId=c delta=x",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_ARGS toolCallId=c "
            "delta=x\nTOOL_CALL_END toolCallId=c"
        },
        sequence{
            "V16", "V16",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_END toolCallId=c",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_START toolCallId=d "
            "toolCallName=f\nTOOL_CALL_END toolCallId=c\nTOOL_CALL_END toolCallId=d"
        },
        sequence{
            "V17", "V17", "STEP_STARTED stepName=a\nSTEP_STARTED stepName=a",
            "STEP_STARTED stepName=a\nSTEP_STARTED stepName=a subagentRunId=x\nSTEP_FINISHED "
            "stepName=a\nSTEP_FINISHED stepName=a subagentRunId=x"
        },
        sequence{
            "V18", "V18", "STEP_FINISHED stepName=a",
            "STEP_STARTED stepName=a\nSTEP_FINISHED stepName=a\nSTEP_STARTED "
            "stepName=a\nSTEP_FINISHED stepName=a"
        },
        sequence{
            "V18Owner", "V18", "STEP_STARTED stepName=a subagentRunId=x\nSTEP_FINISHED stepName=a",
            ""
        },
        sequence{
            "V19", "V19", "REASONING_START messageId=s\nREASONING_START messageId=s",
            "REASONING_START messageId=s\nREASONING_END messageId=s\nREASONING_START "
            "messageId=s\nREASONING_END messageId=s"
        },
        sequence{
            "V20", "V20",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m "
            "role=reasoning\nREASONING_MESSAGE_START messageId=m role=reasoning",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m "
            "role=reasoning\nREASONING_MESSAGE_START messageId=n "
            "role=reasoning\nREASONING_MESSAGE_END messageId=m\nREASONING_MESSAGE_END "
            "messageId=n\nREASONING_END messageId=s"
        },
        sequence{
            "V21Content", "V21",
            "REASONING_START messageId=s\nREASONING_MESSAGE_CONTENT messageId=s delta=x",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=s "
            "role=reasoning\nREASONING_MESSAGE_CONTENT messageId=s delta=x\nREASONING_MESSAGE_END "
            "messageId=s\nREASONING_END messageId=s"
        },
        sequence{
            "V21End", "V21", "REASONING_START messageId=s\nREASONING_MESSAGE_END messageId=s", ""
        },
        sequence{
            "V22", "V22", "REASONING_END messageId=s",
            "REASONING_START messageId=s\nREASONING_START messageId=p\nREASONING_END "
            "messageId=s\nREASONING_END messageId=p"
        }
    ),
    sequence_name
);

INSTANTIATE_TEST_SUITE_P(
    Subagents, VerifierRule,
    ::testing::Values(
        sequence{
            "V23Event", "V23", "CUSTOM name=a value=1 subagentRunId=null",
            "CUSTOM name=a value=1 subagentRunId=x"
        },
        sequence{
            "V23Message", "V23",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":"x","subagentRunId":null}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":"x","subagentRunId":"a"}])"
        },
        sequence{"V24Null", "V24", "SUBAGENT_STARTED subagentRunId=a name=n description=null", ""},
        sequence{
            "V24Outcome", "V24",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_FINISHED subagentRunId=a "
            "outcome={\"type\":\"lost\"}",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_FINISHED subagentRunId=a "
            "outcome={\"type\":\"suspended\",\"interruptIds\":[\"i\"]}"
        },
        sequence{
            "V24Ids", "V24",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_FINISHED subagentRunId=a "
            "outcome={\"type\":\"suspended\",\"interruptIds\":[1]}",
            ""
        },
        sequence{"V25Name", "V25", "SUBAGENT_STARTED subagentRunId=a", ""},
        sequence{"V25Id", "V25", "SUBAGENT_STARTED name=n", ""},
        sequence{
            "V25Active", "V25",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_STARTED subagentRunId=a name=n", ""
        },
        sequence{
            "V25Again", "V25",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_FINISHED "
            "subagentRunId=a\nSUBAGENT_STARTED subagentRunId=a name=n",
            ""
        },
        sequence{
            "V25Parent", "V25", "SUBAGENT_STARTED subagentRunId=a name=n parentSubagentRunId=z",
            "SUBAGENT_STARTED subagentRunId=z name=n\nSUBAGENT_STARTED subagentRunId=a name=n "
            "parentSubagentRunId=z\nSUBAGENT_FINISHED subagentRunId=a\nSUBAGENT_ERROR "
            "subagentRunId=z message=x"
        },
        sequence{"V26Unknown", "V26", "SUBAGENT_FINISHED subagentRunId=a", ""},
        sequence{"V26NoId", "V26", "SUBAGENT_FINISHED", ""},
        sequence{
            "V26NoMessage", "V26",
            "SUBAGENT_STARTED subagentRunId=a name=n\nSUBAGENT_ERROR subagentRunId=a", ""
        },
        sequence{
            "V27Text", "V27",
            "TEXT_MESSAGE_START messageId=m subagentRunId=a\nTEXT_MESSAGE_CONTENT messageId=m "
            "delta=x subagentRunId=b",
            "TEXT_MESSAGE_START messageId=m subagentRunId=a\nTEXT_MESSAGE_CONTENT messageId=m "
            "delta=x\nTEXT_MESSAGE_END messageId=m subagentRunId=a"
        },
        sequence{
            "V27Untagged", "V27",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m subagentRunId=b", ""
        },
        sequence{
            "V27Reopened", "V27",
            "TEXT_MESSAGE_START messageId=m subagentRunId=a\nTEXT_MESSAGE_END "
            "messageId=m\nTEXT_MESSAGE_START messageId=m subagentRunId=b",
            ""
        },
        sequence{
            "V27Call", "V27",
            "TOOL_CALL_START toolCallId=c toolCallName=f subagentRunId=a\nTOOL_CALL_ARGS "
            "toolCallId=c delta=x subagentRunId=b",
            ""
        },
        sequence{
            "V27Result", "V27",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x subagentRunId=b",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x"
        },
        sequence{
            "V27Reasoning", "V27",
            "REASONING_START messageId=s subagentRunId=a\nREASONING_END messageId=s "
            "subagentRunId=b",
            ""
        },
        sequence{
            "V27Activity", "V27",
            "ACTIVITY_SNAPSHOT messageId=m activityType=A content={} "
            "subagentRunId=a\nACTIVITY_DELTA messageId=m activityType=A patch=[] subagentRunId=b",
            "ACTIVITY_SNAPSHOT messageId=m activityType=A content={} "
            "subagentRunId=a\nACTIVITY_DELTA messageId=m activityType=A patch=[]"
        },
        sequence{
            "V27Encrypted", "V27",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nREASONING_ENCRYPTED_VALUE subtype=tool-call entityId=c encryptedValue=x "
            "subagentRunId=a",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nREASONING_ENCRYPTED_VALUE subtype=tool-call entityId=c encryptedValue=x "
            "encryptedValueType=a.b"
        },
        sequence{
            "V28Tagged", "V28",
            "TEXT_MESSAGE_START messageId=m subagentRunId=a\nTEXT_MESSAGE_END "
            "messageId=m\nTOOL_CALL_START toolCallId=c toolCallName=f parentMessageId=m "
            "subagentRunId=b",
            "TEXT_MESSAGE_START messageId=m subagentRunId=a\nTEXT_MESSAGE_END "
            "messageId=m\nTOOL_CALL_START toolCallId=c toolCallName=f parentMessageId=m "
            "subagentRunId=a\nTOOL_CALL_END toolCallId=c"
        }
    ),
    sequence_name
);

INSTANTIATE_TEST_SUITE_P(
    Chunks, VerifierRule,
    ::testing::Values(
        sequence{
            "C1", "C1", "TEXT_MESSAGE_CHUNK delta=x",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nTEXT_MESSAGE_CHUNK delta=y"
        },
        sequence{
            "C1AfterCustom", "C1",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nCUSTOM name=a value=1\nTEXT_MESSAGE_CHUNK "
            "delta=y",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nCUSTOM name=a value=1\nTEXT_MESSAGE_CHUNK "
            "messageId=m delta=y"
        },
        sequence{
            "RawKeepsChunksOpen", "C5",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nRAW event=1\nTEXT_MESSAGE_CHUNK role=user "
            "delta=y",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nRAW event=1\nTEXT_MESSAGE_CHUNK delta=y"
        },
        sequence{
            "C2", "C2", "TOOL_CALL_CHUNK toolCallName=f delta=x",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f delta=x"
        },
        sequence{
            "C3", "C3", "TOOL_CALL_CHUNK toolCallId=c delta=x",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f\nTOOL_CALL_CHUNK toolCallId=c delta=x"
        },
        sequence{
            "C4", "C4", "REASONING_START messageId=s\nREASONING_MESSAGE_CHUNK delta=x",
            "REASONING_START messageId=s\nREASONING_MESSAGE_CHUNK messageId=m "
            "delta=x\nREASONING_END messageId=s"
        },
        sequence{
            "C5Role", "C5",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nTEXT_MESSAGE_CHUNK role=user delta=y",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nTEXT_MESSAGE_CHUNK role=assistant delta=y"
        },
        sequence{
            "C5Name", "C5",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x\nTEXT_MESSAGE_CHUNK name=n delta=y",
            "TEXT_MESSAGE_CHUNK messageId=m name=n delta=x\nTEXT_MESSAGE_CHUNK name=n delta=y"
        },
        sequence{
            "C5Tool", "C5",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f\nTOOL_CALL_CHUNK toolCallName=g",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f\nTOOL_CALL_CHUNK toolCallName=f"
        },
        sequence{
            "C5Parent", "C5",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f\nTOOL_CALL_CHUNK parentMessageId=m",
            "TOOL_CALL_CHUNK toolCallId=c toolCallName=f parentMessageId=m\nTOOL_CALL_CHUNK "
            "parentMessageId=m"
        },
        sequence{
            "C6", "C6",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x subagentRunId=a\nTEXT_MESSAGE_CHUNK "
            "messageId=m delta=y subagentRunId=b",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x subagentRunId=a\nTEXT_MESSAGE_CHUNK "
            "messageId=m delta=y"
        },
        sequence{
            "C7", "C7",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x subagentRunId=a\nTEXT_MESSAGE_CHUNK "
            "messageId=n delta=x subagentRunId=b\nTEXT_MESSAGE_CHUNK delta=y",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x subagentRunId=a\nTEXT_MESSAGE_CHUNK "
            "messageId=n delta=x subagentRunId=b\nTEXT_MESSAGE_CHUNK messageId=o "
            "delta=x\nTEXT_MESSAGE_CHUNK delta=y"
        },
        sequence{
            "ChunkOfAnOpenMessage", "V11",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_CHUNK messageId=m delta=x",
            "TEXT_MESSAGE_CHUNK messageId=m delta=a\nTEXT_MESSAGE_CHUNK messageId=n "
            "delta=b\nTEXT_MESSAGE_CHUNK messageId=m delta=c"
        },
        sequence{
            "SnapshotClosesAllLanes", "C1",
            "TEXT_MESSAGE_CHUNK messageId=m delta=x subagentRunId=a\nMESSAGES_SNAPSHOT "
            "messages=[]\nTEXT_MESSAGE_CHUNK delta=y subagentRunId=a",
            ""
        },
        sequence{
            "SubagentEndClosesItsLane", "C1",
            "SUBAGENT_STARTED subagentRunId=a name=n\nTEXT_MESSAGE_CHUNK messageId=m delta=x "
            "subagentRunId=a\nSUBAGENT_FINISHED subagentRunId=a\nTEXT_MESSAGE_CHUNK delta=y "
            "subagentRunId=a",
            "SUBAGENT_STARTED subagentRunId=a name=n\nTEXT_MESSAGE_CHUNK messageId=m delta=x "
            "subagentRunId=a\nSUBAGENT_FINISHED subagentRunId=a"
        }
    ),
    sequence_name
);

INSTANTIATE_TEST_SUITE_P(
    Ordering, VerifierRule,
    ::testing::Values(
        sequence{
            "O4ResultId", "O4",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\nTOOL_CALL_START "
            "toolCallId=c toolCallName=f parentMessageId=m\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\nTOOL_CALL_START "
            "toolCallId=c toolCallName=f parentMessageId=m\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=n toolCallId=c content=x\nTEXT_MESSAGE_START "
            "messageId=m\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "O4Kinds", "O4",
            "ACTIVITY_SNAPSHOT messageId=m activityType=A content={}\nTEXT_MESSAGE_START "
            "messageId=m",
            ""
        },
        sequence{
            "O4Roles", "O4",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\nTEXT_MESSAGE_START "
            "messageId=m role=user",
            ""
        },
        sequence{
            "O4Parent", "O4",
            "TEXT_MESSAGE_START messageId=m role=user\nTEXT_MESSAGE_END "
            "messageId=m\nTOOL_CALL_START toolCallId=c toolCallName=f parentMessageId=m",
            ""
        },
        sequence{
            "O4Snapshot", "O4",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":"x"},{"id":"u","role":"user","content":"y"}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":"x"},{"id":"v","role":"user","content":"y"}])"
        },
        sequence{
            "O4SnapshotRole", "O4",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\n"
            R"(MESSAGES_SNAPSHOT messages=[{"id":"m","role":"user","content":"x"}])",
            "TEXT_MESSAGE_START messageId=m\nTEXT_MESSAGE_END messageId=m\n"
            R"(MESSAGES_SNAPSHOT messages=[{"id":"m","role":"assistant","content":"x"}])"
        },
        sequence{
            "O5Early", "O5",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_RESULT messageId=m "
            "toolCallId=c content=x",
            ""
        },
        sequence{
            "O5Unknown", "O5", "TOOL_CALL_RESULT messageId=m toolCallId=c role=tool content=x",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}])"
            "\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x"
        },
        sequence{
            "O5EarlierTooLate", "O5",
            "TEXT_MESSAGE_START messageId=t\nTEXT_MESSAGE_END messageId=t\nTOOL_CALL_RESULT "
            "messageId=m toolCallId=c content=x",
            "TOOL_CALL_RESULT messageId=m toolCallId=c content=x\nTOOL_CALL_RESULT messageId=n "
            "toolCallId=d content=x\nTEXT_MESSAGE_START messageId=t\nTEXT_MESSAGE_END messageId=t"
        },
        sequence{
            "O5EarlierTwice", "O5",
            "TOOL_CALL_RESULT messageId=m toolCallId=c content=x\nTOOL_CALL_RESULT messageId=n "
            "toolCallId=c content=x",
            ""
        },
        sequence{
            "O5Twice", "O5",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x\nTOOL_CALL_RESULT "
            "messageId=n toolCallId=c content=x",
            ""
        },
        sequence{
            "O5Restated", "O5",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"id":"b","role":"tool","toolCallId":"c","content":"x"}])"
            "\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x",
            ""
        },
        sequence{
            "O6Outside", "O6", "REASONING_MESSAGE_START messageId=m role=reasoning",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m "
            "role=reasoning\nREASONING_MESSAGE_END messageId=m\nREASONING_END "
            "messageId=s\nTEXT_MESSAGE_START messageId=t\nTEXT_MESSAGE_END messageId=t"
        },
        sequence{
            "O6EndsEarly", "O6",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m "
            "role=reasoning\nREASONING_END messageId=s",
            ""
        },
        sequence{
            "O6Text", "O6", "REASONING_START messageId=s\nTEXT_MESSAGE_START messageId=m",
            "REASONING_START messageId=s subagentRunId=a\nTEXT_MESSAGE_START "
            "messageId=m\nTEXT_MESSAGE_END messageId=m\nREASONING_END messageId=s"
        },
        sequence{
            "O7Reopened", "O7",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_START toolCallId=c toolCallName=f",
            "TOOL_CALL_START toolCallId=c toolCallName=f parentMessageId=m\nTEXT_MESSAGE_START "
            "messageId=m\nTEXT_MESSAGE_CONTENT messageId=m delta=x\nTOOL_CALL_ARGS toolCallId=c "
            "delta=x\nTEXT_MESSAGE_END messageId=m\nTOOL_CALL_END toolCallId=c"
        },
        sequence{
            "O7ReopenedAfterItsResult", "O7",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x\nTOOL_CALL_START "
            "toolCallId=c toolCallName=f",
            ""
        },
        sequence{
            "O7Restated", "O7",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}])"
            "\nTOOL_CALL_START toolCallId=c toolCallName=f",
            ""
        },
        sequence{
            "S9MessageName", "S9",
            "TEXT_MESSAGE_START messageId=m name=a\nTEXT_MESSAGE_END "
            "messageId=m\nTEXT_MESSAGE_START messageId=m",
            ""
        },
        sequence{
            "S16", "S16", "ACTIVITY_DELTA messageId=m activityType=A patch=[]",
            "ACTIVITY_SNAPSHOT messageId=m activityType=A content={}\nACTIVITY_DELTA messageId=m "
            "activityType=A patch=[]\nACTIVITY_DELTA messageId=m activityType=A patch=[]"
        },
        sequence{"EmptyText", "empty-delta", R"(TEXT_MESSAGE_CONTENT messageId=m delta="")", ""},
        sequence{"EmptyArguments", "empty-delta", R"(TOOL_CALL_ARGS toolCallId=c delta="")", ""},
        sequence{
            "EmptyReasoning", "empty-delta", R"(REASONING_MESSAGE_CONTENT messageId=m delta="")", ""
        },
        sequence{"EmptyChunk", "empty-delta", R"(TEXT_MESSAGE_CHUNK messageId=m delta="")", ""},
        sequence{"EmptyId", "empty-id", R"(TEXT_MESSAGE_START messageId="")", ""}
    ),
    sequence_name
);

INSTANTIATE_TEST_SUITE_P(
    Schema, VerifierRule,
    ::testing::Values(
        sequence{"UnknownType", "S20", "META metaType=x", ""},
        sequence{
            "UnknownMember", "schema", "CUSTOM name=a value=1 extra=1",
            "CUSTOM name=a value=1 metadata={\"extra\":1} rawEvent=1"
        },
        sequence{
            "FloatTimestamp", "schema", "CUSTOM name=a value=1 timestamp=1.5",
            "CUSTOM name=a value=1 timestamp=1700000000000"
        },
        sequence{"WholeFloatTimestamp", "schema", "CUSTOM name=a value=1 timestamp=1e3", ""},
        sequence{
            "LargeTimestamp", "schema", "CUSTOM name=a value=1 timestamp=9007199254740992",
            "CUSTOM name=a value=1 timestamp=-9007199254740991"
        },
        sequence{"NullTimestamp", "null", "CUSTOM name=a value=1 timestamp=null", ""},
        sequence{"NullRawEvent", "null", "CUSTOM name=a value=1 rawEvent=null", ""},
        sequence{"ArrayMetadata", "schema", "CUSTOM name=a value=1 metadata=[]", ""},
        sequence{"MissingValue", "schema", "CUSTOM name=a", "CUSTOM name=a value=null"},
        sequence{"MissingSnapshot", "schema", "STATE_SNAPSHOT", "STATE_SNAPSHOT snapshot=null"},
        sequence{"MissingRawEvent", "schema", "RAW source=x", "RAW event=null source=x"},
        sequence{"NumericId", "schema", "TEXT_MESSAGE_START messageId=1", ""},
        sequence{
            "ToolRole", "schema", "TEXT_MESSAGE_START messageId=m role=tool",
            "TEXT_MESSAGE_START messageId=m role=developer\nTEXT_MESSAGE_END messageId=m"
        },
        sequence{
            "ReasoningRole", "schema",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m role=assistant", ""
        },
        sequence{
            "NoReasoningRole", "schema",
            "REASONING_START messageId=s\nREASONING_MESSAGE_START messageId=m", ""
        },
        sequence{
            "NullParent", "null",
            "TOOL_CALL_START toolCallId=c toolCallName=f parentMessageId=null", ""
        },
        sequence{
            "ObjectResult", "schema",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c content={}",
            "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END "
            "toolCallId=c\nTOOL_CALL_RESULT messageId=m toolCallId=c role=tool "
            "content=[{\"type\":\"text\",\"text\":\"x\"}]"
        },
        sequence{
            "PatchOperation", "schema", R"(STATE_DELTA delta=[{"op":"grow","path":"/a"}])",
            R"(STATE_DELTA delta=[{"op":"add","path":"/a~1b","value":null,"more":1},{"op":"remove","path":""}])"
        },
        sequence{"PatchPointer", "schema", R"(STATE_DELTA delta=[{"op":"remove","path":"a"}])", ""},
        sequence{"PatchTilde", "schema", R"(STATE_DELTA delta=[{"op":"remove","path":"/~2"}])", ""},
        sequence{"PatchValue", "schema", R"(STATE_DELTA delta=[{"op":"add","path":"/a"}])", ""},
        sequence{
            "PatchFrom", "schema", R"(STATE_DELTA delta=[{"op":"move","path":"/a"}])",
            R"(STATE_DELTA delta=[{"op":"move","path":"/a","from":"/b"}])"
        },
        sequence{
            "ActivityContent", "schema", "ACTIVITY_SNAPSHOT messageId=m activityType=A content=[]",
            "ACTIVITY_SNAPSHOT messageId=m activityType=A content={} replace=false"
        },
        sequence{
            "MessageWithoutId", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"role":"user","content":"x"}])", ""
        },
        sequence{
            "UserWithoutContent", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user"}])", ""
        },
        sequence{
            "UnknownRole", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"bard","content":"x"}])", ""
        },
        sequence{
            "NullContent", "null",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","content":null}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant"}])"
        },
        sequence{
            "ToolName", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"tool","toolCallId":"c","content":"x","name":"f"}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"tool","toolCallId":"c","content":"x","error":"e","encryptedValue":"v","encryptedValueType":"a.b"}])"
        },
        sequence{
            "CallType", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"method","function":{"name":"f","arguments":""}}]}])",
            ""
        },
        sequence{
            "ObjectArguments", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":{}}}]}])",
            ""
        },
        sequence{
            "UnknownPart", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":[{"type":"smell"}]}])",
            ""
        },
        sequence{
            "UnknownSource", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"ftp","value":"x"}}]}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"file","value":"x","provider":"openai"}}]}])"
        },
        sequence{
            "DataWithoutMimeType", "schema",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"data","value":"QQ=="}}]}])",
            R"(MESSAGES_SNAPSHOT messages=[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"url","value":"x"}}]}])"
        },
        sequence{
            "Subtype", "schema",
            "REASONING_ENCRYPTED_VALUE subtype=other entityId=m encryptedValue=x",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=m encryptedValue=x"
        },
        sequence{
            "TaggedSnapshot", "schema", "MESSAGES_SNAPSHOT messages=[] subagentRunId=a",
            "STATE_SNAPSHOT snapshot=1 subagentRunId=a"
        }
    ),
    sequence_name
);

// ---- Starts and ends ----------------------------------------------------------------------------

struct whole_stream {
    std::string_view name;
    std::string_view rule; ///< Empty if the script is legal.
    std::string_view script;
};

std::string stream_name(const ::testing::TestParamInfo<whole_stream>& info) {
    return std::string(info.param.name);
}

class VerifierStream : public ::testing::TestWithParam<whole_stream> {};

TEST_P(VerifierStream, IsJudgedAsAWhole) {
    if (GetParam().rule.empty()) {
        EXPECT_EQ(verdict(GetParam().script), "");
    } else {
        EXPECT_THAT(
            verdict(GetParam().script), ::testing::StartsWith(std::string(GetParam().rule) + ": ")
        );
    }
}

#define AGUI_START "RUN_STARTED threadId=t runId=r\n"
#define AGUI_CALL "TOOL_CALL_START toolCallId=c toolCallName=f\nTOOL_CALL_END toolCallId=c\n"
#define AGUI_SECOND "TOOL_CALL_START toolCallId=d toolCallName=f\nTOOL_CALL_END toolCallId=d\n"
#define AGUI_END "RUN_FINISHED threadId=t runId=r"

INSTANTIATE_TEST_SUITE_P(
    All, VerifierStream,
    ::testing::Values(
        whole_stream{"Shortest", "", AGUI_START AGUI_END},
        whole_stream{"ShortestFailure", "", AGUI_START "RUN_ERROR message=x code=internal"},
        whole_stream{"V1", "V1", AGUI_START "RUN_ERROR message=x\nCUSTOM name=a value=1"},
        whole_stream{"V2", "V2", AGUI_START AGUI_END "\nCUSTOM name=a value=1"},
        whole_stream{"V2Twice", "V2", AGUI_START AGUI_END "\n" AGUI_END},
        whole_stream{"V3", "V3", "CUSTOM name=a value=1"},
        whole_stream{"V4", "V4", AGUI_START AGUI_START},
        whole_stream{"O1Error", "O1", "RUN_ERROR message=x"},
        whole_stream{"O1Ids", "O1", AGUI_START "RUN_FINISHED threadId=t runId=other"},
        whole_stream{"O1Empty", "O1", ""},
        whole_stream{"O2Error", "O2", AGUI_START AGUI_END "\nRUN_ERROR message=x"},
        whole_stream{"O2Unterminated", "O2", AGUI_START},
        whole_stream{"O3", "O3", AGUI_START "TEXT_MESSAGE_START messageId=m\nRUN_ERROR message=x"},
        whole_stream{"O8", "O8", AGUI_START AGUI_END "\n" AGUI_START AGUI_END},
        whole_stream{
            "ChunksAreClosedByTheEnd", "",
            AGUI_START "TEXT_MESSAGE_CHUNK messageId=m delta=x\n" AGUI_END
        },
        whole_stream{"OpenCallsWithoutOutcome", "", AGUI_START AGUI_CALL AGUI_END},
        whole_stream{
            "S5Listed", "",
            AGUI_START AGUI_CALL AGUI_SECOND AGUI_END
            R"( outcome={"type":"success","pendingToolCallIds":["c","d"]})"
        },
        whole_stream{
            "S5Order", "S5",
            AGUI_START AGUI_CALL AGUI_SECOND AGUI_END
            R"( outcome={"type":"success","pendingToolCallIds":["d","c"]})"
        },
        whole_stream{
            "S5Missing", "S5", AGUI_START AGUI_CALL AGUI_END R"( outcome={"type":"success"})"
        },
        whole_stream{
            "S5Answered", "S5",
            AGUI_START AGUI_CALL "TOOL_CALL_RESULT messageId=m toolCallId=c content=x\n" AGUI_END
                                 R"( outcome={"type":"success","pendingToolCallIds":["c"]})"
        },
        whole_stream{
            "S5Empty", "S5",
            AGUI_START AGUI_END R"( outcome={"type":"success","pendingToolCallIds":[]})"
        },
        whole_stream{
            "S5EarlierRun", "",
            AGUI_START
            R"(MESSAGES_SNAPSHOT messages=[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}])"
            "\n" AGUI_END R"( outcome={"type":"success"})"
        },
        whole_stream{
            "Cancelled", "", AGUI_START AGUI_CALL AGUI_END R"( outcome={"type":"cancelled"})"
        },
        whole_stream{"S8", "S8", AGUI_START AGUI_END R"( outcome={"type":"cancelled"} result=1)"},
        whole_stream{
            "Interrupt", "",
            AGUI_START AGUI_CALL AGUI_END
            R"( outcome={"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","toolCallId":"c"}]})"
        },
        whole_stream{
            "NoInterrupts", "schema",
            AGUI_START AGUI_END R"( outcome={"type":"interrupt","interrupts":[]})"
        },
        whole_stream{
            "InterruptWithoutReason", "schema",
            AGUI_START AGUI_END R"( outcome={"type":"interrupt","interrupts":[{"id":"i"}]})"
        },
        whole_stream{
            "InterruptOwnerNull", "V23",
            AGUI_START AGUI_END
            R"( outcome={"type":"interrupt","interrupts":[{"id":"i","reason":"x","subagentRunId":null}]})"
        },
        whole_stream{
            "BooleanResponseSchema", "schema",
            AGUI_START AGUI_END
            R"( outcome={"type":"interrupt","interrupts":[{"id":"i","reason":"x","responseSchema":true}]})"
        },
        whole_stream{"TextOutcome", "schema", AGUI_START AGUI_END " outcome=success"},
        whole_stream{
            "UnknownOutcome", "schema", AGUI_START AGUI_END R"( outcome={"type":"paused"})"
        },
        whole_stream{"NullOutcome", "null", AGUI_START AGUI_END " outcome=null"},
        whole_stream{"NullResult", "null", AGUI_START AGUI_END " result=null"},
        whole_stream{
            "Usage", "",
            AGUI_START AGUI_END
            R"( usage=[{"provider":"p","model":"m","inputTokens":1,"outputTokens":0,"totalTokens":1}])"
        },
        whole_stream{"ObjectUsage", "schema", AGUI_START AGUI_END R"( usage={"inputTokens":1})"},
        whole_stream{
            "NegativeUsage", "schema", AGUI_START AGUI_END R"( usage=[{"inputTokens":-1}])"
        },
        whole_stream{
            "FloatUsage", "schema",
            AGUI_START "RUN_ERROR message=x "
                       R"(usage=[{"inputTokens":1.5}])"
        },
        whole_stream{
            "NumericVersion", "schema", "RUN_STARTED threadId=t runId=r protocolVersion=1.0"
        },
        whole_stream{"NullParentRun", "null", "RUN_STARTED threadId=t runId=r parentRunId=null"},
        whole_stream{"NumericCode", "schema", AGUI_START "RUN_ERROR message=x code=5"},
        whole_stream{"NoRunId", "schema", "RUN_STARTED threadId=t"},
        whole_stream{
            "Input", "",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}],"tools":[{"name":"f","description":"d"}],"context":[],"resume":[{"interruptId":"i","status":"resolved","payload":0}]})"
            "\n" AGUI_END
        },
        whole_stream{
            "InputWithoutMessages", "schema",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r"})"
        },
        whole_stream{
            "InputNullTools", "null",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r","messages":[],"tools":null})"
        },
        whole_stream{
            "InputStatus", "schema",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"x"}]})"
        },
        whole_stream{
            "InputSeedsRoles", "O4",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}]})"
            "\nTEXT_MESSAGE_START messageId=u"
        },
        whole_stream{
            "InputSeedsCalls", "",
            R"(RUN_STARTED threadId=t runId=r input={"threadId":"t","runId":"r","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}]})"
            "\nTOOL_CALL_RESULT messageId=m toolCallId=c content=x\n" AGUI_END
        }
    ),
    stream_name
);

TEST(Verifier, TakesSeveralRunsWhereHistoryIsReplayed) {
    const event_verifier::settings replay{.allow_several_runs = true};

    EXPECT_EQ(
        verdict(
            AGUI_START AGUI_CALL "RUN_ERROR message=x\n"
                                 "RUN_STARTED threadId=t runId=r2\n" AGUI_CALL
                                 "RUN_FINISHED threadId=t runId=r2",
            replay
        ),
        ""
    );
    EXPECT_THAT(
        verdict(AGUI_START AGUI_END "\nCUSTOM name=a value=1", replay),
        ::testing::StartsWith("V2: ")
    );
    EXPECT_THAT(
        verdict(AGUI_START "RUN_ERROR message=x\n" AGUI_END, replay), ::testing::StartsWith("V1: ")
    );
}

TEST(Verifier, JudgesTheTextOfAFrameToo) {
    using namespace std::string_view_literals;
    event_verifier verifier;

    EXPECT_THAT(verifier.check("[DONE]"sv).value(), ::testing::StartsWith("T3: "));
    EXPECT_THAT(verifier.check(""sv).value(), ::testing::StartsWith("T3: "));
    EXPECT_THAT(verifier.check("[]"sv).value(), ::testing::StartsWith("T4: "));
    EXPECT_THAT(verifier.check("null"sv).value(), ::testing::StartsWith("T4: "));
    EXPECT_THAT(verifier.check("{}"sv).value(), ::testing::StartsWith("T5: "));
    EXPECT_THAT(verifier.check(R"({"type":""})"sv).value(), ::testing::StartsWith("T5: "));
    EXPECT_THAT(verifier.check(R"({"type":5})"sv).value(), ::testing::StartsWith("T5: "));
    EXPECT_EQ(
        verifier.check(R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})"sv), std::nullopt
    );
}

} // namespace
} // namespace agui::translator
