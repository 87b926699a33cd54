#include "gateway/audit/line_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using gateway::line_file;
using gateway::line_writing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> lines_in(const std::string& path) {
    std::ifstream stream(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

class LineFile : public ::testing::Test {
protected:
    temporary_folder folder;
    memory_logger log;
};

TEST_F(LineFile, AppendsLines) {
    const std::string path = folder.file("audit");
    std::ofstream(path) << "from before\n";
    {
        line_file file(path, "audit.file", line_writing::at_once, log);
        file.append("one");
        file.append("");
    }
    line_file again(path, "audit.file", line_writing::at_once, log);
    again.append("two");

    EXPECT_THAT(lines_in(path), ElementsAre("from before", "one", "", "two"));
    EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(LineFile, IsForItsOwnerAlone) {
    const std::string path = folder.file("audit");
    const line_file file(path, "audit.file", line_writing::at_once, log);

    using std::filesystem::perms;
    EXPECT_EQ(
        std::filesystem::status(path).permissions() & (perms::group_all | perms::others_all),
        perms::none
    );
}

TEST_F(LineFile, ThatCannotBeOpenedIsAnError) {
    try {
        const line_file file(
            folder.file("missing/audit"), "audit.file", line_writing::at_once, log
        );
        FAIL() << "was opened";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("audit.file: the file cannot be opened"));
    }
}

TEST_F(LineFile, IsOpenedAgainAfterItWasRenamed) {
    const std::string path = folder.file("audit");
    line_file file(path, "audit.file", line_writing::at_once, log);
    file.append("one");
    std::filesystem::rename(path, path + ".1");
    file.append("two");

    file.reopen();
    file.append("three");

    EXPECT_THAT(lines_in(path + ".1"), ElementsAre("one", "two"));
    EXPECT_THAT(lines_in(path), ElementsAre("three"));
}

TEST_F(LineFile, ContinuesIfItCannotBeOpenedAgain) {
    const std::string path = folder.file("deeper") + "/audit";
    std::filesystem::create_directory(folder.file("deeper"));
    line_file file(path, "audit.file", line_writing::at_once, log);
    std::filesystem::rename(folder.file("deeper"), folder.file("elsewhere"));

    file.reopen();
    file.append("one");

    EXPECT_THAT(lines_in(folder.file("elsewhere") + "/audit"), ElementsAre("one"));
    EXPECT_THAT(log.lines(), Contains(HasSubstr("the former one is still used")));
}

TEST_F(LineFile, LosesLinesOfAFullDiskAndSaysSoOnce) {
    line_file file("/dev/full", "audit.file", line_writing::at_once, log);

    for (int i = 0; i < 10; ++i) {
        file.append("lost");
    }

    EXPECT_THAT(
        log.lines(), ElementsAre(AllOf(
                         HasSubstr("error lines of a file could not be written and are lost"),
                         HasSubstr("file=audit.file"), HasSubstr("lines=1")
                     ))
    );
}

TEST_F(LineFile, DoesNotWaitForAReader) {
    const std::string path = folder.file("pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    line_file file(path, "audit.file", line_writing::at_once, log);

    const std::string line(1000, 'x');
    for (int i = 0; i < 200; ++i) {
        file.append(line); // A pipe holds 64 KB.
    }

    ::close(reader);
    EXPECT_THAT(log.lines(), SizeIs(1));
}

TEST_F(LineFile, CollectsLinesUntilTheyAreFlushed) {
    const std::string path = folder.file("access");
    line_file file(path, "access_log.file", line_writing::collected, log);
    file.append("one");
    file.append("two");
    EXPECT_THAT(lines_in(path), IsEmpty());

    file.flush();
    EXPECT_THAT(lines_in(path), ElementsAre("one", "two"));
    file.flush();
    EXPECT_THAT(lines_in(path), ElementsAre("one", "two"));
}

TEST_F(LineFile, WritesCollectedLinesBeforeTheyAreTooManyForAPipe) {
    const std::string path = folder.file("access");
    line_file file(path, "access_log.file", line_writing::collected, log);
    const std::string line(1000, 'x');
    for (int i = 0; i < 4; ++i) {
        file.append(line);
    }
    EXPECT_THAT(lines_in(path), IsEmpty());

    file.append(line);
    EXPECT_THAT(lines_in(path), ElementsAre(line, line, line, line));
    const std::string longer(2 * line_file::lines_bytes_max, 'y');
    file.append(longer);
    file.append("last");
    EXPECT_THAT(lines_in(path), ElementsAre(line, line, line, line, line, longer));
}

TEST_F(LineFile, WritesCollectedLinesAtItsEndAndBeforeItIsOpenedAgain) {
    const std::string path = folder.file("access");
    {
        line_file file(path, "access_log.file", line_writing::collected, log);
        file.append("one");
        std::filesystem::rename(path, path + ".1");
        file.reopen();
        file.append("two");
    }
    EXPECT_THAT(lines_in(path + ".1"), ElementsAre("one"));
    EXPECT_THAT(lines_in(path), ElementsAre("two"));
}

TEST_F(LineFile, CollectsNothingOnceTheProcessEnds) {
    const std::string path = folder.file("access");
    line_file file(path, "access_log.file", line_writing::collected, log);
    file.append("one");
    file.stop_collecting();
    EXPECT_THAT(lines_in(path), ElementsAre("one"));
    file.append("two");
    EXPECT_THAT(lines_in(path), ElementsAre("one", "two"));
}

TEST_F(LineFile, CountsEachCollectedLineThatIsLost) {
    line_file file("/dev/full", "access_log.file", line_writing::collected, log);
    for (int i = 0; i < 10; ++i) {
        file.append("lost");
    }
    file.flush();
    EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("lines=10")));
}

TEST_F(LineFile, ALineAfterATornOneStandsByItself) {
    const std::string path = folder.file("pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    line_file file(path, "audit.file", line_writing::at_once, log);
    file.append(std::string(100'000, 'x')); // A pipe holds 64 KB.
    file.append("lost");

    std::string held(200'000, '\0');
    const ssize_t torn = ::read(reader, held.data(), held.size());
    ASSERT_GT(torn, 0);
    ASSERT_LT(torn, 100'000);
    file.append("next");
    const ssize_t rest = ::read(reader, held.data(), held.size());
    ::close(reader);

    ASSERT_GT(rest, 0);
    EXPECT_EQ(held.substr(0, static_cast<std::size_t>(rest)), "\nnext\n");
}

TEST_F(LineFile, KeepsLinesOfManyThreadsWhole) {
    const std::string path = folder.file("audit");
    line_file file(path, "audit.file", line_writing::at_once, log);
    std::vector<std::thread> threads;
    for (char c = 'a'; c < 'e'; ++c) {
        threads.emplace_back([&file, c] {
            for (int i = 0; i < 100; ++i) {
                file.append(std::string(300, c));
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }

    const auto lines = lines_in(path);
    EXPECT_THAT(lines, SizeIs(400));
    for (const std::string& line : lines) {
        EXPECT_EQ(line, std::string(300, line.front()));
    }
}

} // namespace
} // namespace agui::test
