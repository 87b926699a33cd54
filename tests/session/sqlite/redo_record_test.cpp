#include "session/sqlite/redo_record.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace agui::session {
namespace {

using test::key_of;
using test::run_of;
using test::user_turn;

redo_record begin_of_run() {
    redo_record record;
    record.key = key_of("thread \"1\"", "someone");
    record.run_number = std::int64_t{1} << 40U;
    record.begins = run_of("run_1", 1'795'000'000'000);
    record.begins->number = record.run_number;
    record.begins->parent_run_id = "run_0";
    record.begins->idempotency_key = "key";
    record.begins->protocol = "1.1";
    record.thread_exists = false;
    record.change = user_turn("m1", "Hello \xe2\x82\xac", 0, 1'795'000'000'000);
    record.message_texts = {R"({"id":"m1","role":"user"})"};
    record.change.offered_tools = boost::json::parse(R"([{"name":"paint"}])").as_array();
    record.change.last_request_had_history = true;
    record.change.state = json_text(R"({"n":0.1,"deep":[null,{}]})");
    record.change.agent_id = "default";
    record.change.title = "A title";
    record.change.archived = false;
    record.change.metadata = boost::json::parse(R"({"a":1})").as_object();
    return record;
}

redo_record end_of_run() {
    redo_record record;
    record.key = key_of("thread_1");
    record.run_number = 7;
    record.before = {.messages = 3, .branches = 2};
    stored_message answer;
    answer.parent = 2;
    answer.run_id = "run_1";
    answer.created_at = 5;
    record.message_texts = {"of any form"};
    record.change.messages.push_back(answer);
    record.change.branches.push_back({1, {.tip = 3, .updated_at = 5}});
    record.change.branches.push_back({2, {}});
    record.change.head = 1;
    record.change.calls.push_back(
        {.id = "call_1",
         .name = "paint",
         .run_id = "run_1",
         .owner = call_owner::server,
         .status = call_status::answered,
         .made_in = 3}
    );
    call_record& pending = record.change.calls.emplace_back();
    pending.id = "call_2";
    pending.status = call_status::pending;
    record.change.events.push_back({0, "run.finished", "run_1", 5, {{"reason", "completed"}}});
    record.change.run = run_of("run_1");
    record.change.run->number = 7;
    record.change.run->status = run_status::cancelled;
    record.change.run->end_reason = "user_stop";
    record.change.run->ended_at = 6;
    record.change.run->last_sequence = 300;
    return record;
}

std::string bytes_of(const redo_record& record) { return to_bytes(record, 1U << 20U); }

TEST(RedoRecordMembers, MayBeAsDeepAsARequest) {
    redo_record record = begin_of_run();
    const json_text deep(std::string(1024, '[') + "1" + std::string(1024, ']'));
    record.change.state = deep;
    EXPECT_EQ(redo_from_bytes(bytes_of(record)).value().change.state, deep);
}

TEST(RedoRecordMembers, AreNotReadWhereTheStateIsNoJson) {
    redo_record record = begin_of_run();
    record.change.state = json_text(R"({"n":)");
    EXPECT_FALSE(redo_from_bytes(bytes_of(record)));
}

TEST(RedoRecordMembers, AreTooManyBytesOrNot) {
    const redo_record record = begin_of_run();
    const std::size_t size = bytes_of(record).size();
    EXPECT_EQ(to_bytes(record, size), bytes_of(record));
    for (std::size_t most = 0; most < size; ++most) {
        EXPECT_EQ(to_bytes(record, most), "");
    }
}

// The last member: records of before there was one end without it.
TEST(RedoRecordMembers, TheContextMayBeThereOrNot) {
    redo_record record = begin_of_run();
    EXPECT_FALSE(redo_from_bytes(bytes_of(record)).value().change.context);
    record.change.context = boost::json::parse(R"([{"description":"d","value":"v"}])").as_array();
    EXPECT_EQ(redo_from_bytes(bytes_of(record)).value().change.context, record.change.context);
}

TEST(RedoRecordMembers, TextsAreAsManyAsMessages) {
    redo_record record = begin_of_run();
    record.message_texts.clear();
    EXPECT_FALSE(redo_from_bytes(bytes_of(record)));
}

class RedoRecord : public ::testing::TestWithParam<redo_record (*)()> {};

TEST_P(RedoRecord, IsReadAsItWasWritten) {
    const std::string bytes = bytes_of(GetParam()());

    const std::optional<redo_record> read = redo_from_bytes(bytes);

    ASSERT_TRUE(read);
    EXPECT_EQ(bytes_of(*read), bytes);
}

TEST_P(RedoRecord, IsReadAsAWholeOrNotAtAll) {
    const std::string bytes = bytes_of(GetParam()());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(redo_from_bytes(std::string_view(bytes).substr(0, size))) << size;
    }
    EXPECT_FALSE(redo_from_bytes(bytes + '\0'));
}

TEST_P(RedoRecord, AnyBytesAreReadSafely) {
    const std::string bytes = bytes_of(GetParam()());
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
        const std::optional<redo_record> read = redo_from_bytes(damaged);
        refused += read ? 0 : 1;
        if (read) {
            EXPECT_NO_THROW((void)bytes_of(*read));
        }
    }
    EXPECT_GT(refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Records, RedoRecord, ::testing::Values(begin_of_run, end_of_run),
    [](const auto& of) { return of.index == 0 ? "Begin" : "End"; }
);

TEST(RedoRecordMembers, AreAllThere) {
    const redo_record begin = redo_from_bytes(bytes_of(begin_of_run())).value();
    EXPECT_EQ(begin.key, begin_of_run().key);
    EXPECT_FALSE(begin.thread_exists);
    EXPECT_EQ(begin.begins->idempotency_key, "key");
    EXPECT_EQ(begin.begins->started_at, 1'795'000'000'000);
    EXPECT_EQ(begin.change.messages.at(0).parent, no_node);
    EXPECT_EQ(begin.message_texts, begin_of_run().message_texts);
    EXPECT_EQ(begin.change.state, begin_of_run().change.state);
    EXPECT_EQ(begin.change.offered_tools, begin_of_run().change.offered_tools);
    EXPECT_EQ(begin.change.title, "A title");
    EXPECT_FALSE(begin.change.run);

    const redo_record end = redo_from_bytes(bytes_of(end_of_run())).value();
    EXPECT_EQ(end.before, (thread_size{.messages = 3, .branches = 2}));
    EXPECT_TRUE(end.thread_exists);
    EXPECT_FALSE(end.begins);
    EXPECT_EQ(end.change.messages.at(0).run_id, "run_1");
    EXPECT_EQ(end.change.branches.at(1).value.tip, no_node);
    EXPECT_EQ(end.change.calls.at(0).owner, call_owner::server);
    EXPECT_EQ(end.change.calls.at(1).status, call_status::pending);
    EXPECT_EQ(end.change.events.at(0).data, end_of_run().change.events[0].data);
    EXPECT_EQ(end.change.run->status, run_status::cancelled);
    EXPECT_EQ(end.change.run->last_sequence, 300U);
}

} // namespace
} // namespace agui::session
