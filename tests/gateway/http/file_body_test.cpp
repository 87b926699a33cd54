#include "gateway/http/file_body.hpp"

#include "tests/support/temporary_folder.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace agui::gateway {
namespace {

/// A file of 200 000 different bytes, and two ends of a connection.
class FileBody : public ::testing::Test {
protected:
    FileBody() {
        for (int i = 0; i < 20'000; ++i) {
            content += std::to_string(1'000'000'000 + i);
        }
        std::ofstream(path) << content;
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
        constexpr int small = 32'768; // Smaller than the file.
        EXPECT_EQ(::setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    }
    ~FileBody() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    [[nodiscard]] file_body open_file() const {
        return {::open(path.c_str(), O_RDONLY | O_CLOEXEC), content.size()};
    }
    void send_some(file_body& file) { file.send_some(ends_[0], failed); }
    /// Returns the bytes sent since the last call.
    std::string received() {
        std::string all(1U << 20U, '\0');
        const ssize_t count = ::recv(ends_[1], all.data(), all.size(), MSG_DONTWAIT);
        all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return all;
    }
    void close_reader() { ::shutdown(ends_[1], SHUT_RDWR); }

    boost::system::error_code failed;
    std::string content;

private:
    test::temporary_folder folder_;
    int ends_[2] = {-1, -1};

protected:
    std::string path = folder_.file("file");
};

TEST_F(FileBody, IsSentInPieces) {
    file_body file = open_file();
    std::string all;
    while (file.size() > 0 && !failed) {
        send_some(file);
        const std::string piece = received();
        EXPECT_LE(piece.size(), 65'536U);
        all += piece;
    }

    EXPECT_FALSE(failed) << failed.message();
    EXPECT_EQ(all, content);
}

TEST_F(FileBody, ContinuesWhereTheSocketStopped) {
    file_body file = open_file();
    std::string all;
    std::size_t waits = 0;
    while (file.size() > 0 && !failed) {
        const auto before = file.size();
        send_some(file);
        if (file.size() == before) {
            ++waits;
            all += received();
        }
    }
    all += received();

    EXPECT_FALSE(failed) << failed.message();
    EXPECT_GT(waits, 0U);
    EXPECT_EQ(all, content);
}

TEST_F(FileBody, CanBeAPart) {
    file_body file = open_file();
    file.keep(100'000, 10);

    send_some(file);

    EXPECT_EQ(file.size(), 0U);
    EXPECT_EQ(received(), content.substr(100'000, 10));
}

TEST_F(FileBody, FailsIfTheFileHasBecomeShorter) {
    file_body file = open_file();
    send_some(file);
    std::filesystem::resize_file(path, 10);

    send_some(file);

    EXPECT_EQ(failed, boost::asio::error::eof);
}

// The failure must be an error and not a signal.
TEST_F(FileBody, FailsIfThePeerHasLeft) {
    file_body file = open_file();
    close_reader();

    send_some(file);

    EXPECT_EQ(failed, boost::asio::error::broken_pipe);
}

} // namespace
} // namespace agui::gateway
