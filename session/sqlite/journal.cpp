#include "session/sqlite/journal.hpp"

#include "session/base/failpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace agui::session {

namespace {

// A file gets disk space in steps of this size: a write then changes neither its size nor its
// extents, which costs a third less, and a full disk shows at the start of a step.
constexpr std::size_t allocated_at_once = std::size_t{1} << 20U;
// About the size of a short run's log.
constexpr std::size_t tried_bytes = 4096;
// Above this, the memory of records is freed.
constexpr std::size_t kept_record_bytes = 64U << 10U;

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Returns false, with errno set, if not all of it could be written.
bool write_all(int descriptor, std::string_view bytes, std::size_t offset) noexcept {
    while (!bytes.empty()) {
        const ssize_t written =
            ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
        if (written < 0 && errno != EINTR) {
            return false;
        }
        const auto taken = static_cast<std::size_t>(std::max<ssize_t>(written, 0));
        bytes.remove_prefix(taken);
        offset += taken;
    }
    return true;
}

// Returns false, with errno set, if the written bytes may be lost.
bool sync_file(int descriptor) noexcept {
    try {
        check_failpoint("journal.sync");
    } catch (const std::exception&) {
        errno = EIO;
        return false;
    }
    return ::fdatasync(descriptor) == 0;
}

void sync_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int descriptor =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        fail(folder);
    }
    const int outcome = ::fsync(descriptor);
    const int reason = errno;
    ::close(descriptor);
    // Some file systems cannot sync a folder.
    if (outcome != 0 && reason != EINVAL) {
        errno = reason;
        fail(folder);
    }
}

} // namespace

journal::~journal() {
    for (const file& open : files_) {
        ::close(open.descriptor);
    }
}

std::string journal::name_of(const std::string& path, std::uint64_t number) {
    return path + "." + std::to_string(number);
}

std::vector<std::uint64_t> journal::files_of(const std::string& path) {
    const std::filesystem::path whole(path);
    const std::string prefix = whole.filename().string() + ".";
    const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : ".";
    std::vector<std::uint64_t> numbers;
    for (const auto& found : std::filesystem::directory_iterator(folder)) {
        const std::string name = found.path().filename().string();
        if (!name.starts_with(prefix)) {
            continue;
        }
        std::uint64_t number = 0;
        const char* const end = name.data() + name.size();
        const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, number);
        if (error == std::errc() && rest == end) {
            numbers.push_back(number);
        }
    }
    std::ranges::sort(numbers);
    return numbers;
}

void journal::make_file(std::uint64_t number) {
    try {
        make_and_keep(number);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        lacks_file_ = true;
        throw;
    }
}

void journal::make_and_keep(std::uint64_t number) {
    check_failpoint("journal.make");
    file made;
    made.number = number;
    made.end = journal_head_bytes;
    const std::string name = name_of(settings_.path, number);
    made.descriptor = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (made.descriptor < 0) {
        fail(name);
    }
    try {
        if (!write_all(made.descriptor, journal_head(settings_.identity, number), 0)) {
            fail(name);
        }
        if (settings_.survives_power_cut) {
            if (::fdatasync(made.descriptor) != 0) {
                fail(name);
            }
            sync_folder_of(name);
        }
        const std::lock_guard lock(mutex_);
        files_.push_back(made);
    } catch (...) {
        remove(made);
        throw;
    }
}

void journal::use_file() {
    const std::lock_guard lock(mutex_);
    usable_ = files_.size();
    lacks_file_ = false;
    can_write_ = true;
    look_for_need();
}

void journal::leave_file() noexcept {
    const std::lock_guard lock(mutex_);
    if (usable_ != 0) {
        current_ = usable_ - 1;
    }
    look_for_need();
}

void journal::look_for_need() noexcept {
    const bool needs =
        current_ >= usable_ ||
        (current_ + 1 == usable_ &&
         (files_[current_].is_broken || files_[current_].end > settings_.file_bytes / 2));
    if (needs && !needs_file_) {
        has_new_need_ = true;
    }
    needs_file_ = needs;
}

// Returns null if there is none.
journal::file* journal::file_for(std::size_t bytes) noexcept {
    for (; current_ < usable_; ++current_) {
        file& found = files_[current_];
        const bool is_last = current_ + 1 == usable_;
        const bool has_room = found.end + bytes <= settings_.file_bytes ||
                              found.end == journal_head_bytes ||
                              (is_last && found.end < settings_.file_bytes);
        if (!found.is_broken && has_room) {
            return &found;
        }
        if (is_last) {
            break;
        }
    }
    return nullptr;
}

std::uint64_t journal::append(std::span<const encoded_slice> slices) noexcept {
    const std::lock_guard lock(mutex_);
    std::uint64_t number = 0;
    try {
        number = write_records(slices);
    } catch (const std::exception&) {
        can_write_.store(false, std::memory_order_relaxed);
    }
    return number;
}

std::uint64_t journal::write_records(std::span<const encoded_slice> slices) {
    std::size_t bytes = 0;
    for (const encoded_slice& each : slices) {
        bytes += each.bytes.size() + 2 * journal_head_bytes;
    }
    file* to = file_for(bytes);
    if (to == nullptr) { // The next file may be in the making.
        can_write_ = !lacks_file_;
        return 0;
    }
    records_.clear();
    journal_neighbour last = to->last;
    for (const encoded_slice& each : slices) {
        const journal_place at{settings_.identity, to->number, to->end + records_.size()};
        last = {each.run_number, append_journal_record(records_, at, last, each)};
    }
    check_failpoint("journal.write");
    const bool is_written = write(*to, records_);
    can_write_.store(is_written, std::memory_order_relaxed);
    if (is_written) {
        to->last = last;
        to->end += records_.size();
        to->is_dirty = true;
    }
    look_for_need();
    if (records_.capacity() > kept_record_bytes) {
        std::string().swap(records_);
    }
    pass_failpoint("journal.written");
    return is_written ? to->number : 0;
}

// Writes zeros, like those in the allocated space beyond the last record.
void journal::try_write() noexcept {
    const std::lock_guard lock(mutex_);
    bool is_written = false;
    try {
        check_failpoint("journal.write");
        file* const to = file_for(tried_bytes);
        is_written = to != nullptr && write(*to, std::string(tried_bytes, '\0'));
    } catch (const std::exception&) {
        is_written = false;
    }
    can_write_ = is_written;
}

bool journal::write(file& to, std::string_view bytes) const noexcept {
    const std::size_t end = to.end + bytes.size();
    if (end > to.allocated) {
        const std::size_t wanted = std::max(end, to.end + allocated_at_once);
        // If the file system cannot do it or has no room, the write fails.
        const bool is_done = ::fallocate(
                                 to.descriptor, 0, static_cast<::off_t>(to.end),
                                 static_cast<::off_t>(wanted - to.end)
                             ) == 0;
        const bool is_known = errno == EOPNOTSUPP || errno == ENOSYS;
        to.allocated = is_done    ? wanted
                       : is_known ? std::numeric_limits<std::size_t>::max()
                                  : to.allocated;
    }
    if (write_all(to.descriptor, bytes, to.end)) {
        return true;
    }
    // The partial record must not be taken for damage, nor be longer than the next one.
    to.is_broken = ::ftruncate(to.descriptor, static_cast<::off_t>(to.end)) != 0;
    to.allocated = to.end;
    return false;
}

void journal::sync() {
    std::vector<std::pair<std::uint64_t, int>> targets;
    {
        const std::lock_guard lock(mutex_);
        for (file& held : files_) {
            // The kernel reports a failure once: afterwards the dropped bytes would seem to be
            // synced.
            if (held.is_unsynced) {
                errno = EIO;
                fail(name_of(settings_.path, held.number));
            }
            if (std::exchange(held.is_dirty, false)) {
                targets.emplace_back(held.number, held.descriptor);
            }
        }
    }
    for (const auto& [number, descriptor] : targets) {
        // Only the owner removes files, so this one stays open.
        if (sync_file(descriptor)) {
            continue;
        }
        const int reason = errno;
        {
            const std::lock_guard lock(mutex_);
            const auto lost = std::ranges::find(files_, number, &file::number);
            lost->is_unsynced = lost->is_broken = true;
            look_for_need();
        }
        errno = reason;
        fail(name_of(settings_.path, number));
    }
}

std::uint64_t journal::current() noexcept {
    const std::lock_guard lock(mutex_);
    return current_ < usable_ ? files_[current_].number : 0;
}

void journal::remove_before(std::uint64_t number) noexcept {
    for (;;) {
        file gone;
        {
            const std::lock_guard lock(mutex_);
            if (current_ == 0 || files_.front().number >= number) {
                return;
            }
            gone = files_.front();
            files_.pop_front();
            --current_;
            --usable_;
        }
        remove(gone); // Runs without the lock, because it takes milliseconds.
    }
}

void journal::remove_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (const file& each : files_) {
        remove(each);
    }
    files_.clear();
    current_ = usable_ = 0;
    can_write_ = false;
    look_for_need();
}

void journal::remove(const file& gone) const noexcept {
    ::close(gone.descriptor);
    std::error_code ignored; // A file that stays is removed when the store is opened.
    std::filesystem::remove(name_of(settings_.path, gone.number), ignored);
}

} // namespace agui::session
