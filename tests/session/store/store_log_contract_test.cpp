#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

TEST_P(StoreContract, TellsObserversHowFarALogIsDurable) {
    const std::int64_t number = begin(thread_1, "run_1");
    const auto observer = std::make_shared<recording_observer>();

    subject().append_log(slice_of(number, 1, {"a", "b"}), observer);
    subject().append_log(slice_of(number, 3, {"c"}), observer);

    EXPECT_TRUE(observer->wait_durable(3));
    EXPECT_TRUE(observer->in_order());
}

TEST_P(StoreContract, ServesLogsOrSaysThatTheyAreGone) {
    const std::int64_t number = begin(thread_1, "run_1");
    subject().append_log(slice_of(number, 1, {"a", "", "c"}), nullptr);
    log_slice with_variants = slice_of(number, 4, {"d", "e"});
    with_variants.variants.emplace_back(1, "e of old");
    done(subject().commit(thread_1, {}, with_variants));

    const auto all = run(subject().read_log(number, 0, 100));
    if (!subject().keeps_logs()) {
        ASSERT_FALSE(all);
        EXPECT_EQ(all.error().code, errc::run_expired);
        return;
    }

    EXPECT_EQ(frames_of(all.value()), (std::vector<std::string>{"a", "", "c", "d", "e"}));
    EXPECT_EQ(all->front().sequence, 1U);
    EXPECT_EQ(all->at(3).variants, "");
    EXPECT_EQ(all->back().sequence, 5U);
    EXPECT_EQ(all->back().variants, "e of old");
    EXPECT_EQ(
        frames_of(get(subject().read_log(number, 2, 2))), (std::vector<std::string>{"c", "d"})
    );
    EXPECT_EQ(get(subject().read_log(number, 4, 9)).at(0).variants, "e of old");
    EXPECT_TRUE(get(subject().read_log(number, 5, 100)).empty());
    EXPECT_TRUE(get(subject().read_log(number, 99, 100)).empty());
}

TEST_P(StoreContract, SaysThatTheLogOfAnUnknownRunIsGone) {
    const auto entries = run(subject().read_log(12345, 0, 10));

    ASSERT_FALSE(entries);
    EXPECT_EQ(entries.error().code, errc::run_expired);
}

TEST_P(StoreContract, ARunThatHoldsItsThreadIsNotAnOrphan) {
    const lease_ptr held = acquire(thread_1, "run_1");
    get(subject().begin(thread_1, run_of("run_1"), {}, std::nullopt, held));

    EXPECT_TRUE(test::orphans_of(subject()).empty());
    EXPECT_TRUE(get(subject().orphans(held)).empty());
}

TEST_P(StoreContract, DropsLogsOfRunsThatEndedBefore) {
    const std::int64_t old = begin(thread_1, "run_1");
    const std::int64_t recent = begin(thread_1, "run_2");
    const std::int64_t active = begin(thread_1, "run_3");
    for (const auto& [number, run_id, ended_at] :
         {std::tuple(old, "run_1", 1000), std::tuple(recent, "run_2", 3000)}) {
        changes end;
        end.run = run_of(run_id);
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->ended_at = ended_at;
        end.run->last_sequence = 1;
        done(subject().commit(thread_1, end, slice_of(number, 1, {"end"})));
    }
    done(subject().commit(thread_1, {}, slice_of(active, 1, {"going on"})));

    done(subject().drop_logs({.ended_since = 2000, .max_bytes = 0}));

    EXPECT_FALSE(run(subject().read_log(old, 0, 10)));
    EXPECT_TRUE(get(subject().find_run(thread_1, "run_1"))) << "the record outlives the log";
    if (subject().keeps_logs()) {
        EXPECT_EQ(get(subject().read_log(recent, 0, 10)).size(), 1U);
        EXPECT_EQ(get(subject().read_log(active, 0, 10)).size(), 1U);
    }
}

failed_attempt attempt_of(std::int64_t run_number, unix_ms at, std::string body) {
    failed_attempt attempt;
    attempt.run_number = run_number;
    attempt.at = at;
    attempt.model = "main";
    attempt.status = 500;
    attempt.request_id = "req_1";
    attempt.body = std::move(body);
    return attempt;
}

TEST_P(StoreContract, KeepsTheFailedAttemptsOfARun) {
    const std::int64_t number = begin(thread_1, "run_1");
    const std::int64_t other = begin(thread_1, "run_2");
    subject().keep_attempt(attempt_of(number, 1000, std::string(attempt_body_max, 'x')));
    subject().keep_attempt(attempt_of(other, 1001, "of the other"));
    failed_attempt silent;
    silent.run_number = number;
    silent.at = 1002;
    silent.model = "spare";
    subject().keep_attempt(silent);

    if (subject().keeps_logs()) {
        const std::string run = std::to_string(number);
        EXPECT_EQ(
            attempts_left(), run + "|1000|main|500|req_1|" + std::string(attempt_body_max, 'x') +
                                 "\n" + std::to_string(other) +
                                 "|1001|main|500|req_1|of the other\n" + run + "|1002|spare|0||"
        );
    }
}

TEST_P(StoreContract, DropsFailedAttemptsMadeBefore) {
    const std::int64_t number = begin(thread_1, "run_1");
    // More attempts than a store drops in one step.
    for (int i = 0; i < 200; ++i) {
        subject().keep_attempt(attempt_of(number, 1000 + i, std::to_string(i)));
    }

    done(subject().drop_logs({.ended_since = 1199, .max_bytes = 0}));

    if (subject().keeps_logs()) {
        EXPECT_EQ(attempts_left(), std::to_string(number) + "|1199|main|500|req_1|199")
            << "the run is still active";
    }
}

TEST_P(StoreContract, RemovesFailedAttemptsWithTheirThread) {
    const std::int64_t number = begin(thread_1, "run_1");
    const std::int64_t other = begin(key_of("thread_2"), "run_1");
    subject().keep_attempt(attempt_of(number, 1000, "a"));
    subject().keep_attempt(attempt_of(other, 1000, "b"));

    EXPECT_TRUE(get(subject().remove(thread_1)));

    if (subject().keeps_logs()) {
        EXPECT_EQ(attempts_left(), std::to_string(other) + "|1000|main|500|req_1|b");
    }
}

} // namespace
} // namespace agui::session
