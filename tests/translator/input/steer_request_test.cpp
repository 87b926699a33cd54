#include "translator/input/steer_request.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::translator {
namespace {

TEST(SteerRequest, HasAThreadAndAUserMessage) {
    const auto read = read_steer_request(
        R"({"threadId":"t","runId":"r","message":{"id":"m","role":"user","content":"Hi"},"x":1})",
        {}
    );

    ASSERT_TRUE(read);
    EXPECT_EQ(read->thread_id, "t");
    EXPECT_EQ(read->run_id, "r");
    EXPECT_EQ(read->message.id, "m");
    EXPECT_EQ(session::text_of(read->message.content), "Hi");
}

TEST(SteerRequest, IsReadInSnakeCaseAndWithoutARun) {
    const auto read = read_steer_request(
        R"({"thread_id":"t","run_id":null,"message":{"id":"m","role":"user","content":""}})", {}
    );

    ASSERT_TRUE(read);
    EXPECT_EQ(read->thread_id, "t");
    EXPECT_EQ(read->run_id, "");
}

TEST(SteerRequest, NamesThePathOfWhatIsWrong) {
    struct wrong {
        const char* body;
        const char* path;
    };
    for (const wrong& each : {
             wrong{R"({"message":{"id":"m","role":"user","content":""}})", "threadId"},
             wrong{R"({"threadId":"t","runId":3})", "runId"},
             wrong{R"({"threadId":"t"})", "message"},
             wrong{R"({"threadId":"t","message":[]})", "message"},
             wrong{R"({"threadId":"t","message":{"role":"user","content":""}})", "message.id"},
             wrong{R"({"threadId":"t","message":{"id":"m","content":""}})", "message.role"},
             wrong{
                 R"({"threadId":"t","message":{"id":"m","role":"tool","toolCallId":"c","content":""}})",
                 "message.role"
             },
             wrong{R"({"threadId":"t","message":{"id":"m","role":"wizard"}})", "message.role"},
             wrong{
                 R"({"threadId":"t","message":{"id":"m","role":"user","content":5}})",
                 "message.content"
             },
             wrong{
                 R"({"threadId":"t","message":{"id":"m","role":"user","content":"","subagentRunId":"s"}})",
                 "message.subagentRunId"
             },
         }) {
        const auto read = read_steer_request(each.body, {});
        ASSERT_FALSE(read) << each.body;
        EXPECT_EQ(read.error().code, errc::invalid_input) << each.body;
        EXPECT_EQ(read.error().path, each.path) << each.body;
    }
}

TEST(SteerRequest, IsJsonWithinTheLimits) {
    EXPECT_EQ(read_steer_request("{", {}).error().code, errc::invalid_json);
    input_limits limits;
    limits.max_id_bytes = 3;
    const auto read = read_steer_request(
        R"({"threadId":"t","message":{"id":"long","role":"user","content":""}})", limits
    );
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().path, "message.id");
}

} // namespace
} // namespace agui::translator
