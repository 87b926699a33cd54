#include "runner/base/generated_media.hpp"
#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"
#include "session/history/shown_messages.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

constexpr std::string_view png_begin = "\x89PNG\r\n\x1a\n";

generated_media image_of(std::string_view bytes) {
    return {.what = generated_media::kind::image, .bytes = bytes, .transcript = {}, .problem = {}};
}

scripted_turn makes(std::vector<generated_media> media, std::string text = {}) {
    return {[=](model_sink& to) -> model_outcome {
        for (const generated_media& each : media) {
            to.on_media(each);
        }
        if (!text.empty()) {
            to.on_text(text);
        }
        return model_answer{finish_reason::stop, {}};
    }};
}

class Media : public AgentLoop {
protected:
    void play_with(memory_budget& budget) {
        loop_services services{model, tools, ids, time, log, max_result_bytes};
        services.memory = &budget;
        run(run_agent(request, services, sink, stop));
    }

    std::vector<session::message> activities() {
        std::vector<session::message> found;
        for (const session::stored_message& each : stored().nodes) {
            if (each.message.role == session::role::activity) {
                found.push_back(each.message);
            }
        }
        return found;
    }
};

TEST_F(Media, AnImageIsStoredWithTheTurnAndShownAsAnActivity) {
    model.turns = {makes({image_of(png_begin)}, "Here.")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(activities().size(), 1U);
    const session::message kept = activities()[0];
    EXPECT_EQ(kept.activity_type, "generated-media");
    const std::string sha256 =
        session::digest_of({.value = session::encode_base64(png_begin), .mime_type = {}}).sha256;
    EXPECT_EQ(
        boost::json::serialize(kept.activity),
        R"({"kind":"image","mimeType":"image/png","bytes":8,"sha256":")" + sha256 + "\"}"
    );
    const session::thread_record thread = stored();
    const boost::json::value* const part = session::find_part(thread, sha256);
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(session::data_part_of(*part)->mime_type, "image/png");
}

TEST_F(Media, AnAudioHasItsWords) {
    model.turns = {makes({{generated_media::kind::audio, "OggS", "Hi", {}}}, "Hi")};

    play();

    ASSERT_EQ(activities().size(), 1U);
    EXPECT_EQ(activities()[0].activity.at("transcript"), "Hi");
    EXPECT_EQ(activities()[0].activity.at("mimeType"), "audio/ogg");
}

TEST_F(Media, AnAnswerOfMediaAloneIsAnAnswerThatClientsAreNotShown) {
    model.turns = {makes({image_of(png_begin)})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    const session::thread_record thread = stored();
    ASSERT_EQ(thread.nodes.size(), 3U);
    EXPECT_EQ(thread.nodes[1].message.role, session::role::assistant);
    const auto shown = session::shown_messages(thread, thread.branches[0].tip);
    ASSERT_EQ(shown.size(), 2U);
    EXPECT_EQ(shown[1].role, session::role::activity);
    EXPECT_EQ(session::model_history(thread, thread.branches[0].tip, {}).size(), 1U);
}

TEST_F(Media, WhatIsNotKeptLeavesANoteAndALogLine) {
    generated_media wrong = image_of({});
    wrong.problem = "is not base64";
    model.turns = {makes({wrong, image_of("<svg/>")}, "Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(activities().size(), 2U);
    for (const session::message& each : activities()) {
        EXPECT_TRUE(session::is_empty(each.content));
    }
    EXPECT_EQ(
        boost::json::serialize(activities()[0].activity),
        R"({"kind":"image","note":"The image of the model is not kept: it is not base64."})"
    );
    EXPECT_EQ(
        activities()[1].activity.at("note"),
        "The image of the model is not kept: it is of no type that is known to be harmless."
    );
    const std::vector<std::string> lines = log.lines();
    EXPECT_EQ(
        std::ranges::count_if(
            lines, [](const std::string& each
                   ) { return each.find("a model made is not kept") != std::string::npos; }
        ),
        2
    );
}

TEST_F(Media, AllOfARunHaveOneLimit) {
    const std::string half =
        std::string(png_begin) + std::string(generated_media_bytes_max / 2, 'x');
    model.turns = {makes({image_of(half), image_of(half), image_of(png_begin)}, "Hi")};

    play();

    ASSERT_EQ(activities().size(), 3U);
    EXPECT_TRUE(activities()[0].activity.contains("sha256"));
    EXPECT_EQ(
        activities()[1].activity.at("note"),
        "The image of the model is not kept: it is too large for this run."
    );
    EXPECT_TRUE(activities()[2].activity.contains("sha256")) << "there is still room";
}

TEST_F(Media, AreCountedUntilTheyAreStored) {
    constexpr std::size_t size = 300'000;
    memory_budget budget(64U << 20U);
    model.turns = {
        {[](model_sink& to) -> model_outcome {
            to.on_media(image_of(std::string(png_begin) + std::string(size, 'x')));
            to.on_call(0, "c1", "weather");
            to.on_call_arguments(0, "{}");
            return model_answer{finish_reason::tool_calls, {}};
        }},
        says("Done")
    };
    std::size_t when_shown = 0;
    std::size_t when_stored = size;
    sink.on_step = [&](const std::string& step) {
        if (step.starts_with("activity ")) {
            when_shown = budget.used();
        } else if (step == "executing c1") { // The answer is stored before.
            when_stored = budget.used();
        }
    };

    play_with(budget);

    EXPECT_GE(when_shown, size / 3 * 4);
    EXPECT_EQ(when_stored, 0U);
    EXPECT_TRUE(activities().at(0).activity.contains("sha256"));
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(Media, AreCountedWhileTheyArrive) {
    constexpr std::size_t size = 300'000;
    memory_budget budget(1U << 20U);
    std::size_t when_arriving = 0;
    std::string_view too_much;
    std::size_t when_given_up = size;
    model.turns = {{[&](model_sink& to) -> model_outcome {
        EXPECT_EQ(to.on_media_bytes(size), "");
        when_arriving = budget.used();
        too_much = to.on_media_bytes(4 * size);
        when_given_up = budget.used();
        EXPECT_EQ(to.on_media_bytes(size), "");
        to.on_text("Hi");
        return model_failure{model_failure::kind::lost, 0, "why"};
    }}};

    play_with(budget);

    EXPECT_GE(when_arriving, size);
    EXPECT_EQ(too_much, "needs more memory than the server has now");
    EXPECT_EQ(when_given_up, 0U);
    EXPECT_EQ(budget.used(), 0U) << "a medium that was cut off is not counted any more";
}

TEST_F(Media, ThatArriveShareTheLimitOfTheRun) {
    const std::string half =
        std::string(png_begin) + std::string(generated_media_bytes_max / 2, 'x');
    model.turns = {{[&](model_sink& to) -> model_outcome {
        to.on_media(image_of(half));
        EXPECT_EQ(to.on_media_bytes(generated_media_bytes_max / 3), "");
        EXPECT_EQ(to.on_media_bytes(generated_media_bytes_max / 2), "is too large for this run");
        to.on_text("Hi");
        return model_answer{finish_reason::stop, {}};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(Media, ForWhichThereIsNoMemoryLeaveANote) {
    memory_budget budget(1U << 20U);
    const std::string large = std::string(png_begin) + std::string(300'000, 'x');
    model.turns = {makes({image_of(large), image_of(png_begin)}, "Hi")};

    play_with(budget);

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(activities().size(), 2U);
    EXPECT_EQ(
        activities()[0].activity.at("note"),
        "The image of the model is not kept: it needs more memory than the server has now."
    );
    EXPECT_TRUE(activities()[1].activity.contains("sha256"));
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(Media, NoOtherModelIsAskedAfterAnImageWasShown) {
    fake_model second;
    second.turns = {says("Hi")};
    request.fallbacks = {{&second, {}}};
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_media(image_of(png_begin));
        return model_failure{model_failure::kind::lost, 0, "why"};
    }}};

    play();

    EXPECT_TRUE(second.histories.empty());
    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(activities().back().activity_type, "generated-media");
}

} // namespace
} // namespace agui::runner
