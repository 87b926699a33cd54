#pragma once

#include <atomic>
#include <memory>

namespace agui::test {

/// Stands between SQLite and the file system while it lives: every connection opened meanwhile goes
/// through it. Writes, truncations and syncs are counted, and can be made to fail; a write that
/// fails has written half of its bytes.
class failing_vfs {
public:
    failing_vfs();
    ~failing_vfs();
    failing_vfs(const failing_vfs&) = delete;
    failing_vfs& operator=(const failing_vfs&) = delete;

    enum class failure { once, from_then_on };

    /// The n-th operation from now on fails, counted from 1.
    void fail_at(int n, failure how);
    /// Everything works again.
    void heal();
    /// True if an operation failed since fail_at.
    [[nodiscard]] bool has_failed() const;

    struct state {
        std::atomic<int> countdown = 0; ///< 0: nothing fails.
        std::atomic<bool> goes_on = false;
        std::atomic<bool> has_failed = false;

        [[nodiscard]] bool next_fails();
    };

private:
    struct registration;
    std::unique_ptr<registration> registration_;
};

} // namespace agui::test
