#pragma once

#include "tests/support/temporary_folder.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace agui::test {

/// Passes on what goes between clients and the server, on a socket in a folder of its own, until a
/// client sends a transaction's end with some words (so that they must not be prepared): then it
/// cuts that connection.
class cutting_proxy {
public:
    enum class cut {
        never,
        before, ///< The server never sees it.
        midway, ///< The server carries it out; the client's connection is gone before.
        after,  ///< It has answered, but the client does not see it.
        away,   ///< The same, and from then on the server is out of reach until set().
        held    ///< It has answered, and the client sees it after let_go().
    };

    /// `server` is the path of the server's socket.
    explicit cutting_proxy(std::string server);
    ~cutting_proxy();
    cutting_proxy(const cutting_proxy&) = delete;
    cutting_proxy& operator=(const cutting_proxy&) = delete;

    /// The folder of its socket.
    [[nodiscard]] std::string folder() const { return folder_.path().string(); }
    /// The next `count` requests that have both words are cut.
    void set(cut how, int count, std::string word = {}, std::string other = commit()) {
        const std::lock_guard lock(mutex_);
        word_ = std::move(word);
        other_ = std::move(other);
        how_ = how;
        left_ = count;
        is_away_ = false;
    }
    /// Ends cut::held. Returns once the answers were passed on.
    void let_go();
    /// Passes on nothing more on the connections that there are, and leaves them open: as a machine
    /// that has gone. New ones work.
    void fall_silent() { silent_ = accepted_.load(); }
    [[nodiscard]] int cuts() const noexcept { return cuts_; }

private:
    // The whole statement: COMMITTED is a word of others.
    static std::string commit() { return {"COMMIT", sizeof("COMMIT")}; }
    void accept();
    void pass(int client, int number);
    [[nodiscard]] bool is_due(const std::string& request);
    /// False: the connection is over.
    bool pass_request(int client, int server);
    [[nodiscard]] bool pass_later(int client, const std::string& answer);

    temporary_folder folder_;
    const std::string server_;
    std::mutex mutex_;
    std::string word_; ///< Under mutex_, as the other.
    std::string other_;
    std::atomic<cut> how_{cut::never};
    std::atomic<int> left_{0};
    std::atomic<int> cuts_{0};
    std::atomic<int> held_{0}; ///< Answers that wait.
    std::atomic<int> accepted_{0};
    std::atomic<int> silent_{0}; ///< Of the accepted ones, in order.
    std::atomic<bool> is_away_{false};
    std::atomic<bool> is_closing_{false};
    int listener_ = -1;
    std::vector<std::thread> connections_; ///< Of the accepting thread.
    std::thread thread_;
};

} // namespace agui::test
