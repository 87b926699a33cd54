#include "session/sqlite/log_ring.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace agui::session {
namespace {

using test::temporary_folder;

constexpr std::uint64_t identity = 42;

struct slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::string bytes;
    bool operator==(const slice&) const = default;
};

class LogRing : public ::testing::Test {
protected:
    [[nodiscard]] std::string path(std::string_view name = "store.db-log") const {
        return folder_.file(name);
    }

    static void prepare_all(log_ring& ring) {
        while (ring.can_prepare()) {
            ring.prepare();
        }
    }

    [[nodiscard]] static bool append(log_ring& ring, const slice& given) {
        return ring.append(
            {.slice = {given.run_number, given.first_sequence, 1, given.bytes}, .commit = {}}
        );
    }

    [[nodiscard]] static std::vector<slice> taken(const log_ring& ring, log_ring::place& from) {
        std::vector<slice> found;
        const log_ring::place until = ring.end();
        while (const auto next = ring.next(from, until)) {
            EXPECT_EQ(next->slice.count, 1U);
            found.push_back(
                {next->slice.run_number, next->slice.first_sequence, std::string(next->slice.bytes)}
            );
        }
        return found;
    }

    [[nodiscard]] static std::vector<slice> sound(const log_ring::contents& found) {
        std::vector<slice> slices;
        for (const page_slice& held : found.slices) {
            if (!held.damaged) {
                slices.push_back(
                    {held.slice.run_number, held.slice.first_sequence, std::string(held.slice.bytes)
                    }
                );
            }
        }
        return slices;
    }

    [[nodiscard]] std::string read_file() const {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    [[nodiscard]] std::optional<log_ring::contents> recover_from(const std::string& bytes) const {
        std::ofstream(path("copy"), std::ios::binary | std::ios::trunc) << bytes;
        return log_ring::recover(path("copy"), identity);
    }

    /// True if it is noticed that something is lost, or what is lost is named.
    [[nodiscard]] bool is_noticed(
        const std::optional<log_ring::contents>& found, const std::vector<slice>& given
    ) const {
        if (!found || found->unreadable) {
            return !found || std::ranges::all_of(sound(*found), [&](const slice& held) {
                return std::ranges::find(given, held) != given.end();
            });
        }
        const std::vector<slice> left = sound(*found);
        return left.size() + 1 == given.size() && found->slices.size() == given.size();
    }

    /// Three slices; the ring is closed again.
    [[nodiscard]] std::vector<slice> write_three() const {
        const std::vector<slice> given = {{7, 1, "first"}, {8, 300, "second"}, {7, 2, "third"}};
        log_ring ring(path(), identity);
        prepare_all(ring);
        for (const slice& one : given) {
            EXPECT_TRUE(append(ring, one));
        }
        return given;
    }

    /// As many slices as fit, numbered from `first`.
    static std::vector<slice> fill(log_ring& ring, std::uint64_t first, std::size_t bytes) {
        std::vector<slice> given;
        for (;; ++first) {
            slice next{1, first, std::string(bytes, static_cast<char>('a' + first % 26))};
            if (!append(ring, next)) {
                return given;
            }
            given.push_back(std::move(next));
        }
    }

private:
    temporary_folder folder_;
};

TEST_F(LogRing, GivesWhatWasAppendedInOrder) {
    log_ring ring(path(), identity);
    prepare_all(ring);
    log_ring::place reached = ring.end();
    EXPECT_TRUE(append(ring, {1, 1, "a"}));
    EXPECT_TRUE(append(ring, {std::int64_t{1} << 40U, std::uint64_t{1} << 50U, ""}));

    EXPECT_EQ(
        taken(ring, reached),
        (std::vector<slice>{{1, 1, "a"}, {std::int64_t{1} << 40U, std::uint64_t{1} << 50U, ""}})
    );
    EXPECT_TRUE(append(ring, {1, 2, "c"}));
    EXPECT_EQ(taken(ring, reached), (std::vector<slice>{{1, 2, "c"}}));
    EXPECT_TRUE(taken(ring, reached).empty());
}

TEST_F(LogRing, TakesNothingThatItIsNotPreparedFor) {
    log_ring ring(path(), identity);
    EXPECT_FALSE(append(ring, {1, 1, "a"}));
    ring.prepare();
    EXPECT_TRUE(append(ring, {1, 1, "a"}));
    EXPECT_FALSE(append(ring, {1, 2, std::string(log_ring::segment_bytes, 'x')}));
    EXPECT_TRUE(append(ring, {1, 2, "b"}));

    const std::vector<slice> rest = fill(ring, 3, 1000);

    EXPECT_GT(rest.size(), 60U);
    EXPECT_LT(rest.size(), 66U);
}

// Sizes that make slices end before, at and after the end of a segment.
class LogRingLaps : public LogRing, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(LogRingLaps, IsUsedAgainWhereItWasReleased) {
    log_ring ring(path(), identity);
    log_ring::place reached = ring.end();
    std::uint64_t next = 1;
    std::vector<slice> last;
    for (int lap = 0; lap < 5; ++lap) {
        prepare_all(ring);
        last = fill(ring, next, GetParam());
        ASSERT_FALSE(last.empty());
        next += last.size();
        EXPECT_EQ(taken(ring, reached), last);
        if (lap < 4) {
            ring.release(reached);
        }
    }

    const auto found = recover_from(read_file());

    ASSERT_TRUE(found);
    EXPECT_FALSE(found->unreadable);
    const std::vector<slice> kept = sound(*found);
    // With what is in the segment that was not full when it was released.
    ASSERT_GE(kept.size(), last.size());
    EXPECT_EQ(
        std::vector<slice>(kept.end() - static_cast<std::ptrdiff_t>(last.size()), kept.end()), last
    );
    EXPECT_EQ(kept.back().first_sequence - kept.front().first_sequence + 1, kept.size());
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, LogRingLaps,
    ::testing::Values(
        1, 50, 1000, 4077, 5000,
        // A record that fills its segment: 32 bytes of the segment's head, 12 and 3 of the
        // record's.
        log_ring::segment_bytes - 32 - 12 - 3, log_ring::segment_bytes - 32 - 12 - 3 - 40
    )
);

TEST_F(LogRing, SurvivesTheProcess) {
    const std::vector<slice> given = write_three();

    const auto found = log_ring::recover(path(), identity);

    ASSERT_TRUE(found);
    EXPECT_FALSE(found->unreadable);
    EXPECT_EQ(sound(*found), given);
}

TEST_F(LogRing, IsKnownWithoutASlice) {
    log_ring ring(path(), identity);
    ring.prepare();
    EXPECT_TRUE(log_ring::recover(path(), identity).value().slices.empty());

    // Also when nothing that it held is needed any more.
    (void)fill(ring, 1, log_ring::segment_bytes - 32 - 12 - 3);
    ring.release(ring.end());
    ASSERT_TRUE(log_ring::recover(path(), identity));
}

TEST_F(LogRing, OfAnotherStoreIsNone) {
    EXPECT_FALSE(log_ring::recover(path(), identity));
    (void)write_three();
    EXPECT_FALSE(log_ring::recover(path(), identity + 1));

    log_ring other(path(), identity + 1);
    prepare_all(other);
    EXPECT_TRUE(append(other, {1, 1, "a"}));
    EXPECT_FALSE(log_ring::recover(path(), identity));
    EXPECT_EQ(
        sound(log_ring::recover(path(), identity + 1).value()), (std::vector<slice>{{1, 1, "a"}})
    );
}

TEST_F(LogRing, WhatAKilledProcessWasAppendingIsNotThere) {
    const std::vector<slice> given = write_three();
    std::string bytes = read_file();
    const std::size_t third = bytes.find("third") - 3 - 12;
    bytes.replace(third, 4, 4, '\0'); // The length, which is written last.

    const auto found = recover_from(bytes);

    ASSERT_TRUE(found);
    EXPECT_FALSE(found->unreadable);
    EXPECT_EQ(sound(*found), std::vector<slice>(given.begin(), given.begin() + 2));
}

TEST_F(LogRing, AHoleBeforeOtherSlicesIsNoticed) {
    std::vector<slice> given;
    {
        log_ring ring(path(), identity);
        prepare_all(ring);
        given = fill(ring, 1, 1000);
    }
    const auto with_hole = [bytes = read_file()](std::size_t at, std::size_t count) {
        return std::string(bytes).replace(at, count, count, '\0');
    };
    for (const std::size_t segment : {0U, 3U, 15U}) {
        SCOPED_TRACE(segment);
        // A page that was not written.
        EXPECT_TRUE(is_noticed(
            recover_from(with_hole(segment * log_ring::segment_bytes + 8192, 4096)), given
        ));
        // The length of a slice that others follow.
        EXPECT_TRUE(
            is_noticed(recover_from(with_hole(segment * log_ring::segment_bytes + 32, 4)), given)
        );
    }
    // No segment.
    EXPECT_TRUE(is_noticed(recover_from(with_hole(3 * log_ring::segment_bytes, 32)), given));
}

TEST_F(LogRing, NoDamagedBitGoesUnnoticed) {
    const std::vector<slice> given = write_three();
    const std::string bytes = read_file();
    const std::size_t end = bytes.find("third") + 5;
    int padding = 0;
    for (std::size_t bit = 0; bit < 8 * end; ++bit) {
        SCOPED_TRACE(bit);
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
        const auto found = recover_from(damaged);
        const bool nothing_lost = found && !found->unreadable && sound(*found) == given;
        if (nothing_lost) {
            EXPECT_EQ(bytes[bit / 8], '\0');
            ++padding;
        } else {
            EXPECT_TRUE(is_noticed(found, given));
        }
    }
    // The padding after the second slice, and the four unused bytes of a segment's head.
    EXPECT_EQ(padding, 8 * (4 + 2));
}

TEST_F(LogRing, HoldsCommitsWithAndWithoutEntries) {
    log_ring ring(path(), identity);
    prepare_all(ring);
    log_ring::place from = ring.end();
    EXPECT_TRUE(ring.append({.slice = {7, 0, 0, {}}, .commit = "begin"}));
    const log_ring::place first = ring.end();
    EXPECT_TRUE(ring.append({.slice = {7, 1, 2, "entries"}, .commit = {}}));
    EXPECT_TRUE(ring.append({.slice = {7, 3, 1, "terminal"}, .commit = "end"}));
    const log_ring::place last = ring.end();

    std::vector<std::string> seen;
    while (const auto next = ring.next(from, last)) {
        seen.push_back(
            std::to_string(next->slice.count) + std::string(next->slice.bytes) + "|" +
            std::string(next->commit)
        );
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"0|begin", "2entries|", "1terminal|end"}));
    const auto found = log_ring::recover(path(), identity);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->unreadable);
    EXPECT_EQ(found->slices.size(), 3U);
    ASSERT_EQ(found->commits.size(), 2U);
    EXPECT_EQ(found->commits[0].bytes, "begin");
    EXPECT_EQ(found->commits[0].behind, first);
    EXPECT_EQ(found->commits[1].bytes, "end");
    EXPECT_EQ(found->commits[1].behind, last);
}

TEST_F(LogRing, ADamagedCommitIsNoCommit) {
    {
        log_ring ring(path(), identity);
        prepare_all(ring);
        EXPECT_TRUE(ring.append({.slice = {7, 1, 1, "entries"}, .commit = "commit"}));
        EXPECT_TRUE(ring.append({.slice = {8, 0, 0, {}}, .commit = "another"}));
    }
    const std::string bytes = read_file();
    // Whatever bit of one is damaged, the other commit alone is found, and it is noticed.
    const auto damage = [&](std::size_t begin, std::size_t end, std::size_t at,
                            std::string_view other) {
        for (std::size_t bit = 8 * begin; bit < 8 * end; ++bit) {
            SCOPED_TRACE(bit);
            std::string damaged = bytes;
            damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
            const auto found = recover_from(damaged);
            ASSERT_TRUE(found);
            for (const auto& commit : found->commits) {
                EXPECT_EQ(commit.bytes, other);
            }
            EXPECT_TRUE(
                found->unreadable || (found->slices.size() == 2 && found->slices[at].damaged)
            );
        }
    };
    const std::size_t first = 32; // Right after the segment's head.
    const std::size_t first_end = bytes.find("commit") + 6;
    const std::size_t second = (first_end + 3) / 4 * 4;
    damage(first, first_end, 0, "another");
    damage(second, bytes.find("another") + 7, 1, "commit");
}

TEST_F(LogRing, AFileOfAnySizeAndContentIsNone) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{3} << 20U}) {
        EXPECT_FALSE(recover_from(std::string(size, 'x')));
    }
}

TEST_F(LogRing, ThrowsWhereThereCanBeNoFile) {
    EXPECT_THROW(log_ring(path("missing/log"), identity), std::system_error);
}

TEST_F(LogRing, IsReadableByItsOwnerOnly) {
    const log_ring ring(path(), identity);

    EXPECT_EQ(
        std::filesystem::status(path()).permissions(),
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_write
    );
}

} // namespace
} // namespace agui::session
