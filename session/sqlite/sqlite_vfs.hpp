#pragma once

#include <memory>
#include <string>

struct sqlite3_vfs;

namespace agui::session {

/// SQLite's own file access, except for the write-ahead log: the frames of a transaction are
/// gathered and, when the last one comes, written with one call instead of two per page. Rewrites
/// go through at once. So COMMIT still returns only when everything it wrote is in the file, and
/// still reports errors. (The last frame is recognized as described in SQLite's file format, "WAL
/// Format".)
///
/// It is passed to sqlite3_open_v2 by name; the VFS that was the default at construction does the
/// work. Must outlive its connections. They share no state, so each may be used on another thread.
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
