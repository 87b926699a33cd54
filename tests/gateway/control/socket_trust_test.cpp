// Whose socket a client trusts.

#include "gateway/control/socket_trust.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

namespace agui::test {
namespace {

using gateway::is_trusted_server;
using gateway::problem_of_folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ::uid_t root = 0;
constexpr ::uid_t of_gateway = 4711;
constexpr ::uid_t of_other = 4712;

class SocketTrust : public ::testing::Test {
protected:
    /// Only root can give the folder to another user.
    [[nodiscard]] bool give_folder_to(::uid_t owner) const {
        return ::chown(folder_.path().c_str(), owner, static_cast<::gid_t>(-1)) == 0;
    }

    temporary_folder folder_;
    const std::string path_ = folder_.file("control");
};

TEST_F(SocketTrust, IsForTheSameUserAndRoot) {
    EXPECT_TRUE(is_trusted_server(of_other, of_other, path_));
    EXPECT_TRUE(is_trusted_server(of_other, root, path_));
    EXPECT_TRUE(is_trusted_server(root, root, path_));
    EXPECT_FALSE(is_trusted_server(of_other, of_gateway, path_));
}

TEST_F(SocketTrust, OfRootIsForTheOwnerOfTheFolder) {
    EXPECT_FALSE(is_trusted_server(root, of_gateway, "/none/control"));
    if (!give_folder_to(of_gateway)) {
        GTEST_SKIP() << "needs root";
    }
    EXPECT_TRUE(is_trusted_server(root, of_gateway, path_));
    EXPECT_FALSE(is_trusted_server(root, of_other, path_));
    EXPECT_FALSE(is_trusted_server(of_other, of_gateway, path_));
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
    EXPECT_FALSE(is_trusted_server(root, of_gateway, path_)) << "anybody could have made it";
    EXPECT_THAT(problem_of_folder(path_, of_gateway), HasSubstr("writable by others"));
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0700));
    EXPECT_THAT(problem_of_folder(path_, of_gateway), IsEmpty());
    EXPECT_TRUE(give_folder_to(::geteuid()));
}

TEST_F(SocketTrust, OfRootIsNotForAnybodyInAFolderOfRoot) {
    if (!give_folder_to(root)) {
        GTEST_SKIP() << "needs root";
    }
    EXPECT_FALSE(is_trusted_server(root, of_other, path_));
}

} // namespace
} // namespace agui::test
