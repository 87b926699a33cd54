#pragma once

#include "gateway/control/copied_thread.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/whole_thread.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

// The lines of a thread in a file of threads; gateway/control/README.md describes them.

/// The name and the version of the format, in the first line of a file.
inline constexpr std::string_view threads_format = "agui-gateway-threads";
inline constexpr std::int64_t threads_format_version = 1;

/// Limit for a line. A message with files in it is one line.
inline constexpr std::size_t line_bytes_max = std::size_t{64} << 20U;
/// Limit for all lines of a thread, which an import holds in memory: twice the default of
/// session.max_thread_bytes, and its attachments.
inline constexpr std::size_t thread_bytes_max = std::size_t{256} << 20U;

/// How far in the future the times of an imported thread may be: another gateway's clock may be
/// ahead. Later times are set to that. Threads are listed by their times, and uploads expire by
/// theirs.
inline constexpr unix_ms future_ms_max = 86'400'000;

/// Writes the lines of one thread, some at a time.
class thread_writer {
public:
    explicit thread_writer(copied_thread from);

    /// Appends the next line to `out`. Returns false if there was none left: the attachments and
    /// write_end() follow.
    [[nodiscard]] bool write_line(std::string& out);
    /// Appends the lines of one attachment.
    void write_attachment(std::string& out, const session::attachment& what);
    /// Appends the last line.
    void write_end(std::string& out);

    [[nodiscard]] const copied_thread& thread() const noexcept { return from_; }

private:
    enum class part {
        head,
        metadata,
        state,
        tools,
        context,
        messages,
        branches,
        calls,
        runs,
        events,
        access,
        queue,
        done
    };
    [[nodiscard]] bool write_next(std::string& out);
    template <class List>
    [[nodiscard]] bool write_each(
        std::string& out, const List& list, void (thread_writer::*write)(std::string&, std::size_t)
    );
    void write_head(std::string& out);
    void write_message(std::string& out, std::size_t index);
    void write_branch(std::string& out, std::size_t index);
    void write_call(std::string& out, std::size_t index);
    void write_run(std::string& out, std::size_t index);
    void write_event(std::string& out, std::size_t index);
    void write_queued(std::string& out, std::size_t index);
    void write_access(std::string& out);
    void add_line(std::string& out, std::string_view text);

    copied_thread from_;
    part part_ = part::head;
    std::size_t index_ = 0; ///< Of the next element of the part, if it is a list.
    std::uint64_t lines_ = 0;
};

/// Reads the lines of one thread, from its first to its end line. They are input that nobody has
/// checked: sizes, ids, references between lines and digests are; the store checks that no two runs
/// have the same name. Runs and calls that were active
/// have ended, and so have calls that waited for an approval. `kept` grows by the memory that the
/// thread takes; its budget, which may be null, also counts what reading takes. `now` is the
/// gateway's time.
/// errc::invalid_input: `path` is the number of the line, as `line 3`. errc::overloaded: the budget
/// has no room.
[[nodiscard]] result<session::whole_thread>
read_thread_lines(std::string_view lines, memory_share& kept, unix_ms now);

/// The thread that a first line names. It fails where read_thread_lines() would refuse the line.
[[nodiscard]] result<session::thread_key> read_thread_head(std::string_view line, unix_ms now);

} // namespace agui::gateway
