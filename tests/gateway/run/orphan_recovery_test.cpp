// Runs that a former process left are ended in the store.

#include "gateway/run/orphan_recovery.hpp"
#include "session/base/failpoint.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using gateway::recover_orphans;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string started =
    R"({"type":"RUN_STARTED","timestamp":1,"threadId":"thread_1","runId":"r","protocolVersion":"1.1"})";
const std::string error_end_event =
    R"({"type":"RUN_ERROR","timestamp":5000,"message":"An internal error ended the run.","code":"internal"})";

class OrphanRecovery : public SqliteStore {
protected:
    /// A store as a process leaves it that was killed during a run, with `events` in the run's log
    /// and a call.
    std::unique_ptr<session::store> left_with(
        const std::vector<std::string>& events, std::optional<session::call_record> call = {}
    ) {
        const auto former = open();
        session::run_record record = run_of("r");
        record.parent_run_id = "parent";
        session::changes change = user_turn("u", "hi");
        if (call) {
            change.calls.push_back(std::move(*call));
        }
        if (!stored_state_.empty()) {
            change.state = json_text(stored_state_);
        }
        number_ = get(former->begin(thread_1, std::move(record), std::move(change))).number;
        if (!events.empty()) {
            const auto observer = std::make_shared<recording_observer>();
            former->append_log(slice_of(number_, 1, events), observer);
            EXPECT_TRUE(observer->wait_durable(events.size()));
        }
        return open_killed_copy("killed.db");
    }

    void end_all(session::store& store) {
        const session::lease_ptr held = get(store.acquire(thread_1, {}));
        const auto ended =
            run(recover_orphans({store, tools_, ids_, time_, log()}, store, held, false));
        store.release(held);
        ASSERT_TRUE(ended.has_value());
        EXPECT_TRUE(*ended);
    }

    std::vector<session::log_entry> log_of(session::store& store) {
        return get(store.read_log(number_, 0, 100));
    }

    runner::tool_registry tools_;
    sequential_ids ids_;
    manual_clock time_{5000};
    std::string stored_state_;
    std::int64_t number_ = 0;
};

TEST_F(OrphanRecovery, WritesTheWholeStreamOfARunOfWhichNothingWasDurable) {
    const auto store = left_with({});

    end_all(*store);

    const auto entries = log_of(*store);
    EXPECT_THAT(
        frames_of(entries),
        ElementsAre(
            R"({"type":"RUN_STARTED","timestamp":1000,"threadId":"thread_1","runId":"r","parentRunId":"parent","protocolVersion":"1.1"})",
            error_end_event
        )
    );
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(
        entries[0].variants,
        R"({"1.0":"{\"type\":\"RUN_STARTED\",\"timestamp\":1000,\"threadId\":\"thread_1\",\"runId\":\"r\",\"parentRunId\":\"parent\",\"protocolVersion\":\"1.0\"}",)"
        R"("undeclared":"{\"type\":\"RUN_STARTED\",\"timestamp\":1000,\"threadId\":\"thread_1\",\"runId\":\"r\",\"parentRunId\":\"parent\"}"})"
    );
    EXPECT_EQ(entries[1].variants, "");
    const auto record = get(store->find_run(thread_1, "r"));
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->status, session::run_status::failed);
    EXPECT_EQ(record->last_sequence, 2U);
}

TEST_F(OrphanRecovery, EndsOpenStreamsAndAnswersTheCallsOfTheServer) {
    session::call_record call;
    call.id = "c";
    call.name = "f";
    call.run_id = "r";
    call.owner = session::call_owner::server;
    call.status = session::call_status::open;
    const std::vector<std::string> begun = {
        started,
        R"({"type":"TEXT_MESSAGE_START","timestamp":2,"messageId":"m","role":"assistant"})",
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Look"})",
    };
    const auto store = left_with(begun, std::move(call));

    end_all(*store);

    std::vector<std::string> events = begun;
    events.emplace_back(R"({"type":"TEXT_MESSAGE_END","messageId":"m"})");
    events.emplace_back(
        R"({"type":"CUSTOM","timestamp":5000,"name":"agui-gateway.tool.failed","value":{"toolCallId":"c"}})"
    );
    events.emplace_back(
        R"({"type":"TOOL_CALL_RESULT","timestamp":5000,"messageId":"c:missing","toolCallId":"c","role":"tool",)"
        R"("content":"{\"error\":\"The call was interrupted; whether it had any effect is unknown.\"}"})"
    );
    events.push_back(error_end_event);
    EXPECT_EQ(frames_of(log_of(*store)), events);
    const auto thread = get(store->load(thread_1));
    ASSERT_TRUE(thread.has_value());
    ASSERT_EQ(thread->nodes.size(), 3U);
    EXPECT_EQ(thread->nodes[1].message.id, "m");
    EXPECT_EQ(session::text_of(thread->nodes[1].message.content), "Look");
    EXPECT_TRUE(session::is_failure_note(thread->nodes[2].message));
    EXPECT_EQ(thread->nodes[2].message.activity.at("code").as_string(), "internal");
    EXPECT_EQ(thread->branches.at(0).tip, 2U);
}

// Clients would otherwise send it back as their state.
TEST_F(OrphanRecovery, TakesAPredictedStateBack) {
    const std::vector<std::string> begun = {
        started,
        R"({"type":"CUSTOM","timestamp":2,"name":"PredictState","value":[]})",
        R"({"type":"STATE_SNAPSHOT","timestamp":3,"snapshot":{"text":"half a senten"}})",
    };
    const std::string without_state = R"({"type":"STATE_SNAPSHOT","timestamp":5000,"snapshot":{}})";
    const auto store = left_with(begun);

    end_all(*store);

    std::vector<std::string> events = begun;
    events.push_back(without_state);
    events.push_back(error_end_event);
    EXPECT_EQ(frames_of(log_of(*store)), events);
}

TEST_F(OrphanRecovery, ShowsTheStoredStateInsteadOfAPrediction) {
    stored_state_ = R"({"text":"A sentence."})";
    const std::vector<std::string> begun = {
        started,
        R"({"type":"CUSTOM","timestamp":2,"name":"PredictState","value":[]})",
    };
    const auto store = left_with(begun);

    end_all(*store);

    EXPECT_THAT(
        frames_of(log_of(*store)),
        Contains(R"({"type":"STATE_SNAPSHOT","timestamp":5000,"snapshot":{"text":"A sentence."}})")
    );
}

#ifdef AGUI_FAILPOINTS

TEST_F(OrphanRecovery, FreesTheThreadOnlyOnceAllHaveEnded) {
    for (const char* const run_id : {"r", "r2"}) {
        (void)begin(*open(), thread_1, run_id);
    }
    const auto store = open();
    const session::lease_ptr held = get(store->acquire(thread_1, {}));
    const auto recover = [&] {
        return run(recover_orphans({*store, tools_, ids_, time_, log()}, *store, held, true));
    };
    {
        int commits = 0;
        const failpoint_hook failing_once([&](std::string_view place) {
            if (place == "recovery.commit" && ++commits == 1) {
                throw std::runtime_error("the store fails");
            }
        });
        EXPECT_FALSE(recover().value());
    }
    EXPECT_TRUE(held->is_held());

    EXPECT_TRUE(recover().value());
    EXPECT_FALSE(held->is_held());
}

TEST_F(OrphanRecovery, LogsOnceWhyARunCouldNotBeEnded) {
    (void)begin(*open(), thread_1, "r");
    const auto store = open();
    const session::lease_ptr held = get(store->acquire(thread_1, {}));
    const failpoint_hook failing([](std::string_view place) {
        if (place == "recovery.commit") {
            throw std::runtime_error("no memory");
        }
    });

    EXPECT_FALSE(
        run(recover_orphans({*store, tools_, ids_, time_, log()}, *store, held, true)).value()
    );

    EXPECT_THAT(log().lines(), Contains(StartsWith("error ")).Times(1));
    EXPECT_THAT(
        log().lines(), Contains(AllOf(
                           HasSubstr("an orphaned run could not be ended"), HasSubstr("run=r"),
                           HasSubstr("no memory")
                       ))
    );
    store->release(held);
}

#endif

} // namespace
} // namespace agui::test
