// The journal's files are in order and bounded, and are usable again after failed writes.
#include "session/base/failpoint.hpp"
#include "session/sqlite/journal.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace agui::session {
namespace {

// While this object exists, no file of this process can grow beyond `bytes`, as on a full disk.
class file_limit {
public:
    explicit file_limit(::rlim_t bytes) {
        old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &old_);
        ::rlimit limit = old_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~file_limit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }
    file_limit(const file_limit&) = delete;
    file_limit& operator=(const file_limit&) = delete;

private:
    ::rlimit old_{};
    void (*old_handler_)(int) = nullptr;
};

class Journal : public ::testing::Test {
protected:
    static constexpr std::uint64_t identity = 99;

    [[nodiscard]] std::string path() const { return folder_.file("store.db-log"); }

    [[nodiscard]] journal make(std::size_t file_bytes = 4096) {
        return journal({.path = path(), .identity = identity, .file_bytes = file_bytes});
    }

    static void add_file(journal& to, std::uint64_t number) {
        to.make_file(number);
        to.use_file();
    }

    [[nodiscard]] static encoded_slice slice(std::uint64_t sequence, std::string_view bytes) {
        return {1, sequence, 1, bytes};
    }

    [[nodiscard]] std::string bytes_of(std::uint64_t number) const {
        std::ifstream file(journal::name_of(path(), number), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// The first sequences of the intact records of all files.
    [[nodiscard]] std::vector<std::uint64_t> sequences() const {
        std::vector<std::uint64_t> found;
        for (const std::uint64_t number : journal::files_of(path())) {
            const std::string bytes = bytes_of(number);
            EXPECT_TRUE(is_journal(bytes, identity, number));
            for (const journal_item& item : read_journal(bytes, identity, number)) {
                EXPECT_TRUE(item.is_sound);
                found.push_back(item.entries.first_sequence);
            }
        }
        return found;
    }

private:
    test::temporary_folder folder_;
};

using sequences_t = std::vector<std::uint64_t>;

TEST_F(Journal, TakesNothingWithoutAFile) {
    journal subject = make();
    EXPECT_TRUE(subject.needs_file());
    EXPECT_EQ(subject.append(slice(1, "a")), 0U);
    subject.make_file(3);
    EXPECT_EQ(subject.append(slice(1, "a")), 0U) << "the tables do not know of it yet";
    subject.use_file();
    EXPECT_EQ(subject.append(slice(1, "a")), 3U);
    EXPECT_EQ(sequences(), sequences_t{1});
}

TEST_F(Journal, ContinuesInTheNextFileAndRemovesEarlierOnes) {
    journal subject = make();
    add_file(subject, 1);
    const std::string bytes(1000, 'x');
    EXPECT_EQ(subject.append(slice(1, bytes)), 1U);
    EXPECT_FALSE(subject.needs_file());
    EXPECT_FALSE(subject.take_new_need());
    EXPECT_EQ(subject.append(slice(2, bytes)), 1U);
    EXPECT_EQ(subject.append(slice(3, bytes)), 1U);
    EXPECT_TRUE(subject.needs_file());
    EXPECT_TRUE(subject.take_new_need());
    EXPECT_FALSE(subject.take_new_need()) << "once";
    EXPECT_EQ(subject.current(), 1U);

    add_file(subject, 2);
    EXPECT_FALSE(subject.needs_file());
    EXPECT_EQ(subject.append(slice(4, "small")), 1U) << "as long as there is room";
    EXPECT_EQ(subject.append(slice(5, bytes)), 2U);
    EXPECT_EQ(subject.current(), 2U);
    EXPECT_EQ(sequences(), (sequences_t{1, 2, 3, 4, 5}));

    subject.remove_before(1);
    EXPECT_EQ(journal::files_of(path()), (sequences_t{1, 2}));
    subject.remove_before(99);
    EXPECT_EQ(journal::files_of(path()), sequences_t{2}) << "never the one that is written";
    subject.remove_all();
    EXPECT_TRUE(journal::files_of(path()).empty());
    EXPECT_EQ(subject.append(slice(6, "a")), 0U);
}

TEST_F(Journal, ALargeRecordIsTheLastOfItsFile) {
    journal subject = make();
    add_file(subject, 1);
    EXPECT_EQ(subject.append(slice(1, "a")), 1U);
    const std::string large(100'000, 'x');
    EXPECT_EQ(subject.append(slice(2, large)), 1U) << "there is no other file";
    EXPECT_TRUE(subject.take_new_need());
    EXPECT_EQ(subject.append(slice(3, "b")), 0U) << "it is full";
    add_file(subject, 2);
    EXPECT_EQ(subject.append(slice(3, "b")), 2U);
    add_file(subject, 3);
    EXPECT_EQ(subject.append(slice(4, large)), 3U);
    EXPECT_EQ(sequences(), (sequences_t{1, 2, 3, 4}));
}

TEST_F(Journal, AWriteThatFailsLeavesNothingAndLaterOnesAreTaken) {
    journal subject = make(std::size_t{1} << 20U);
    add_file(subject, 1);
    EXPECT_EQ(subject.append(slice(1, "a")), 1U);
    {
        const file_limit full(std::filesystem::file_size(journal::name_of(path(), 1)));
        EXPECT_NE(subject.append(slice(2, "what is allocated can be written")), 0U);
        const std::string large(std::size_t{2} << 20U, 'x');
        EXPECT_EQ(subject.append(slice(3, large)), 0U);
        EXPECT_EQ(subject.append(slice(3, large)), 0U);
    }
    EXPECT_EQ(sequences(), (sequences_t{1, 2})) << "no part of it";
    EXPECT_EQ(subject.append(slice(3, "c")), 1U);
    EXPECT_EQ(sequences(), (sequences_t{1, 2, 3}));
}

TEST_F(Journal, AWriteFailsIfTheAllocatedSpaceIsFull) {
    journal subject = make(std::size_t{8} << 20U);
    add_file(subject, 1);
    const std::string chunk(100'000, 'x');
    EXPECT_EQ(subject.append(slice(1, chunk)), 1U);
    std::uint64_t sequence = 2;
    {
        const file_limit full(std::filesystem::file_size(journal::name_of(path(), 1)));
        while (subject.append(slice(sequence, chunk)) != 0) {
            ASSERT_LT(++sequence, 50U);
        }
        EXPECT_EQ(subject.append(slice(sequence, chunk)), 0U);
    }
    EXPECT_GT(sequence, 5U);
    EXPECT_EQ(sequences().size(), sequence - 1);
    EXPECT_EQ(subject.append(slice(sequence, chunk)), 1U);
    EXPECT_EQ(sequences().size(), sequence);
}

TEST_F(Journal, WritesSeveralRecordsTogetherOrNone) {
    journal subject = make(std::size_t{8} << 20U);
    add_file(subject, 1);
    const std::string large(std::size_t{2} << 20U, 'x');
    const std::vector<encoded_slice> together{{1, 1, 1, "a"}, {2, 2, 1, "of two"}, {3, 3, 1, "c"}};
    const std::vector<encoded_slice> too_large{{1, 4, 1, "d"}, {2, 5, 1, large}};
    EXPECT_EQ(subject.append(together), 1U);
    {
        const file_limit full(std::filesystem::file_size(journal::name_of(path(), 1)));
        EXPECT_EQ(subject.append(too_large), 0U);
    }
    EXPECT_EQ(sequences(), (sequences_t{1, 2, 3}));

    EXPECT_EQ(subject.append(slice(6, "f")), 1U);
    EXPECT_EQ(sequences(), (sequences_t{1, 2, 3, 6}));
}

TEST_F(Journal, SurvivesThatItsFileIsTruncated) {
    journal subject = make();
    add_file(subject, 1);
    EXPECT_EQ(subject.append(slice(1, "a")), 1U);
    EXPECT_EQ(subject.append(slice(2, "b")), 1U);
    std::filesystem::resize_file(journal::name_of(path(), 1), journal_head_bytes);

    EXPECT_EQ(subject.append(slice(3, "c")), 1U);

    const std::string bytes = bytes_of(1);
    const std::vector<journal_item> items = read_journal(bytes, identity, 1);
    ASSERT_EQ(items.size(), 2U);
    EXPECT_FALSE(items[0].is_sound) << "what was there before is known to be lost";
    EXPECT_EQ(items[1].entries.first_sequence, 3U);
}

#ifdef AGUI_FAILPOINTS

TEST_F(Journal, ASyncThatFailedIsNotMadeUpForByTheNext) {
    journal subject = make();
    add_file(subject, 1);
    EXPECT_EQ(subject.append(slice(1, "a")), 1U);
    int syncs = 0;
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "journal.sync") {
                ++syncs;
                throw std::runtime_error("on purpose");
            }
        });
        EXPECT_THROW(subject.sync(), std::system_error);
    }
    EXPECT_EQ(syncs, 1);
    EXPECT_TRUE(subject.needs_file());
    EXPECT_EQ(subject.append(slice(2, "b")), 0U) << "nothing more goes into that file";
    add_file(subject, 2);
    EXPECT_EQ(subject.append(slice(2, "b")), 2U);
    EXPECT_THROW(subject.sync(), std::system_error) << "the first record may be lost";

    subject.remove_before(2); // No run needs the file any more.

    EXPECT_NO_THROW(subject.sync());
}

TEST_F(Journal, SyncsOnlyAfterAWrite) {
    journal subject = make();
    add_file(subject, 1);
    int syncs = 0;
    const failpoint_hook hook([&](std::string_view place) {
        syncs += place == "journal.sync" ? 1 : 0;
    });
    subject.sync();
    EXPECT_EQ(syncs, 0);
    EXPECT_EQ(subject.append(slice(1, "a")), 1U);
    subject.sync();
    subject.sync();
    EXPECT_EQ(syncs, 1);
}

#endif

TEST_F(Journal, IsReadableByItsOwnerOnly) {
    journal subject = make();
    add_file(subject, 1);
    struct ::stat found{};
    ASSERT_EQ(::stat(journal::name_of(path(), 1).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(Journal, DoesNotOverwriteAFile) {
    std::ofstream(journal::name_of(path(), 1)) << "something else";
    journal subject = make();
    EXPECT_THROW(subject.make_file(1), std::system_error);
    add_file(subject, 2);
    EXPECT_EQ(subject.append(slice(1, "a")), 2U);
    EXPECT_EQ(bytes_of(1), "something else");
}

TEST_F(Journal, ThrowsWhereThereCanBeNoFile) {
    journal subject({.path = path() + "/no/such/folder", .identity = identity});
    EXPECT_THROW(subject.make_file(1), std::system_error);
}

TEST_F(Journal, KnowsItsFilesByTheirNames) {
    for (const char* name : {".2", ".10", ".1", ".x", ".1x", "", "2", ".-1", ".5.5"}) {
        std::ofstream(path() + name) << "x";
    }
    EXPECT_EQ(journal::files_of(path()), (sequences_t{1, 2, 10}));
}

} // namespace
} // namespace agui::session
