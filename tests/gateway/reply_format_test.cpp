// agents[].reply_format = "items": the events for the client, and the model's own words in later
// requests.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The text in chunks of eleven bytes.
runner::scripted_answer pieces(std::string_view text, std::string_view more = end_frames()) {
    runner::scripted_answer made;
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(11, text.size()))) {
        made.body += text_frame(text.substr(0, 11));
    }
    made.body += more;
    return made;
}

/// Returns one line for each event that shows something.
std::vector<std::string> shown(std::string_view stream) {
    std::vector<std::string> lines;
    for (std::size_t at = stream.find("data: "); at != stream.npos;) {
        const std::size_t end = stream.find('\n', at);
        const json::value event = json::parse(stream.substr(at + 6, end - at - 6));
        const std::string type(event.at("type").as_string());
        if (type.ends_with("_CONTENT")) {
            lines.push_back(type + " " + std::string(event.at("delta").as_string()));
        } else if (type == "CUSTOM") {
            lines.push_back(
                std::string(event.at("name").as_string()) + " " +
                json::serialize(
                    event.at("value").as_object().contains("segment")
                        ? event.at("value").at("segment")
                        : event.at("value")
                )
            );
        } else if (type == "TOOL_CALL_START" || type.starts_with("RUN_")) {
            lines.push_back(type);
        }
        at = stream.find("data: ", end);
    }
    return lines;
}

const std::string two_items =
    R"([{"type":"thought","content":"He greets."},{"type":"chat","content":"Hello!"}])";

class ReplyFormat : public server_test {
protected:
    ReplyFormat() {
        settings.agents.at(0).reply = runner::reply_format::items;
        answer = pieces(two_items);
        listen();
    }

    ~ReplyFormat() override { server.reset(); } // The server ends before the members that it uses.

    void listen() {
        options.log = &log;
        options.script_of = [this](const gateway::model_config& model) {
            return [this, name = model.name](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                bodies_.push_back(json::parse(request.body).as_object());
                return std::optional(name == "main" ? answer : second_model);
            };
        };
    }
    void start_again() {
        server.reset();
        options = {};
        listen();
        start();
    }

    std::string run(std::string_view run_id, std::string_view text = "hello") {
        return ask(post("/agui", run_body("t", run_id, text))).body;
    }
    [[nodiscard]] std::string stored() const { return ask(get("/agui/threads/t/messages")).body; }
    /// The model requests.
    [[nodiscard]] std::vector<json::object> bodies() const {
        const std::lock_guard lock(mutex_);
        return bodies_;
    }
    /// The model's own earlier words in its last request.
    [[nodiscard]] std::vector<std::string> own_words() const {
        std::vector<std::string> texts;
        const json::object last = bodies().back();
        for (const json::value& each : last.at("messages").as_array()) {
            if (each.at("role") == "assistant" && each.at("content").is_string()) {
                texts.emplace_back(each.at("content").as_string());
            }
        }
        return texts;
    }
    [[nodiscard]] std::vector<std::string> warnings() const {
        std::vector<std::string> found;
        for (const std::string& line : log.lines()) {
            if (line.starts_with("warning")) {
                found.push_back(line);
            }
        }
        return found;
    }

    memory_logger log;
    runner::scripted_answer second_model = pieces(two_items);

private:
    mutable std::mutex mutex_;
    std::vector<json::object> bodies_;
};

TEST_F(ReplyFormat, ShowsThoughtsAsReasoningAndTheChatItemAsText) {
    start();

    EXPECT_THAT(
        shown(run("r")), ElementsAre(
                             "RUN_STARTED", "REASONING_MESSAGE_CONTENT He greets.",
                             "TEXT_MESSAGE_CONTENT Hello!", "RUN_FINISHED"
                         )
    );
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ReplyFormat, LaterRequestsShowTheModelItsOwnWords) {
    use_sqlite();
    start();
    (void)run("r1");
    EXPECT_THAT(stored(), HasSubstr("Hello!"));
    EXPECT_THAT(stored(), HasSubstr("He greets."));
    EXPECT_THAT(stored(), Not(HasSubstr("thought")));
    start_again();

    (void)run("r2", "again");

    EXPECT_THAT(own_words(), ElementsAre(two_items));
    EXPECT_FALSE(bodies().back().contains("response_format"));
}

TEST_F(ReplyFormat, HistoryShowsTheText) {
    start();
    (void)run("r");

    const std::string history =
        ask(post("/agui/history", R"({"threadId":"t","runId":"h","messages":[]})")).body;

    EXPECT_THAT(history, HasSubstr(R"("content":"Hello!")"));
    EXPECT_THAT(history, Not(HasSubstr("thought")));
}

TEST_F(ReplyFormat, ARunIsReadAgainAsItWas) {
    start();
    const std::string live = run("r");

    EXPECT_EQ(shown(ask(get("/agui/threads/t/runs/r/events")).body), shown(live));
    EXPECT_EQ(shown(run("r")), shown(live)) << "repeated";
}

TEST_F(ReplyFormat, OtherSegmentsAreCustomEvents) {
    answer = pieces(
        R"([{"type":"chat","content":[{"type":"text","text":"See "},{"type":"image","url":"x"},"it"]}])"
    );
    start();

    EXPECT_THAT(
        shown(run("r")), ElementsAre(
                             "RUN_STARTED", "TEXT_MESSAGE_CONTENT See ",
                             R"(agui-gateway.chat.segment {"type":"image","url":"x"})",
                             "TEXT_MESSAGE_CONTENT it", "RUN_FINISHED"
                         )
    );
    EXPECT_THAT(stored(), HasSubstr("See it"));
    EXPECT_THAT(stored(), Not(HasSubstr("image")));
}

TEST_F(ReplyFormat, AReplyThatDoesNotParseIsNotShown) {
    answer = pieces("Hello there, nice to meet you!");
    start();

    EXPECT_THAT(shown(run("r1")), ElementsAre("RUN_STARTED", "RUN_FINISHED"));

    EXPECT_THAT(
        warnings(),
        ElementsAre(HasSubstr("a model's reply is not the JSON that its agent expects run=r1"))
    );
    EXPECT_THAT(stored(), Not(HasSubstr("nice to meet")));
    EXPECT_THAT(shown(run("r2", "again")), Contains("RUN_FINISHED")) << "the thread goes on";
    EXPECT_THAT(own_words(), IsEmpty());
}

TEST_F(ReplyFormat, AReplyCutByItsLengthShowsNothing) {
    answer = pieces(R"([{"type":"chat","content":"Hello th)", end_frames("length"));
    start();

    EXPECT_THAT(
        shown(run("r")),
        ElementsAre(
            "RUN_STARTED", R"(agui-gateway.run.stopped {"reason":"max_output_tokens"})",
            "RUN_FINISHED"
        )
    );
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("a model's reply is not the JSON")));
}

TEST_F(ReplyFormat, TheFirstOfSeveralChatItemsCounts) {
    answer = pieces(R"([{"type":"chat","content":"a"},{"type":"chat","content":"b"}])");
    start();

    EXPECT_THAT(
        shown(run("r")), ElementsAre("RUN_STARTED", "TEXT_MESSAGE_CONTENT a", "RUN_FINISHED")
    );
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("several chat items")));
}

TEST_F(ReplyFormat, AsksForItsSchemaIfTheAgentSaysSo) {
    settings.agents.at(0).reply_schema = true;
    answer = pieces(R"({"items":[{"type":"chat","content":"Hello!"}]})");
    start();

    EXPECT_THAT(shown(run("r")), Contains("TEXT_MESSAGE_CONTENT Hello!"));

    const json::value format = bodies().back().at("response_format");
    EXPECT_EQ(format.at("type"), "json_schema");
    EXPECT_EQ(format.at("json_schema").at("strict"), true);
    EXPECT_EQ(format.at("json_schema").at("schema").at("type"), "object");
}

TEST_F(ReplyFormat, CallsAreHandedOffAsUsual) {
    answer = pieces(
        R"([{"type":"chat","content":"Wait."}])",
        call_frame("c1", "look") + end_frames("tool_calls")
    );
    const std::string tools = R"("tools":[{"name":"look","description":"","parameters":{}}]})";
    start();

    const std::string first =
        ask(post(
                "/agui",
                R"({"threadId":"t","runId":"r1","messages":[{"id":"m","role":"user","content":"hi"}],)" +
                    tools
            ))
            .body;
    EXPECT_THAT(
        shown(first),
        ElementsAre("RUN_STARTED", "TOOL_CALL_START", "TEXT_MESSAGE_CONTENT Wait.", "RUN_FINISHED")
    );
    answer = pieces(two_items);
    const std::string second =
        ask(post(
                "/agui",
                R"({"threadId":"t","runId":"r2","messages":[{"id":"a","role":"tool","toolCallId":"c1",)"
                R"("content":"ok"}],)" +
                    tools
            ))
            .body;

    EXPECT_THAT(shown(second), Contains("TEXT_MESSAGE_CONTENT Hello!"));
    EXPECT_THAT(own_words(), ElementsAre(R"([{"type":"chat","content":"Wait."}])"));
    EXPECT_EQ(bodies().back().at("messages").at(1).at("tool_calls").at(0).at("id"), "c1");
}

TEST_F(ReplyFormat, AnotherModelIsAskedWhileNothingIsShown) {
    gateway::model_config spare = settings.models.at(0);
    spare.name = "spare";
    settings.models.push_back(spare);
    settings.agents.at(0).models = {"main", "spare"};
    answer = pieces(two_items);
    answer.drop_after_frames = 3;
    second_model = pieces(R"([{"type":"chat","content":"From the spare"}])");
    start();

    EXPECT_THAT(
        shown(run("r")),
        ElementsAre("RUN_STARTED", "TEXT_MESSAGE_CONTENT From the spare", "RUN_FINISHED")
    );
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ReplyFormat, AStopInTheReplyShowsNothing) {
    answer = pieces(two_items);
    answer.stall_after_frames = 4;
    start();
    raw_client reader(port());
    reader.send(post("/agui", run_body("t", "r")));
    (void)reader.read_until("RUN_STARTED");
    while (bodies().empty()) {
        std::this_thread::yield();
    }

    EXPECT_THAT(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, HasSubstr("true"));

    const std::string seen = ask(get("/agui/threads/t/runs/r/events")).body;
    EXPECT_THAT(
        shown(seen),
        ElementsAre(
            "RUN_STARTED", R"(agui-gateway.run.stopped {"reason":"user_stop"})", "RUN_FINISHED"
        )
    );
    EXPECT_THAT(stored(), Not(HasSubstr("He greets")));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ReplyFormat, IsTextByDefault) {
    settings.agents.at(0).reply = runner::reply_format::text;
    answer = pieces("[]");
    start();

    EXPECT_THAT(
        shown(run("r")), ElementsAre("RUN_STARTED", "TEXT_MESSAGE_CONTENT []", "RUN_FINISHED")
    );
}

} // namespace
} // namespace agui::test
