// The versions of threads, and runs that begin on a thread that has changed. For all stores.
#include "tests/session/store/store_contract.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using test::key_of;
using test::run_of;
using test::StoreContract;
using test::thread_1;
using test::user_turn;

class StoreVersions : public StoreContract {
protected:
    std::uint64_t version() {
        const auto found = get(subject().look_up(thread_1, "another run"));
        return found.thread ? found.thread->version : 0;
    }

    errc begin_failure(std::string run_id, std::uint64_t seen, changes change = {}) {
        const auto begun =
            run(subject().begin(thread_1, run_of(std::move(run_id)), std::move(change), seen));
        return begun ? errc::internal : begun.error().code;
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreVersions, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(StoreVersions, ARunBeginsOnlyOnTheThreadThatWasSeen) {
    EXPECT_EQ(begin_failure("run_1", 1), errc::conflict) << "there is no thread";
    EXPECT_FALSE(get(subject().load(thread_1)));
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    const std::uint64_t seen = version();
    EXPECT_EQ(begin_failure("run_2", 0), errc::conflict) << "there is one now";

    EXPECT_TRUE(run(subject().commit(thread_1, user_turn("m2", "More", 1))));

    EXPECT_EQ(begin_failure("run_2", seen, user_turn("m3", "Late", 1)), errc::conflict);
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_2")));
    EXPECT_EQ(load(thread_1).nodes.size(), 2U);
    EXPECT_NE(get(subject().begin(thread_1, run_of("run_2"), {}, version())).number, 0);
    EXPECT_NE(get(subject().begin(thread_1, run_of("run_3"), {})).number, 0) << "nothing is asked";
}

TEST_P(StoreVersions, ChangeOnlyWithTheConversation) {
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    const std::uint64_t before = version();

    changes labels;
    labels.title = "A title";
    labels.archived = false;
    labels.metadata = json_text(R"({"a":1})");
    labels.agent_id = "another";
    labels.at = 2000;
    labels.events.push_back({0, "run.started", "run_1", 1, {}});
    labels.run = get(subject().find_run(thread_1, "run_1"));
    EXPECT_TRUE(run(subject().commit(thread_1, labels)));
    EXPECT_EQ(version(), before);

    std::vector<changes> each(7);
    each[0] = user_turn("m2", "More", 1);
    each[1].branches.push_back({0, {.tip = 0, .updated_at = 1}});
    each[2].head = 0;
    each[3].calls.push_back({.id = "call_1", .name = "tool", .run_id = "run_1"});
    each[4].state = json_text(R"({"color":"red"})");
    each[5].offered_tools = boost::json::array{};
    each[6].context = boost::json::array{};
    std::uint64_t last = before;
    for (std::size_t i = 0; i < each.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_TRUE(run(subject().commit(thread_1, each[i])));
        EXPECT_GT(version(), last);
        last = version();
    }
}

TEST_P(StoreVersions, AreNotReusedAfterARemoval) {
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    const std::uint64_t seen = version();
    EXPECT_TRUE(get(subject().remove(thread_1)));
    EXPECT_EQ(begin_failure("run_2", seen), errc::conflict);
    begin(thread_1, "run_1", user_turn("m1", "Another one"));

    EXPECT_NE(version(), seen);
    EXPECT_EQ(begin_failure("run_2", seen, user_turn("m2", "Late", 1)), errc::conflict);
}

TEST_P(StoreVersions, AreThoseOfACopyThatIsChangedAsTheThreadIs) {
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    thread_record copy = load(thread_1);
    changes change = user_turn("m2", "More", 1);
    change.title = "A title";
    EXPECT_TRUE(run(subject().commit(thread_1, change)));

    apply(copy, change);

    EXPECT_EQ(copy.version, load(thread_1).version);
}

} // namespace
} // namespace agui::session
