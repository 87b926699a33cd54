#include "session/conversation/media_part.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>

namespace agui::session {
namespace {

namespace json = boost::json;

// RFC 4648, section 10.
TEST(Base64, DecodesTheVectorsOfTheRfc) {
    EXPECT_EQ(decode_base64(""), "");
    EXPECT_EQ(decode_base64("Zg=="), "f");
    EXPECT_EQ(decode_base64("Zm8="), "fo");
    EXPECT_EQ(decode_base64("Zm9v"), "foo");
    EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
    EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
    EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
}

TEST(Base64, EncodesTheVectorsOfTheRfc) {
    EXPECT_EQ(encode_base64(""), "");
    EXPECT_EQ(encode_base64("f"), "Zg==");
    EXPECT_EQ(encode_base64("fo"), "Zm8=");
    EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, AcceptsWhatClientsSend) {
    EXPECT_EQ(decode_base64("Zm9vYg"), "foob") << "without padding";
    EXPECT_EQ(decode_base64("Zm9v\r\nYmFy\n"), "foobar") << "in lines";
    EXPECT_EQ(decode_base64("-_-_"), decode_base64("+/+/")) << "the alphabet of URLs";
}

TEST(Base64, RefusesWhatIsNone) {
    EXPECT_FALSE(decode_base64("Zm9vY"));
    EXPECT_FALSE(decode_base64("Zg==Zg=="));
    EXPECT_FALSE(decode_base64("hello, world"));
}

TEST(Base64, DecodesMoreThanOneBuffer) {
    std::string text;
    std::string bytes;
    for (int i = 0; i < 5000; ++i) {
        text += "Zm9v";
        bytes += "foo";
    }
    EXPECT_EQ(decode_base64(text), bytes);
}

// FIPS 180-2, appendix B.1: "abc".
TEST(PartDigest, IsThatOfTheBytesWhateverTheirSpelling) {
    const part_digest expected{
        .sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", .bytes = 3
    };

    EXPECT_EQ(digest_of({.value = "YWJj", .mime_type = "image/png"}), expected);
    EXPECT_EQ(digest_of({.value = "YW\nJj", .mime_type = ""}), expected);
    EXPECT_EQ(digest_of_text("abc"), expected);
    EXPECT_TRUE(is_sha256(expected.sha256));
}

TEST(PartDigest, OfWhatIsNoBase64IsThatOfTheText) {
    EXPECT_EQ(digest_of({.value = "a,b", .mime_type = ""}), digest_of_text("a,b"));
}

TEST(PartDigest, IsTellableFromOtherTexts) {
    EXPECT_FALSE(is_sha256(""));
    EXPECT_FALSE(is_sha256(std::string(63, 'a')));
    EXPECT_FALSE(is_sha256(std::string(64, 'A')));
    EXPECT_FALSE(is_sha256(std::string(64, 'g')));
}

TEST(DataPart, IsAPartWithBytesOfItsOwn) {
    const auto with = [](const char* source) {
        return json::value{{"type", "image"}, {"source", json::parse(source)}};
    };
    const json::value part = with(R"({"type":"data","value":"YWJj","mimeType":"image/png"})");
    const auto data = data_part_of(part);

    ASSERT_TRUE(data);
    EXPECT_EQ(data->value, "YWJj");
    EXPECT_EQ(data->mime_type, "image/png");
    EXPECT_FALSE(data_part_of(with(R"({"type":"url","value":"https://a"})")));
    EXPECT_FALSE(data_part_of(with(R"({"type":"url","value":"data:text/plain,abc"})")));
    EXPECT_FALSE(data_part_of(with(R"("data")")));
    EXPECT_FALSE(data_part_of(json::parse(R"({"type":"text","text":"data"})")));
    EXPECT_FALSE(data_part_of(json::value("text")));
}

TEST(DataPart, MayBeADataUrl) {
    for (const char* const source :
         {R"({"type":"url","value":"data:image/png;base64,YWJj"})",
          R"({"type":"data","value":"data:image/png;base64,YWJj","mimeType":"image/jpeg"})",
          R"({"type":"url","value":"data:;base64,YWJj","mimeType":"image/png"})",
          R"({"type":"url","value":"data:image/png;x=y;base64,YWJj"})"}) {
        SCOPED_TRACE(source);
        const json::value part{{"type", "image"}, {"source", json::parse(source)}};
        const auto data = data_part_of(part);
        ASSERT_TRUE(data);
        EXPECT_EQ(data->value, "YWJj");
        EXPECT_EQ(data->mime_type, "image/png");
    }
}

} // namespace
} // namespace agui::session
