#include "runner/openai/openai_chat_decoder.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

using test::decoder_case;
using test::decoder_case_name;
using test::delta;
using test::done;
using test::finish;
using test::frames;
using test::OpenaiDecoderCases;

std::string image_at(const std::string& url) {
    return R"({"type":"image_url","image_url":{"url":")" + url + R"("}})";
}

// Eight bytes of samples; they become a WAV file of 52.
const std::string samples = R"("audio":{"data":"AAABAP//AgA="})";
const std::string words = R"("audio":{"id":"audio_1","transcript":"Hi"})";
const std::string png_url = "data:image/png;base64,iVBORw0KGgo=";

const std::vector<decoder_case>& media_cases() {
    static const std::vector<decoder_case> all = {
        {"Audio",
         frames({delta(words), delta(samples), finish("stop"), done}),
         {"text Hi", "audio 52 bytes: Hi"},
         "stop"},
        {"AudioInPieces",
         frames(
             {delta(R"("audio":{"data":"AAA"})"), delta(words),
              delta(R"("audio":{"data":"BAP//"})"), delta(R"("audio":{"data":"AgA="})"),
              delta(R"("audio":{"expires_at":1})"), finish("stop"), done}
         ),
         {"text Hi", "audio 52 bytes: Hi"},
         "stop"},
        {"AudioOfAFormat",
         frames({delta(R"("audio":{"data":"T2dnUwA="})"), finish("stop"), done}),
         {"audio 5 bytes"},
         "stop"},
        {"AudioBesideItsWordsAsContent",
         frames({delta(R"("content":"Hi",)" + words), delta(samples), finish("stop"), done}),
         {"text Hi", "audio 52 bytes: Hi"},
         "stop"},
        {"AudioUpToTheLimitOfTheAnswer",
         frames({delta(words), delta(samples), finish("length"), done}),
         {"text Hi", "audio 52 bytes: Hi"},
         "length"},
        {"AudioThatIsFiltered",
         frames({delta(words), delta(samples), finish("content_filter"), done}),
         {"text Hi"},
         "content_filter"},
        {"AudioThatIsCut", frames({delta(words), delta(samples)}), {"text Hi"}, "lost"},
        {"AudioThatIsNotBase64",
         frames({delta(words), delta(R"("audio":{"data":"%%%%"})"), finish("stop"), done}),
         {"text Hi", "audio is not base64: Hi"},
         "stop"},
        {"Image",
         frames(
             {delta(R"("content":"A")"), delta(R"("images":[)" + image_at(png_url) + "]"),
              delta(R"("content":"B")"), finish("stop"), done}
         ),
         {"text A", "image 8 bytes", "text B"},
         "stop"},
        {"ImagesAlone",
         frames(
             {delta(
                  R"("content":"","images":[)" + image_at(png_url) + "," + image_at(png_url) + "]"
              ),
              R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"length"}]})",
              done}
         ),
         {"image 8 bytes", "image 8 bytes"},
         "stop"},
        {"ImageThatIsRepeatedAtTheEnd",
         frames(
             {delta(R"("images":[)" + image_at(png_url) + "]"),
              R"({"choices":[{"index":0,"message":{"content":null,"images":[)" + image_at(png_url) +
                  R"(]},"finish_reason":"stop"}]})",
              done}
         ),
         {"image 8 bytes"},
         "stop"},
        {"ImageAtALink",
         frames(
             {delta(R"("images":[)" + image_at("https://example.org/a.png") + "]"), finish("stop"),
              done}
         ),
         {"image is a link, which is not fetched"},
         "stop"},
        {"NotImages",
         frames(
             {delta(R"("images":[1,{},{"image_url":1}],"audio":[],"content":"A")"), finish("stop")}
         ),
         {"text A"},
         "stop"},
        {"InTheWholeAnswer",
         R"({"choices":[{"index":0,"message":{"content":null,"audio":{"id":"a","data":"T2dnUwA=",)"
         R"("transcript":"Hi"}},"finish_reason":"stop"}]})",
         {"text Hi", "audio 5 bytes: Hi"},
         "stop"},
    };
    return all;
}

INSTANTIATE_TEST_SUITE_P(
    Media, OpenaiDecoderCases, ::testing::ValuesIn(media_cases()), decoder_case_name
);

TEST(OpenaiChatDecoderMedia, AudioIsCountedAsItArrivesAndDroppedWhereItIsTooMuch) {
    test::recording_model_sink sink;
    sink.media_bytes_max = 9;
    openai_decoder decoder(sink, "the-model", "the-provider");
    const std::string piece = delta(R"("audio":{"data":"AAABAP//"})");
    const std::string answer =
        frames({piece, delta(words), piece, piece, piece, finish("stop"), done});

    (void)decoder.feed(answer);
    (void)decoder.finish();

    EXPECT_EQ(sink.media_bytes, (std::vector<std::size_t>{6, 12})) << "later pieces are not held";
    EXPECT_EQ(
        sink.lines, (std::vector<std::string>{"text Hi", "audio is more than the test takes: Hi"})
    );
}

} // namespace
} // namespace agui::runner
