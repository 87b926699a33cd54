#pragma once

#include <memory>
#include <string>

struct sqlite3_vfs;

namespace agui::session {

/// SQLite's own file access, except for the write-ahead log: the frames of a transaction are
/// gathered and written with one call when the last one comes, instead of two calls a page.
/// Rewrites go through at once. So COMMIT still returns only after everything it wrote is in the
/// file, and reports errors. (SQLite's file format, "WAL Format", tells the last frame.)
///
/// Passed to sqlite3_open_v2 by name; the VFS that is the default at construction does the work.
/// Must outlive its connections. Its connections share no state, so they may be used on different
/// threads.
class sqlite_vfs {
public:
    sqlite_vfs();
    ~sqlite_vfs();
    sqlite_vfs(const sqlite_vfs&) = delete;
    sqlite_vfs& operator=(const sqlite_vfs&) = delete;

    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

private:
    struct registration;
    std::string name_;
    std::unique_ptr<registration> registration_;
};

} // namespace agui::session
