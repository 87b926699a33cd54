#include "session/sqlite/ring_file.hpp"

#include <exception>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace agui::session {

namespace {

std::uint64_t random_identity() {
    std::random_device source;
    std::uniform_int_distribution<std::int64_t> any(1);
    return static_cast<std::uint64_t>(any(source));
}

} // namespace

ring_file::ring_file(sqlite_tables& tables, std::string path, agui::logger& logger)
    : tables_(tables), path_(std::move(path)), logger_(logger) {}

bool ring_file::recover() {
    const auto identity =
        static_cast<std::uint64_t>(tables_.db->integer("SELECT coalesce(identity, 0) FROM log_ring")
        );
    if (identity == 0) {
        tables_.log.recover(nullptr, false);
        return true;
    }
    const std::optional<log_ring::contents> left = log_ring::recover(path_, identity);
    if (left) {
        tables_.redo.recover(left->commits);
    }
    tables_.log.recover(left ? &*left : nullptr, !left);
    // Now, before anything is written that could be mistaken for what the earlier process left.
    is_needed_ = !tables_.redo.fold_all();
    if (!is_needed_) {
        remove();
    }
    return !is_needed_;
}

std::unique_ptr<live_logs> ring_file::open() {
    try {
        const std::uint64_t identity = random_identity();
        auto live = std::make_unique<live_logs>(path_, identity, tables_.runs.last_number());
        live->ring().prepare(); // So that the file can be recognised.
        set_identity(identity);
        tables_.log.use(live->ring());
        tables_.redo.use(*live);
        tables_.redo.take_all_steps();
        is_needed_ = true;
        return live;
    } catch (const std::exception& error) {
        logger_.log(
            log_level::warning, "cannot make the file of the latest log entries: all are queued",
            {{"reason", error.what()}}
        );
        return nullptr;
    }
}

void ring_file::close() noexcept {
    if (!std::exchange(is_needed_, false) || !tables_.redo.fold_all()) {
        return;
    }
    try {
        remove();
    } catch (const sqlite_error& error) {
        logger_.log(
            log_level::warning, "cannot remove the file of the latest log entries",
            {{"reason", error.what()}}
        );
    }
}

void ring_file::set_identity(std::optional<std::uint64_t> identity) {
    statement update(*tables_.db, "UPDATE log_ring SET identity = ?, applied = 0");
    update.execute(identity);
}

void ring_file::remove() {
    set_identity(std::nullopt);
    std::error_code ignored; // A file left behind belongs to no store.
    std::filesystem::remove(path_, ignored);
}

} // namespace agui::session
