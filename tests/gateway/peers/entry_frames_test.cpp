#include "gateway/peers/entry_frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {
namespace {

// Two entries, numbered 4 and 5. The second one has variants.
session::log_slice two_entries() {
    session::log_slice slice;
    slice.first_sequence = 4;
    slice.events = R"({"a":1}{"b":"\n"})";
    slice.ends = {7, 17};
    slice.variants = {{1, R"({"1.0":""})"}};
    return slice;
}

std::string written() {
    std::string bytes;
    write_entries(two_entries(), bytes);
    bytes.append(alive_frame);
    write_unnumbered(R"({"end":1})", bytes);
    write_end(entries_end::ended, bytes);
    return bytes;
}

void expect_whole(const run_entries& read) {
    ASSERT_EQ(read.entries.size(), 2U);
    EXPECT_EQ(read.entries[0].sequence, 4U);
    EXPECT_EQ(read.entries[0].json, R"({"a":1})");
    EXPECT_EQ(read.entries[0].variants, "");
    EXPECT_EQ(read.entries[1].sequence, 5U);
    EXPECT_EQ(read.entries[1].json, R"({"b":"\n"})");
    EXPECT_EQ(read.entries[1].variants, R"({"1.0":""})");
    EXPECT_EQ(read.unnumbered, std::vector<std::string>{R"({"end":1})"});
    EXPECT_EQ(read.end, entries_end::ended);
}

bool is_sound(std::string_view bytes, std::uint64_t after = 3) {
    run_entries read;
    return entry_frame_reader(after).add(bytes, read);
}

TEST(EntryFrames, AreReadAsTheyWereWritten) {
    entry_frame_reader reader(3);
    run_entries read;

    EXPECT_TRUE(reader.add(written(), read));

    expect_whole(read);
}

TEST(EntryFrames, AreReadWhereverTheyAreCut) {
    const std::string bytes = written();
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        SCOPED_TRACE(cut);
        entry_frame_reader reader(3);
        run_entries read;
        EXPECT_TRUE(reader.add(std::string_view(bytes).substr(0, cut), read));
        EXPECT_TRUE(reader.add(std::string_view(bytes).substr(cut), read));
        expect_whole(read);
    }
}

TEST(EntryFrames, SayWhyTheyEnd) {
    for (const entries_end end : {entries_end::ended, entries_end::moved, entries_end::cut_off}) {
        std::string bytes;
        write_end(end, bytes);
        entry_frame_reader reader(0);
        run_entries read;
        EXPECT_TRUE(reader.add(bytes, read));
        EXPECT_EQ(read.end, end);
    }
}

TEST(EntryFrames, InvalidFramesAreDamage) {
    EXPECT_TRUE(is_sound("e 4 2 0\n{}"));
    EXPECT_FALSE(is_sound("e 5 2 0\n{}")) << "an entry is missing";
    EXPECT_FALSE(is_sound("e 3 2 0\n{}")) << "an entry comes again";
    EXPECT_FALSE(is_sound("e 4 2\n{}"));
    EXPECT_FALSE(is_sound("e 4 -2 0\n{}"));
    EXPECT_FALSE(is_sound("e 4 99999999999 0\n"));
    EXPECT_FALSE(is_sound("e 4 99999999999999999999999 0\n"));
    EXPECT_FALSE(is_sound("u\n"));
    EXPECT_FALSE(is_sound("u x\n"));
    EXPECT_FALSE(is_sound("<html>\n"));
    EXPECT_FALSE(is_sound(std::string(100, 'e')));
    EXPECT_FALSE(is_sound("moved\nalive\n")) << "something follows the end";
}

} // namespace
} // namespace agui::gateway
