#pragma once

#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace agui::session {

/// The runs of other processes that are followed here, each by several watches perhaps, and what of
/// that is not in the database yet. Any thread. Owned by shared_ptr, because a watch may outlive
/// its store.
class pg_watch_table final : public std::enable_shared_from_this<pg_watch_table> {
public:
    /// `on_change` is called when a row is to be written, on any thread, and must not use the
    /// table.
    explicit pg_watch_table(std::function<void()> on_change) : on_change_(std::move(on_change)) {}
    /// Does not call on_change any more.
    void close();

    /// As store::watch().
    [[nodiscard]] std::unique_ptr<run_watch>
    watch(std::int64_t run, const boost::asio::any_io_executor& executor);
    /// Makes the watches of a run look again, or all.
    void wake(std::int64_t run);
    void wake_all();

    /// What a run's row is to say.
    struct row {
        std::int64_t run = 0;
        bool is_followed = false;    ///< False: it has none.
        std::size_t readers = 0;     ///< Of all watches.
        leaving how = leaving::left; ///< If there are no readers: the last one.
    };
    [[nodiscard]] bool has_changes() const;
    /// Each is taken once.
    [[nodiscard]] std::vector<row> take_changes();
    /// They could not be written.
    void put_back(const std::vector<row>& rows);
    /// The database has none of the rows any more: all are to be written again.
    void change_all();

private:
    class watching;
    struct watched {
        std::vector<watching*> watches;
        std::size_t readers = 0; ///< Of all of them.
    };

    void change(std::int64_t run);
    void change(std::int64_t run, leaving how);

    mutable std::mutex mutex_; ///< Also held during on_change_.
    std::function<void()> on_change_;
    std::map<std::int64_t, watched> runs_;
    /// Runs whose row is to be written, with how the last reader ended if one has since then.
    std::map<std::int64_t, std::optional<leaving>> changed_;
};

} // namespace agui::session
