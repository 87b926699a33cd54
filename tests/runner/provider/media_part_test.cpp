#include "runner/provider/media_part.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using kind = media_part::kind;
using source = media_part::source;

/// "data TYPE VALUE", "url VALUE" or "none", of an image from that source.
std::string read(std::string_view from, std::string_view value, std::string_view mime_type) {
    const boost::json::object part{
        {"type", "image"}, {"source", {{"type", from}, {"value", value}, {"mimeType", mime_type}}}
    };
    const media_part image = read_media_part(part);
    EXPECT_EQ(image.what, kind::image);
    return image.from == source::data  ? "data " + image.mime_type + " " + std::string(image.value)
           : image.from == source::url ? "url " + std::string(image.value)
                                       : "none";
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
                   boost::json::parse("{\"type\":\"binary\"," + std::string(members) + "}")
                       .as_object()
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
} // namespace agui::runner
