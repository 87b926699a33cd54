#include "session/sqlite/sqlite_vfs.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace agui::session {

namespace {

// SQLite writes each frame of the log as its head and then its page.
constexpr int frame_head_bytes = 24;

// More than a usual transaction writes, and less than the 128 KB that SQLite's own file access
// takes at once.
constexpr std::size_t gathered_bytes_max = 64U << 10U;

// An open write-ahead log. The object of the real file follows this one in the memory that SQLite
// provides.
struct log_file {
    sqlite3_file base{};
    std::string gathered;    ///< Not written yet:
    sqlite3_int64 begin = 0; ///< from here on.
    sqlite3_int64 end = 0;   ///< The end of the bytes written since the log was restarted.
    /// Offset at which the page of a transaction's last frame will be written.
    sqlite3_int64 last_page = -1;

    [[nodiscard]] sqlite3_file* real() noexcept {
        return reinterpret_cast<sqlite3_file*>(this + 1);
    }

    int flush() noexcept {
        if (gathered.empty()) {
            return SQLITE_OK;
        }
        const int code = real()->pMethods->xWrite(
            real(), gathered.data(), static_cast<int>(gathered.size()), begin
        );
        gathered.clear();
        return code;
    }

    int write(const void* bytes, int size, sqlite3_int64 offset) noexcept {
        const std::string_view given(
            static_cast<const char*>(bytes), static_cast<std::size_t>(size)
        );
        const bool ends_transaction = offset == last_page;
        // The second number of a head: in the last frame of a transaction the size of the database
        // in pages, otherwise 0.
        const bool is_last_head =
            size == frame_head_bytes && given.substr(4, 4) != std::string_view("\0\0\0\0", 4);
        last_page = is_last_head ? offset + size : -1;
        if (offset == 0) {
            end = 0; // The log is restarted.
        }
        // A rewrite does not belong to the sequence of frames: SQLite corrects heads after the last
        // one.
        const bool is_new = offset >= end;
        end = std::max(end, offset + size);
        const bool follows = offset == begin + static_cast<sqlite3_int64>(gathered.size());
        if (!is_new || !follows || gathered.size() + given.size() > gathered_bytes_max) {
            if (const int code = flush(); code != SQLITE_OK) {
                return code;
            }
        }
        if (!is_new) {
            return real()->pMethods->xWrite(real(), bytes, size, offset);
        }
        if (gathered.empty()) {
            begin = offset;
        }
        try {
            gathered += given;
        } catch (const std::bad_alloc&) {
            return SQLITE_IOERR_NOMEM;
        }
        return ends_transaction ? flush() : SQLITE_OK;
    }
};

// SQLite knows only the base; every file with these methods is a log_file.
log_file& log_of(sqlite3_file* file) noexcept { return *reinterpret_cast<log_file*>(file); }

int close(sqlite3_file* file) {
    const int flushed = log_of(file).flush();
    sqlite3_file* const real = log_of(file).real();
    const int closed = real->pMethods->xClose(real);
    log_of(file).~log_file();
    return flushed != SQLITE_OK ? flushed : closed;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    return log_of(file).write(bytes, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (const int code = log_of(file).flush(); code != SQLITE_OK) {
        return code;
    }
    log_of(file).end = std::min(log_of(file).end, size);
    sqlite3_file* const real = log_of(file).real();
    return real->pMethods->xTruncate(real, size);
}

// All other calls go to the real file, after the gathered bytes are written.
template <auto Method, class... Arguments>
int forward(sqlite3_file* file, Arguments... arguments) {
    if (const int code = log_of(file).flush(); code != SQLITE_OK) {
        return code;
    }
    sqlite3_file* const real = log_of(file).real();
    return (real->pMethods->*Method)(real, arguments...);
}

template <auto Method>
int ask(sqlite3_file* file) {
    sqlite3_file* const real = log_of(file).real();
    return (real->pMethods->*Method)(real);
}

using methods = sqlite3_io_methods;

// Version 1: a log is neither locked nor mapped.
const methods log_methods = [] {
    methods own{};
    own.iVersion = 1;
    own.xClose = close;
    own.xRead = forward<&methods::xRead, void*, int, sqlite3_int64>;
    own.xWrite = write;
    own.xTruncate = truncate;
    own.xSync = forward<&methods::xSync, int>;
    own.xFileSize = forward<&methods::xFileSize, sqlite3_int64*>;
    own.xLock = forward<&methods::xLock, int>;
    own.xUnlock = forward<&methods::xUnlock, int>;
    own.xCheckReservedLock = forward<&methods::xCheckReservedLock, int*>;
    own.xFileControl = forward<&methods::xFileControl, int, void*>;
    own.xSectorSize = ask<&methods::xSectorSize>;
    own.xDeviceCharacteristics = ask<&methods::xDeviceCharacteristics>;
    return own;
}();

} // namespace

struct sqlite_vfs::registration {
    sqlite3_vfs* real = nullptr;
    sqlite3_vfs own{};

    static sqlite3_vfs* real_of(sqlite3_vfs* vfs) noexcept {
        return static_cast<registration*>(vfs->pAppData)->real;
    }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
        sqlite3_vfs* const real = real_of(vfs);
        if ((flags & SQLITE_OPEN_WAL) == 0) {
            return real->xOpen(real, name, file, flags, out);
        }
        auto* const log = new (static_cast<void*>(file)) log_file;
        const int code = real->xOpen(real, name, log->real(), flags, out);
        if (code == SQLITE_OK) {
            log->base.pMethods = &log_methods;
        } else {
            log->~log_file(); // SQLite does not close a file that could not be opened.
            file->pMethods = nullptr;
        }
        return code;
    }

    static int erase(sqlite3_vfs* vfs, const char* name, int sync_folder) {
        return real_of(vfs)->xDelete(real_of(vfs), name, sync_folder);
    }

    static int access(sqlite3_vfs* vfs, const char* name, int flags, int* out) {
        return real_of(vfs)->xAccess(real_of(vfs), name, flags, out);
    }

    static int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
        return real_of(vfs)->xFullPathname(real_of(vfs), name, size, out);
    }
};

sqlite_vfs::sqlite_vfs() : registration_(std::make_unique<registration>()) {
    registration& made = *registration_;
    made.real = sqlite3_vfs_find(nullptr);
    name_ = "agui-" + std::to_string(reinterpret_cast<std::uintptr_t>(&made));
    // Functions that are not about files are the real VFS's.
    made.own = *made.real;
    made.own.pNext = nullptr;
    made.own.zName = name_.c_str();
    made.own.pAppData = &made;
    made.own.szOsFile = made.real->szOsFile + static_cast<int>(sizeof(log_file));
    made.own.xOpen = registration::open;
    made.own.xDelete = registration::erase;
    made.own.xAccess = registration::access;
    made.own.xFullPathname = registration::full_path;
    sqlite3_vfs_register(&made.own, 0);
}

sqlite_vfs::~sqlite_vfs() { sqlite3_vfs_unregister(&registration_->own); }

} // namespace agui::session
