#pragma once

#include "tests/support/temporary_folder.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace agui::test {

/// A proxy between clients and the server, on a socket in a folder of its own. It cuts a connection
/// when the client sends a transaction's end with certain words, which must therefore not be part
/// of a prepared statement.
class cutting_proxy {
public:
    enum class cut {
        never,
        before, ///< The server never gets the request.
        midway, ///< The server executes it, but the client's connection is cut before.
        after,  ///< The server has answered, but the client does not get the answer.
        away,   ///< As `after`, and then the server cannot be reached until set().
        held    ///< The server has answered, and the client gets the answer after let_go().
    };

    /// `server` is the path of the server's socket.
    explicit cutting_proxy(std::string server);
    ~cutting_proxy();
    cutting_proxy(const cutting_proxy&) = delete;
    cutting_proxy& operator=(const cutting_proxy&) = delete;

    /// The folder of its socket.
    [[nodiscard]] std::string folder() const { return folder_.path().string(); }
    /// Cuts the next `count` requests that contain both words.
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
    /// Passes nothing more on through the present connections and leaves them open, as a machine
    /// that vanished. New connections work.
    void fall_silent() { silent_ = accepted_.load(); }
    [[nodiscard]] int cuts() const noexcept { return cuts_; }

private:
    // The whole statement, because other statements contain the word COMMITTED.
    static std::string commit() { return {"COMMIT", sizeof("COMMIT")}; }
    void accept();
    void pass(int client, int number);
    [[nodiscard]] bool is_due(const std::string& request);
    /// Returns false once the connection has ended.
    bool pass_request(int client, int server);
    [[nodiscard]] bool pass_later(int client, const std::string& answer);

    temporary_folder folder_;
    const std::string server_;
    std::mutex mutex_;
    std::string word_; ///< Guarded by mutex_, as other_ is.
    std::string other_;
    std::atomic<cut> how_{cut::never};
    std::atomic<int> left_{0};
    std::atomic<int> cuts_{0};
    std::atomic<int> held_{0}; ///< The number of answers that wait.
    std::atomic<int> accepted_{0};
    /// The number of accepted connections that are silent, the oldest first.
    std::atomic<int> silent_{0};
    std::atomic<bool> is_away_{false};
    std::atomic<bool> is_closing_{false};
    int listener_ = -1;
    std::vector<std::thread> connections_; ///< Used by the accepting thread only.
    std::thread thread_;
};

} // namespace agui::test
