#include "runner/loop/refusal.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::runner {
namespace {

model_failure rejected(int status, std::string said = {}) {
    model_failure failed;
    failed.what = model_failure::kind::rejected;
    failed.status = status;
    failed.upstream = std::move(said);
    return failed;
}

TEST(Refusal, IsByTheStatusesThatBlameTheRequest) {
    for (const int status : {400, 413, 415, 422}) {
        EXPECT_TRUE(is_refusal(rejected(status))) << status;
    }
    for (const int status : {401, 402, 403, 404, 405, 409, 418}) {
        EXPECT_FALSE(is_refusal(rejected(status))) << status;
    }
}

TEST(Refusal, IsNotAnyOtherKindOfFailure) {
    model_failure failed = rejected(400);
    for (const auto kind :
         {model_failure::kind::unavailable, model_failure::kind::lost, model_failure::kind::timeout,
          model_failure::kind::cancelled}) {
        failed.what = kind;
        EXPECT_FALSE(is_refusal(failed));
    }
}

// The texts are those of model servers.
TEST(Refusal, IsNotThatAConversationIsTooLong) {
    for (const std::string_view said :
         {R"({"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}})",
          R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 199999 maximum"}})",
          R"({"error":{"message":"input length and `max_tokens` exceed context limit: 1 + 2 > 2"}})",
          R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}})",
          R"({"error":{"message":"The input token count (40000) exceeds the maximum number of tokens allowed (32768)."}})",
          R"({"message":"Input is too long for requested model."})",
          R"({"error":"Please reduce the length of the messages or completion."})",
          R"({"message":"too many tokens: total number of tokens in the prompt exceeds the limit"})",
          R"({"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."})",
          R"({"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens","error_type":"validation"})",
          R"({"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}})",
          R"({"error":{"message":"Request too large for model `m` on tokens per minute","code":"rate_limit_exceeded"}})",
          R"({"error":{"message":"Range of input length should be [1, 129024]"}})",
          R"({"error":{"message":"Your request exceeded model token limit: 131072"}})",
          R"({"error":{"code":"1261","message":"Prompt exceeds max length"}})",
          R"({"error":"Trying to keep the first 5000 tokens, but a CONTEXT OVERFLOW occurred"})"}) {
        EXPECT_FALSE(is_refusal(rejected(400, std::string(said)))) << said;
    }
    EXPECT_TRUE(is_refusal(rejected(400, R"({"error":"Could not process image"})")));
    EXPECT_TRUE(is_refusal(rejected(400, R"({"error":"string too long, expected 10485760"})")))
        << "that is one message, not the conversation";
    EXPECT_TRUE(is_refusal(rejected(400, R"({"error":"image exceeds 5 MB maximum"})")));
    EXPECT_TRUE(is_refusal(rejected(400, R"({"error":"unexpected token in the arguments"})")));
}

} // namespace
} // namespace agui::runner
