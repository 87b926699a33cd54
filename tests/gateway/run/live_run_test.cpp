// The stream of a run whose log the store has lost.

#include "gateway/run/live_run.hpp"

#include "gateway/log/stream_form.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

using gateway::event_log;
using gateway::live_run;

constexpr std::string_view error_end =
    "data: {\"type\":\"RUN_ERROR\",\"timestamp\":5000,\"message\":\"The conversation could not be "
    "stored.\","
    "\"code\":\"store_unavailable\"}\n\n";

class LostLog : public coroutine_test {
protected:
    void begin(std::string_view protocol, live_run::settings settings = {}) {
        session::run_record record = run_of("r");
        record.protocol = protocol;
        log_ = live_run::make_log(context().get_executor(), *store_, false, nullptr);
        run_ = std::make_shared<live_run>(
            context().get_executor(), *store_, time_, logger_, log_,
            gateway::conversation_key{key_of("t"), false}, held_, std::move(record), 0, settings
        );
    }

    void show(std::string_view json) {
        log_->on_event(
            {.json = json, .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = false}
        );
        context().restart();
        context().poll();
    }

    std::string read() {
        std::string text;
        EXPECT_TRUE(log_->read(at_, gateway::sse_form(), SIZE_MAX, text).ended)
            << "it has not ended";
        return text;
    }

    const std::unique_ptr<session::store> store_ = session::make_memory_store();
    const session::lease_ptr held_ = std::make_shared<session::lease>(key_of("t"), "r", 1);
    manual_clock time_{5000};
    memory_logger logger_;
    std::shared_ptr<event_log> log_;
    std::shared_ptr<live_run> run_;
    event_log::cursor at_;
};

TEST_F(LostLog, IsBegunForItsFirstReaderIfNothingWasVisible) {
    begin("1.0");

    run_->give_up();

    EXPECT_EQ(
        read(),
        "data: {\"type\":\"RUN_STARTED\",\"timestamp\":5000,\"threadId\":\"t\",\"runId\":\"r\","
        "\"protocolVersion\":\"1.0\"}\n\n" +
            std::string(error_end)
    );
}

TEST_F(LostLog, IsClosedAfterTheVisibleEvents) {
    begin("1.1");
    show(
        R"({"type":"RUN_STARTED","timestamp":1,"threadId":"t","runId":"r","protocolVersion":"1.1"})"
    );
    show(R"({"type":"TEXT_MESSAGE_START","timestamp":2,"messageId":"m","role":"assistant"})");
    std::string before;
    EXPECT_FALSE(log_->read(at_, gateway::sse_form(), SIZE_MAX, before).ended);

    run_->give_up();

    EXPECT_EQ(
        read(),
        "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n\n" + std::string(error_end)
    );
}

// Neither readers nor observers get a terminal event that is not stored.
TEST_F(LostLog, IsObservedWithTheEndThatReadersGet) {
    std::string seen;
    const gateway::run_observer observer = [&seen](const gateway::observed_event& event) {
        seen += std::to_string(event.sequence) + (event.terminal ? " end " : " ");
        seen += std::string(event.json.substr(9, event.json.find('"', 9) - 9)) + "\n";
    };
    live_run::settings settings;
    settings.observer = &observer;
    begin("1.1", settings);

    run_->give_up();

    EXPECT_EQ(seen, "0 RUN_STARTED\n0 end RUN_ERROR\n");
}

} // namespace
} // namespace agui::test
