#include "gateway/run/run_mailbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;
using letter_ptr = run_mailbox::letter_ptr;

letter_ptr letter_with(std::string id, std::int64_t queue_number = 0) {
    auto letter = std::make_shared<mailbox_letter>();
    letter->messages.emplace_back();
    letter->messages.back().id = std::move(id);
    letter->queue_number = queue_number;
    letter->on_decided = [] {
    };
    return letter;
}

class RunMailbox : public ::testing::Test {
protected:
    letter_ptr put(letter_ptr letter) {
        EXPECT_EQ(mailbox.put(letter).value(), letter);
        return letter;
    }
    letter_fate fate(const letter_ptr& letter) { return mailbox.outcome_of(*letter).fate; }
    std::vector<std::string> taken_ids() {
        std::vector<std::string> ids;
        for (const letter_ptr& each : mailbox.take(7)) {
            ids.push_back(each->messages.front().id);
        }
        return ids;
    }

    run_mailbox mailbox{4};
};

TEST_F(RunMailbox, ATakenLetterIsDecidedByItsCommit) {
    EXPECT_FALSE(mailbox.has_waiting());
    const letter_ptr letter = put(letter_with("a"));
    int decisions = 0;
    letter->on_decided = [&] {
        ++decisions;
    };
    EXPECT_TRUE(mailbox.has_waiting());
    EXPECT_EQ(fate(letter), letter_fate::waits);

    EXPECT_THAT(taken_ids(), ElementsAre("a"));
    EXPECT_FALSE(mailbox.has_waiting());
    EXPECT_EQ(fate(letter), letter_fate::in_commit);
    EXPECT_FALSE(mailbox.withdraw(letter)) << "too late";
    EXPECT_EQ(decisions, 0);
    mailbox.settle({});

    EXPECT_EQ(fate(letter), letter_fate::taken);
    EXPECT_EQ(mailbox.outcome_of(*letter).sequence, 7U);
    EXPECT_EQ(decisions, 1);
    EXPECT_EQ(mailbox.find("a"), letter) << "a repeat finds it";
    mailbox.settle({});
    mailbox.close();
    EXPECT_EQ(fate(letter), letter_fate::taken);
    EXPECT_EQ(decisions, 1);
}

TEST_F(RunMailbox, ACommitThatFailsSaysWhetherAnythingWasStored) {
    const letter_ptr lost = put(letter_with("a"));
    (void)mailbox.take(1);
    mailbox.settle(failure{errc::lease_lost, {}});
    EXPECT_EQ(fate(lost), letter_fate::returned);
    EXPECT_EQ(mailbox.find("a"), nullptr);
    const letter_ptr unclear = put(letter_with("b"));
    (void)mailbox.take(1);
    mailbox.settle(failure{errc::store_unavailable, {}});
    EXPECT_EQ(fate(unclear), letter_fate::unknown);
}

TEST_F(RunMailbox, AConflictConcernsOnlyLettersFromTheQueue) {
    for (const errc why : {errc::conflict, errc::run_id_reused}) {
        const letter_ptr from_queue = put(letter_with("q", 3));
        const letter_ptr other = put(letter_with("s"));
        EXPECT_THAT(taken_ids(), ElementsAre("s", "q"));

        mailbox.settle(failure{why, {}});

        EXPECT_EQ(fate(from_queue), letter_fate::returned);
        EXPECT_EQ(fate(other), letter_fate::waits);
        EXPECT_TRUE(mailbox.has_waiting());
        EXPECT_TRUE(mailbox.withdraw(other));
    }
}

TEST_F(RunMailbox, RequestsFromTheQueueKeepTheirOrder) {
    put(letter_with("q3", 3));
    put(letter_with("s1"));
    put(letter_with("q2", 2));
    put(letter_with("s2"));

    EXPECT_THAT(taken_ids(), ElementsAre("s1", "s2", "q2", "q3"));
}

TEST_F(RunMailbox, AMessageIsInOneLetter) {
    const letter_ptr first = put(letter_with("a"));

    EXPECT_EQ(mailbox.put(letter_with("a")).value(), first);

    EXPECT_TRUE(mailbox.withdraw(first));
    EXPECT_EQ(fate(first), letter_fate::returned);
    put(letter_with("a"));
}

TEST_F(RunMailbox, HoldsAsManyLettersAsItMay) {
    for (int i = 0; i < 4; ++i) {
        put(letter_with("a" + std::to_string(i)));
    }

    EXPECT_EQ(mailbox.put(letter_with("more")).error().code, errc::queue_full);

    (void)mailbox.take(1);
    mailbox.settle({});
    put(letter_with("more"));
}

TEST_F(RunMailbox, ReturnsWhatWaitsWhenItIsClosed) {
    const letter_ptr in_commit = put(letter_with("a"));
    (void)mailbox.take(1);
    const letter_ptr waits = put(letter_with("b"));

    mailbox.close();

    EXPECT_EQ(fate(waits), letter_fate::returned);
    EXPECT_EQ(fate(in_commit), letter_fate::unknown) << "nobody says how its commit ended";
    EXPECT_FALSE(mailbox.is_open());
    EXPECT_FALSE(mailbox.has_waiting());
    EXPECT_EQ(mailbox.put(letter_with("c")).error().code, errc::run_ended);
    mailbox.close();
}

TEST_F(RunMailbox, EachLetterOfManyThreadsIsTakenOrReturned) {
    run_mailbox large(10'000);
    std::atomic<int> decided{0};
    std::vector<letter_ptr> letters;
    for (int i = 0; i < 4'000; ++i) {
        letters.push_back(letter_with(std::to_string(i)));
        letters.back()->on_decided = [&] {
            ++decided;
        };
    }
    std::atomic<int> refused{0};
    std::vector<std::thread> senders;
    for (std::size_t sender = 0; sender < 4; ++sender) {
        senders.emplace_back([&, sender] {
            for (std::size_t i = sender; i < letters.size(); i += 4) {
                if (!large.put(letters[i])) {
                    ++refused;
                } else if (i % 5 == 0) {
                    (void)large.withdraw(letters[i]);
                }
            }
        });
    }
    int taken = 0;
    for (int round = 0; round < 200; ++round) {
        taken += static_cast<int>(large.take(1).size());
        large.settle({});
    }
    large.close();
    for (std::thread& each : senders) {
        each.join();
    }

    EXPECT_EQ(decided + refused, 4'000);
    int counted = 0;
    for (const letter_ptr& each : letters) {
        counted += large.outcome_of(*each).fate == letter_fate::taken ? 1 : 0;
    }
    EXPECT_EQ(counted, taken);
}

} // namespace
} // namespace agui::gateway
