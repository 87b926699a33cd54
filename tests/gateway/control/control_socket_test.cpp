// The Unix socket: who may connect, and which file it replaces.

#include "gateway/control/control_socket.hpp"
#include "session/base/log.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace agui::test {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using gateway::control_socket;
using ::testing::HasSubstr;

class ControlSocket : public ::testing::Test {
protected:
    std::unique_ptr<control_socket> make() {
        return std::make_unique<control_socket>(
            context_.get_executor(), path_,
            [this](asio::ip::tcp::socket, ::uid_t user) {
                user_ = user;
                context_.stop();
            },
            null_logger()
        );
    }
    void accept(control_socket& socket) {
        asio::co_spawn(context_, socket.run(), [](const std::exception_ptr& thrown) {
            EXPECT_FALSE(thrown);
        });
    }
    std::string problem() {
        try {
            (void)make();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }
    [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }

    temporary_folder folder_;
    const std::string path_ = folder_.file("control");
    asio::io_context context_{1};
    std::optional<::uid_t> user_;
};

TEST_F(ControlSocket, IsForItsOwnUserOnlyAndIsRemoved) {
    {
        const auto socket = make();
        struct ::stat found{};
        ASSERT_EQ(::stat(path_.c_str(), &found), 0);
        EXPECT_TRUE(S_ISSOCK(found.st_mode));
        EXPECT_EQ(found.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(exists());
}

TEST_F(ControlSocket, TellsWhoHasConnected) {
    const auto socket = make();
    accept(*socket);
    stream_protocol::socket client(context_);
    client.connect(stream_protocol::endpoint(path_));

    context_.run();

    EXPECT_EQ(user_, ::geteuid());
}

TEST_F(ControlSocket, RefusesAPeerWithAName) {
    const auto socket = make();
    accept(*socket);
    stream_protocol::socket client(context_);
    client.open();
    client.bind(stream_protocol::endpoint(folder_.file("peer")));
    client.connect(stream_protocol::endpoint(path_));
    char byte = 0;
    boost::system::error_code ec;
    client.async_read_some(asio::buffer(&byte, 1), [&](boost::system::error_code got, std::size_t) {
        ec = got;
        context_.stop();
    });

    context_.run();

    EXPECT_EQ(ec, asio::error::eof);
    EXPECT_FALSE(user_);
}

TEST_F(ControlSocket, ReplacesASocketThatNobodyServes) {
    {
        stream_protocol::acceptor left(context_, stream_protocol::endpoint(path_));
    }
    ASSERT_TRUE(exists());

    EXPECT_EQ(problem(), "");
}

TEST_F(ControlSocket, LeavesASocketThatIsServed) {
    const auto first = make();

    EXPECT_THAT(problem(), HasSubstr("another process serves it"));
    EXPECT_TRUE(exists());
}

TEST_F(ControlSocket, LeavesASocketOfAnotherProgram) {
    const stream_protocol::acceptor other(context_, stream_protocol::endpoint(path_));

    EXPECT_THAT(problem(), HasSubstr("another process serves it"));
    EXPECT_TRUE(exists());
}

TEST_F(ControlSocket, LeavesAnotherFile) {
    std::ofstream(path_) << "text";

    EXPECT_THAT(problem(), HasSubstr("there is another file"));
    EXPECT_TRUE(exists());
}

TEST_F(ControlSocket, LeavesTheSocketOfALaterProcess) {
    auto first = make();
    std::filesystem::remove(path_);
    stream_protocol::acceptor later(context_, stream_protocol::endpoint(path_));

    first.reset();

    EXPECT_TRUE(exists());
}

TEST_F(ControlSocket, NeedsAFolderThatNobodyElseCanWriteTo) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0770), 0);
    EXPECT_THAT(problem(), HasSubstr("must not be writable by others"));
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0702), 0);
    EXPECT_THAT(problem(), HasSubstr("must not be writable by others"));
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    EXPECT_EQ(problem(), "");
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
}

TEST_F(ControlSocket, NeedsAFolder) {
    EXPECT_THROW(
        control_socket(context_.get_executor(), folder_.file("none/control"), {}, null_logger()),
        std::runtime_error
    );
}

} // namespace
} // namespace agui::test
