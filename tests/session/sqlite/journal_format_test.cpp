// The bytes of a journal. Any damage is noticed, and costs no more records than it must.
#include "session/sqlite/journal_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {
namespace {

constexpr std::uint64_t identity = 0x1234'5678'9abc'def0;
constexpr std::uint64_t file_number = 7;

// A file with records of a few runs, as journal writes it.
class JournalFormat : public ::testing::Test {
protected:
    void add(std::int64_t run, std::uint64_t first, std::uint32_t count, std::string_view bytes) {
        const std::size_t place = file_.size();
        places_.push_back(place);
        before_ = {
            run, append_journal_record(
                     file_, {identity, file_number, place}, before_, {run, first, count, bytes}
                 )
        };
    }

    void add_some() {
        add(1, 1, 2, "entries of one");
        add(2, 1, 1, "of two");
        add(1, 3, 1, "more of one");
        add(3, 900, 1, std::string(300, 'x'));
        add(2, 2, 1, "last of two");
    }

    static std::string text_of(const journal_item& item) {
        return std::to_string(item.entries.run_number) +
               (item.is_sound ? ":" + std::to_string(item.entries.first_sequence) + "+" +
                                    std::to_string(item.entries.count) + " " +
                                    std::string(item.entries.bytes.substr(0, 20))
                              : " lost");
    }

    static std::vector<std::string> read(const std::string& bytes) {
        std::vector<std::string> found;
        for (const journal_item& item : read_journal(bytes, identity, file_number)) {
            found.push_back(text_of(item));
        }
        return found;
    }

    [[nodiscard]] std::vector<std::string> items() const { return read(file_ + zeros()); }
    /// Space that was allocated and not written.
    static std::string zeros() { return std::string(10'000, '\0'); }

    std::string file_ = journal_head(identity, file_number);
    std::vector<std::size_t> places_;
    journal_neighbour before_;
};

TEST_F(JournalFormat, GivesBackItsRecordsInOrder) {
    add_some();
    EXPECT_TRUE(is_journal(file_, identity, file_number));
    EXPECT_EQ(
        items(), (std::vector<std::string>{
                     "1:1+2 entries of one", "2:1+1 of two", "1:3+1 more of one",
                     "3:900+1 xxxxxxxxxxxxxxxxxxxx", "2:2+1 last of two"
                 })
    );
    EXPECT_EQ(read(file_).size(), 5U) << "without anything allocated";
    EXPECT_TRUE(read(journal_head(identity, file_number)).empty());
}

TEST_F(JournalFormat, IsKnownByStoreFileAndPlace) {
    add_some();
    EXPECT_FALSE(is_journal(file_, identity + 1, file_number));
    EXPECT_FALSE(is_journal(file_, identity, file_number + 1));
    EXPECT_FALSE(is_journal(file_.substr(0, 31), identity, file_number));
    for (const journal_item& item : read_journal(file_, identity + 1, file_number)) {
        EXPECT_FALSE(item.is_sound);
    }
    for (const journal_item& item : read_journal(file_, identity, file_number + 1)) {
        EXPECT_FALSE(item.is_sound);
    }
    // Copies a record to another place of its file, like a block that a disk has mixed up.
    std::string moved = file_;
    moved.replace(places_[1], before_.bytes, file_.substr(places_[4], before_.bytes));
    const std::vector<std::string> found = read(moved);
    EXPECT_EQ(std::ranges::count(found, "2:2+1 last of two"), 1) << "at its own place only";
    EXPECT_TRUE(found.at(1).ends_with(" lost"));
}

TEST_F(JournalFormat, AnyDamagedBitCostsTheRunThatItBelongsToAndNoOther) {
    add_some();
    const std::vector<std::string> whole = items();
    const std::string_view runs = "12132";
    for (std::size_t at = journal_head_bytes; at < file_.size(); ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            SCOPED_TRACE(std::to_string(at) + "." + std::to_string(bit));
            std::string bytes = file_ + zeros();
            bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit));
            std::size_t record = 0;
            while (record + 1 < places_.size() && places_[record + 1] <= at) {
                ++record;
            }

            const std::vector<std::string> found = read(bytes);

            if (found == whole) {
                EXPECT_GE(at, places_[record] + 20) << "only padding may change unnoticed";
                continue;
            }
            std::vector<std::string> expected = whole;
            expected[record] = std::string(1, runs[record]) + " lost";
            if (record + 1 == places_.size() && found != expected) {
                expected[record] = "0 lost"; // No later record names its run.
            }
            ASSERT_EQ(found, expected);
        }
    }
}

TEST_F(JournalFormat, AnUnfinishedWriteIsNotThere) {
    add_some();
    const std::size_t last = places_[4];
    // A killed process leaves whole pages. Here the last record begins before the end of a page and
    // continues after it.
    const std::size_t page = 4096;
    std::string filled = file_.substr(0, last);
    file_ = filled;
    before_ = {3, last - places_[3]};
    places_.pop_back();
    add(4, 1, 1, std::string(page - 20 - last % page - 30, 'y'));
    const std::size_t begin = file_.size();
    add(2, 2, 1, std::string(6000, 'z'));
    ASSERT_LT(begin % page + 60, page + 60);

    for (std::size_t end = (begin / page + 1) * page; end < file_.size(); end += page) {
        SCOPED_TRACE(end);
        const std::vector<std::string> found = read(file_.substr(0, end) + zeros());
        ASSERT_EQ(found.size(), 5U);
        EXPECT_TRUE(found[4].starts_with("4:1+1"));
        EXPECT_EQ(read(file_.substr(0, end)).size(), 5U) << "the file ends there";
    }
    EXPECT_EQ(read(file_ + zeros()).size(), 6U);
}

TEST_F(JournalFormat, AMissingPageIsNoticedUnlessItWasTheLast) {
    for (std::uint64_t i = 1; i <= 400; ++i) {
        add(static_cast<std::int64_t>(1 + i % 3), i, 1,
            "an entry of about fifty bytes, as a token is");
    }
    const std::size_t page = 4096;
    const std::string bytes = file_ + zeros();
    ASSERT_GT(file_.size(), 4 * page);
    for (std::size_t at = 0; at + page <= file_.size(); at += page) {
        SCOPED_TRACE(at);
        std::string missing = bytes;
        missing.replace(at, page, page, '\0');

        const std::vector<journal_item> found = read_journal(missing, identity, file_number);

        std::size_t lost = 0;
        for (const journal_item& item : found) {
            lost += item.is_sound ? 0 : 1;
        }
        EXPECT_GE(lost, 1U);
        EXPECT_LE(lost, 2U) << "the page, and what reaches into it from the one before";
        EXPECT_GT(found.size(), 250U) << "what is around it is read";
    }
}

TEST_F(JournalFormat, AnyBytesAreReadSafely) {
    std::uint64_t state = 1;
    const auto random = [&] {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        return state;
    };
    add_some();
    for (int i = 0; i < 2000; ++i) {
        std::string bytes = file_;
        for (std::uint64_t changes = random() % 8; changes > 0; --changes) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        bytes.resize(random() % (bytes.size() + 100));
        (void)read(bytes);
        std::string noise(200, '\0');
        for (char& each : noise) {
            each = static_cast<char>(random());
        }
        for (const std::string& item : read(journal_head(identity, file_number) + noise)) {
            EXPECT_EQ(item, "0 lost");
        }
    }
}

} // namespace
} // namespace agui::session
