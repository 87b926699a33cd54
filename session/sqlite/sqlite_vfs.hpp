#pragma once

#include <memory>
#include <string>

struct sqlite3_vfs;

namespace agui::session {

/// SQLite's own file access, except for the write-ahead log: the frames of a transaction are
/// gathered and written with one call when the last one comes, instead of two calls a page. What
/// SQLite writes a second time goes through at once. So COMMIT still returns after all that it has
/// written is in the file, with its error. (SQLite's file format, "WAL Format", tells the last
/// frame.)
///
/// To be given to sqlite3_open_v2 by name; what is the default VFS at the time of construction does
/// the work. Outlives its connections. Connections that use it share no thread.
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
