#include "gateway/http/http_error.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace agui::gateway {
namespace {

std::string retry_after(const http_reply& reply) {
    const auto found = std::ranges::find(reply.headers, "Retry-After", [](const auto& header) {
        return header.first;
    });
    return found == reply.headers.end() ? "" : found->second;
}

std::string error_code(const http_reply& reply) {
    return std::string(boost::json::parse(reply.body).at("error").at("code").as_string());
}

TEST(HttpError, AThreadWhoseQueueIsFullIsTooManyRequestsToTryAgainSoon) {
    const http_reply reply = to_reply(failure{errc::queue_full, "too many messages wait"});

    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(retry_after(reply), "2");
    EXPECT_EQ(error_code(reply), "queue_full");
    EXPECT_EQ(
        boost::json::parse(reply.body).at("error").at("message").as_string(),
        "too many messages wait"
    );
}

TEST(HttpError, ABusyThreadIsAConflictThatNamesTheRun) {
    failure busy{errc::thread_busy, "busy"};
    busy.active_run_id = "run_1";
    const http_reply reply = to_reply(busy);

    EXPECT_EQ(reply.status, 409);
    EXPECT_EQ(retry_after(reply), "1");
    EXPECT_EQ(error_code(reply), "thread_busy");
    EXPECT_EQ(boost::json::parse(reply.body).at("error").at("activeRunId").as_string(), "run_1");
}

TEST(HttpError, SaysWhenToTryAgainOnlyWhereThatHelps) {
    EXPECT_EQ(retry_after(to_reply(failure{errc::run_id_reused, ""})), "");
    EXPECT_EQ(retry_after(to_reply(failure{errc::run_expired, ""})), "");
    EXPECT_EQ(retry_after(to_reply(failure{errc::store_unavailable, ""})), "2");
}

TEST(HttpError, SaysForTheLogWhyThereIsNoRoom) {
    EXPECT_EQ(to_reply(failure{errc::overloaded, "no memory"}).no_room, "no memory");
    EXPECT_EQ(to_reply(http_errc::overloaded, "no files").no_room, "no files");
    EXPECT_EQ(to_reply(failure{errc::store_unavailable, "no store"}).no_room, "");
    EXPECT_EQ(to_reply(http_errc::internal, "internal").no_room, "");
}

} // namespace
} // namespace agui::gateway
