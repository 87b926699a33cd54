#include "runner/base/generated_media.hpp"

#include "session/conversation/media_part.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using namespace std::string_view_literals;

constexpr auto image = generated_media::kind::image;
constexpr auto audio = generated_media::kind::audio;

struct typed {
    generated_media::kind what;
    std::string_view bytes;
    std::string_view type;
};

TEST(GeneratedMedia, TheirBytesTellTheirType) {
    const std::vector<typed> known = {
        {image, "\x89PNG\r\n\x1a\n...."sv, "image/png"},
        {image, "\xff\xd8\xff\xe0"sv, "image/jpeg"},
        {image, "GIF89a"sv, "image/gif"},
        {image, "RIFF\0\0\0\0WEBP"sv, "image/webp"},
        {image,
         "\0\0\0\x1c"
         "ftypavif"sv,
         "image/avif"},
        {audio, "RIFF\0\0\0\0WAVE"sv, "audio/wav"},
        {audio, "ID3\x04"sv, "audio/mpeg"},
        {audio, "\xff\xfb\x90\x64"sv, "audio/mpeg"},
        {audio, "OggS\0"sv, "audio/ogg"},
        {audio, "fLaC\0"sv, "audio/flac"},
        {audio, "\xff\xf1\x50"sv, "audio/aac"},
        {audio,
         "\0\0\0\x1c"
         "ftypM4A "sv,
         "audio/mp4"},
    };
    for (const typed& each : known) {
        EXPECT_EQ(media_type_of_bytes(each.what, each.bytes), each.type);
        const auto other = each.what == image ? audio : image;
        EXPECT_EQ(media_type_of_bytes(other, each.bytes), "") << each.type;
    }
}

TEST(GeneratedMedia, DocumentsAndUnknownBytesHaveNone) {
    const std::vector<typed> unknown = {
        {image, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"sv, ""},
        {image, "<!doctype html>"sv, ""},
        {image, "%PDF-1.7"sv, ""},
        {image, "RIFF\0\0\0\0WEB"sv, ""},
        {image, "\x89PN"sv, ""},
        {image, ""sv, ""},
        {audio, "\xff\xff\xff\xff"sv, ""}, // Silent samples.
        {audio, "\xff\xfb\xf0\x64"sv, ""},
        {audio, "\xff\xfb"sv, ""},
    };
    for (const typed& each : unknown) {
        EXPECT_EQ(media_type_of_bytes(each.what, each.bytes), "") << each.bytes;
    }
}

std::string joined(const std::vector<std::string_view>& pieces) {
    base64_pieces all;
    for (const std::string_view each : pieces) {
        all.add(each);
    }
    const std::string bytes = all.take();
    return all.problem().empty() ? bytes : "! " + std::string(all.problem());
}

TEST(Base64Pieces, MayBeCutAnywhereOrPaddedOneByOne) {
    const std::string_view whole = "SGVsbG8gdGhlcmU=";
    for (std::size_t at = 0; at <= whole.size(); ++at) {
        EXPECT_EQ(joined({whole.substr(0, at), whole.substr(at)}), "Hello there") << at;
    }
    EXPECT_EQ(joined({"SGVsbG8=", "IHRoZXJl"}), "Hello there");
    EXPECT_EQ(joined({"SGVsbG8"}), "Hello") << "the padding is missing";
}

TEST(Base64Pieces, AProblemKeepsNothing) {
    EXPECT_EQ(joined({"SGVs", "%%%%", "bG8="}), "! is not base64");
    EXPECT_EQ(joined({"SGVsb"}), "! is not base64");
    EXPECT_EQ(joined({}), "! is empty");
    const std::string most(generated_media_bytes_max / 3 * 4, 'A');
    EXPECT_EQ(joined({most}).size(), generated_media_bytes_max / 3 * 3);
    EXPECT_EQ(joined({most, "AAAA"}), "! is too large");
}

TEST(GeneratedMedia, APassedOneHasItsBytesOrAProblem) {
    test::recording_model_sink sink;

    pass_media(sink, image, session::encode_base64("bytes"));
    pass_media(sink, image, "?");

    EXPECT_EQ(sink.lines, (std::vector<std::string>{"image 5 bytes", "image is not base64"}));
}

} // namespace
} // namespace agui::runner
