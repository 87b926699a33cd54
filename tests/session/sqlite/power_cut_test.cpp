// The files after a power cut, or after a process was killed. In whatever state they are, the store
// opens and shows nothing that was never stored. With AGUI_POWER_CUTS=N the test records N
// histories.
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;

constexpr std::size_t page_bytes = 4096;
constexpr int threads = 3;

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::filesystem::file_size(path), '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Everything that was stored, by run number and by thread.
struct truth {
    std::map<std::int64_t, std::vector<std::string>> logs;
    std::map<int, std::vector<std::string>> messages;
};

// How much was acknowledged when the files had these sizes.
struct moment {
    std::size_t wal = 0;
    std::size_t journal = 0;
    std::map<std::int64_t, std::size_t> entries;
    std::map<int, std::size_t> messages;
};

class PowerCut : public SqliteStore {
protected:
    // A process that writes in several threads at once.
    void record(unsigned seed) {
        said_ = {};
        ended_.clear();
        moments_.clear();
        std::mt19937 random(seed);
        const auto any = [&random](int below) {
            return std::uniform_int_distribution<int>(0, below - 1)(random);
        };
        subject_ = open(name_of(seed));
        name_ = name_of(seed);
        std::map<int, std::int64_t> active;
        note();
        for (int step = 0; step < 60; ++step) {
            const int thread = any(threads);
            const auto running = active.find(thread);
            if (running == active.end()) {
                active[thread] = begin_run(thread, step);
            } else if (any(8) == 0) {
                end_run(thread, running->second, step);
                active.erase(running);
            } else if (any(10) == 0) {
                commit(thread, step);
            } else {
                append(running->second, 1 + any(3), any(20) == 0 ? 9000 : 1 + any(60));
            }
            note();
        }
        database_ = bytes_of(path(name_));
        wal_ = bytes_of(path(name_) + "-wal");
        journal_ = bytes_of(journal_files(name_).at(0));
    }

    [[nodiscard]] static std::string name_of(unsigned seed) {
        return "history" + std::to_string(seed) + ".db";
    }

    static thread_key key(int thread) { return key_of("thread_" + std::to_string(thread)); }

    std::int64_t begin_run(int thread, int step) {
        const std::int64_t number =
            get(subject_->begin(
                    key(thread), run_of("run_" + std::to_string(step)), next_message(thread, step)
                ))
                .number;
        said_.logs[number] = {};
        return number;
    }

    changes next_message(int thread, int step) {
        std::vector<std::string>& texts = said_.messages[thread];
        const auto number = static_cast<node_index>(texts.size());
        texts.push_back("message of step " + std::to_string(step));
        return test::user_turn("m" + std::to_string(number), texts.back(), number);
    }

    void commit(int thread, int step) {
        done(subject_->commit(key(thread), next_message(thread, step)));
    }

    void end_run(int thread, std::int64_t number, int step) {
        std::vector<std::string>& log = said_.logs[number];
        changes end = next_message(thread, step);
        end.run = run_of("run");
        end.run->number = number;
        end.run->status = run_status::finished;
        log.push_back("the end of run " + std::to_string(number));
        ended_.insert(number);
        end.run->last_sequence = log.size();
        done(subject_->commit(key(thread), end, slice_of(number, log.size(), {log.back()})));
    }

    void append(std::int64_t number, int count, int bytes) {
        std::vector<std::string>& log = said_.logs[number];
        std::vector<std::string> frames;
        for (int i = 0; i < count; ++i) {
            frames.push_back(
                "entry " + std::to_string(log.size() + frames.size() + 1) + " of run " +
                std::to_string(number) + std::string(static_cast<std::size_t>(bytes), 'x')
            );
        }
        const auto observer = std::make_shared<recording_observer>();
        subject_->append_log(slice_of(number, log.size() + 1, frames), observer);
        log.insert(log.end(), frames.begin(), frames.end());
        ASSERT_TRUE(observer->wait_durable(log.size()));
    }

    void note() {
        moment now;
        now.wal = std::filesystem::file_size(path(name_) + "-wal");
        now.journal = bytes_of(journal_files(name_).at(0)).find_last_not_of('\0') + 1;
        for (const auto& [number, log] : said_.logs) {
            now.entries[number] = log.size();
        }
        for (const auto& [thread, texts] : said_.messages) {
            now.messages[thread] = texts.size();
        }
        moments_.push_back(std::move(now));
    }

    // Opens the store with those bytes and compares it with what was stored. It must have all of
    // `kept`; if `kept` is null, any part may be missing and reported as such. With `has_tables`,
    // the contents of the tables, such as all of an ended run, must be there.
    void check(
        const std::string& wal, const std::string& journal, const moment* kept,
        bool has_tables = false
    ) {
        const std::string name = "cut.db";
        for (const std::string& old : journal_files(name)) {
            std::filesystem::remove(old);
        }
        write_file(path(name), database_);
        write_file(path(name) + "-wal", wal);
        write_file(path(name) + "-log.1", journal);
        const std::unique_ptr<store> cut = open(name);
        for (int thread = 0; thread < threads; ++thread) {
            const auto found = get(cut->load(key(thread)));
            const std::size_t count = found ? found->nodes.size() : 0;
            const std::vector<std::string>& texts = said_.messages[thread];
            ASSERT_LE(count, texts.size());
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(text_of(found->nodes[i].message.content), texts[i]);
            }
            if (kept != nullptr && kept->messages.contains(thread)) {
                ASSERT_GE(count, kept->messages.at(thread));
            }
        }
        for (const auto& [number, log] : said_.logs) {
            const auto entries = run(cut->read_log(number, 0, 1000));
            const std::size_t count = entries ? entries->size() : 0;
            ASSERT_LE(count, log.size());
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ((*entries)[i].json, log[i]);
            }
            if (has_tables && ended_.contains(number)) {
                ASSERT_TRUE(entries) << "run " << number << " has ended";
                ASSERT_EQ(count, log.size());
            }
            if (kept != nullptr && kept->entries.contains(number)) {
                ASSERT_TRUE(entries) << "run " << number << " is said to be damaged";
                ASSERT_GE(count, kept->entries.at(number));
            }
        }
        // The store continues, with new logs.
        const std::int64_t next = begin(*cut, key_of("another"), "run_1");
        cut->append_log(slice_of(next, 1, {"new"}), nullptr);
        ASSERT_EQ(test::frames_of(get(cut->read_log(next, 0, 9))), std::vector<std::string>{"new"});
    }

    static std::string without_rest(const std::string& bytes, std::size_t size) {
        std::string cut = bytes.substr(0, size);
        cut.resize(bytes.size(), '\0'); // The space was allocated.
        return cut;
    }

    static std::string without_page(std::string bytes, std::size_t page) {
        const std::size_t at = page * page_bytes;
        bytes.replace(at, std::min(page_bytes, bytes.size() - at), page_bytes, '\0');
        return bytes;
    }

    void cut_everywhere(unsigned seed) {
        std::mt19937 random(seed);
        const auto any = [&random](std::size_t below) {
            return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
        };
        // Any prefix of the writes is on the disk. Everything that was acknowledged by then must be
        // there.
        for (int i = 0; i < 8; ++i) {
            const moment& at = moments_[any(moments_.size())];
            SCOPED_TRACE("prefix of " + std::to_string(at.wal) + "+" + std::to_string(at.journal));
            check(wal_.substr(0, at.wal), without_rest(journal_, at.journal), &at);
        }
        // Different parts of the two files are on the disk, the last part up to a page.
        for (int i = 0; i < 8; ++i) {
            const std::size_t wal = any(wal_.size() / page_bytes + 1) * page_bytes;
            const std::size_t journal = any(moments_.back().journal / page_bytes + 2) * page_bytes;
            SCOPED_TRACE("parts of " + std::to_string(wal) + "+" + std::to_string(journal));
            check(wal_.substr(0, wal), without_rest(journal_, journal), nullptr);
        }
        // One page is missing.
        for (std::size_t page = 0; page * page_bytes < moments_.back().journal; ++page) {
            SCOPED_TRACE("without page " + std::to_string(page) + " of the journal");
            check(wal_, without_page(journal_, page), nullptr, true);
        }
        for (int i = 0; i < 8; ++i) {
            const std::size_t page = any(wal_.size() / page_bytes);
            SCOPED_TRACE("without page " + std::to_string(page) + " of the write-ahead log");
            check(without_page(wal_, page), journal_, nullptr);
        }
    }

    void end_history() {
        subject_.reset();
        std::filesystem::remove(path(name_));
    }

private:
    std::unique_ptr<store> subject_;
    std::string name_;
    truth said_;
    std::set<std::int64_t> ended_;
    std::vector<moment> moments_;
    std::string database_;
    std::string wal_;
    std::string journal_;
};

TEST_F(PowerCut, LeavesNothingThatWasNeverSaid) {
    const char* const wanted = std::getenv("AGUI_POWER_CUTS");
    const unsigned histories = wanted == nullptr ? 4 : static_cast<unsigned>(std::atoi(wanted));
    for (unsigned seed = 1; seed <= histories && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE("history " + std::to_string(seed));
        record(seed);
        cut_everywhere(seed);
        end_history();
    }
    RecordProperty("histories", static_cast<int>(histories));
}

} // namespace
} // namespace agui::session
