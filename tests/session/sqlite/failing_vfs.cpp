#include "tests/session/sqlite/failing_vfs.hpp"

#include <sqlite3.h>

#include <new>
#include <stdexcept>

namespace agui::test {

namespace {

struct shim_file {
    sqlite3_file base;
    failing_vfs::state* state;
    sqlite3_file* real; // Follows this object in the memory that SQLite gave.
};

// SQLite passes the base; every file of this VFS is a shim_file.
shim_file& shim(sqlite3_file* file) { return *reinterpret_cast<shim_file*>(file); }

sqlite3_file* real(sqlite3_file* file) { return shim(file).real; }

int close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }

int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), bytes, size, offset);
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    if (shim(file).state->next_fails()) {
        (void)real(file)->pMethods->xWrite(real(file), bytes, size / 2, offset);
        return SQLITE_IOERR_WRITE;
    }
    return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (shim(file).state->next_fails()) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return real(file)->pMethods->xTruncate(real(file), size);
}

// Does not sync: the effect would show only after a power cut, and the test machine stays on.
int sync(sqlite3_file* file, int) {
    return shim(file).state->next_fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}

int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }

int unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}

int check_reserved(sqlite3_file* file, int* reserved) {
    return real(file)->pMethods->xCheckReservedLock(real(file), reserved);
}

int control(sqlite3_file* file, int operation, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }

int characteristics(sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

// Version 1 has no shared memory, which a connection in exclusive mode does not need.
const sqlite3_io_methods shim_methods = [] {
    sqlite3_io_methods methods{};
    methods.iVersion = 1;
    methods.xClose = close;
    methods.xRead = read;
    methods.xWrite = write;
    methods.xTruncate = truncate;
    methods.xSync = sync;
    methods.xFileSize = file_size;
    methods.xLock = lock;
    methods.xUnlock = unlock;
    methods.xCheckReservedLock = check_reserved;
    methods.xFileControl = control;
    methods.xSectorSize = sector_size;
    methods.xDeviceCharacteristics = characteristics;
    return methods;
}();

} // namespace

struct failing_vfs::registration {
    sqlite3_vfs* real = nullptr;
    sqlite3_vfs shim{};
    failing_vfs::state state;

    static registration& of(sqlite3_vfs* vfs) { return *static_cast<registration*>(vfs->pAppData); }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
        registration& self = of(vfs);
        auto* const opened = new (static_cast<void*>(file)) shim_file{};
        opened->state = &self.state;
        opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
        const int code = self.real->xOpen(self.real, name, opened->real, flags, out);
        // SQLite does not close a file without methods, such as one that could not be opened.
        opened->base.pMethods = code == SQLITE_OK ? &shim_methods : nullptr;
        return code;
    }

    static int erase(sqlite3_vfs* vfs, const char* name, int sync_folder) {
        return of(vfs).real->xDelete(of(vfs).real, name, sync_folder);
    }

    static int access(sqlite3_vfs* vfs, const char* name, int flags, int* out) {
        return of(vfs).real->xAccess(of(vfs).real, name, flags, out);
    }

    static int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
        return of(vfs).real->xFullPathname(of(vfs).real, name, size, out);
    }
};

bool failing_vfs::state::next_fails() {
    if (countdown == 0) {
        return false;
    }
    if (countdown > 1) {
        --countdown;
        return false;
    }
    has_failed = true;
    if (!goes_on) {
        countdown = 0;
    }
    return true;
}

failing_vfs::failing_vfs() : registration_(std::make_unique<registration>()) {
    registration& self = *registration_;
    self.real = sqlite3_vfs_find(nullptr);
    self.shim = *self.real;
    self.shim.pNext = nullptr;
    self.shim.zName = "agui-failing";
    self.shim.szOsFile = static_cast<int>(sizeof(shim_file)) + self.real->szOsFile;
    self.shim.pAppData = &self;
    self.shim.xOpen = &registration::open;
    self.shim.xDelete = &registration::erase;
    self.shim.xAccess = &registration::access;
    self.shim.xFullPathname = &registration::full_path;
    if (sqlite3_vfs_register(&self.shim, 1) != SQLITE_OK) {
        throw std::runtime_error("cannot register the VFS");
    }
}

failing_vfs::~failing_vfs() {
    sqlite3_vfs_unregister(&registration_->shim);
    sqlite3_vfs_register(registration_->real, 1);
}

void failing_vfs::fail_at(int n, failure how) {
    registration_->state.has_failed = false;
    registration_->state.goes_on = how == failure::from_then_on;
    registration_->state.countdown = n;
}

void failing_vfs::heal() { registration_->state.countdown = 0; }

bool failing_vfs::has_failed() const { return registration_->state.has_failed; }

} // namespace agui::test
