#include "session/sqlite/journal_format.hpp"

#include "session/base/checksum.hpp"
#include "session/base/leb128.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace agui::session {

namespace {

constexpr std::uint32_t file_magic = 0x314a4741; // "AGJ1"

// The unit in which one write() fills the page cache: a killed process leaves a record whole, or
// cut at the end of such a page.
constexpr std::size_t page_bytes = 4096;

struct file_head {
    std::uint32_t magic;
    std::uint32_t unused;
    std::uint64_t identity;
    std::uint64_t file;
    std::uint64_t sum;

    [[nodiscard]] std::uint64_t expected_sum() const noexcept {
        checksum over;
        over.add(identity);
        over.add(file);
        return over.value();
    }
};
static_assert(sizeof(file_head) == journal_head_bytes);

// The head of a record. Its numbers follow, in LEB128: run, first sequence, count, and the run and
// the bytes of the record before it. Then the entries.
struct record_head {
    std::uint32_t bytes; ///< Bytes of the whole record without its padding.
    std::uint32_t head_sum;
    std::uint32_t entries_sum;
};
static_assert(sizeof(record_head) == 12);

constexpr std::size_t alignment = alignof(record_head);
constexpr std::size_t numbers_count = 5;
constexpr std::size_t begin_bytes_max = sizeof(record_head) + numbers_count * leb128_bytes_max;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

checksum begin_sum(const journal_place& at) noexcept {
    checksum over;
    over.add(at.identity);
    over.add(at.file);
    over.add(at.offset);
    return over;
}

std::uint32_t sum_of_entries(const journal_place& at, std::string_view entries) noexcept {
    checksum over = begin_sum(at);
    over.add(entries);
    return checksum::folded(over.value());
}

std::uint32_t sum_of_head(
    const journal_place& at, const record_head& head, const encoded_slice& entries,
    const journal_neighbour& before
) noexcept {
    checksum over = begin_sum(at);
    over.add(std::uint64_t{head.bytes} << 32U | head.entries_sum);
    over.add(static_cast<std::uint64_t>(entries.run_number));
    over.add(entries.first_sequence);
    over.add(std::uint64_t{entries.count});
    over.add(static_cast<std::uint64_t>(before.run_number));
    over.add(before.bytes);
    return checksum::folded(over.value());
}

// A record whose head and numbers are intact.
struct found_record {
    encoded_slice entries;
    journal_neighbour before;
    std::size_t bytes = 0; ///< Bytes without padding; may exceed the rest of the file.
    bool is_sound = false; ///< True if all of it is there and intact.
};

class file_reader {
public:
    file_reader(std::string_view bytes, std::uint64_t identity, std::uint64_t file) noexcept
        : bytes_(bytes), identity_(identity), file_(file) {}

    std::vector<journal_item> read() {
        std::size_t at = journal_head_bytes;
        while (!is_blank_from(at)) {
            if (const auto found = record_at(at)) {
                if (!found->is_sound && is_cut(at, found->bytes)) {
                    break;
                }
                items_.push_back({found->entries, found->is_sound});
                at += aligned(found->bytes);
                continue;
            }
            const auto [next, after] = next_record(at);
            if (!after) {
                if (!is_cut(at, begin_bytes_max)) {
                    lose(0);
                }
                break;
            }
            // If exactly one record is missing, the next one knows whose it was.
            lose(after->before.bytes == next - at ? after->before.run_number : 0);
            at = next;
        }
        return std::move(items_);
    }

private:
    std::optional<found_record> record_at(std::size_t at) const noexcept {
        record_head head{};
        if (at >= bytes_.size() || bytes_.size() - at < sizeof head) {
            return std::nullopt;
        }
        std::memcpy(&head, bytes_.data() + at, sizeof head);
        if (head.bytes <= sizeof head) {
            return std::nullopt;
        }
        std::string_view rest = bytes_.substr(at + sizeof head, head.bytes - sizeof head);
        const std::size_t rest_bytes = rest.size();
        std::array<std::uint64_t, numbers_count> numbers{};
        for (std::uint64_t& number : numbers) {
            if (!take_leb128(rest, number)) {
                return std::nullopt;
            }
        }
        found_record found;
        found.entries = {
            static_cast<std::int64_t>(numbers[0]), numbers[1],
            static_cast<std::uint32_t>(numbers[2]), rest
        };
        found.before = {static_cast<std::int64_t>(numbers[3]), numbers[4]};
        found.bytes = head.bytes;
        const journal_place place{identity_, file_, at};
        if (sum_of_head(place, head, found.entries, found.before) != head.head_sum) {
            return std::nullopt;
        }
        found.is_sound = rest_bytes == head.bytes - sizeof head &&
                         sum_of_entries(place, rest) == head.entries_sum;
        return found;
    }

    std::pair<std::size_t, std::optional<found_record>> next_record(std::size_t at) const noexcept {
        for (at += alignment; at + sizeof(record_head) <= bytes_.size(); at += alignment) {
            if (auto found = record_at(at)) {
                return {at, found};
            }
        }
        return {at, std::nullopt};
    }

    // True if only zeros follow.
    bool is_blank_from(std::size_t at) const noexcept {
        return at >= bytes_.size() || bytes_.find_first_not_of('\0', at) == std::string_view::npos;
    }

    // True if the record at `at`, which should have `bytes`, is cut at the end of a page or of the
    // file, with nothing after it: a process was writing it when it ended.
    bool is_cut(std::size_t at, std::size_t bytes) const noexcept {
        const std::size_t written = bytes_.find_last_not_of('\0') + 1;
        const std::size_t pages = (written + page_bytes - 1) / page_bytes * page_bytes;
        return std::min(pages, bytes_.size()) < at + bytes;
    }

    void lose(std::int64_t run_number) { items_.push_back({{run_number, 0, 0, {}}, false}); }

    const std::string_view bytes_;
    const std::uint64_t identity_;
    const std::uint64_t file_;
    std::vector<journal_item> items_;
};

} // namespace

std::string journal_head(std::uint64_t identity, std::uint64_t file) {
    file_head head{file_magic, 0, identity, file, 0};
    head.sum = head.expected_sum();
    std::string bytes(sizeof head, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

bool is_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file) noexcept {
    file_head head{};
    if (bytes.size() < sizeof head) {
        return false;
    }
    std::memcpy(&head, bytes.data(), sizeof head);
    return head.magic == file_magic && head.identity == identity && head.file == file &&
           head.sum == head.expected_sum();
}

std::size_t append_journal_record(
    std::string& records, const journal_place& at, const journal_neighbour& before,
    const encoded_slice& entries
) {
    const std::size_t begin = records.size();
    records.append(sizeof(record_head), '\0');
    put_leb128(records, static_cast<std::uint64_t>(entries.run_number));
    put_leb128(records, entries.first_sequence);
    put_leb128(records, entries.count);
    put_leb128(records, static_cast<std::uint64_t>(before.run_number));
    put_leb128(records, before.bytes);
    records += entries.bytes;
    record_head head{static_cast<std::uint32_t>(records.size() - begin), 0, 0};
    head.entries_sum = sum_of_entries(at, entries.bytes);
    head.head_sum = sum_of_head(at, head, entries, before);
    std::memcpy(records.data() + begin, &head, sizeof head);
    records.resize(begin + aligned(records.size() - begin));
    return records.size() - begin;
}

std::vector<journal_item>
read_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file) {
    return file_reader(bytes, identity, file).read();
}

} // namespace agui::session
