#include "session/sqlite/log_ring.hpp"

#include "session/base/checksum.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/leb128.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace agui::session {

namespace {

constexpr std::size_t file_bytes = log_ring::segment_bytes * log_ring::segment_count;

constexpr std::uint32_t segment_magic = 0x32524741; // "AGR2"

// The head of a segment.
struct segment_head {
    std::uint32_t magic;
    std::uint32_t unused;
    std::uint64_t identity;
    std::uint64_t serial;
    std::uint64_t sum;

    [[nodiscard]] std::uint64_t expected_sum() const noexcept {
        checksum over;
        over.add(identity);
        over.add(serial);
        return over.value();
    }
};
static_assert(sizeof(segment_head) == 32);

// The head of a record. After it in LEB128: run; first sequence; twice the count, plus one if there
// is a commit; if there are both, the size of the entries. Then the entries and the commit.
struct record_head {
    std::uint32_t bytes; ///< Of the whole record; 0: there is none.
    std::uint32_t head_sum;
    std::uint32_t body_sum;
};
static_assert(sizeof(record_head) == 12);

constexpr std::size_t record_alignment = alignof(record_head);

// Run, first sequence, count and size.
constexpr std::size_t numbers_bytes_max = 4 * leb128_bytes_max;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + record_alignment - 1) / record_alignment * record_alignment;
}

constexpr std::uint64_t serial_of(log_ring::place where) noexcept {
    return where / log_ring::segment_bytes;
}

constexpr std::size_t offset_of(log_ring::place where) noexcept {
    return where % log_ring::segment_bytes;
}

constexpr log_ring::place begin_of(std::uint64_t serial) noexcept {
    return serial * log_ring::segment_bytes + sizeof(segment_head);
}

std::uint32_t head_sum_of(const record_head& head, const log_ring::record& given) noexcept {
    checksum over;
    over.add(std::uint64_t{head.bytes} << 32U | head.body_sum);
    over.add(static_cast<std::uint64_t>(given.slice.run_number));
    over.add(given.slice.first_sequence);
    over.add(std::uint64_t{given.slice.count});
    over.add(given.slice.bytes.size());
    return checksum::folded(over.value());
}

std::uint32_t body_sum_of(const log_ring::record& given) noexcept {
    checksum over;
    over.add(checksum_of(given.slice));
    if (!given.commit.empty()) {
        over.add(given.commit);
    }
    return checksum::folded(over.value());
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

template <class Value>
Value load(const char* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// The record whose bytes after the head are `bytes`.
std::optional<log_ring::record> parse(std::string_view bytes) {
    std::uint64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::uint64_t kind = 0;
    if (!take_leb128(bytes, run_number) || !take_leb128(bytes, first_sequence) ||
        !take_leb128(bytes, kind)) {
        return std::nullopt;
    }
    const std::uint64_t count = kind / 2;
    const bool has_commit = kind % 2 != 0;
    std::uint64_t entries_bytes = has_commit ? 0 : bytes.size();
    if (has_commit && count != 0 && !take_leb128(bytes, entries_bytes)) {
        return std::nullopt;
    }
    if (entries_bytes > bytes.size()) {
        return std::nullopt;
    }
    return log_ring::record{
        .slice =
            {static_cast<std::int64_t>(run_number), first_sequence,
             static_cast<std::uint32_t>(count), bytes.substr(0, entries_bytes)},
        .commit = bytes.substr(entries_bytes),
    };
}

enum class segment_end {
    blank,  ///< Nothing follows the last record.
    torn,   ///< Part of a record that a killed process was appending.
    unsound ///< Anything else.
};

struct found_record {
    log_ring::record content;
    bool damaged = false; ///< What follows its numbers is damaged.
};

// The record at `offset`; nullopt: there is none with intact head and numbers.
std::optional<found_record> record_at(const char* segment, std::size_t offset, record_head& head) {
    head = load<record_head>(segment + offset);
    if (head.bytes < sizeof head || head.bytes > log_ring::segment_bytes - offset) {
        return std::nullopt;
    }
    const auto record = parse({segment + offset + sizeof head, head.bytes - sizeof head});
    if (!record || head_sum_of(head, *record) != head.head_sum) {
        return std::nullopt;
    }
    return found_record{*record, body_sum_of(*record) != head.body_sum};
}

// Appends to `found` the records of a segment, as far as they can be read.
segment_end read_segment(const char* segment, std::uint64_t serial, log_ring::contents& found) {
    std::size_t offset = sizeof(segment_head);
    record_head head{};
    while (offset + sizeof head <= log_ring::segment_bytes) {
        const auto record = record_at(segment, offset, head);
        if (!record) {
            break;
        }
        offset += aligned(head.bytes);
        found.slices.push_back({record->content.slice, record->damaged});
        if (!record->damaged && !record->content.commit.empty()) {
            found.commits.push_back(
                {record->content.commit, serial * log_ring::segment_bytes + offset}
            );
        }
    }
    const char* const rest = segment + offset;
    const char* const end = segment + log_ring::segment_bytes;
    if (std::all_of(rest, end, [](char byte) { return byte == 0; })) {
        return segment_end::blank;
    }
    if (offset + sizeof head > log_ring::segment_bytes || load<std::uint32_t>(rest) != 0) {
        return segment_end::unsound;
    }
    // A record that a killed process was appending has no length yet, and no record follows it.
    for (; offset + sizeof head <= log_ring::segment_bytes; offset += record_alignment) {
        if (record_at(segment, offset, head)) {
            return segment_end::unsound;
        }
    }
    return segment_end::torn;
}

// The bytes of the file, as many as a ring has; nullopt: the file is missing or shorter.
std::optional<std::string> read_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        return std::nullopt;
    }
    if (file < 0) {
        fail(path);
    }
    std::string bytes(file_bytes, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
        if (got < 0 && errno != EINTR) {
            const int reason = errno;
            ::close(file);
            throw std::system_error(reason, std::generic_category(), path);
        }
        if (got == 0) {
            break;
        }
        done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    ::close(file);
    return done == bytes.size() ? std::optional(std::move(bytes)) : std::nullopt;
}

} // namespace

std::optional<log_ring::contents>
log_ring::recover(const std::string& path, std::uint64_t identity) {
    std::optional<std::string> bytes = read_file(path);
    if (!bytes) {
        return std::nullopt;
    }
    contents found;
    found.bytes = std::move(*bytes);
    std::vector<std::pair<std::uint64_t, const char*>> segments;
    for (std::size_t slot = 0; slot < segment_count; ++slot) {
        const char* const segment = found.bytes.data() + slot * segment_bytes;
        const auto head = load<segment_head>(segment);
        const bool is_sound = head.magic == segment_magic && head.identity == identity &&
                              head.sum == head.expected_sum() &&
                              head.serial % segment_count == slot;
        if (is_sound) {
            segments.emplace_back(head.serial, segment);
        } else if (head.magic != 0) { // Zero: the segment was released or never used.
            found.unreadable = true;
        }
    }
    if (segments.empty()) {
        return std::nullopt;
    }
    std::ranges::sort(segments);
    std::uint64_t next = segments.front().first;
    bool behind_torn = false;
    for (const auto& [serial, segment] : segments) {
        const std::size_t before = found.slices.size();
        const segment_end end = read_segment(segment, serial, found);
        const bool goes_on = behind_torn && found.slices.size() > before;
        if (serial != next || end == segment_end::unsound || goes_on) {
            found.unreadable = true;
        }
        behind_torn = behind_torn || end == segment_end::torn;
        next = serial + 1;
    }
    return found;
}

log_ring::log_ring(const std::string& path, std::uint64_t identity)
    : path_(path), identity_(identity), end_(begin_of(0)) {
    // Never the old file: a snapshot may be a hard link to it.
    ::unlink(path.c_str());
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file_ < 0) {
        fail(path);
    }
    // Allocates the blocks before anything is written to the mapping, where a full disk would raise
    // a signal.
    const int error = ::posix_fallocate(file_, 0, file_bytes);
    void* const mapped =
        error != 0 ? MAP_FAILED
                   : ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) {
        const int reason = error != 0 ? error : errno;
        ::close(file_);
        ::unlink(path.c_str());
        throw std::system_error(reason, std::generic_category(), path);
    }
    bytes_ = static_cast<char*>(mapped);
}

log_ring::~log_ring() {
    ::munmap(bytes_, file_bytes);
    ::close(file_);
}

char* log_ring::segment_at(std::uint64_t serial) const noexcept {
    return bytes_ + serial % segment_count * segment_bytes;
}

bool log_ring::append(const record& given) noexcept {
    const encoded_slice& slice = given.slice;
    // NOLINT(*-member-init): written before it is read.
    std::array<char, numbers_bytes_max> numbers;
    std::size_t numbers_bytes = 0;
    const auto put = [&](std::uint64_t number) {
        numbers_bytes += write_leb128(numbers.data() + numbers_bytes, number);
    };
    const bool has_commit = !given.commit.empty();
    put(static_cast<std::uint64_t>(slice.run_number));
    put(slice.first_sequence);
    put(std::uint64_t{slice.count} * 2 + (has_commit ? 1 : 0));
    if (has_commit && slice.count != 0) {
        put(slice.bytes.size());
    }
    const std::size_t commit_at = sizeof(record_head) + numbers_bytes + slice.bytes.size();
    const std::size_t bytes = commit_at + given.commit.size();

    place at = end_.load(std::memory_order_relaxed);
    if (aligned(bytes) > segment_bytes - sizeof(segment_head)) {
        return false;
    }
    if (offset_of(at) == 0) { // After a full segment.
        at = begin_of(serial_of(at));
    } else if (offset_of(at) + aligned(bytes) > segment_bytes) {
        at = begin_of(serial_of(at) + 1);
    }
    if (serial_of(at) >= ready_serial_.load(std::memory_order_acquire)) {
        return false;
    }

    char* const record = segment_at(serial_of(at)) + offset_of(at);
    record_head head{static_cast<std::uint32_t>(bytes), 0, body_sum_of(given)};
    head.head_sum = head_sum_of(head, given);
    std::memcpy(record + sizeof head, numbers.data(), numbers_bytes);
    std::ranges::copy(slice.bytes, record + sizeof head + numbers_bytes);
    std::ranges::copy(given.commit, record + commit_at);
    std::memcpy(record + sizeof head.bytes, &head.head_sum, sizeof head - sizeof head.bytes);
    pass_failpoint("ring.written");
    // Last, so that the record is complete or absent, whenever the process is killed.
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(record))
        .store(head.bytes, std::memory_order_release);
    end_.store(at + aligned(bytes), std::memory_order_release);
    pass_failpoint("ring.appended");
    return true;
}

std::optional<log_ring::record> log_ring::next(place& from, place until) const {
    while (from < until) {
        const std::size_t offset = offset_of(from);
        if (offset != 0 && offset + sizeof(record_head) <= segment_bytes) {
            const char* const record = segment_at(serial_of(from)) + offset;
            const auto head = load<record_head>(record);
            if (head.bytes != 0) {
                from += aligned(head.bytes);
                return parse({record + sizeof head, head.bytes - sizeof head});
            }
        }
        // The end of a full segment is the start of the next one.
        from = begin_of(offset == 0 ? serial_of(from) : serial_of(from) + 1);
    }
    return std::nullopt;
}

void log_ring::release(place until) noexcept {
    // One valid head stays, so that the file can be identified.
    const std::uint64_t kept =
        std::min(serial_of(until), ready_serial_.load(std::memory_order_relaxed) - 1);
    for (; first_serial_ < kept; ++first_serial_) {
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(segment_at(first_serial_)))
            .store(0, std::memory_order_release);
    }
}

bool log_ring::is_half_full() const noexcept {
    return serial_of(end()) - first_serial_ >= segment_count / 2;
}

bool log_ring::can_prepare() const noexcept {
    return ready_serial_.load(std::memory_order_relaxed) - first_serial_ < segment_count;
}

void log_ring::prepare() {
    static constexpr std::array<char, segment_bytes> zeros{};
    check_failpoint("ring.prepare");
    const std::uint64_t serial = ready_serial_.load(std::memory_order_relaxed);
    char* const segment = segment_at(serial);
    // Not through the mapping, where an error would raise a signal.
    for (std::size_t done = 0; done < segment_bytes;) {
        const ssize_t written = ::pwrite(
            file_, zeros.data(), segment_bytes - done,
            static_cast<::off_t>(static_cast<std::size_t>(segment - bytes_) + done)
        );
        if (written < 0 && errno != EINTR) {
            fail(path_);
        }
        done += written > 0 ? static_cast<std::size_t>(written) : 0;
    }
    // If the kernel does not support this, the first append to a page waits for a page fault.
    (void)::madvise(segment, segment_bytes, MADV_POPULATE_WRITE);
    segment_head head{0, 0, identity_, serial, 0};
    head.sum = head.expected_sum();
    std::memcpy(segment, &head, sizeof head);
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(segment))
        .store(segment_magic, std::memory_order_release);
    ready_serial_.store(serial + 1, std::memory_order_release);
}

} // namespace agui::session
