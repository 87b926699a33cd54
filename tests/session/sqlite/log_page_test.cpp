#include "session/sqlite/log_page.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

bool same(const encoded_slice& left, const encoded_slice& right) {
    return left.run_number == right.run_number && left.first_sequence == right.first_sequence &&
           left.count == right.count && left.bytes == right.bytes;
}

const std::vector<encoded_slice> three_slices = {
    {1, 1, 2, "abc"}, {7, 5, 3, "five and seven"}, {1, 3, 1, ""}
};

std::string page_of(const std::vector<encoded_slice>& slices) {
    log_page_writer writer;
    for (const encoded_slice& given : slices) {
        writer.add(given);
    }
    return std::string(writer.finish());
}

TEST(LogPage, GivesBackItsSlices) {
    const std::string page = page_of(three_slices);

    const auto read = read_log_page(page);

    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 3U);
    for (std::size_t i = 0; i < three_slices.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_FALSE(read->at(i).damaged);
        EXPECT_TRUE(same(read->at(i).slice, three_slices[i]));
    }
}

TEST(LogPage, AWriterIsUsedAgain) {
    log_page_writer writer;
    writer.add(three_slices[0]);
    (void)writer.finish();
    writer.clear();
    EXPECT_TRUE(writer.empty());
    writer.add(three_slices[1]);

    EXPECT_EQ(writer.finish(), page_of({three_slices[1]}));
}

TEST(LogPage, AChangedByteIsNoticedAndCostsOneSliceOrThePage) {
    const std::string page = page_of(three_slices);

    for (std::size_t at = 0; at < page.size(); ++at) {
        SCOPED_TRACE(at);
        std::string damaged = page;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        const auto read = read_log_page(damaged);
        if (!read) {
            continue;
        }
        ASSERT_EQ(read->size(), three_slices.size());
        std::size_t lost = 0;
        for (std::size_t i = 0; i < three_slices.size(); ++i) {
            lost += read->at(i).damaged ? 1 : 0;
            EXPECT_TRUE(read->at(i).damaged || same(read->at(i).slice, three_slices[i]));
        }
        EXPECT_EQ(lost, 1U);
    }
}

TEST(LogPage, ATruncatedPageIsRefused) {
    const std::string page = page_of(three_slices);

    for (std::size_t size = 0; size < page.size(); ++size) {
        EXPECT_FALSE(read_log_page(std::string_view(page).substr(0, size))) << size;
    }
}

TEST(LogPage, SlicesAreJoined) {
    log_slice joined;
    joined.run_number = 7;
    joined.first_sequence = 3;
    joined.events = "three4";
    joined.ends = {5, 6};
    log_slice next;
    next.run_number = 7;
    next.first_sequence = 5;
    next.events = "fiveseven";
    next.ends = {4, 4, 9};
    next.variants = {{0, "old five"}, {2, ""}};

    append_entries(joined, next);

    EXPECT_EQ(last_sequence(joined), 7U);
    EXPECT_EQ(joined.events, "three4fiveseven");
    EXPECT_EQ(joined.ends, (std::vector<std::uint32_t>{5, 6, 10, 10, 15}));
    EXPECT_EQ(
        joined.variants,
        (std::vector<std::pair<std::uint32_t, std::string>>{{2, "old five"}, {4, ""}})
    );
}

} // namespace
} // namespace agui::session
