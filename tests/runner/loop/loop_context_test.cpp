// The ids of the activities that tools and plugins name.
#include "runner/loop/loop_context.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

class lane_sink final : public run_sink {
public:
    explicit lane_sink(std::string lane) : lane_(std::move(lane)) {}

    void emit(const runner_event& event) override {
        if (const auto* const shown = std::get_if<activity_shown>(&event)) {
            ids.push_back(shown->activity->id);
        }
    }
    [[nodiscard]] std::string_view subagent_run_id() const noexcept override { return lane_; }
    void keep_attempt(session::failed_attempt /*attempt*/) noexcept override {}
    boost::asio::awaitable<result<void>> commit(session::changes /*change*/) override {
        co_return result<void>();
    }
    boost::asio::awaitable<result<session::thread_record>> load_thread() override {
        co_return session::thread_record();
    }
    boost::asio::awaitable<void> finish(session::changes /*change*/, run_end /*end*/) override {
        co_return;
    }

    std::vector<std::string> ids;

private:
    std::string lane_;
};

std::string shown_id(std::string lane, std::string name) {
    lane_sink sink(std::move(lane));
    uuid_ids ids;
    loop_context context(sink, ids, nullptr);
    const auto shown =
        context.show_activity({.id = std::move(name), .type = "board", .content = {{"n", 1}}});
    context.close();
    EXPECT_EQ(sink.ids, std::vector<std::string>{shown.value()});
    return shown.value();
}

TEST(LoopContext, TheIdOfAnActivityIsThatOfItsNameInItsLane) {
    const std::string id = shown_id("", "board");

    EXPECT_NE(id, "board") << "a message may have that id";
    EXPECT_EQ(id, shown_id("", "board")) << "a later run shows the same activity";
    EXPECT_NE(id, shown_id("c1:agent", "board"));
    EXPECT_NE(shown_id("c1:agent", "board"), shown_id("c2:agent", "board"));
    EXPECT_NE(id, shown_id("", "table"));
    EXPECT_EQ(shown_id("", "a1"), "c8e6692d-c639-8894-867c-4f3773ae168d");
    EXPECT_NE(shown_id("", ""), shown_id("", "")) << "without a name it is a new one";
}

TEST(LoopContext, AnActivityIsFoundByItsNameAndByTheIdOfItsMessage) {
    lane_sink sink("");
    uuid_ids ids;
    loop_context context(sink, ids, nullptr);
    const std::string id = context.show_activity({.id = "a", .type = "x", .content = {}}).value();

    EXPECT_EQ(context.show_activity({.id = id, .type = "x", .content = {{"n", 1}}}).value(), id);
    EXPECT_EQ(context.show_activity({.id = "a", .type = "x", .content = {{"n", 2}}}).value(), id);
    const boost::json::value patch{{{"op", "replace"}, {"path", "/n"}, {"value", 3}}};
    EXPECT_TRUE(context.patch_activity("a", patch));
    EXPECT_TRUE(context.patch_activity(id, {{{"op", "test"}, {"path", "/n"}, {"value", 3}}}));
    EXPECT_EQ(context.take_unstored().messages.size(), 1U);
    context.close();
}

} // namespace
} // namespace agui::runner
