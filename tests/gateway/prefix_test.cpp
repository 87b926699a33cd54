// A model request begins with the one before it (P13), through the whole server and towards a model
// that refuses anything else.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
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

/// The parts of a model request.
struct parts {
    std::string system;
    std::vector<std::string> tools;
    std::vector<std::string> messages;
};

parts parts_of(const json::value& body) {
    parts found;
    for (const json::value& each : body.at("messages").as_array()) {
        if (each.at("role") == "system") {
            found.system += each.at("content").as_string();
        } else {
            found.messages.push_back(json::serialize(each));
        }
    }
    if (const json::value* const tools = body.as_object().if_contains("tools")) {
        for (const json::value& each : tools->as_array()) {
            found.tools.push_back(json::serialize(each));
        }
    }
    return found;
}

std::size_t bytes_of(const parts& of) {
    std::size_t bytes = of.system.size();
    for (const auto* list : {&of.tools, &of.messages}) {
        for (const std::string& each : *list) {
            bytes += each.size();
        }
    }
    return bytes;
}

std::size_t repeated(const std::vector<std::string>& before, const std::vector<std::string>& now) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < before.size() && i < now.size() && before[i] == now[i]; ++i) {
        bytes += before[i].size();
    }
    return bytes;
}

/// The bytes of `before` with which `now` begins, part by part.
std::size_t repeated(const parts& before, const parts& now) {
    return (before.system == now.system ? now.system.size() : 0) +
           repeated(before.tools, now.tools) + repeated(before.messages, now.messages);
}

/// A model that keeps the last request of each thread, whose id the instructions tell, and answers
/// 400 to one that does not begin with it. Its answers are calls, as often as it is told.
class strict_model {
public:
    std::optional<runner::scripted_answer> answer(const std::string& text) {
        const std::lock_guard lock(mutex_);
        const parts now = parts_of(json::parse(text));
        const std::string thread = now.system.substr(0, now.system.find(' '));
        parts& before = last_[thread];
        const std::size_t bytes = bytes_of(before);
        const std::size_t same = repeated(before, now);
        if (same != bytes && allowed_ != thread) {
            ++refusals_;
            refused_ = text;
            runner::scripted_answer refused;
            refused.status = 400;
            refused.content_type = "application/json";
            refused.body = R"({"error":{"message":"bound to a different conversation"}})";
            return refused;
        }
        if (allowed_ != thread) {
            bytes_ += bytes;
            repeated_ += same;
        }
        before = now;
        return calls_ ? call_tool("look") : say("Here you are.");
    }

    void call_next(bool calls) {
        const std::lock_guard lock(mutex_);
        calls_ = calls;
    }
    /// The thread's next request may begin in another way.
    void allow(std::string thread) {
        const std::lock_guard lock(mutex_);
        allowed_ = std::move(thread);
    }
    [[nodiscard]] std::size_t refusals() const {
        const std::lock_guard lock(mutex_);
        return refusals_;
    }
    [[nodiscard]] std::string refused() const {
        const std::lock_guard lock(mutex_);
        return refused_;
    }
    [[nodiscard]] parts last(const std::string& thread) const {
        const std::lock_guard lock(mutex_);
        return last_.at(thread);
    }
    [[nodiscard]] double share() const {
        const std::lock_guard lock(mutex_);
        return bytes_ == 0 ? 0 : static_cast<double>(repeated_) / static_cast<double>(bytes_);
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, parts> last_;
    std::string allowed_;
    std::string refused_;
    bool calls_ = false;
    std::size_t refusals_ = 0;
    std::size_t bytes_ = 0;
    std::size_t repeated_ = 0;
};

class Prefix : public server_test {
protected:
    Prefix() {
        settings.agents.at(0).prompt_props = {"locale"};
        settings.agents.at(0).instructions =
            "{{thread}} is served at {{time}} in {{forwardedProps.locale}}.";
        settings.agents.at(0).state = gateway::context_place::user;
        settings.agents.at(0).tool_list = gateway::tool_list::append;
        listen();
    }
    ~Prefix() override { server.reset(); } // It uses the members.

    void listen() {
        options.log = &log;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                return model.answer(request.body);
            };
        };
    }
    void start_again() {
        server.reset();
        options = {};
        listen();
        start();
    }

    /// A run with these members besides the ids.
    std::string run(std::string_view thread, json::object members) {
        members["threadId"] = thread;
        members["runId"] = "r" + std::to_string(++runs_);
        members["protocolVersion"] = "1.1";
        return ask(post("/agui", json::serialize(members))).body;
    }

    /// The lines about requests that do not begin with the one before.
    [[nodiscard]] std::vector<std::string> breaks() const {
        std::vector<std::string> found;
        for (const std::string& line : log.lines()) {
            if (line.find("does not begin with the one before") != std::string::npos) {
                found.push_back(line);
            }
        }
        return found;
    }

    strict_model model;
    memory_logger log;

private:
    int runs_ = 0;
};

json::object user(std::string_view id, std::string_view text = "Tell me more about it.") {
    return {{"messages", json::array{{{"id", id}, {"role", "user"}, {"content", text}}}}};
}

json::value tools(const std::vector<std::string>& names) {
    json::array all;
    for (const std::string& name : names) {
        all.push_back({{"name", name}, {"description", name}, {"parameters", json::object()}});
    }
    return all;
}

/// The ids of the calls that a run left to its client.
std::vector<std::string> pending_of(const std::string& stream) {
    std::vector<std::string> ids;
    const std::string_view name = R"("pendingToolCallIds":)";
    const std::size_t begin = stream.find(name);
    if (begin != std::string::npos) {
        const std::size_t from = begin + name.size();
        const std::string list = stream.substr(from, stream.find(']', from) + 1 - from);
        const json::value pending = json::parse(list);
        for (const json::value& each : pending.as_array()) {
            ids.emplace_back(each.as_string());
        }
    }
    return ids;
}

json::object answers(const std::vector<std::string>& calls) {
    json::array messages;
    for (const std::string& id : calls) {
        messages.push_back({{"role", "tool"}, {"toolCallId", id}, {"content", "done"}});
    }
    return {{"messages", std::move(messages)}};
}

class random_members {
public:
    explicit random_members(std::uint32_t seed) : random_(seed) {}

    std::size_t pick(std::size_t count) { return random_() % count; }

    void add_to(json::object& to) {
        if (pick(4) > 0) {
            json::array context;
            if (pick(3) > 0) {
                context.push_back(
                    {{"description", "cart"}, {"value", "items: " + std::to_string(pick(4))}}
                );
            }
            to["context"] = std::move(context);
        }
        if (pick(3) == 0) {
            to["state"] = json::object{{"page", static_cast<std::int64_t>(pick(4))}};
        }
        if (pick(3) == 0) {
            to["forwardedProps"] = json::object{{"locale", pick(2) == 0 ? "de" : "fr"}};
        }
        std::vector<std::string> offered = {"look"};
        for (const char* const name : {"paint", "scroll", "zoom"}) {
            if (pick(2) == 0) {
                offered.insert(pick(2) == 0 ? offered.begin() : offered.end(), name);
            }
        }
        to["tools"] = tools(offered);
    }

private:
    std::mt19937 random_;
};

/// More by hand: AGUI_TEST_CONVERSATIONS=1000.
std::uint32_t conversations() {
    const char* const count = std::getenv("AGUI_TEST_CONVERSATIONS");
    return count == nullptr ? 40 : static_cast<std::uint32_t>(std::strtoul(count, nullptr, 10));
}

TEST_F(Prefix, AModelThatRefusesAnotherBeginningNeverDoes) {
    use_sqlite();
    start();
    for (std::uint32_t seed = 0; seed < conversations(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_members random(seed);
        const std::string thread = "thread-" + std::to_string(seed);
        std::vector<std::string> open;
        for (int turn = 0; turn < 8; ++turn) {
            json::object request = open.empty() ? user("u" + std::to_string(turn)) : answers(open);
            random.add_to(request);
            model.call_next(random.pick(2) == 0);
            const std::string stream = run(thread, std::move(request));
            ASSERT_EQ(model.refusals(), 0U) << model.refused();
            ASSERT_THAT(stream, HasSubstr("RUN_FINISHED"));
            open = pending_of(stream);
            if (random.pick(40) == 0) {
                start_again();
            }
        }
    }
    EXPECT_GE(model.share(), 0.99);
    EXPECT_THAT(breaks(), IsEmpty());
}

TEST_F(Prefix, AnEditBeginsAnotherOneAndTheLogSaysSo) {
    start();
    run("t", user("u1"));
    run("t", user("u2"));
    model.allow("t");
    run("t", user("u2", "Tell me less."));

    ASSERT_EQ(breaks().size(), 1U);
    EXPECT_THAT(breaks()[0], HasSubstr("reason=edit"));
    EXPECT_THAT(breaks()[0], HasSubstr("element=messages[2]"));
}

TEST_F(Prefix, ACutTellsWhatItLeavesOutOnceAndTheLogSaysSo) {
    settings.agents.at(0).window.max_messages = 6;
    start();
    model.allow("t");
    json::object first = user("u1");
    first["context"] = json::array{{{"description", "cart"}, {"value", "three items"}}};
    run("t", std::move(first));
    for (int turn = 2; turn < 5; ++turn) {
        run("t", user("u" + std::to_string(turn)));
    }

    ASSERT_EQ(breaks().size(), 1U);
    EXPECT_THAT(breaks()[0], HasSubstr("reason=window"));
    EXPECT_THAT(model.last("t").messages.at(0), HasSubstr("three items"));
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
    model.allow("t");
    run("t", user("u1"));
    run("t", user("u1", "Tell me less."));

    EXPECT_THAT(breaks(), IsEmpty());
}

} // namespace
} // namespace agui::test
