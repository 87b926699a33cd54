// Properties of the frames of any run, tested with random runs.

#include "proto-fixtures/replay/added_messages.hpp"
#include "tests/translator/chat_stream/chat_frames.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/open_brackets.hpp"
#include "translator/agui/said_messages.hpp"
#include "translator/chat_stream/chat_messages.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
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

/// Keeps the events in their newest form.
class recorded_events final : public wire_sink {
public:
    void on_event(const wire_event& event) override { all.emplace_back(event.json); }
    lines all;
};

/// A random run: the steps of agents in any order, even one that no agent has.
class random_run {
public:
    explicit random_run(unsigned seed) : random_(seed), translator_(stream_, {}) {
        translator_.set_time(now_);
        translator_.start({"s", "m", {}});
        const int steps = pick(60);
        for (int i = 0; i < steps; ++i) {
            now_ += pick(700);
            translator_.set_time(now_);
            step();
        }
        if (pick(4) == 0) { // The process has ended, and another process closes the run.
            open_brackets left;
            for (const std::string& event : stream_.all) {
                left.read(json::parse(event).as_object());
            }
            agui_translator other(stream_, {});
            other.set_time(now_ + 10'000);
            other.resume({"s", "m", {}}, left);
            finish(other);
        } else {
            finish(translator_);
        }
    }

    [[nodiscard]] const lines& events() const { return stream_.all; }

private:
    void finish(agui_translator& translator) {
        runner::run_end end;
        end.reason = reasons[static_cast<std::size_t>(pick(std::size(reasons)))];
        if (pick(2) == 0) {
            end.pending_call_ids = calls_;
        }
        translator.finish(end);
    }

    static constexpr runner::stop_reason reasons[] = {
        runner::stop_reason::completed,     runner::stop_reason::external_tool,
        runner::stop_reason::cancelled,     runner::stop_reason::max_rounds,
        runner::stop_reason::model_timeout, runner::stop_reason::error,
    };
    static constexpr const char* pieces[] = {"a",  "\"",  "\\",  "\n", "你",
                                             "{}", "\",", "\"}", "😀", " and so on"};

    int pick(std::size_t below) { return static_cast<int>(random_() % below); }
    std::string piece() { return pieces[static_cast<std::size_t>(pick(std::size(pieces)))]; }
    std::string some_call() {
        return calls_.empty() ? "none" : calls_[static_cast<std::size_t>(pick(calls_.size()))];
    }

    void step() {
        const std::string turn = "t" + std::to_string(turn_);
        switch (pick(11)) {
        case 0:
        case 1:
        case 2:
            translator_.translate(runner::text_delta{turn, piece()});
            break;
        case 3:
            translator_.translate(runner::reasoning_delta{"r" + turn, piece()});
            break;
        case 4: {
            calls_.push_back("c" + std::to_string(calls_.size()));
            translator_.translate(runner::call_started{calls_.back(), "f", turn, pick(2) == 0});
            break;
        }
        case 5: {
            const std::string id = some_call();
            translator_.translate(runner::call_arguments{id, piece()});
            break;
        }
        case 6:
            translator_.translate(runner::turn_ended{});
            ++turn_;
            break;
        case 7: {
            const std::string id = some_call();
            translator_.translate(runner::call_executing{id, "f"});
            break;
        }
        case 8: {
            const json::object segment{{"type", "card"}, {"title", piece()}};
            translator_.translate(runner::reply_segment{turn, &segment});
            break;
        }
        case 9:
            show_stored();
            break;
        default: {
            const std::string id = some_call();
            const session::content result = piece();
            translator_.translate(
                runner::call_result{"x" + std::to_string(now_), id, &result, pick(2) == 0}
            );
        }
        }
    }

    /// A snapshot of the messages so far, some of which a plugin has changed or left out.
    void show_stored() {
        said_messages said;
        for (const std::string& event : stream_.all) {
            said.read(json::parse(event).as_object());
        }
        std::vector<session::message> stored;
        for (session::message message : said.messages()) {
            if (pick(3) == 0) {
                message.content = piece();
            }
            if (pick(6) != 0) {
                stored.push_back(std::move(message));
            }
        }
        translator_.translate(runner::messages_snapshot{&stored});
    }

    std::mt19937 random_;
    recorded_events stream_;
    agui_translator translator_;
    unix_ms now_ = 1000;
    int turn_ = 0;
    std::vector<std::string> calls_;
};

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
