#include "runner/responses/responses_chat_decoder.hpp"

#include "tests/runner/responses/responses_answer_case.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

using namespace test::responses;
using test::decode_pieces;
using test::decoded;

std::string image_item(const std::string& result) {
    return R"({"type":"image_generation_call","id":"ig_1","status":"completed","result":)" +
           result + "}";
}

std::string answer_with(const std::string& result) {
    return created + reasoning(0, "rs_1") + done(1, image_item(result)) +
           test::responses::message(2, "Here.") + end();
}

decoded decode_answer(const std::string& body) { return decode_pieces<responses_decoder>({body}); }

TEST(ResponsesMedia, AnImageIsToldAndItsItemGoesBack) {
    const decoded answer = decode_answer(answer_with(R"("iVBORw0KGgo=")"));

    EXPECT_EQ(
        answer.lines,
        (std::vector<std::string>{
            "hosted 1 image_generation", "hosted 1 completed", "image 8 bytes", "text Here."
        })
    );
    EXPECT_NE(answer.data.find(R"("result":"iVBORw0KGgo=")"), std::string::npos);
}

// The server would refuse an item without its image, and reasoning without the item behind it.
TEST(ResponsesMedia, ALargeImageDoesNotGoBackNorDoesTheReasoningBeforeIt) {
    const decoded answer = decode_answer(answer_with('"' + std::string(600'000, 'A') + '"'));

    EXPECT_EQ(answer.lines[2], "image 450000 bytes");
    EXPECT_EQ(answer.outcome, "stop");
    EXPECT_EQ(answer.data.find("ig_1"), std::string::npos);
    EXPECT_EQ(answer.data.find("rs_1"), std::string::npos);
}

TEST(ResponsesMedia, AnItemWithoutAnImageTellsNone) {
    for (const std::string result : {"null", "\"\"", "1"}) {
        const decoded answer = decode_answer(answer_with(result));
        EXPECT_EQ(answer.lines.back(), "text Here.") << result;
        EXPECT_EQ(answer.lines.size(), 3U) << result;
        EXPECT_EQ(answer.outcome, "stop");
    }
}

TEST(ResponsesMedia, AnImageThatIsCutIsNotTold) {
    const std::string body = answer_with(R"("iVBORw0KGgo=")");
    const decoded answer = decode_answer(body.substr(0, body.find("KGgo")));

    for (const std::string& line : answer.lines) {
        EXPECT_FALSE(line.starts_with("image")) << line;
    }
    EXPECT_EQ(answer.outcome, "lost");
    EXPECT_EQ(answer.data, "");
}

TEST(ResponsesMedia, EarlierVersionsOfAnImageAreNotTold) {
    const decoded answer = decode_answer(
        created + added(0, image_item("null")) +
        event("image_generation_call.partial_image", at(0) + R"(,"partial_image_b64":"iVBORw0K")") +
        done(0, image_item(R"("iVBORw0KGgo=")")) + end()
    );

    EXPECT_EQ(
        answer.lines, (std::vector<std::string>{
                          "hosted 0 image_generation", "hosted 0 completed", "image 8 bytes"
                      })
    );
}

} // namespace
} // namespace agui::runner
