#include "session/conversation/media_part.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

namespace json = boost::json;
using kind = media_part::kind;
using source = media_part::source;

/// Describes an image from that source: "data TYPE VALUE", "url VALUE" or "none".
std::string read(std::string_view from, std::string_view value, std::string_view mime_type) {
    const json::object part{
        {"type", "image"}, {"source", {{"type", from}, {"value", value}, {"mimeType", mime_type}}}
    };
    const media_part image = read_media_part(part);
    EXPECT_EQ(image.what, kind::image);
    return image.from == source::data  ? "data " + image.mime_type + " " + std::string(image.value)
           : image.from == source::url ? "url " + std::string(image.value)
                                       : "none";
}

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

TEST(Base64, AcceptsTheFormsThatClientsSend) {
    EXPECT_EQ(decode_base64("Zm9vYg"), "foob") << "without padding";
    EXPECT_EQ(decode_base64("Zm9v\r\nYmFy\n"), "foobar") << "in lines";
    EXPECT_EQ(decode_base64("-_-_"), decode_base64("+/+/")) << "the alphabet of URLs";
}

TEST(Base64, RefusesAnythingElse) {
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

TEST(PartDigest, IsThatOfTheTextIfItIsNotBase64) {
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
          R"({"type":"url","value":"data:image/png;x=y;base64,YWJj"})",
          R"({"type":"data","value":" DATA:Image/PNG;BASE64, YWJj\n"})",
          R"({"type":"url","value":"data:image/png;base64,data:image/x-png;base64,YWJj"})"}) {
        SCOPED_TRACE(source);
        const json::value part{{"type", "image"}, {"source", json::parse(source)}};
        const auto data = data_part_of(part);
        ASSERT_TRUE(data);
        EXPECT_EQ(data->value, "YWJj");
        EXPECT_EQ(data->mime_type, "image/png");
    }
}

TEST(MediaPart, ATypeHasItsRegisteredName) {
    const std::vector<std::pair<std::string_view, std::string_view>> expected = {
        {"image/jpg", "image/jpeg"},
        {"IMAGE/JPG", "image/jpeg"},
        {" image/jpg ; q=1", "image/jpeg"},
        {"image/pjpeg", "image/jpeg"},
        {"image/x-png", "image/png"},
        {"image/png;charset=binary", "image/png"},
        {"audio/mp3", "audio/mpeg"},
        {"audio/x-wav", "audio/wav"},
        {"audio/wav; codecs=1", "audio/wav"},
        {"application/x-pdf", "application/pdf"},
        {"image/png", "image/png"},
        {"application/x-unheard-of", "application/x-unheard-of"},
        {"", ""},
    };
    for (const auto& [given, name] : expected) {
        EXPECT_EQ(media_type(given), name) << given;
    }
}

TEST(MediaPart, ADataUrlIsDataWhicheverSourceItIsGivenAs) {
    for (const std::string_view from : {"data", "url"}) {
        SCOPED_TRACE(from);
        EXPECT_EQ(read(from, "data:image/png;base64,QUJD", "image/png"), "data image/png QUJD");
        EXPECT_EQ(read(from, "DATA:image/jpg;BASE64,QUJD", ""), "data image/jpeg QUJD");
        EXPECT_EQ(read(from, " data:image/gif;x=1;base64, QUJD\n", ""), "data image/gif QUJD");
        EXPECT_EQ(
            read(from, "data:image/png;base64,data:image/png;base64,QUJD", ""),
            "data image/png QUJD"
        ) << "prefixed twice before";
    }
    EXPECT_EQ(read("data", "QUJD", "image/jpg"), "data image/jpeg QUJD");
}

TEST(MediaPart, ADataUrlsOwnTypeCountsIfItSaysAny) {
    EXPECT_EQ(read("data", "data:image/webp;base64,QUJD", "image/png"), "data image/webp QUJD");
    EXPECT_EQ(read("data", "data:;base64,QUJD", "image/png"), "data image/png QUJD");
    EXPECT_EQ(
        read("data", "data:application/octet-stream;base64,QUJD", "image/png"),
        "data image/png QUJD"
    );
}

TEST(MediaPart, ADataUrlThatIsNotBase64IsAUrl) {
    EXPECT_EQ(
        read("data", "data:image/svg+xml,%3Csvg/%3E", ""), "url data:image/svg+xml,%3Csvg/%3E"
    );
    EXPECT_EQ(read("url", "data:,x", ""), "url data:,x");
    EXPECT_EQ(
        read("url", "https://h/data:image/png;base64,QUJD", ""),
        "url https://h/data:image/png;base64,QUJD"
    );
    EXPECT_EQ(read("data", "data:image/png;base64", ""), "url data:image/png;base64");
}

TEST(MediaPart, WithoutAValueThereIsNoSource) {
    EXPECT_EQ(read("data", "", "image/png"), "none");
    EXPECT_EQ(read("data", "data:image/png;base64,", "image/png"), "none");
    EXPECT_EQ(read("url", " ", ""), "none");
    EXPECT_EQ(read("carrier pigeon", "QUJD", ""), "none");
}

TEST(MediaPart, ALegacyBinaryIsOfTheKindOfItsType) {
    const auto what = [](std::string_view members) {
        return read_media_part(
                   json::parse("{\"type\":\"binary\"," + std::string(members) + "}").as_object()
        )
            .what;
    };
    EXPECT_EQ(what(R"("mimeType":"image/jpg","data":"QUJD")"), kind::image);
    EXPECT_EQ(what(R"("data":"data:audio/mp3;base64,QUJD")"), kind::audio);
    EXPECT_EQ(what(R"("mimeType":"video/mp4","url":"https://h/v")"), kind::video);
    EXPECT_EQ(what(R"("mimeType":"imagery/x","id":"file-1")"), kind::document);
    EXPECT_EQ(what(R"("id":"file-1")"), kind::document);
}

} // namespace
} // namespace agui::session
