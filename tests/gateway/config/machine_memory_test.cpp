#include "gateway/config/machine_memory.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

using gateway::usable_memory;

constexpr std::size_t mib = 1U << 20U;

/// A file system with the files that say how much memory there is.
class MachineMemory : public ::testing::Test {
protected:
    void SetUp() override { put("proc/meminfo", "MemTotal:        4194304 kB\nMemFree: 1 kB\n"); }
    void put(std::string_view name, std::string_view text) const {
        const std::filesystem::path file = folder_.path() / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    [[nodiscard]] std::size_t usable() const { return usable_memory(folder_.path()) / mib; }

private:
    temporary_folder folder_;
};

TEST_F(MachineMemory, IsTheMachinesWithoutALimit) {
    EXPECT_EQ(usable(), 4096U);
    put("proc/self/cgroup", "0::/user.slice\n");
    put("sys/fs/cgroup/user.slice/memory.max", "max\n");
    EXPECT_EQ(usable(), 4096U);
}

TEST_F(MachineMemory, ObeysTheGroupOfVersion2) {
    put("proc/self/cgroup", "0::/system.slice/agui.service\n");
    put("sys/fs/cgroup/system.slice/agui.service/memory.max", "536870912\n");
    EXPECT_EQ(usable(), 512U);
}

TEST_F(MachineMemory, ObeysAGroupAroundItsOwn) {
    put("proc/self/cgroup", "0::/pod/container\n");
    put("sys/fs/cgroup/pod/memory.max", "268435456\n");
    put("sys/fs/cgroup/pod/container/memory.max", "536870912\n");
    EXPECT_EQ(usable(), 256U);
}

TEST_F(MachineMemory, ObeysTheGroupOfVersion1) {
    put("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n3:blkio,memory:/docker/abc\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "134217728\n");
    EXPECT_EQ(usable(), 128U);
}

TEST_F(MachineMemory, TakesTheRootOfAContainerForItsGroup) {
    put("proc/self/cgroup", "7:memory:/docker/not-mounted-here\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
    EXPECT_EQ(usable(), 64U);
}

TEST_F(MachineMemory, ALimitAboveTheMachineSetsNone) {
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "1099511627776\n");
    EXPECT_EQ(usable(), 4096U);
}

TEST_F(MachineMemory, SkipsLimitsThatItCannotRead) {
    put("proc/self/cgroup", "nonsense\n1:\n0::/a\n");
    put("sys/fs/cgroup/a/memory.max", "much\n");
    EXPECT_EQ(usable(), 4096U);
}

TEST(MachineMemoryOfThisMachine, IsSomething) {
    EXPECT_GT(usable_memory(), 16 * mib);
    EXPECT_EQ(usable_memory("/no/such/root"), std::size_t{2} << 30U);
}

} // namespace
} // namespace agui::test
