// Properties of the frames of any run, tested with random runs.

#include "proto-fixtures/replay/added_messages.hpp"
#include "tests/translator/agui/random_run.hpp"
#include "tests/translator/chat_stream/chat_frames.hpp"
#include "translator/chat_stream/chat_messages.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {
namespace {

namespace json = boost::json;
using lines = std::vector<std::string>;
using test::frames;

json::object object_of(const std::string& frame) {
    return json::parse(R"({"msgStatus":")" + frame).as_object();
}

/// The messages of a client after these frames.
json::array add_up(const lines& incremental) {
    std::vector<json::object> frames;
    for (const std::string& frame : incremental) {
        frames.push_back(object_of(frame));
    }
    return replay::add_up(frames);
}

json::array messages_of(const std::string& frame) {
    return object_of(frame).at("messages").as_array();
}

/// The events, with adjacent deltas of one message joined as in a log that is read later.
lines joined(const lines& events) {
    constexpr std::string_view member = R"("delta":")";
    lines out;
    for (const std::string& event : events) {
        const std::size_t at = event.find(member);
        const bool is_plain = at != std::string::npos && event.ends_with(R"("})");
        const std::string begin = is_plain ? event.substr(0, at + member.size()) : "none";
        if (is_plain && !out.empty() && out.back().starts_with(begin) &&
            out.back().ends_with(R"("})")) {
            out.back().resize(out.back().size() - 2);
            out.back().append(event.substr(begin.size()));
        } else {
            out.push_back(event);
        }
    }
    return out;
}

TEST(ChatRuns, TheIncrementalFramesOfAnyRunAddUpToTheLastFullOne) {
    std::size_t with_tools = 0;
    std::size_t with_replaced = 0;
    for (unsigned seed = 0; seed < 1000; ++seed) {
        SCOPED_TRACE(seed);
        const random_run run(seed);
        const lines incremental = frames(chat_mode::incremental, run.events());
        const lines full = frames(chat_mode::full, run.events());
        ASSERT_FALSE(full.empty());
        const json::array expected = messages_of(full.back());

        EXPECT_EQ(add_up(incremental), expected);
        for (const lines* all : {&incremental, &full}) {
            for (const std::string& frame : *all) {
                EXPECT_EQ(frame.starts_with("finished"), &frame == &all->back());
            }
        }
        EXPECT_EQ(full.back().find(R"("status":"generating")"), std::string::npos);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(expected[i].at("id").as_string(), "m-" + std::to_string(i));
        }
        const lines fewer = joined(run.events());
        EXPECT_EQ(add_up(frames(chat_mode::incremental, fewer)), expected);
        EXPECT_EQ(messages_of(frames(chat_mode::full, fewer).back()), expected);
        const auto replaces = [](const std::string& frame) {
            return frame.find(R"("replace":true)") != std::string::npos;
        };
        with_replaced += std::ranges::any_of(incremental, replaces) ? 1U : 0U;
        with_tools += full.back().find("tool_execution_complete") != std::string::npos ? 1U : 0U;
    }
    EXPECT_GT(with_tools, 500U);
    EXPECT_GT(with_replaced, 500U);
}

TEST(ChatRuns, AFrameThatIsSkippedLeavesTheNextOnesAsTheyAre) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const random_run run(seed);
        chat_messages all("s", "m", chat_mode::incremental);
        chat_messages rest("s", "m", chat_mode::incremental);
        const std::size_t known = run.events().size() / 2;
        for (std::size_t i = 0; i < run.events().size(); ++i) {
            all.take(run.events()[i]);
            rest.take(run.events()[i]);
            ASSERT_EQ(all.changed(), rest.changed());
            if (!all.changed()) {
                continue;
            }
            std::string expected;
            std::string got;
            all.write_frame(expected);
            if (i < known) {
                rest.skip_frame();
            } else {
                rest.write_frame(got);
                EXPECT_EQ(got, expected) << "seed " << seed;
            }
        }
    }
}

} // namespace
} // namespace agui::translator
