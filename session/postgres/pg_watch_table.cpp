#include "session/postgres/pg_watch_table.hpp"

#include "session/base/change_signal.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

class pg_watch_table::watching final : public run_watch {
public:
    watching(
        std::shared_ptr<pg_watch_table> table, std::int64_t run,
        const asio::any_io_executor& executor
    )
        : table_(std::move(table)), run_(run), signal_(std::make_shared<change_signal>(executor)) {
        const std::lock_guard lock(table_->mutex_);
        table_->runs_[run_].watches.push_back(this);
        table_->change(run_);
    }
    ~watching() override {
        const std::lock_guard lock(table_->mutex_);
        const auto found = table_->runs_.find(run_);
        std::erase(found->second.watches, this);
        found->second.readers -= readers_;
        if (found->second.watches.empty()) {
            table_->runs_.erase(found);
        }
        if (readers_ > 0) {
            table_->change(run_, leaving::left);
        } else {
            table_->change(run_); // What set_readers() has said stands.
        }
    }
    watching(const watching&) = delete;
    watching& operator=(const watching&) = delete;

    asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline) override {
        return signal_->wait_until(deadline);
    }
    void wake() override { signal_->notify(); }
    void set_readers(std::size_t count, leaving how) override {
        const std::lock_guard lock(table_->mutex_);
        if (count == readers_) {
            return;
        }
        std::size_t& sum = table_->runs_.at(run_).readers;
        sum = sum - readers_ + count;
        readers_ = count;
        table_->change(run_, how);
    }

private:
    const std::shared_ptr<pg_watch_table> table_;
    const std::int64_t run_;
    const std::shared_ptr<change_signal> signal_;
    std::size_t readers_ = 0; // Under the table's mutex.
};

void pg_watch_table::close() {
    const std::lock_guard lock(mutex_);
    on_change_ = nullptr;
}

std::unique_ptr<run_watch>
pg_watch_table::watch(std::int64_t run, const asio::any_io_executor& executor) {
    return std::make_unique<watching>(shared_from_this(), run, executor);
}

void pg_watch_table::wake(std::int64_t run) {
    const std::lock_guard lock(mutex_);
    if (const auto found = runs_.find(run); found != runs_.end()) {
        for (watching* const watch : found->second.watches) {
            watch->wake();
        }
    }
}

void pg_watch_table::wake_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [run, followed] : runs_) {
        for (watching* const watch : followed.watches) {
            watch->wake();
        }
    }
}

bool pg_watch_table::has_changes() const {
    const std::lock_guard lock(mutex_);
    return !changed_.empty();
}

std::vector<pg_watch_table::row> pg_watch_table::take_changes() {
    const std::lock_guard lock(mutex_);
    std::vector<row> rows;
    rows.reserve(changed_.size());
    for (const auto& [run, how] : changed_) {
        const auto found = runs_.find(run);
        const bool is_followed = found != runs_.end();
        const std::size_t readers = is_followed ? found->second.readers : 0;
        rows.push_back({run, is_followed, readers, how.value_or(leaving::left)});
    }
    changed_.clear();
    return rows;
}

void pg_watch_table::put_back(const std::vector<row>& rows) {
    const std::lock_guard lock(mutex_);
    for (const row& each : rows) {
        std::optional<leaving>& how = changed_[each.run];
        how = how.value_or(each.how); // What has happened since then is newer.
    }
}

void pg_watch_table::change_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [run, followed] : runs_) {
        changed_.emplace(run, std::nullopt);
    }
}

// With the mutex held, as the next one.
void pg_watch_table::change(std::int64_t run) {
    if (on_change_ && changed_.emplace(run, std::nullopt).second) {
        on_change_();
    }
}

void pg_watch_table::change(std::int64_t run, leaving how) {
    change(run);
    changed_[run] = how;
}

} // namespace agui::session
