#include "session/log_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace agui::session {
namespace {

log_slice slice(std::int64_t run_number, std::uint64_t first, std::vector<std::string> frames) {
    log_slice made;
    made.run_number = run_number;
    made.first_sequence = first;
    for (const std::string& frame : frames) {
        made.frames += frame;
        made.ends.push_back(static_cast<std::uint32_t>(made.frames.size()));
    }
    return made;
}

log_slice slice_with_variants() {
    log_slice made = slice(7, 5, {"five", "", "seven"});
    made.variants = {{0, "old five"}, {2, ""}};
    return made;
}

bool same(const log_slice& left, const log_slice& right) {
    return left.run_number == right.run_number && left.first_sequence == right.first_sequence &&
           left.frames == right.frames && left.ends == right.ends &&
           left.variants == right.variants;
}

std::string page_of(const std::vector<log_slice>& slices) {
    log_page_writer writer;
    for (const log_slice& given : slices) {
        writer.add(given);
    }
    return std::string(writer.finish());
}

TEST(LogPage, GivesBackItsSlices) {
    const std::vector<log_slice> given = {
        slice(1, 1, {"a", "bc"}), slice_with_variants(), slice(1, 3, {"d"})
    };

    const auto read = read_log_page(page_of(given));

    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 3U);
    for (std::size_t i = 0; i < given.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(read->at(i).run_number, given[i].run_number);
        ASSERT_TRUE(read->at(i).slice);
        EXPECT_TRUE(same(*read->at(i).slice, given[i]));
    }
}

TEST(LogPage, AWriterIsUsedAgain) {
    log_page_writer writer;
    writer.add(slice(1, 1, {"a"}));
    (void)writer.finish();
    writer.clear();
    EXPECT_TRUE(writer.empty());
    writer.add(slice(2, 9, {"z"}));

    EXPECT_EQ(writer.finish(), page_of({slice(2, 9, {"z"})}));
}

TEST(LogPage, AChangedByteIsNoticedAndCostsOneSliceOrThePage) {
    const std::vector<log_slice> given = {slice(1, 1, {"a", "bc"}), slice_with_variants()};
    const std::string page = page_of(given);

    for (std::size_t at = 0; at < page.size(); ++at) {
        SCOPED_TRACE(at);
        std::string damaged = page;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        const auto read = read_log_page(damaged);
        if (!read) {
            continue;
        }
        ASSERT_EQ(read->size(), 2U);
        std::size_t lost = 0;
        for (std::size_t i = 0; i < given.size(); ++i) {
            const auto& kept = read->at(i).slice;
            lost += kept ? 0 : 1;
            EXPECT_TRUE(!kept || same(*kept, given[i]));
        }
        EXPECT_EQ(lost, 1U);
    }
}

TEST(LogPage, ATruncatedPageIsRefused) {
    const std::string page = page_of({slice(1, 1, {"a", "bc"}), slice_with_variants()});

    for (std::size_t size = 0; size < page.size(); ++size) {
        EXPECT_FALSE(read_log_page(std::string_view(page).substr(0, size))) << size;
    }
}

TEST(LogPage, APayloadWhoseLengthsDoNotFitIsRefused) {
    std::string payload;
    append_payload(payload, slice_with_variants());

    EXPECT_TRUE(slice_from_payload(7, 5, 3, payload));
    EXPECT_FALSE(slice_from_payload(7, 5, 4, payload));
    EXPECT_FALSE(slice_from_payload(7, 5, 0xffffffff, payload));
    EXPECT_FALSE(slice_from_payload(7, 5, 3, payload + "x"));
    for (std::size_t size = 0; size < payload.size(); ++size) {
        EXPECT_FALSE(slice_from_payload(7, 5, 3, std::string_view(payload).substr(0, size)));
    }
    for (std::size_t at = 0; at < payload.size(); ++at) {
        std::string damaged = payload;
        damaged[at] = static_cast<char>(0xff);
        (void)slice_from_payload(7, 5, 3, damaged); // Must not read or write out of bounds.
    }
}

TEST(LogPage, SlicesAreJoinedAndCut) {
    log_slice joined = slice(7, 3, {"three", "4"});
    append_entries(joined, slice_with_variants());

    EXPECT_EQ(joined.ends.size(), 5U);
    EXPECT_EQ(last_sequence(joined), 7U);
    EXPECT_TRUE(same(part_of(joined, 2, 5), slice_with_variants()));
    EXPECT_TRUE(same(part_of(joined, 0, 2), slice(7, 3, {"three", "4"})));

    std::vector<log_entry> entries;
    copy_entries(joined, 4, 2, entries);
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].sequence, 5U);
    EXPECT_EQ(entries[0].frame, "five");
    EXPECT_EQ(entries[0].variants, "old five");
    EXPECT_EQ(entries[1].frame, "");
    EXPECT_EQ(entries[1].variants, "");
}

} // namespace
} // namespace agui::session
