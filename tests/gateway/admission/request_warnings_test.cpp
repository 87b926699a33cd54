#include "gateway/admission/request_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequestWarnings : public ::testing::Test {
protected:
    RequestWarnings() {
        input.thread_id = "t";
        input.run_id = "r";
        runner::model_parameters fast;
        fast.model = "fast-2";
        agent.models["fast"] = {nullptr, fast};
    }

    void warn() { warn_of_ignored_parts(log, told, input, agent); }

    agent_entry agent;
    translator::run_input input;
    warned_names told;
    memory_logger log;
};

TEST_F(RequestWarnings, ARequestWithoutSuchPartsGivesNone) {
    warn();
    EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(RequestWarnings, EachNameIsLoggedOnce) {
    input.unknown_members = {"extra", "more"};
    warn();
    warn();
    input.unknown_members = {"extra", "third"};
    warn();
    EXPECT_THAT(
        log.lines(),
        ElementsAre(
            "warning an unknown member of a request was ignored name=extra thread=t run=r",
            "warning an unknown member of a request was ignored name=more thread=t run=r",
            "warning an unknown member of a request was ignored name=third thread=t run=r"
        )
    );
}

TEST_F(RequestWarnings, AModelThatCannotBeChosenIsLogged) {
    runner::model_provider* const other = reinterpret_cast<runner::model_provider*>(&agent);
    agent.models["slow"] = {other, {}};
    for (const std::string model : {"fast", "fast-2"}) { // These models are the agent's own.
        input.forwarded.model = model;
        warn();
    }
    EXPECT_THAT(log.lines(), IsEmpty());

    for (const std::string& model :
         {std::string("slow"), std::string("none"), std::string(100, 'x')}) {
        input.forwarded.model = model;
        warn();
    }
    const std::string text = "warning a request named a model that requests may not choose name=";
    EXPECT_THAT(
        log.lines(), ElementsAre(
                         text + "slow thread=t run=r", text + "none thread=t run=r",
                         text + std::string(64, 'x') + " thread=t run=r"
                     )
    );
    agent.overridable.insert("model");
    input.forwarded.model = "slow";
    warn();
    EXPECT_EQ(log.lines().size(), 3U);
}

TEST_F(RequestWarnings, NotesAreLoggedForEachRequest) {
    input.notes = {"messages[0]: unknown role, dropped", "messages[1]: unknown role, dropped"};
    warn();
    warn();
    const std::string line = "warning a part of a request was left out: messages[0]: unknown role, "
                             "dropped (and 1 more) thread=t run=r";
    EXPECT_THAT(log.lines(), ElementsAre(line, line));
}

} // namespace
} // namespace agui::gateway
