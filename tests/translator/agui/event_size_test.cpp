// No event is larger than the largest one that released clients can read.
#include "tests/translator/agui/recorded_stream.hpp"
#include "translator/agui/snapshot_limit.hpp"

#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::HasSubstr;

class EventSize : public ::testing::Test {
protected:
    EventSize() {
        translator_settings settings;
        settings.part_link = [](std::string_view sha256, unix_ms now) {
            return "https://app.example/" + std::string(sha256) + "?" + std::to_string(now);
        };
        translator_ = std::make_unique<agui_translator>(stream_, settings);
        translator_->set_time(7);
        translator_->start({"t", "r", ""});
    }

    /// The deltas of the stream, joined. Each must consist of whole characters and must not be too
    /// long.
    std::string joined_deltas() {
        std::string all;
        for (const std::string& line : stream_.lines()) {
            // This throws at half a character.
            const boost::json::value event = boost::json::parse(line);
            if (const auto* delta = event.as_object().if_contains("delta")) {
                EXPECT_LE(delta->as_string().size(), 65'536U);
                all.append(delta->as_string());
            }
        }
        return all;
    }

    static std::string long_text() {
        // With this letter, no piece ends at a multiple of the characters' size.
        std::string text = "a";
        for (int i = 0; i < 100'000; ++i) {
            text += "\xF0\x9F\x98\x80";
        }
        return text;
    }

    test::recorded_stream stream_;
    std::unique_ptr<agui_translator> translator_;
};

TEST_F(EventSize, ALongTextIsSeveralDeltasOfWholeCharacters) {
    translator_->translate(runner::text_delta{"m", long_text()});
    EXPECT_EQ(joined_deltas(), long_text());
}

TEST_F(EventSize, LongReasoningToo) {
    translator_->translate(runner::reasoning_delta{"m", long_text()});
    EXPECT_EQ(joined_deltas(), long_text());
}

TEST_F(EventSize, LongArgumentsToo) {
    translator_->translate(runner::call_started{"c", "paint", "m", true});
    translator_->translate(runner::call_arguments{"c", long_text()});
    EXPECT_EQ(joined_deltas(), long_text());
}

TEST_F(EventSize, ASnapshotLinksToLargePartsInEveryProjection) {
    std::vector<session::message> messages(3);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        messages[i].id = std::to_string(i);
        messages[i].content = boost::json::array{
            {{"type", "image"},
             {"source",
              {{"type", "data"}, {"value", std::string(3'900'000, 'A')}, {"mimeType", "image/png"}}}
            }
        };
    }

    translator_->translate(runner::messages_snapshot{&messages});

    for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        EXPECT_LE(stream_.last(form).size(), event_bytes_max);
        EXPECT_GT(stream_.last(form).size(), 7'000'000U) << "no more than is necessary";
        EXPECT_THAT(stream_.last(form).substr(0, 400), HasSubstr("https://app.example/"));
    }
}

TEST_F(EventSize, AResultIsShortened) {
    translator_->translate(runner::call_started{"c", "paint", "m", false});
    translator_->translate(runner::turn_ended{});
    const session::content much = std::string(9'000'000, 'x');

    translator_->translate(runner::call_result{"m2", "c", &much, false});

    EXPECT_LE(stream_.last().size(), event_bytes_max);
    EXPECT_THAT(stream_.last(), HasSubstr("[Shortened: 9000000 bytes"));
}

TEST_F(EventSize, AStateThatIsTooLargeIsLeftOut) {
    const std::size_t before = stream_.lines().size();

    const json_text large("\"" + std::string(9'000'000, 'x') + "\"");
    translator_->translate(runner::state_shown{&large});

    EXPECT_EQ(stream_.lines().size(), before);
}

} // namespace
} // namespace agui::translator
