// A model request that does not begin with the one before it (P13), through the whole server.
// dialects_test.cpp shows that others do.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Prefix : public server_test {
protected:
    Prefix() {
        settings.agents.at(0).prompt_props = {"locale"};
        settings.agents.at(0).instructions =
            "{{thread}} is served at {{time}} in {{forwardedProps.locale}}.";
        settings.agents.at(0).state = gateway::context_place::user;
        settings.agents.at(0).tool_list = gateway::tool_list::append;
        options.log = &log;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                last_request_ = request.body;
                return std::optional(say("Here you are."));
            };
        };
    }
    ~Prefix() override { server.reset(); } // It uses the members.

    /// A run with these members besides its ids.
    std::string run(std::string_view thread, json::object members) {
        members["threadId"] = thread;
        members["runId"] = "r" + std::to_string(++runs_);
        members["protocolVersion"] = "1.1";
        return ask(post("/agui", json::serialize(members))).body;
    }

    /// The log lines about requests that do not begin with the one before.
    [[nodiscard]] std::vector<std::string> breaks() const {
        std::vector<std::string> found;
        for (const std::string& line : log.lines()) {
            if (line.find("does not begin with the one before") != std::string::npos) {
                found.push_back(line);
            }
        }
        return found;
    }

    /// The first message of the model's last request, after the system text.
    [[nodiscard]] std::string first_message() const {
        const std::lock_guard lock(mutex_);
        return json::serialize(json::parse(last_request_).at("messages").at(1));
    }

    memory_logger log;

private:
    int runs_ = 0;
    mutable std::mutex mutex_;
    std::string last_request_;
};

json::object user(std::string_view id, std::string_view text = "Tell me more about it.") {
    return {{"messages", json::array{{{"id", id}, {"role", "user"}, {"content", text}}}}};
}

TEST_F(Prefix, AnEditBeginsAnotherOneAndTheLogSaysSo) {
    start();
    run("t", user("u1"));
    run("t", user("u2"));
    run("t", user("u2", "Tell me less."));

    ASSERT_EQ(breaks().size(), 1U);
    EXPECT_THAT(breaks()[0], HasSubstr("reason=edit"));
    EXPECT_THAT(breaks()[0], HasSubstr("element=messages[2]"));
}

TEST_F(Prefix, ACutTellsWhatItLeavesOutOnceAndTheLogSaysSo) {
    settings.agents.at(0).window.max_messages = 6;
    start();
    json::object first = user("u1");
    first["context"] = json::array{{{"description", "cart"}, {"value", "three items"}}};
    run("t", std::move(first));
    for (int turn = 2; turn < 5; ++turn) {
        run("t", user("u" + std::to_string(turn)));
    }

    ASSERT_EQ(breaks().size(), 1U);
    EXPECT_THAT(breaks()[0], HasSubstr("reason=window"));
    EXPECT_THAT(first_message(), HasSubstr("three items"));
    run("t", user("u5"));
    EXPECT_EQ(breaks().size(), 1U) << "the cut stays where it is";
}

TEST_F(Prefix, TheLogCountsCachedTokens) {
    options.script_of = [](const gateway::model_config&) {
        return [](const runner::transport_request&) {
            runner::scripted_answer counted;
            counted.body =
                text_frame("Hello") +
                model_frame(R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,)"
                            R"("prompt_tokens_details":{"cached_tokens":8}}})") +
                end_frames();
            return std::optional(counted);
        };
    };
    start();
    run("t", user("u1"));
    server.reset();

    EXPECT_THAT(log.lines(), Contains(HasSubstr("agent=default input_tokens=10 cached_tokens=8")));
}

TEST_F(Prefix, IsNotCheckedWhereTheAgentIsNot) {
    settings.agents.at(0).prefix_check = false;
    start();
    run("t", user("u1"));
    run("t", user("u1", "Tell me less."));

    EXPECT_THAT(breaks(), IsEmpty());
}

} // namespace
} // namespace agui::test
