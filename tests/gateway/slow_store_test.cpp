// A model that answers faster than the store writes.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#ifdef AGUI_FAILPOINTS

namespace agui::test {
namespace {

using ::testing::HasSubstr;

constexpr int frames = 8000;

/// Holds the store's thread from the model's first words until release().
class held_store {
public:
    /// Returns true if the run waits for the store, and false if the model's answer was read to its
    /// end before that.
    bool wait_until_the_run_waits() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return full_ || read_ >= frames; });
        return full_;
    }
    bool wait_until_the_run_ends() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [this] { return ending_; });
    }
    int frames_read() {
        const std::lock_guard lock(mutex_);
        return read_;
    }
    void release() {
        const std::lock_guard lock(mutex_);
        released_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int read_ = 0;
    bool full_ = false;
    bool ending_ = false;
    bool released_ = false;
    failpoint_hook hook_{[this](std::string_view place) {
        std::unique_lock lock(mutex_);
        if (place == "model.read") {
            ++read_;
        } else if (place == "log.full") {
            full_ = true;
        } else if (place == "run.finish") {
            ending_ = true;
        } else if (place == "store.sync" && read_ > 0) {
            changed_.wait(lock, [this] { return released_; });
        }
        changed_.notify_all();
    }}; ///< Declared last, because it calls the other members.
};

class SlowStore : public server_test {
protected:
    SlowStore() {
        use_sqlite();
        // Each entry waits for its own sync.
        settings.session.durability = session::durability::power;
        answer.body.clear();
        for (int i = 0; i < frames; ++i) {
            answer.body += text_frame("w" + std::to_string(i));
        }
        answer.body += end_frames();
    }
};

TEST_F(SlowStore, TheModelWaitsAndNothingIsLost) {
    start();
    held_store store;
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));

    const bool waited = store.wait_until_the_run_waits();
    const int read = store.frames_read();
    store.release();
    const std::string stream = client.read_until("\r\n0\r\n\r\n");

    EXPECT_TRUE(waited);
    EXPECT_LT(read, frames);
    EXPECT_THAT(stream, HasSubstr("RUN_FINISHED"));
    for (int i = 0; i < frames; i += 100) {
        EXPECT_THAT(stream, HasSubstr(R"("delta":"w)" + std::to_string(i) + "\"")) << i;
    }
}

TEST_F(SlowStore, ARunThatWaitsCanBeStopped) {
    start();
    held_store store;
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));

    EXPECT_TRUE(store.wait_until_the_run_waits());
    raw_client stop(port());
    stop.send(post("/agui/cancel", R"({"threadId":"t","runId":"r"})"));
    EXPECT_TRUE(store.wait_until_the_run_ends()) << "the store has written nothing yet";
    store.release();
    const std::string stream = client.read_until("\r\n0\r\n\r\n");

    EXPECT_LT(store.frames_read(), frames);
    EXPECT_THAT(stream, HasSubstr("user_stop"));
}

} // namespace
} // namespace agui::test

#endif
