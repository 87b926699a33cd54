// The entries of active runs, in memory and in the journal, until rows hold them.
#include "session/sqlite/live_logs.hpp"
#include "tests/session/store/store_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::frames_of;
using test::slice_of;
using outcome = live_logs::outcome;
using strings = std::vector<std::string>;

class LiveLogs : public ::testing::Test {
protected:
    LiveLogs() { add_file(1); }

    void add_file(std::uint64_t number) {
        journal_.make_file(number);
        journal_.use_file();
    }

    outcome append(std::int64_t run, std::uint64_t first, const strings& frames) {
        return subject_.append(slice_of(run, first, frames));
    }

    strings read(std::int64_t run, std::uint64_t after = 0, std::size_t limit = 100) {
        std::vector<log_entry> entries;
        EXPECT_TRUE(subject_.read(run, after, limit, entries));
        return frames_of(entries);
    }

    /// The entries of a run that a process would leave if it were killed now.
    strings left_of(std::int64_t run) {
        strings frames;
        entry_chain chain;
        for (const std::uint64_t number : journal::files_of(journal_.path())) {
            std::ifstream file(journal::name_of(journal_.path(), number), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(file), {}};
            for (const journal_item& item : read_journal(bytes, journal_.identity(), number)) {
                if (item.entries.run_number != run) {
                    continue;
                }
                std::string_view rest = item.entries.bytes;
                log_entry entry;
                for (std::uint32_t i = 0; i < item.entries.count; ++i) {
                    EXPECT_TRUE(chain.decode(item.entries.first_sequence + i, rest, entry));
                    frames.push_back(entry.json);
                }
            }
        }
        return frames;
    }

    static std::string delta(std::uint64_t sequence) {
        return R"({"type":"TEXT_MESSAGE_CONTENT","delta":")" + std::to_string(sequence) + R"("})";
    }

    test::temporary_folder folder_;
    journal journal_{
        {.path = folder_.file("store.db-log"), .identity = 5, .file_bytes = std::size_t{1} << 20U}
    };
    live_logs subject_{journal_};
};

TEST_F(LiveLogs, AreReadAsTheyWereAppended) {
    subject_.open(1, 0);
    subject_.open(2, 7);
    EXPECT_EQ(append(1, 1, {"a", "b"}), outcome::written);
    EXPECT_EQ(append(2, 8, {"x"}), outcome::written);
    EXPECT_EQ(append(1, 3, {"c"}), outcome::written);

    EXPECT_EQ(read(1), (strings{"a", "b", "c"}));
    EXPECT_EQ(read(1, 1, 1), strings{"b"});
    EXPECT_TRUE(read(1, 3).empty());
    EXPECT_EQ(read(2), strings{"x"});
    EXPECT_TRUE(read(3).empty());
    EXPECT_EQ(subject_.end_of(1), 3U);
    EXPECT_EQ(subject_.end_of(2), 8U);
    EXPECT_FALSE(subject_.end_of(3));
    EXPECT_EQ(left_of(1), read(1));
    EXPECT_EQ(left_of(2), read(2));
}

TEST_F(LiveLogs, RefuseEntriesThatDoNotContinueALog) {
    EXPECT_EQ(append(1, 1, {"a"}), outcome::refused) << "it has not begun";
    subject_.open(1, 0);
    EXPECT_EQ(append(1, 2, {"b"}), outcome::refused) << "a gap";
    EXPECT_EQ(append(1, 1, {"a"}), outcome::written);
    EXPECT_EQ(append(1, 1, {"a"}), outcome::refused) << "it is there";
    subject_.open(1, 0);
    EXPECT_EQ(subject_.end_of(1), 1U) << "it is open";
    subject_.close(1);
    EXPECT_EQ(append(1, 2, {"b"}), outcome::refused) << "it has ended";
    EXPECT_TRUE(read(1).empty());
    EXPECT_EQ(left_of(1), strings{"a"});
}

TEST_F(LiveLogs, EntriesThatCannotBeWrittenAreNotThere) {
    subject_.open(1, 0);
    EXPECT_EQ(append(1, 1, {delta(1)}), outcome::written);
    subject_.open(2, 0);
    const std::string large(std::size_t{2} << 20U, 'x');
    EXPECT_NE(append(2, 1, {large}), outcome::refused); // The file is full.

    EXPECT_EQ(append(1, 2, {delta(2)}), outcome::refused);
    EXPECT_EQ(append(1, 3, {delta(3)}), outcome::refused);
    add_file(2);

    EXPECT_EQ(subject_.end_of(1), 1U);
    EXPECT_EQ(append(1, 2, {delta(2)}), outcome::written) << "after what is durable";
    EXPECT_EQ(read(1), (strings{delta(1), delta(2)}));
    EXPECT_EQ(left_of(1), read(1));
}

TEST_F(LiveLogs, EntriesOfSeveralRunsAreWrittenTogether) {
    subject_.open(1, 0);
    subject_.open(2, 7);
    const log_slice one = slice_of(1, 1, {delta(1)});
    const log_slice gap = slice_of(2, 9, {"x"});
    const log_slice unknown = slice_of(3, 1, {"x"});
    const log_slice two = slice_of(2, 8, {"y", "z"});
    std::vector<live_logs::appending> all{{&one}, {&gap}, {&unknown}, {&two}};
    subject_.append(all);

    EXPECT_EQ(all[0].result, outcome::written);
    EXPECT_EQ(all[1].result, outcome::refused) << "alone";
    EXPECT_EQ(all[2].result, outcome::refused) << "alone";
    EXPECT_EQ(all[3].result, outcome::written);
    EXPECT_EQ(left_of(1), read(1));
    EXPECT_EQ(left_of(2), (strings{"y", "z"}));
    EXPECT_EQ(read(2), left_of(2));
}

TEST_F(LiveLogs, AWriteThatFailsRefusesAllOfItsRuns) {
    subject_.open(1, 0);
    subject_.open(2, 0);
    subject_.open(3, 0);
    EXPECT_EQ(append(1, 1, {delta(1)}), outcome::written);
    const std::string large(std::size_t{2} << 20U, 'x');
    EXPECT_NE(append(3, 1, {large}), outcome::refused); // The file is full.
    const log_slice one = slice_of(1, 2, {delta(2)});
    const log_slice two = slice_of(2, 1, {delta(1)});
    std::vector<live_logs::appending> all{{&one}, {&two}};
    subject_.append(all);

    EXPECT_EQ(all[0].result, outcome::refused);
    EXPECT_EQ(all[1].result, outcome::refused);
    EXPECT_EQ(read(1), strings{delta(1)});
    EXPECT_TRUE(read(2).empty());
    add_file(2);
    subject_.append(all);
    EXPECT_EQ(all[0].result, outcome::written) << "after what is durable";
    EXPECT_EQ(all[1].result, outcome::written);
    EXPECT_EQ(left_of(1), read(1));
    EXPECT_EQ(left_of(2), read(2));
}

TEST_F(LiveLogs, GatheredEntriesStayUntilRowsHoldThem) {
    subject_.open(1, 0);
    EXPECT_EQ(append(1, 1, {delta(1), delta(2)}), outcome::written);
    const chunk_list* gathered = subject_.gather(1);
    ASSERT_NE(gathered, nullptr);
    ASSERT_EQ(gathered->chunks().size(), 1U);
    EXPECT_EQ(gathered->chunks()[0].last_sequence(), 2U);
    EXPECT_EQ(append(1, 3, {delta(3)}), outcome::written);
    EXPECT_EQ(gathered->chunks().size(), 1U);
    EXPECT_EQ(read(1), (strings{delta(1), delta(2), delta(3)}));

    gathered = subject_.gather(1); // The transaction was rolled back.
    ASSERT_EQ(gathered->chunks().size(), 2U);
    EXPECT_EQ(gathered->chunks()[1].first_sequence, 3U);
    EXPECT_TRUE(entry_chain::begins_with_whole_entry(gathered->chunks()[1].bytes));
    EXPECT_EQ(append(1, 4, {delta(4)}), outcome::written);
    subject_.put_in_rows(1, 3);

    EXPECT_EQ(read(1, 3), strings{delta(4)});
    EXPECT_EQ(subject_.end_of(1), 4U);
    EXPECT_EQ(subject_.gather(9), nullptr);
    EXPECT_EQ(left_of(1).size(), 4U) << "the journal is only appended to";
}

TEST_F(LiveLogs, TheLogContinuesAfterACommitOfEntries) {
    subject_.open(1, 0);
    EXPECT_EQ(append(1, 1, {"a"}), outcome::written);
    (void)subject_.gather(1);
    subject_.put_in_rows(1, 5); // Four more entries came with the transaction.
    EXPECT_EQ(append(1, 2, {"b"}), outcome::refused);
    EXPECT_EQ(append(1, 6, {"f"}), outcome::written);
}

TEST_F(LiveLogs, SayWhenARunHasSaidMuch) {
    subject_.open(1, 0);
    subject_.open(2, 0);
    const std::string text(10'000, 'x');
    std::uint64_t sequence = 1;
    while (append(1, sequence, {std::to_string(sequence) + text}) == outcome::written) {
        ASSERT_LT(++sequence, 100U);
    }
    EXPECT_GT(sequence, 20U);
    EXPECT_EQ(append(2, 1, {"little"}), outcome::written);
    EXPECT_EQ(subject_.take_due(), std::vector<std::int64_t>{1});
    EXPECT_TRUE(subject_.take_due().empty());
    EXPECT_EQ(append(1, ++sequence, {text}), outcome::written) << "not again at once";

    const chunk_list* const gathered = subject_.gather(1);
    EXPECT_GT(gathered->chunks().size(), 3U);
    for (const log_chunk& chunk : gathered->chunks()) {
        EXPECT_LT(chunk.bytes.size(), chain_bytes_max + text.size() + 100);
        EXPECT_TRUE(entry_chain::begins_with_whole_entry(chunk.bytes));
    }
    subject_.put_in_rows(1, sequence);
    EXPECT_EQ(read(1).size(), 0U);
    std::uint64_t more = 0;
    ++sequence;
    while (append(1, sequence, {std::to_string(sequence) + text}) == outcome::written) {
        ++sequence;
        ASSERT_LT(++more, 100U);
    }
    EXPECT_GT(more, 20U);
}

TEST_F(LiveLogs, NeedTheFilesOfTheJournalThatRowsDoNotReplace) {
    EXPECT_FALSE(subject_.first_file());
    subject_.open(1, 0);
    subject_.open(2, 0);
    EXPECT_EQ(append(1, 1, {"early"}), outcome::written);
    const std::string text(600'000, 'x');
    EXPECT_NE(append(2, 1, {text}), outcome::refused);
    add_file(2);
    EXPECT_NE(append(2, 2, {text}), outcome::refused);
    add_file(3);
    EXPECT_NE(append(2, 3, {text}), outcome::refused);
    EXPECT_EQ(subject_.first_file(), 1U);

    (void)subject_.gather(2);
    EXPECT_EQ(append(2, 4, {"in the third"}), outcome::written);
    EXPECT_EQ(subject_.first_file(), 1U);
    subject_.put_in_rows(2, 3);
    EXPECT_EQ(subject_.first_file(), 1U) << "of the other run";
    EXPECT_EQ(subject_.with_entries_before(2), std::vector<std::int64_t>{1});
    EXPECT_EQ(subject_.with_entries().size(), 2U);
    (void)subject_.gather(1);
    EXPECT_EQ(subject_.first_file(), 1U);
    subject_.close(1);
    EXPECT_EQ(subject_.first_file(), 3U);
    subject_.close(2);
    EXPECT_FALSE(subject_.first_file());
    EXPECT_TRUE(subject_.with_entries().empty());
}

TEST_F(LiveLogs, KeepVariants) {
    subject_.open(1, 0);
    log_slice slice = slice_of(1, 1, {"a", "b"});
    slice.variants.emplace_back(1, "b for older ones");
    EXPECT_EQ(subject_.append(slice), outcome::written);
    std::vector<log_entry> entries;
    EXPECT_TRUE(subject_.read(1, 0, 10, entries));
    EXPECT_EQ(entries.at(0).variants, "");
    EXPECT_EQ(entries.at(1).variants, "b for older ones");
}

} // namespace
} // namespace agui::session
