#include "session/log_ring.hpp"

#include "session/base/failpoint.hpp"
#include "session/checksum.hpp"
#include "session/leb128.hpp"

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

constexpr std::uint32_t segment_magic = 0x31524741; // "AGR1"

// What a segment begins with.
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

// What a slice begins with; run, first sequence and count follow in LEB128, then the entries.
struct record_head {
    std::uint32_t bytes; ///< Of the whole record; 0: there is none.
    std::uint32_t head_sum;
    std::uint32_t slice_sum;
};
static_assert(sizeof(record_head) == 12);

constexpr std::size_t record_alignment = alignof(record_head);

// Run, first sequence and count.
constexpr std::size_t numbers_bytes_max = 3 * leb128_bytes_max;

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

std::uint32_t head_sum_of(const record_head& head, const encoded_slice& slice) noexcept {
    checksum over;
    over.add(std::uint64_t{head.bytes} << 32U | head.slice_sum);
    over.add(static_cast<std::uint64_t>(slice.run_number));
    over.add(slice.first_sequence);
    over.add(std::uint64_t{slice.count});
    return over.folded();
}

std::uint32_t slice_sum_of(const encoded_slice& slice) noexcept {
    const std::uint64_t sum = checksum_of(slice);
    return static_cast<std::uint32_t>(sum ^ sum >> 32U);
}

template <class Value>
Value load(const char* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// The slice of a record of which `bytes` are everything behind its head.
std::optional<encoded_slice> parse(std::string_view bytes) {
    std::uint64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::uint64_t count = 0;
    if (!take_leb128(bytes, run_number) || !take_leb128(bytes, first_sequence) ||
        !take_leb128(bytes, count)) {
        return std::nullopt;
    }
    return encoded_slice{
        static_cast<std::int64_t>(run_number), first_sequence, static_cast<std::uint32_t>(count),
        bytes};
}

enum class segment_end {
    blank,  ///< Nothing follows the last slice.
    torn,   ///< Something without a length: a process was killed while it appended, or a page is lost.
    unsound ///< Something that is no slice.
};

// Appends what is in a segment, as far as it can be read.
segment_end read_segment(const char* segment, std::vector<page_slice>& slices) {
    std::size_t offset = sizeof(segment_head);
    while (offset + sizeof(record_head) <= log_ring::segment_bytes) {
        const auto head = load<record_head>(segment + offset);
        if (head.bytes == 0) {
            break;
        }
        if (head.bytes < sizeof head || head.bytes > log_ring::segment_bytes - offset) {
            return segment_end::unsound;
        }
        const auto slice = parse({segment + offset + sizeof head, head.bytes - sizeof head});
        if (!slice || head_sum_of(head, *slice) != head.head_sum) {
            return segment_end::unsound;
        }
        slices.push_back({*slice, slice_sum_of(*slice) != head.slice_sum});
        offset += aligned(head.bytes);
    }
    const bool blank = std::all_of(
        segment + offset, segment + log_ring::segment_bytes, [](char byte) { return byte == 0; }
    );
    return blank ? segment_end::blank : segment_end::torn;
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

log_ring::log_ring(const std::string& path, std::uint64_t identity)
    : path_(path), identity_(identity) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) {
        fail(path);
    }
    // The blocks are there before anything is written to the mapping, where a full disk would be a signal.
    const int error = ::posix_fallocate(file_, 0, file_bytes);
    void* const mapped =
        error != 0 ? MAP_FAILED
                   : ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) {
        const int reason = error != 0 ? error : errno;
        ::close(file_);
        throw std::system_error(reason, std::generic_category(), path);
    }
    bytes_ = static_cast<char*>(mapped);

    const std::vector<std::uint64_t> kept = serials();
    first_serial_ = kept.empty() ? 0 : kept.front();
    ready_serial_ = kept.empty() ? 0 : kept.back() + 1;
    end_ = begin_of(ready_serial_);
}

log_ring::~log_ring() {
    ::munmap(bytes_, file_bytes);
    ::close(file_);
}

// Nullopt: there is nothing of ours in the slot, or it was prepared and not used.
std::optional<std::uint64_t> log_ring::serial_in(std::size_t slot) const noexcept {
    const char* const segment = bytes_ + slot * segment_bytes;
    const auto head = load<segment_head>(segment);
    const bool is_ours = head.magic == segment_magic && head.identity == identity_ &&
                         head.sum == head.expected_sum() && head.serial % segment_count == slot;
    const bool is_used = load<record_head>(segment + sizeof head).bytes != 0;
    return is_ours && is_used ? std::optional(head.serial) : std::nullopt;
}

// In order.
std::vector<std::uint64_t> log_ring::serials() const {
    std::vector<std::uint64_t> found;
    for (std::size_t slot = 0; slot < segment_count; ++slot) {
        if (const auto serial = serial_in(slot)) {
            found.push_back(*serial);
        }
    }
    std::ranges::sort(found);
    return found;
}

char* log_ring::segment_at(std::uint64_t serial) const noexcept {
    return bytes_ + serial % segment_count * segment_bytes;
}

log_ring::contents log_ring::recover() const {
    contents found;
    std::uint64_t next = first_serial_;
    bool behind_torn = false;
    for (const std::uint64_t serial : serials()) {
        const std::size_t before = found.slices.size();
        const segment_end end = read_segment(segment_at(serial), found.slices);
        // Nothing follows what a killed process was appending.
        const bool goes_on = behind_torn && found.slices.size() > before;
        if (serial != next || end == segment_end::unsound || goes_on) {
            found.unreadable = true;
        }
        behind_torn = behind_torn || end == segment_end::torn;
        next = serial + 1;
    }
    return found;
}

bool log_ring::append(const encoded_slice& slice) noexcept {
    std::array<char, numbers_bytes_max> numbers; // NOLINT(*-member-init): written before it is read.
    std::size_t numbers_bytes = 0;
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(slice.run_number), slice.first_sequence,
          std::uint64_t{slice.count}}) {
        numbers_bytes += write_leb128(numbers.data() + numbers_bytes, number);
    }
    const std::size_t bytes = sizeof(record_head) + numbers_bytes + slice.bytes.size();

    place at = end_.load(std::memory_order_relaxed);
    if (aligned(bytes) > segment_bytes - sizeof(segment_head)) {
        return false;
    }
    if (offset_of(at) == 0) { // Behind a full segment.
        at = begin_of(serial_of(at));
    } else if (offset_of(at) + aligned(bytes) > segment_bytes) {
        at = begin_of(serial_of(at) + 1);
    }
    if (serial_of(at) >= ready_serial_.load(std::memory_order_acquire)) {
        return false;
    }

    char* const record = segment_at(serial_of(at)) + offset_of(at);
    record_head head{static_cast<std::uint32_t>(bytes), 0, slice_sum_of(slice)};
    head.head_sum = head_sum_of(head, slice);
    std::memcpy(record + sizeof head, numbers.data(), numbers_bytes);
    std::memcpy(record + sizeof head + numbers_bytes, slice.bytes.data(), slice.bytes.size());
    std::memcpy(record + sizeof head.bytes, &head.head_sum, sizeof head - sizeof head.bytes);
    pass_failpoint("ring.written");
    // Last, so that a record is there as a whole or not at all, whenever the process is killed.
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(record))
        .store(head.bytes, std::memory_order_release);
    end_.store(at + aligned(bytes), std::memory_order_release);
    pass_failpoint("ring.appended");
    return true;
}

std::optional<encoded_slice> log_ring::next(place& from, place until) const {
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
        // Behind a full segment is the begin of the next one.
        from = begin_of(offset == 0 ? serial_of(from) : serial_of(from) + 1);
    }
    return std::nullopt;
}

void log_ring::release(place until) noexcept {
    const std::uint64_t kept = serial_of(until);
    for (; first_serial_ < kept; ++first_serial_) {
        std::memset(segment_at(first_serial_), 0, sizeof(segment_head));
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
    // Not through the mapping, where an error would be a signal.
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
    // Where the kernel does not know this, who appends first to a page waits for it.
    (void)::madvise(segment, segment_bytes, MADV_POPULATE_WRITE);
    segment_head head{0, 0, identity_, serial, 0};
    head.sum = head.expected_sum();
    std::memcpy(segment, &head, sizeof head);
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(segment))
        .store(segment_magic, std::memory_order_release);
    ready_serial_.store(serial + 1, std::memory_order_release);
}

} // namespace agui::session
