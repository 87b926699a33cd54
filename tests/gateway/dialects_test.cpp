// Random conversations with models of all dialects that refuse what their vendors refuse, through
// the whole server.
#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"
#include "runner/responses/responses_dialect.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/gateway/strict_models.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<runner::model_dialect> dialect_of(std::string_view model, bool tool_addition) {
    runner::openai_settings chat;
    chat.merge_roles = true; // Its templates demand alternating roles.
    runner::anthropic_settings claude;
    claude.tool_addition = tool_addition;
    return model == "claude"      ? runner::make_anthropic_dialect(claude)
           : model == "responses" ? runner::make_responses_dialect({})
                                  : runner::make_openai_dialect(chat);
}

json::object user(const std::string& id, const std::string& text) {
    return {{"messages", json::array{{{"id", id}, {"role", "user"}, {"content", text}}}}};
}

json::object answers(const std::vector<std::string>& calls) {
    json::array messages;
    for (const std::string& id : calls) {
        messages.push_back({{"role", "tool"}, {"toolCallId", id}, {"content", "done"}});
    }
    return {{"messages", std::move(messages)}};
}

/// The ids of the calls that a run left to its client.
std::vector<std::string> pending_of(const std::string& stream) {
    std::vector<std::string> ids;
    const std::string_view name = R"("pendingToolCallIds":)";
    const std::size_t begin = stream.find(name);
    if (begin != std::string::npos) {
        const std::size_t from = begin + name.size();
        const json::value pending =
            json::parse(stream.substr(from, stream.find(']', from) + 1 - from));
        for (const json::value& each : pending.as_array()) {
            ids.emplace_back(each.as_string());
        }
    }
    return ids;
}

/// More by hand: AGUI_TEST_CONVERSATIONS=1000.
std::uint32_t conversations() {
    constexpr std::uint32_t usual = 21;
    const char* const count = std::getenv("AGUI_TEST_CONVERSATIONS");
    return count == nullptr ? usual : static_cast<std::uint32_t>(std::strtoul(count, nullptr, 10));
}

class Dialects : public server_test {
protected:
    Dialects() {
        settings.models.clear();
        for (const auto& [name, id] : std::vector<std::pair<std::string, std::string>>{
                 {"chat", "thinker"}, {"claude", "claude-opus-5-5"}, {"responses", "gpt-5.6"}
             }) {
            gateway::model_config& made = settings.models.emplace_back();
            made.name = name;
            made.provider = gateway::model_config::provider_kind::custom;
            made.parameters.model = id;
        }
        gateway::agent_config agent = settings.agents.at(0);
        agent.models = {"claude"};
        agent.max_rounds = 50; // Models that call tools of the server again and again.
        agent.overridable = {"model"};
        agent.prompt_props = {"locale"};
        agent.instructions = "{{thread}} is served at {{time}} in {{forwardedProps.locale}}.";
        agent.tool_list = gateway::tool_list::append;
        settings.agents.clear();
        for (const char* const id : {"message", "system", "window"}) {
            agent.id = id;
            const bool in_system = agent.id == "system";
            agent.context =
                in_system ? gateway::context_place::system : gateway::context_place::user;
            agent.state = agent.context;
            agent.window.max_messages = agent.id == "window" ? 8 : 0;
            settings.agents.push_back(agent);
        }
        use_sqlite();
        prepare();
    }
    ~Dialects() override { server.reset(); } // It uses the members.

    void prepare() {
        options.log = &log;
        options.provider_of = [this](const gateway::model_config& model) {
            runner::http_provider_settings provider;
            provider.name = model.name;
            provider.account = "account";
            auto client = runner::make_scripted_client(
                [this, name = model.name](const runner::transport_request& request) {
                    additions += request.body.find("tool_addition") == std::string::npos ? 0 : 1;
                    return std::optional(models.answer(name, request));
                }
            );
            return runner::make_http_provider(
                std::move(client), dialect_of(model.name, tool_addition), std::move(provider)
            );
        };
        options.tools.add(
            {.name = "look", .description = "Looks.", .parameters = {}},
            [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
                runner::tool_outcome seen;
                seen.content = std::string("seen");
                co_return seen;
            }
        );
    }

    void start_again() {
        server.reset();
        models.note_restart();
        options = {};
        prepare();
        start();
    }

    /// Adds what may come with any request.
    void add_members(json::object& to) {
        if (!random.one_of(4)) {
            json::array context;
            if (!random.one_of(3)) {
                context.push_back(
                    {{"description", "cart"}, {"value", "items: " + std::to_string(random.below(4))}
                    }
                );
            }
            to["context"] = std::move(context);
        }
        if (random.one_of(3)) {
            to["state"] = json::object{{"page", static_cast<std::int64_t>(random.below(4))}};
        }
        json::object props;
        if (random.one_of(3)) {
            props["locale"] = random.one_of(2) ? "de" : "fr";
        }
        if (random.one_of(3)) {
            next_model = models.names().at(random.below(models.names().size()));
        }
        props["model"] = next_model;
        to["forwardedProps"] = std::move(props);
        json::array tools;
        for (const std::string& name : offered) {
            tools.push_back({{"name", name}, {"description", name}, {"parameters", json::object()}}
            );
        }
        to["tools"] = std::move(tools);
    }

    void offer_tools() {
        offered.clear();
        for (const char* const name : {"paint.wall", "scroll", "zoom"}) {
            if (random.one_of(2)) {
                offered.insert(random.one_of(2) ? offered.begin() : offered.end(), name);
            }
        }
    }

    /// Returns the events.
    std::string run(const std::string& agent, const std::string& thread, json::object members) {
        members["threadId"] = thread;
        members["runId"] = "r" + std::to_string(++runs_);
        members["protocolVersion"] = "1.1";
        return ask(post("/agui/agents/" + agent, json::serialize(members))).body;
    }

    void converse(std::uint32_t seed) {
        random = random_source(seed);
        models.seed(seed);
        const std::string thread = "thread-" + std::to_string(seed);
        const std::string agent = settings.agents.at(seed % settings.agents.size()).id;
        if (agent == "window") {
            models.allow_breaks(thread);
        }
        offer_tools();
        std::vector<std::string> said; // Ids of the branch's user messages that may be edited.
        std::vector<std::string> open;
        for (int turn = 0; turn < 8; ++turn) {
            const std::string number = std::to_string(turn);
            json::object request;
            if (!open.empty()) {
                std::ranges::shuffle(open, random.engine());
                request = answers(open);
            } else if (said.size() > 1 && random.one_of(6)) {
                const std::size_t edited = random.below(said.size());
                request = user(said[edited], "Tell me less, " + number + ".");
                said.resize(edited);
                models.forget(thread);
            } else {
                said.push_back("u" + number);
                request = user(said.back(), "Tell me more, " + number + ".");
            }
            if (random.one_of(5)) {
                offer_tools();
            }
            add_members(request);
            const std::string stream = run(agent, thread, std::move(request));
            ASSERT_THAT(models.refusals(), IsEmpty());
            ASSERT_THAT(stream, HasSubstr("RUN_FINISHED"));
            open = pending_of(stream);
            if (random.one_of(40)) {
                start_again();
            }
        }
    }

    /// The lines about requests that do not begin with the one before, counted by thread.
    [[nodiscard]] std::map<std::string, counted_breaks> logged_breaks() const {
        std::map<std::string, counted_breaks> found;
        const std::string_view name = " thread=";
        for (const std::string& line : log.lines()) {
            if (line.find("does not begin with the one before") == std::string::npos) {
                continue;
            }
            EXPECT_EQ(line.find("reason=unknown"), std::string::npos) << line;
            const std::size_t from = line.find(name) + name.size();
            counted_breaks& counted = found[line.substr(from, line.find(' ', from) - from)];
            ++(line.find("reason=model") == std::string::npos ? counted.others : counted.switches);
        }
        return found;
    }

    /// Models take turns within threads whose context, state, values and tools change; the user
    /// edits messages, clients execute calls, Claude pauses, the server is started again, a window
    /// cuts.
    void check_conversations() {
        start();
        for (std::uint32_t seed = 0; seed < conversations() && !HasFatalFailure(); ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            converse(seed);
        }

        std::map<std::string, counted_breaks> logged = logged_breaks();
        std::map<std::string, counted_breaks> counted = models.breaks();
        for (std::uint32_t seed = 0; seed < conversations(); ++seed) {
            const std::string thread = "thread-" + std::to_string(seed);
            EXPECT_EQ(logged[thread], counted[thread]) << thread << ": each break has its line";
        }
        EXPECT_EQ(additions > 0, tool_addition);
        EXPECT_GE(models.repeated(), 0.99);
        EXPECT_GT(models.requests(), 8 * conversations());
        for (const std::string& name : models.names()) {
            EXPECT_GT(models.returned(name), conversations() / 2) << name;
        }
    }

    bool tool_addition = false;
    std::atomic<std::size_t> additions = 0; ///< Requests with tools that messages add.
    strict_models models;
    memory_logger log;
    random_source random{0};
    std::string next_model = "claude";
    std::vector<std::string> offered;

private:
    int runs_ = 0;
};

TEST_F(Dialects, RefuseNoConversation) { check_conversations(); }

TEST_F(Dialects, RefuseNoConversationWhereClaudeIsToldToolsWithMessages) {
    tool_addition = true;
    check_conversations();
}

} // namespace
} // namespace agui::test
