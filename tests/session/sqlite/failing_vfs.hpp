#pragma once

#include <atomic>
#include <memory>

namespace agui::test {

/// A layer between SQLite and the file system. While it exists, every connection that is opened
/// uses it. Counts writes, truncations and syncs, and makes them fail on request. A write that
/// fails has written half of its bytes.
class failing_vfs {
public:
    failing_vfs();
    ~failing_vfs();
    failing_vfs(const failing_vfs&) = delete;
    failing_vfs& operator=(const failing_vfs&) = delete;

    enum class failure { once, from_then_on };

    /// Makes the n-th operation from now on fail, counted from 1.
    void fail_at(int n, failure how);
    /// Lets all operations succeed again.
    void heal();
    /// Returns true if an operation failed since fail_at().
    [[nodiscard]] bool has_failed() const;

    struct state {
        std::atomic<int> countdown = 0; ///< 0 if nothing fails.
        std::atomic<bool> goes_on = false;
        std::atomic<bool> has_failed = false;

        [[nodiscard]] bool next_fails();
    };

private:
    struct registration;
    std::unique_ptr<registration> registration_;
};

} // namespace agui::test
