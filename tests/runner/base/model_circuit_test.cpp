#include "runner/base/model_circuit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using namespace std::chrono_literals;
using state = model_circuit::state;

model_failure failure_of(model_failure::kind what, int status = 0) {
    model_failure failed;
    failed.what = what;
    failed.status = status;
    return failed;
}

const model_failure outage = failure_of(model_failure::kind::unavailable, 503);

class ModelCircuit : public ::testing::Test {
protected:
    model_circuit::call begin() { return model_circuit::begin(circuit); }
    void fail(int times) {
        for (int i = 0; i < times; ++i) {
            begin().failed(outage);
        }
    }

    manual_clock time;
    memory_logger log;
    std::shared_ptr<model_circuit> circuit = std::make_shared<model_circuit>(
        model_circuit::settings{.model = "main", .failures = 3, .window = 60s, .pause = 30s}, time,
        log
    );
};

TEST_F(ModelCircuit, OpensAfterThatManyOutagesInARow) {
    fail(2);
    EXPECT_EQ(circuit->now().now, state::closed);
    EXPECT_EQ(circuit->now().failures, 2U);
    EXPECT_TRUE(begin().is_ready());

    fail(1);

    EXPECT_EQ(circuit->now().now, state::open);
    EXPECT_FALSE(begin().is_ready());
    EXPECT_EQ(
        log.lines(), std::vector<std::string>{"warning a model's circuit changed model=main "
                                              "circuit=open"}
    );
}

TEST_F(ModelCircuit, AnAnswerBeginsTheCountAnew) {
    fail(2);
    begin().answered();
    fail(2);

    EXPECT_EQ(circuit->now().now, state::closed);
}

TEST_F(ModelCircuit, OutagesOutsideTheWindowDoNotCount) {
    fail(2);
    time.advance(60s);
    fail(2);
    EXPECT_EQ(circuit->now().now, state::closed);

    time.advance(59s);
    fail(1);
    EXPECT_EQ(circuit->now().now, state::open);
}

TEST_F(ModelCircuit, OneCallIsTheProbeAfterThePause) {
    fail(3);
    time.advance(29s);
    EXPECT_FALSE(begin().is_ready());
    time.advance(1s);

    model_circuit::call probe = begin();

    EXPECT_TRUE(probe.is_ready());
    EXPECT_EQ(circuit->now().now, state::half_open);
    EXPECT_FALSE(begin().is_ready()) << "one at a time";
    probe.answered();
    EXPECT_EQ(circuit->now().now, state::closed);
    EXPECT_EQ(circuit->now().failures, 0U);
    EXPECT_TRUE(begin().is_ready());
    EXPECT_EQ(log.lines().size(), 3U) << "one line a change";
    EXPECT_EQ(log.lines().back(), "info a model's circuit changed model=main circuit=closed");
}

TEST_F(ModelCircuit, AProbeEndsWhereItsAnswerBegins) {
    fail(3);
    time.advance(30s);
    model_circuit::call probe = begin();

    probe.begun();

    EXPECT_EQ(circuit->now().now, state::closed);
    EXPECT_TRUE(begin().is_ready());
    EXPECT_EQ(log.lines().back(), "info a model's circuit changed model=main circuit=closed");
    probe.answered();
    EXPECT_EQ(circuit->now().failures, 0U);
}

TEST_F(ModelCircuit, AProbeThatBreaksOffOpensItAgain) {
    fail(3);
    time.advance(30s);
    model_circuit::call probe = begin();
    probe.begun();
    model_circuit::call other = begin();
    probe.failed(outage);
    EXPECT_EQ(circuit->now().now, state::open);
    EXPECT_FALSE(begin().is_ready());

    other.failed(outage);
    time.advance(30s);
    EXPECT_TRUE(begin().is_ready()) << "the next probe";
}

TEST_F(ModelCircuit, OneOutageOpensItAgainUntilAnAnswerIsWhole) {
    fail(3);
    time.advance(30s);
    model_circuit::call probe = begin();
    probe.begun();
    begin().answered();
    fail(2);
    EXPECT_EQ(circuit->now().now, state::closed) << "another answer was whole";
    fail(1);
    time.advance(30s);
    model_circuit::call next = begin();
    next.begun();
    fail(1);

    EXPECT_EQ(circuit->now().now, state::open);
}

TEST_F(ModelCircuit, OnlyTheProbeClosesItWhereItBegins) {
    fail(3);
    model_circuit::call last_resort = begin();
    last_resort.begun();
    EXPECT_EQ(circuit->now().now, state::open) << "one line a call, if each breaks off";

    last_resort.answered();
    EXPECT_EQ(circuit->now().now, state::closed);
}

TEST_F(ModelCircuit, OnlyAWholeAnswerBeginsTheCountAnew) {
    fail(2);
    model_circuit::call breaks_off = begin();
    breaks_off.begun();
    EXPECT_EQ(circuit->now().failures, 2U);
    breaks_off.failed(outage);

    EXPECT_EQ(circuit->now().now, state::open);
}

TEST_F(ModelCircuit, ABeginOfAnEarlierEraSaysNothing) {
    model_circuit::call early = begin();
    fail(3);
    early.begun();
    EXPECT_EQ(circuit->now().now, state::open);
    time.advance(30s);
    model_circuit::call probe = begin();
    probe.answered();
    fail(3);

    probe.begun();

    EXPECT_EQ(circuit->now().now, state::open);
}

TEST_F(ModelCircuit, AProbeThatFailsOpensItAgain) {
    fail(3);
    time.advance(30s);
    begin().failed(outage);

    EXPECT_EQ(circuit->now().now, state::open);
    time.advance(29s);
    EXPECT_FALSE(begin().is_ready());
    time.advance(1s);
    EXPECT_TRUE(begin().is_ready());
}

TEST_F(ModelCircuit, AProbeWithoutAResultLeavesItToTheNextCall) {
    fail(3);
    time.advance(30s);
    begin().failed(failure_of(model_failure::kind::cancelled));
    EXPECT_EQ(circuit->now().now, state::half_open);
    {
        const model_circuit::call dropped = begin();
    }

    EXPECT_TRUE(begin().is_ready());
}

TEST_F(ModelCircuit, AnAnswerToACallWithoutAnotherModelClosesIt) {
    fail(3);
    model_circuit::call last_resort = begin();
    ASSERT_FALSE(last_resort.is_ready());
    fail(1);
    EXPECT_EQ(log.lines().size(), 1U) << "it is open already";

    last_resort.answered();

    EXPECT_EQ(circuit->now().now, state::closed);
}

TEST_F(ModelCircuit, CallsOfAnEarlierEraSayNothing) {
    model_circuit::call late_answer = begin();
    model_circuit::call late_outage = begin();
    fail(3);

    late_answer.answered();
    EXPECT_EQ(circuit->now().now, state::open);
    time.advance(30s);
    begin().answered();
    late_outage.failed(outage);
    EXPECT_EQ(circuit->now().failures, 0U);
}

TEST_F(ModelCircuit, ALateProbeDoesNotFreeTheNextOne) {
    fail(3);
    time.advance(30s);
    std::optional<model_circuit::call> old_probe = begin();
    begin().answered(); // Closes it.
    fail(3);
    time.advance(30s);
    const model_circuit::call probe = begin();
    ASSERT_TRUE(probe.is_ready());

    old_probe.reset();

    EXPECT_FALSE(begin().is_ready());
}

TEST_F(ModelCircuit, AMovedCallCountsOnce) {
    model_circuit::call first = begin();
    model_circuit::call second = std::move(first);
    second.failed(outage);
    second.failed(outage);

    EXPECT_EQ(circuit->now().failures, 1U);
}

TEST_F(ModelCircuit, AClockThatIsSetBackKeepsItOpenNoLonger) {
    fail(3);
    time.advance(-1h);

    EXPECT_TRUE(begin().is_ready());
}

TEST_F(ModelCircuit, IsSwitchedOffByZeroFailures) {
    circuit = std::make_shared<model_circuit>(model_circuit::settings{.failures = 0}, time, log);
    fail(10);

    EXPECT_TRUE(begin().is_ready());
    EXPECT_EQ(circuit->now().now, state::off);
    EXPECT_TRUE(log.lines().empty());
}

TEST_F(ModelCircuit, AModelWithoutOneIsReady) {
    circuit = nullptr;
    fail(10);

    EXPECT_TRUE(begin().is_ready());
}

TEST_F(ModelCircuit, ACallMayOutliveIt) {
    fail(3);
    time.advance(30s);
    std::optional<model_circuit::call> probe = begin();
    const std::weak_ptr<model_circuit> watched = circuit;

    circuit = nullptr;
    EXPECT_FALSE(watched.expired());
    probe.reset();
    EXPECT_TRUE(watched.expired());
}

TEST(Outages, AreWhatAServerIsToBlameFor) {
    using kind = model_failure::kind;
    EXPECT_TRUE(is_outage(failure_of(kind::unavailable))) << "no connection";
    EXPECT_TRUE(is_outage(failure_of(kind::unavailable, 500)));
    EXPECT_TRUE(is_outage(failure_of(kind::unavailable, 529)));
    EXPECT_TRUE(is_outage(failure_of(kind::unavailable, 200))) << "an error in the stream";
    EXPECT_TRUE(is_outage(failure_of(kind::lost, 200)));
    EXPECT_TRUE(is_outage(failure_of(kind::timeout)));
    EXPECT_FALSE(is_outage(failure_of(kind::unavailable, 429)));
    EXPECT_FALSE(is_outage(failure_of(kind::unavailable, 408)));
    EXPECT_FALSE(is_outage(failure_of(kind::rejected, 400)));
    EXPECT_FALSE(is_outage(failure_of(kind::memory, 200)));
    EXPECT_FALSE(is_outage(failure_of(kind::cancelled)));
}

} // namespace
} // namespace agui::runner
