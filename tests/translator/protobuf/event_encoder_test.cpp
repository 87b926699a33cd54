#include "translator/protobuf/event_encoder.hpp"

#include "tests/translator/protobuf/decoded_event.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/protobuf/delta_encoder.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {
namespace {

namespace json = boost::json;

const test::proto_file& published() {
    static const test::proto_file file = test::read_proto_file(AGUI_PROTO_FILE);
    return file;
}

std::string hex_of(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        out.push_back(digits[value >> 4U]);
        out.push_back(digits[value & 15U]);
    }
    return out;
}

std::string encoded(std::string_view event) {
    std::string out(event);
    encode_event(out, 0);
    return out;
}

struct vector {
    std::string hex;
    std::string event;
};

std::vector<vector> read_vectors() {
    std::ifstream file(AGUI_PROTO_VECTORS);
    std::vector<vector> out;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with('#')) {
            const std::size_t space = line.find(' ');
            out.push_back({line.substr(0, space), line.substr(space + 1)});
        }
    }
    return out;
}

TEST(EventEncoder, WritesTheBytesOfThePublishedEncoder) {
    const std::vector<vector> vectors = read_vectors();
    ASSERT_EQ(vectors.size(), 52U);
    for (const vector& one : vectors) {
        EXPECT_EQ(hex_of(encoded(one.event)), one.hex) << one.event;
    }
}

TEST(EventEncoder, WritesWhatTheProtoFileDescribes) {
    for (const vector& one : read_vectors()) {
        SCOPED_TRACE(one.event);
        EXPECT_EQ(
            json::value(test::decode_event(published(), encoded(one.event))),
            test::as_decoded(json::parse(one.event))
        );
    }
}

TEST(EventEncoder, CarriesTheTypesOfEncryptedValues) {
    for (const std::string_view event :
         {R"({"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m",)"
          R"("encryptedValue":"e","encryptedValueType":"a.b"})",
          R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":)"
          R"([{"id":"c","type":"function","function":{"name":"f","arguments":""},)"
          R"("encryptedValue":"e","encryptedValueType":"a.b"}]},{"id":"r","role":"reasoning",)"
          R"("content":"","encryptedValue":"e","encryptedValueType":"a.b"}]})"}) {
        EXPECT_EQ(
            json::value(test::decode_event(published(), encoded(event))),
            test::as_decoded(json::parse(event))
        );
    }
}

// Its field is present even if the pointer is empty, which no vector shows.
TEST(EventEncoder, WritesThatAnOperationIsFromTheRoot) {
    EXPECT_EQ(
        hex_of(encoded(R"({"type":"STATE_DELTA","delta":[{"op":"copy","from":"","path":"/a"}]})")),
        "420e0a0208071208080412022f611a00"
    );
}

TEST(EventEncoder, WritesFieldsInTheOrderOfTheirNumbersWhateverThatOfTheJson) {
    EXPECT_EQ(
        encoded(R"({"usage":[{"model":"m","provider":"p"}],"outcome":{"pendingToolCallIds":["c"],)"
                R"("type":"success"},"runId":"r","threadId":"t","type":"RUN_FINISHED"})"),
        encoded(R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success",)"
                R"("pendingToolCallIds":["c"]},"usage":[{"provider":"p","model":"m"}]})")
    );
}

TEST(EventEncoder, ReplacesOnlyTheEvent) {
    std::string out = R"(before{"type":"TEXT_MESSAGE_END","messageId":"m1"})";
    encode_event(out, 6);
    EXPECT_EQ(hex_of(out), hex_of("before") + "1a080a02080212026d31");

    encode_event(out.append(R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x"})"), 16);

    EXPECT_EQ(
        hex_of(out), hex_of("before") + "1a080a02080212026d31" + "120b0a02080112026d311a0178"
    );
}

TEST(EventEncoder, LeavesOutWhatTheProtocolDoesNotKnow) {
    EXPECT_EQ(
        encoded(R"({"type":"TOOL_CALL_END","toolCallId":"c1","more":1,"timestamp":"now"})"),
        encoded(R"({"type":"TOOL_CALL_END","toolCallId":"c1"})")
    );
    EXPECT_EQ(
        encoded(
            R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":)"
            R"([{"type":"smell"},{"type":"text","text":"a"},{"type":"image","source":{"type":"x"}}]})"
        ),
        encoded(R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":)"
                R"([{"type":"text","text":"a"},{"type":"image"}]})")
    );
}

TEST(EventEncoder, RefusesWhatIsNoEvent) {
    for (const std::string text :
         {"", "{", "[]", "{}", R"({"type":1})", R"({"type":"META"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x)"}) {
        std::string out = "a" + text;
        EXPECT_THROW(encode_event(out, 1), std::invalid_argument) << text;
        EXPECT_EQ(out, "a" + text);
    }
}

TEST(EventEncoder, WritesADocumentAsDeepAsARequestMayBring) {
    constexpr std::size_t depth = 1024;
    std::string document;
    for (std::size_t i = 0; i < depth; ++i) {
        document += i % 2 == 0 ? "[" : R"({"a":)";
    }
    for (std::size_t i = depth; i-- > 0;) {
        document += i + 1 == depth ? "1}" : i % 2 == 0 ? "]" : "}";
    }
    const std::string event = R"({"type":"STATE_SNAPSHOT","snapshot":)" + document + "}";

    const json::object decoded = test::decode_event(published(), encoded(event));

    EXPECT_NE(json::serialize(decoded).find("[{\"a\":1E0}]"), std::string::npos);
}

// ---- Deltas, which are written in place ---------------------------------------------------------

struct delta_type {
    std::string_view type;
    std::string_view id_key;
};

constexpr delta_type delta_types[] = {
    {"TEXT_MESSAGE_CONTENT", "messageId"},
    {"REASONING_MESSAGE_CONTENT", "messageId"},
    {"TOOL_CALL_ARGS", "toolCallId"},
};

/// The event as the slow way writes it: the blank hides it from the fast one.
std::string encoded_slowly(std::string event) { return encoded(event.insert(1, " ")); }

TEST(DeltaEncoder, WritesDeltasAsTheEncoderOfAllEventsDoes) {
    const std::string long_text(70'000, 'x');
    for (const delta_type& one : delta_types) {
        for (const std::string& id : {std::string("m"), std::string(200, 'i')}) {
            for (const std::string& text :
                 {std::string("a"), std::string("你好 😀"), std::string(R"({"a":"\\\"b/"})"),
                  std::string("\x01\n\r\t\b\f\x1f end"), std::string(1, '\0'), long_text,
                  std::string(113, 'y'), std::string(128, '\n')}) {
                event_writer writer;
                const std::string event(writer.delta(one.type, one.id_key, id, text));
                std::string fast = event;

                ASSERT_TRUE(encode_delta(fast, 0)) << event;

                EXPECT_EQ(fast, encoded_slowly(event));
                EXPECT_EQ(test::decode_event(published(), fast).at("delta").as_string(), text);
            }
        }
    }
}

TEST(DeltaEncoder, LeavesEveryOtherEventAsItIs) {
    for (const std::string event :
         {R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":"a"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m\n","delta":"a"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":1})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\u00e9"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d\ude00"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\x"})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\")",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":1})",
          R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m)",
          R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"})"}) {
        std::string out = event;
        EXPECT_FALSE(encode_delta(out, 0)) << event;
        EXPECT_EQ(out, event);
    }
    EXPECT_EQ(
        test::decode_event(
            published(),
            encoded(
                R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\u00e9\ud83d\ude00"})"
            )
        )
            .at("delta")
            .as_string(),
        "é😀"
    );
}

} // namespace
} // namespace agui::translator
