// The lines of a thread in a file: what is written is read back, and nothing else.

#include "gateway/control/thread_lines.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/sha256_text.hpp"
#include "session/conversation/message_json.hpp"
#include "session/conversation/prompt_record.hpp"
#include "session/history/input_note.hpp"
#include "session/history/subagent.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using gateway::copied_thread;
using gateway::thread_writer;
using session::call_status;
using session::whole_thread;
using ::testing::HasSubstr;

copied_thread some_thread() {
    copied_thread copy;
    copy.thread = thread_builder()
                      .user("u1", "Hello")
                      .assistant("a1", "Yes", {call("c1", "paint", "{\"x\":1}")})
                      .answer("c1", "done")
                      .fork("u1")
                      .assistant("a2", "No", {call("c2", "ask")}, call_status::pending)
                      .offered({"paint", "ask"})
                      .build();
    copy.thread.key = {"acme/alice", "t1"};
    copy.thread.agent_id = "painter";
    copy.thread.title = "A title";
    copy.thread.archived = true;
    copy.thread.created_at = 1000;
    copy.thread.updated_at = 3000;
    copy.thread.last_run_at = 2000;
    copy.thread.last_request_had_history = true;
    copy.thread.state = json_text(R"({"z":1.50,"a":[]})");
    copy.thread.metadata = json_text(R"({"m":1e2})");
    copy.thread.context = {json::object{{"value", "x"}}};
    session::run_record run;
    run.run_id = "r1";
    run.idempotency_key = "key";
    run.status = session::run_status::finished;
    run.ended_at = 2500;
    run.last_sequence = 7;
    copy.runs = {run};
    copy.events = {{1, "user.message", "r1", 1200, {{"messageId", "u1"}}}};
    copy.access = {"shared-" + std::string(32, 'a'), {{"acme/bob", session::access_right::write}}};
    return copy;
}

session::attachment some_file(std::string bytes) {
    return {sha256_text(bytes), "image/png", std::move(bytes), 4000};
}

std::string lines_of(copied_thread copy, const std::vector<session::attachment>& files = {}) {
    thread_writer writer(std::move(copy));
    std::string lines;
    while (writer.write_line(lines)) {
    }
    for (const session::attachment& each : files) {
        writer.write_attachment(lines, each);
    }
    writer.write_end(lines);
    return lines;
}

constexpr unix_ms now = 1'000'000;

result<whole_thread> read_thread_lines(const std::string& lines) {
    memory_share uncounted;
    return gateway::read_thread_lines(lines, uncounted, now);
}

std::string problem_of(const std::string& lines) {
    const auto read = read_thread_lines(lines);
    return read ? "" : read.error().path + ": " + read.error().detail;
}

// The lines with the first `from` replaced.
std::string changed(std::string lines, std::string_view from, std::string_view to) {
    const std::size_t at = lines.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? lines : lines.replace(at, from.size(), to);
}

TEST(ThreadLines, AreReadAsTheyWereWritten) {
    const copied_thread copy = some_thread();
    const std::vector<session::attachment> files{some_file(std::string(100'000, '\x01'))};

    const auto read = read_thread_lines(lines_of(copy, files));

    ASSERT_TRUE(read) << read.error().path << read.error().detail;
    EXPECT_EQ(read->key, copy.thread.key);
    session::thread_record again;
    session::apply(again, read->content);
    ASSERT_EQ(again.nodes.size(), copy.thread.nodes.size());
    for (std::size_t i = 0; i < again.nodes.size(); ++i) {
        EXPECT_EQ(again.nodes[i].message, copy.thread.nodes[i].message);
        EXPECT_EQ(again.nodes[i].parent, copy.thread.nodes[i].parent);
        EXPECT_EQ(again.nodes[i].run_id, copy.thread.nodes[i].run_id);
    }
    EXPECT_EQ(again.head, copy.thread.head);
    EXPECT_EQ(again.branches.size(), copy.thread.branches.size());
    EXPECT_EQ(again.find_call("c1")->status, call_status::answered);
    EXPECT_EQ(again.find_call("c2")->status, call_status::pending);
    EXPECT_EQ(again.find_call("c2")->made_in, copy.thread.find_call("c2")->made_in);
    EXPECT_EQ(again.state.view(), R"({"z":1.50,"a":[]})");
    EXPECT_EQ(again.metadata.view(), R"({"m":1e2})");
    EXPECT_EQ(again.offered_tools, copy.thread.offered_tools);
    EXPECT_EQ(again.context, copy.thread.context);
    EXPECT_EQ(again.title, "A title");
    EXPECT_EQ(again.agent_id, "painter");
    EXPECT_TRUE(again.archived);
    EXPECT_TRUE(again.last_request_had_history);
    EXPECT_EQ(read->created_at, 1000);
    EXPECT_EQ(read->content.at, 3000);
    EXPECT_EQ(read->last_run_at, 2000);
    ASSERT_EQ(read->runs.size(), 1U);
    EXPECT_EQ(read->runs[0].idempotency_key, "key");
    EXPECT_EQ(read->runs[0].last_sequence, 7U);
    EXPECT_EQ(read->content.events.at(0).data, copy.events[0].data);
    EXPECT_EQ(read->access, copy.access);
    EXPECT_EQ(read->attachments, files);
}

TEST(ThreadLines, KeepWhatClientsNeverSee) {
    copied_thread copy = some_thread();
    session::stored_message node;
    node.message = assistant("a9", "for you");
    node.message.for_model = std::make_shared<session::content>("for the model");
    copy.thread.nodes.push_back(node);

    const auto read = read_thread_lines(lines_of(copy));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->content.messages.back().message, node.message);
    EXPECT_THAT(lines_of(copy), HasSubstr(R"("internal":{)"));
}

TEST(ThreadLines, NormalizeDocumentsThatNoStoreHasWritten) {
    copied_thread copy = some_thread();
    copy.thread.state = json_text(R"({ "a": "\ud800" })");

    const auto read = read_thread_lines(lines_of(copy));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->content.state->view(), "{\"a\":\"\xEF\xBF\xBD\"}");
}

TEST(ThreadLines, EndWhatWasActive) {
    copied_thread copy = some_thread();
    copy.runs[0].status = session::run_status::active;
    const std::pair<call_status, call_status> cases[] = {
        {call_status::open, call_status::dead},
        {call_status::held, call_status::dead},
        {call_status::approved, call_status::cancelled},
        {call_status::executing, call_status::indeterminate},
        {call_status::suspended, call_status::dead},
        {call_status::asked, call_status::cancelled},
    };
    for (const auto& [before, after] : cases) {
        SCOPED_TRACE(to_string(before));
        copy.thread.calls[0].status = before;

        const auto read = read_thread_lines(lines_of(copy));

        ASSERT_TRUE(read);
        EXPECT_EQ(read->content.calls[0].status, after);
        EXPECT_EQ(read->runs[0].status, session::run_status::failed);
        EXPECT_EQ(read->runs[0].end_reason, "internal");
    }
}

// An approval would let the tool go on with the arguments of the note, which nobody is shown.
TEST(ThreadLines, LetNoToolGoOnThatHasAsked) {
    copied_thread copy = some_thread();
    session::stored_message note;
    note.message = session::question_note("a1", "c1", {"Sure?", {}, {}}, {"digest", "{\"x\":2}"});
    note.parent = 1;
    copy.thread.nodes.push_back(note);
    for (const call_status status : {call_status::asked, call_status::approved}) {
        copy.thread.calls[0].status = status;
        const auto read = read_thread_lines(lines_of(copy));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->content.calls[0].status, call_status::indeterminate);
    }
    copy.thread.calls[0].status = call_status::cancelled;
    const auto read = read_thread_lines(lines_of(copy));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->content.calls[0].status, call_status::cancelled) << "it had ended before";
}

TEST(ThreadLines, HaveNoQuestionOfACallThatIsYetToCome) {
    copied_thread copy = some_thread();
    session::stored_message note;
    note.message = session::question_note("a1", "c9", {"Sure?", {}, {}}, {"digest", "{\"x\":2}"});
    copy.thread.nodes.push_back(note);

    EXPECT_THAT(problem_of(lines_of(copy)), HasSubstr("of a call that is missing"));
}

TEST(ThreadLines, EndTheCallsOfSubagents) {
    copied_thread copy = some_thread();
    const session::node_index made_in = copy.thread.calls[1].made_in;
    session::node_list nodes;
    for (std::size_t i = 0; i < copy.thread.nodes.size(); ++i) {
        session::stored_message node = copy.thread.nodes[i];
        if (i == made_in) {
            node.message.subagent_run_id = session::subagent_run_id("c1");
        }
        nodes.push_back(std::move(node));
    }
    copy.thread.nodes = std::move(nodes);

    const auto read = read_thread_lines(lines_of(copy));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->content.calls[1].status, call_status::dead);
}

TEST(ThreadLines, HaveNoTimesFarInTheFuture) {
    constexpr unix_ms latest = now + gateway::future_ms_max;
    constexpr unix_ms ten_days = 10 * gateway::future_ms_max;
    const std::string lines = lines_of(some_thread(), {some_file("x")});
    struct time_of {
        std::string_view member;
        std::string_view before;
        std::function<unix_ms(const whole_thread&)> read;
    };
    const std::vector<time_of> times{
        {"createdAt", "1000",
         [](const whole_thread& thread) {
             return thread.created_at;
         }},
        {"updatedAt", "3000",
         [](const whole_thread& thread) {
             return thread.content.at;
         }},
        {"lastRunAt", "2000",
         [](const whole_thread& thread) {
             return thread.last_run_at;
         }},
        {"startedAt", "0",
         [](const whole_thread& thread) {
             return thread.runs[0].started_at;
         }},
        {"endedAt", "2500",
         [](const whole_thread& thread) {
             return thread.runs[0].ended_at;
         }},
        {"timestamp", "1200",
         [](const whole_thread& thread) {
             return thread.content.events[0].timestamp;
         }},
        {"keptAt", "4000",
         [](const whole_thread& thread) {
             return thread.attachments[0].kept_at;
         }},
    };
    for (const auto& [member, before, read] : times) {
        const std::string name = "\"" + std::string(member) + "\":";
        for (const unix_ms time : {latest, latest + 1, now + ten_days, INT64_MAX}) {
            const auto thread = read_thread_lines(
                changed(lines, name + std::string(before), name + std::to_string(time))
            );
            ASSERT_TRUE(thread) << member;
            EXPECT_EQ(read(*thread), latest) << member;
        }
    }
}

TEST(ThreadLines, CountTheirMemory) {
    const std::size_t size = 100'000;
    const std::string lines = lines_of(some_thread(), {some_file(std::string(size, '\x01'))});
    memory_budget memory(std::size_t{16} << 20U);
    {
        memory_share kept(&memory);
        const auto read = gateway::read_thread_lines(lines, kept, now);
        ASSERT_TRUE(read);
        EXPECT_GE(kept.held(), size);
        EXPECT_EQ(memory.used(), kept.held()) << "nothing is left in the memory of a parsed line";
    }
    EXPECT_EQ(memory.used(), 0U);
}

TEST(ThreadLines, AreRefusedWithoutMemory) {
    copied_thread copy = some_thread();
    const std::string file = lines_of(copy, {some_file(std::string(100'000, '\x01'))});
    copy.thread.state = json_text("\"" + std::string(100'000, 'x') + "\"");
    const std::string document = lines_of(copy);
    copy.thread.state = json_text();
    // As values, these take many times as much as their text.
    copy.thread.context.clear();
    for (int i = 0; i < 2'000; ++i) {
        copy.thread.context.push_back(json::object{{"value", json::array()}});
    }
    for (const std::string& lines : {file, document, lines_of(copy)}) {
        memory_budget memory(60'000);
        memory_share kept(&memory);

        const auto read = gateway::read_thread_lines(lines, kept, now);

        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, errc::overloaded);
    }
}

TEST(ThreadLines, TellInTheirFirstWhatThreadTheyAreOf) {
    const std::string lines = lines_of(some_thread());
    const std::size_t end = lines.find('\n');
    const auto named = gateway::read_thread_head(lines.substr(0, end), now);
    ASSERT_TRUE(named);
    EXPECT_EQ(*named, some_thread().thread.key);
    EXPECT_FALSE(
        gateway::read_thread_head(lines.substr(end + 1, lines.find('\n', end + 1) - end - 1), now)
    );
    EXPECT_FALSE(gateway::read_thread_head(R"({"type":"thread")", now));
}

TEST(ThreadLines, ReplaceBytesThatAreNotUtf8) {
    copied_thread copy = some_thread();
    session::stored_message node;
    node.message = user("u9", "a\xFF.");
    copy.thread.nodes.push_back(node);

    const auto read = read_thread_lines(lines_of(copy));

    ASSERT_TRUE(read);
    EXPECT_EQ(session::text_of(read->content.messages.back().message.content), "a\xEF\xBF\xBD.");
}

TEST(ThreadLines, ShowQueuedMessagesWhichAreNotRead) {
    copied_thread copy = some_thread();
    session::queued_request request;
    request.run_id = "r2";
    request.messages.push_back(user("u8", "waiting"));
    copy.queue.push_back(request);

    EXPECT_THAT(lines_of(copy), HasSubstr("waiting"));
    EXPECT_TRUE(read_thread_lines(lines_of(copy)));
}

TEST(ThreadLines, AreRefusedIfTheyAreWrong) {
    const std::string lines = lines_of(some_thread(), {some_file("bytes")});
    ASSERT_EQ(problem_of(lines), "");
    const std::pair<std::string_view, std::string_view> changes[] = {
        {R"("user":"alice")", R"("user":"a\nb")"},
        {R"("user":"alice")", R"("user":7)"},
        {R"("threadId":"t1")", R"("threadId":"")"},
        {R"("threadId":"t1")", R"("threadId":"a\nb")"},
        {R"("createdAt":1000)", R"("createdAt":-1)"},
        {R"("createdAt":1000)", R"("createdAt":1.5)"},
        {R"("archived":true)", R"("archived":"yes")"},
        {R"("head":1)", R"("head":2)"},
        {R"("number":1)", R"("number":2)"},
        {R"("parent":0)", R"("parent":1)"},
        {R"("role":"user")", R"("role":"king")"},
        {R"("tip":)", R"("tip":9)"},
        {R"("type":"branch","number":0)", R"("type":"branch","number":3)"},
        {R"("owner":"external")", R"("owner":"nobody")"},
        {R"("status":"answered")", R"("status":"odd")"},
        {R"("toolCallId":"c2","name")", R"("toolCallId":"c1","name")"},
        {R"("madeIn":1)", R"("madeIn":100)"},
        {R"("status":"finished")", R"("status":"odd")"},
        {R"("runId":"r1","parentRunId")", R"("runId":"","parentRunId")"},
        {R"("lastSequence":7)", R"("lastSequence":-7)"},
        {R"("right":"write")", R"("right":"own")"},
        {R"("sharedId":"shared-)", R"("sharedId":"shared+)"},
        {R"({"type":"tools")", R"({"type":"context")"},
        {R"("tools":[{"name":"paint"})", R"("tools":[1)"},
        {R"("tools":[{"name":"paint"})", R"("tools":[{})"},
        {R"("tools":[{"name":"paint"})", R"("tools":[{"name":7})"},
        {R"({"type":"event")", R"({"type":"other")"},
        {R"({"type":"event")", R"({"type":"bytes")"},
        {R"({"type":"event","event":"user.message")", R"({"type":"event")"},
        {R"("sha256":")", R"("sha256":"0)"},
        {R"("base64":")", R"("base64":"!)"},
        {R"("size":5)", R"("size":6)"},
        {R"("size":5)", R"("size":4)"},
        {R"({"z":1.50)", R"({"z":1.50,)"},
        {R"({"m":1e2})", R"([])"},
        {R"("title":"A title")", "\"title\":\"A \xFF\""},
        {R"("lines":)", R"("lines":1)"},
        {R"({"type":"end","threadId":"t1")", R"({"type":"end","threadId":"t2")"},
        {R"({"type":"message")", R"(not JSON)"},
    };
    for (const auto& [from, to] : changes) {
        SCOPED_TRACE(std::string(from) + " -> " + std::string(to));
        EXPECT_NE(problem_of(changed(lines, from, to)), "");
    }
}

TEST(ThreadLines, AreRefusedIfSomeAreMissing) {
    const std::string lines = lines_of(some_thread());

    EXPECT_EQ(problem_of(""), "line 0: the thread has no end");
    EXPECT_THAT(problem_of(lines.substr(lines.find('\n') + 1)), HasSubstr("line 1: "));
    EXPECT_THAT(problem_of(lines.substr(0, lines.rfind("{\"type\":\"end\""))), HasSubstr("no end"));
    EXPECT_THAT(problem_of(lines + lines), HasSubstr("comes after the end"));
    const std::size_t event = lines.find("{\"type\":\"event\"");
    std::string without = lines;
    without.erase(event, lines.find('\n', event) + 1 - event);
    EXPECT_THAT(problem_of(without), HasSubstr("lines of the thread are missing"));
}

TEST(ThreadLines, AreRefusedIfTheyAreNestedTooDeep) {
    copied_thread copy = some_thread();
    copy.thread.state = json_text(std::string(1200, '[') + std::string(1200, ']'));

    EXPECT_THAT(problem_of(lines_of(copy)), HasSubstr("too deep"));
}

} // namespace
} // namespace agui::test
