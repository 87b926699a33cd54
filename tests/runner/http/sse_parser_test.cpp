#include "runner/http/sse_parser.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

struct received {
    std::string event;
    std::string data;
    friend bool operator==(const received&, const received&) = default;
};

void PrintTo(const received& value, std::ostream* out) {
    *out << "{" << ::testing::PrintToString(value.event) << ", "
         << ::testing::PrintToString(value.data) << "}";
}

class recorder : public sse_parser::handler {
public:
    void on_sse(std::string_view event, std::string_view data) override {
        events.push_back({std::string(event), std::string(data)});
        last = data;
    }
    std::vector<received> events;
    std::string_view last;
};

struct sse_case {
    const char* name;
    std::string_view body;
    std::vector<received> events;
    std::vector<received> at_end = {}; ///< The events that finish() delivers in addition.
};

using namespace std::string_literals;
using namespace std::string_view_literals;

const std::vector<sse_case>& cases() {
    static const std::vector<sse_case> all = {
        {"OneEvent", "data: hello\n\n", {{"", "hello"}}},
        {"TwoEvents", "data: a\n\ndata: b\n\n", {{"", "a"}, {"", "b"}}},
        {"NoSpace", "data:hello\n\n", {{"", "hello"}}},
        {"OnlyOneSpaceIsStripped", "data:  hello \n\n", {{"", " hello "}}},
        {"TabIsKept", "data:\thello\n\n", {{"", "\thello"}}},
        {"CrLf", "data: a\r\n\r\ndata: b\r\n\r\n", {{"", "a"}, {"", "b"}}},
        {"Cr", "data: a\r\rdata: b\r\r", {{"", "a"}, {"", "b"}}},
        {"MixedLineEnds",
         "data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\n",
         {{"", "a"}, {"", "b"}, {"", "c"}, {"", "d"}}},
        {"LfCrEndsTwoLines", "data: a\n\r\ndata: b\n\n", {{"", "a"}, {"", "b"}}},
        {"ByteOrderMark",
         "\xEF\xBB\xBF"
         "data: a\n\n",
         {{"", "a"}}},
        {"SecondByteOrderMarkBelongsToTheName",
         "\xEF\xBB\xBF\xEF\xBB\xBF"
         "data: a\n\ndata: b\n\n",
         {{"", "b"}}},
        {"ByteOrderMarkInTheMiddleIsNone",
         "data: a\n\n\xEF\xBB\xBF"
         "data: b\n\n",
         {{"", "a"}}},
        {"ByteOrderMarkBeforeAnEmptyLine", "\xEF\xBB\xBF\ndata: a\n\n", {{"", "a"}}},
        {"Comments", ": hi\n:\n:data: no\ndata: a\n: in between\n\n", {{"", "a"}}},
        {"OnlyComments", ": a\n\n: b\n\n", {}},
        {"SeveralDataLines", "data: a\ndata: b\ndata:\ndata: c\n\n", {{"", "a\nb\n\nc"}}},
        {"SeveralDataLinesCrLf", "data: a\r\ndata: b\r\n\r\n", {{"", "a\nb"}}},
        {"EmptyData", "data\n\ndata:\n\ndata: \n\n", {{"", ""}, {"", ""}, {"", ""}}},
        {"TwoEmptyDataLines", "data\ndata\n\n", {{"", "\n"}}},
        {"BlankLinesOnly", "\n\n\r\n\r\r\n", {}},
        {"EventName", "event: ping\ndata: a\n\ndata: b\n\n", {{"ping", "a"}, {"", "b"}}},
        {"EventNameAfterData", "data: a\nevent: late\n\n", {{"late", "a"}}},
        {"LastEventNameCounts", "event: x\nevent: y\ndata: a\n\n", {{"y", "a"}}},
        {"EventWithoutData", "event: x\n\ndata: a\n\n", {{"", "a"}}},
        {"OtherFields", "id: 1\nretry: 10\nfoo: bar\ndata: a\nid\n\n", {{"", "a"}}},
        {"NamesAreCaseSensitive", "Data: a\nDATA: b\ndata: c\n\n", {{"", "c"}}},
        {"SpaceBeforeTheColonIsPartOfTheName", "data : a\ndata: b\n\n", {{"", "b"}}},
        {"LeadingSpaceIsPartOfTheName", " data: a\ndata: b\n\n", {{"", "b"}}},
        {"ColonInTheValue", "data: a: b:c\n\n", {{"", "a: b:c"}}},
        {"NulIsData", "data: a\0b\n\n"sv, {{"", "a\0b"s}}},
        {"MultiByteText",
         "data: \xE2\x82\xAC \xF0\x9F\x98\x80 \xC3\xA9\n\n",
         {{"", "\xE2\x82\xAC \xF0\x9F\x98\x80 \xC3\xA9"}}},
        {"LineSeparatorsOfUnicodeAreData",
         "data: a\xE2\x80\xA8 b\xC2\x85 c\n\n",
         {{"", "a\xE2\x80\xA8 b\xC2\x85 c"}}},
        {"VerticalTabAndFormFeedAreData", "data: a\vb\fc\n\n", {{"", "a\vb\fc"}}},
        {"UnfinishedLine", "data: a\n\ndata: b", {{"", "a"}}, {{"", "b"}}},
        {"UnfinishedBlock", "data: a\n\ndata: b\n", {{"", "a"}}, {{"", "b"}}},
        {"UnfinishedBlockCr", "data: a\r\rdata: b\r", {{"", "a"}}, {{"", "b"}}},
        {"UnfinishedEventName", "event: x", {}},
        {"UnfinishedComment", "data: a\n: x", {}, {{"", "a"}}},
        {"ChatChunks",
         "data: {\"a\":1}\n\n: keep-alive\n\ndata: {\"b\":\"\\r\\n\"}\n\ndata: [DONE]\n\n",
         {{"", "{\"a\":1}"}, {"", "{\"b\":\"\\r\\n\"}"}, {"", "[DONE]"}}},
    };
    return all;
}

/// Feeds `body` in pieces of the lengths that `next` gives.
template <class Next>
std::vector<received> parse(std::string_view body, Next next, bool at_end) {
    recorder out;
    sse_parser parser(out);
    while (!body.empty()) {
        const std::size_t length = std::min<std::size_t>(next(), body.size());
        // A copy of exactly this size, so that a sanitizer notices a read beyond the piece.
        const std::vector<char> piece(
            body.begin(), body.begin() + static_cast<std::ptrdiff_t>(length)
        );
        EXPECT_TRUE(parser.feed({piece.data(), piece.size()}));
        body.remove_prefix(length);
    }
    if (at_end) {
        parser.finish();
    }
    return out.events;
}

class SseParserCases : public ::testing::TestWithParam<sse_case> {
protected:
    template <class Next>
    void check(Next next) {
        const sse_case& param = GetParam();
        std::vector<received> all = param.events;
        all.insert(all.end(), param.at_end.begin(), param.at_end.end());
        EXPECT_EQ(parse(param.body, next, false), param.events);
        EXPECT_EQ(parse(param.body, next, true), all);
    }
};

TEST_P(SseParserCases, WholeBody) {
    check([] { return std::size_t(1) << 20U; });
}

TEST_P(SseParserCases, ByteByByte) {
    check([] { return std::size_t(1); });
}

TEST_P(SseParserCases, TwoBytesAtATime) {
    check([] { return std::size_t(2); });
}

TEST_P(SseParserCases, RandomPieces) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        std::uniform_int_distribution<std::size_t> length(1, 9);
        check([&] { return length(random); });
    }
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, SseParserCases, ::testing::ValuesIn(cases()),
    [](const auto& param) { return std::string(param.param.name); }
);

TEST(SseParser, DeliversAWholeBlockWithoutACopy) {
    recorder out;
    sse_parser parser(out);
    ASSERT_TRUE(parser.feed("data: first\n\n"));
    const std::string body = "data: second\n\n";

    ASSERT_TRUE(parser.feed(body));

    EXPECT_EQ(out.last.data(), body.data() + 6);
}

TEST(SseParser, DeliversAnEventAsSoonAsItsEmptyLineBeginsToEnd) {
    recorder out;
    sse_parser parser(out);

    ASSERT_TRUE(parser.feed("data: a\r\n\r"));

    EXPECT_EQ(out.events.size(), 1U);
}

/// Records a stream whose events are objects.
class object_recorder : public recorder {
public:
    void on_sse(std::string_view event, std::string_view data) override {
        seen_.clear();
        recorder::on_sse(event, data);
    }
    [[nodiscard]] bool ends_event(std::string_view more) override {
        bytes_seen += more.size();
        seen_.append(more);
        return seen_.starts_with('{') && seen_.ends_with('}');
    }

    std::size_t bytes_seen = 0;

private:
    std::string seen_; ///< The part of the event so far.
};

TEST(SseParser, TakesEventsWithoutEmptyLinesIfTheHandlerKnowsThem) {
    object_recorder out;
    sse_parser parser(out);

    ASSERT_TRUE(parser.feed("data: {1}\ndata: {2}\n"));
    EXPECT_EQ(out.events, (std::vector<received>{{"", "{1}"}, {"", "{2}"}}))
        << "the second at once";
    ASSERT_TRUE(parser.feed("data: {3}\n\ndata: {4\ndata: 5}\ndata: [DONE]\n"));
    parser.finish();

    EXPECT_EQ(
        out.events, (std::vector<received>{
                        {"", "{1}"}, {"", "{2}"}, {"", "{3}"}, {"", "{4\n5}"}, {"", "[DONE]"}
                    })
    );
}

TEST(SseParser, JoinsTheDataLinesThatAreNoEvents) {
    object_recorder out;
    sse_parser parser(out);

    ASSERT_TRUE(parser.feed("data: {\ndata: 1}\n\nevent: x\ndata: {2}\n\n"));

    EXPECT_EQ(out.events, (std::vector<received>{{"", "{\n1}"}, {"x", "{2}"}}));
}

TEST(SseParser, ShowsTheHandlerEachByteOnce) {
    for (const std::string begin : {"data: {x}\ndata: {y}\n", "data: {x}\n\n"}) {
        object_recorder out;
        sse_parser parser(out);
        std::string body = begin + "data: {\n";
        for (int line = 0; line < 100; ++line) {
            body += "data: 1,\n";
        }

        ASSERT_TRUE(parser.feed(body + "data: }\n\n"));

        EXPECT_EQ(out.events.back().data.size(), 2 + 100 * 3 + 1U);
        EXPECT_LE(out.bytes_seen, body.size());
    }
}

TEST(SseParser, RefusesALineThatNeverEnds) {
    recorder out;
    sse_parser parser(out, 100);

    EXPECT_TRUE(parser.feed("data: " + std::string(94, 'x')));
    EXPECT_FALSE(parser.feed("x"));
}

TEST(SseParser, RefusesABlockThatNeverEnds) {
    recorder out;
    sse_parser parser(out, 100);
    bool going_on = true;
    int lines = 0;
    while (going_on && lines < 1000) {
        going_on = parser.feed("data: 0123456789\n");
        ++lines;
    }

    EXPECT_EQ(lines, 10);
    EXPECT_TRUE(out.events.empty());
}

TEST(SseParser, BoundsAnEventNameToo) {
    recorder out;
    sse_parser parser(out, 100);

    EXPECT_FALSE(parser.feed("event: " + std::string(200, 'x') + "\n"));
}

TEST(SseParser, TakesAnyNumberOfEventsWithinTheBound) {
    recorder out;
    sse_parser parser(out, 100);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(parser.feed("data: 0123456789\n\n"));
    }
    EXPECT_EQ(out.events.size(), 1000U);
}

} // namespace
} // namespace agui::runner
