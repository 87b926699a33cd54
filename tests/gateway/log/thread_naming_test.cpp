#include "gateway/log/thread_naming.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace agui::gateway {
namespace {

const std::string digest(64, 'a');

thread_naming naming() {
    thread_naming made;
    made.shown_id = "shared-1";
    made.own_path = "/agui/threads/own/parts/";
    made.link = [](std::string_view sha256) {
        return "https://x/agui/threads/shared-1/parts/" + std::string(sha256) + "?token=new";
    };
    return made;
}

std::string renamed(std::string_view event, const thread_naming& as = naming()) {
    std::string out = "data: ";
    const std::size_t at = out.size();
    out.append(event);
    rename_thread(as, at, out);
    return out.substr(at);
}

TEST(ThreadNaming, ReplacesTheIdInTheFirstAndTheLastEvent) {
    EXPECT_EQ(
        renamed(R"({"type":"RUN_STARTED","threadId":"own","runId":"own"})"),
        R"({"type":"RUN_STARTED","threadId":"shared-1","runId":"own"})"
    );
    EXPECT_EQ(
        renamed(R"({"type":"RUN_FINISHED","threadId":"a\"b\\","runId":"r"})"),
        R"({"type":"RUN_FINISHED","threadId":"shared-1","runId":"r"})"
    );
    EXPECT_EQ(renamed(R"({"type":"RUN_STARTED"})"), R"({"type":"RUN_STARTED"})");
}

TEST(ThreadNaming, LeavesTextsAsTheyAre) {
    const std::string text = R"({"type":"CUSTOM","value":{"threadId":"own"}})";
    EXPECT_EQ(renamed(text), text);
    const std::string no_digest =
        R"({"type":"TEXT_MESSAGE_CONTENT","delta":"https://x/agui/threads/own/parts/abc\"}"})";
    EXPECT_EQ(renamed(no_digest), no_digest);
}

TEST(ThreadNaming, ReplacesLinks) {
    const std::string old = "https://x/agui/threads/own/parts/" + digest + "?token=7.b3du.sig-_";
    const std::string fresh = "https://x/agui/threads/shared-1/parts/" + digest + "?token=new";
    EXPECT_EQ(
        renamed(R"({"type":"MESSAGES_SNAPSHOT","messages":[")" + old + R"(",")" + old + "\"]}"),
        R"({"type":"MESSAGES_SNAPSHOT","messages":[")" + fresh + R"(",")" + fresh + "\"]}"
    );
    thread_naming without = naming();
    without.link = [](std::string_view) {
        return std::string();
    };
    EXPECT_EQ(renamed('"' + old + '"', without), R"("")");
    EXPECT_EQ(renamed("\"see (" + old + ")\""), "\"see (" + fresh + ")\"");
    for (const std::string before : {R"(\n)", R"(\\)", R"(\u00e9)", R"(\\\t)", R"(\")", "(", " "}) {
        EXPECT_EQ(
            renamed(R"({"delta":"see)" + before + old + "\"}"),
            R"({"delta":"see)" + before + fresh + "\"}"
        );
    }
}

TEST(ThreadNaming, ReplacesLinksOfAnotherTimeAndGateway) {
    const std::string own = "/agui/threads/own/parts/" + digest + "?token=7.b3du.sig-_";
    const std::string fresh = "https://x/agui/threads/shared-1/parts/" + digest + "?token=new";
    for (const std::string host : {"", "http://old:8080", "https://y/base"}) {
        EXPECT_EQ(renamed('"' + host + own + '"'), '"' + fresh + '"') << host;
    }
}

TEST(ThreadNaming, AFormShowsTheRenamedEvents) {
    const renamed_form form(sse_form(), std::make_shared<const thread_naming>(naming()));
    std::string out = "before";
    form.begin_event(7, out);
    const std::size_t at = out.size();
    out.append(R"({"type":"RUN_STARTED","threadId":"own"})");
    form.end_event(at, out);
    EXPECT_EQ(out, "beforeid: 7\ndata: {\"type\":\"RUN_STARTED\",\"threadId\":\"shared-1\"}\n\n");
}

} // namespace
} // namespace agui::gateway
