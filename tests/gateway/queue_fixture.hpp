#pragma once

#include "tests/gateway/held_model.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

enum class store_kind { memory, sqlite };

/// A request with one user message, whose text is by default the runId, and a tool of the page,
/// `paint`.
inline std::string body_of(
    std::string_view run_id, std::string_view text = {}, std::string_view thread = "t",
    std::string_view earlier = {}
) {
    const std::string run(run_id);
    return R"({"protocolVersion":"1.1","threadId":")" + std::string(thread) + R"(","runId":")" +
           run + R"(","messages":[)" + std::string(earlier) + R"({"id":")" + run +
           R"(-u","role":"user","content":")" + std::string(text.empty() ? run_id : text) +
           R"("}],"tools":[{"name":"paint","description":"","parameters":{}}]})";
}

inline std::string answer_body(std::string_view run_id, std::string_view call_id) {
    return R"({"threadId":"t","runId":")" + std::string(run_id) + R"(","messages":[{"id":")" +
           std::string(run_id) + R"(-a","role":"tool","toolCallId":")" + std::string(call_id) +
           R"(","content":"done"}]})";
}

/// The types of the events of a stream, in order.
inline std::vector<std::string> types_of(std::string_view stream) {
    std::vector<std::string> types;
    constexpr std::string_view mark = "{\"type\":\"";
    for (std::size_t at = stream.find("data: " + std::string(mark)); at != std::string_view::npos;
         at = stream.find("data: " + std::string(mark), at)) {
        at += 6 + mark.size();
        types.emplace_back(stream.substr(at, stream.find('"', at) - at));
    }
    return types;
}

/// A server that queues messages for busy threads, with a model that answers when the test lets it.
class queue_test : public server_test, public ::testing::WithParamInterface<store_kind> {
protected:
    queue_test() {
        settings.session.on_busy = gateway::busy_policy::enqueue;
        settings.server.threads = 2;
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        use_model();
        if (GetParam() == store_kind::sqlite) {
            use_sqlite();
        }
    }
    // The server ends before the things that its runs use.
    ~queue_test() override { server.reset(); }

    // Must be called before each start.
    void use_model() {
        options.provider_of = [this](const gateway::model_config&) {
            return model.make_provider();
        };
    }

    /// Posts a request and reads until RUN_STARTED, which comes at once.
    std::unique_ptr<raw_client> open(std::string_view body, std::string_view headers = {}) {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", body, headers));
        const std::string head = client->read_until("RUN_STARTED");
        EXPECT_THAT(head, ::testing::HasSubstr("HTTP/1.1 200"));
        EXPECT_THAT(head, ::testing::HasSubstr("RUN_STARTED"));
        return client;
    }
    static std::string rest_of(raw_client& client) { return client.read_until("\r\n0\r\n\r\n"); }

    /// The runIds in the queue of thread `t`.
    std::vector<std::string> queued() {
        boost::asio::io_context context;
        auto rows = boost::asio::co_spawn(
            context, server->store().queued({"", "t"}), boost::asio::use_future
        );
        context.run();
        std::vector<std::string> ids;
        for (const session::queued_request& each : rows.get().value()) {
            ids.push_back(each.run_id);
        }
        return ids;
    }
    raw_reply events_of(std::string_view run_id) {
        return ask(get("/agui/threads/t/runs/" + std::string(run_id) + "/events"));
    }

    held_model model;
};

} // namespace agui::test
