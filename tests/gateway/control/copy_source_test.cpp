// The reply of an export, and attachments that are gone.

#include "gateway/control/copy_source.hpp"
#include "session/base/sha256_text.hpp"
#include "tests/gateway/log/event_log_fixture.hpp"
#include "tests/session/store/store_fixture.hpp"
#include "tests/support/thread_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using gateway::event_source;
using ::testing::HasSubstr;
using ::testing::Not;

class unreadable_store final : public gateway::log_only_store {
public:
    boost::asio::awaitable<result<std::optional<session::attachment>>>
    find_attachment(session::thread_key, std::string) override {
        co_return failure{errc::store_unavailable, "no disk"};
    }
};

class CopySource : public coroutine_test {
protected:
    /// Reads the copy of a thread that had these attachments when it was read.
    event_source::batch copy_of(session::store& store, std::vector<std::string> attachments) {
        gateway::copied_thread copy;
        copy.thread = thread_builder().user("u1", "Hello").build();
        copy.thread.key = key_;
        copy.attachments = std::move(attachments);
        const auto source = make_copy_source(store, nullptr, std::move(copy));
        source->open(context().get_executor());
        event_source::batch all;
        for (event_source::batch one; !all.ended && !all.cut_off;) {
            run(source->wait());
            source->read(65'536, one);
            all.bytes += one.bytes;
            all.ended = one.ended;
            all.cut_off = one.cut_off;
        }
        return all;
    }

    const session::thread_key key_ = key_of("t1");
};

TEST_F(CopySource, LeavesOutAnAttachmentThatIsGone) {
    const std::unique_ptr<session::store> store = session::make_memory_store();
    const std::string kept = sha256_text("kept");
    ASSERT_TRUE(run(store->keep_attachment(key_, {kept, "image/png", "kept", 1000}, 1000)));
    const std::string gone = sha256_text("gone");

    for (const auto& digests : {std::vector{gone, kept}, std::vector{kept, gone}}) {
        const event_source::batch all = copy_of(*store, digests);

        EXPECT_FALSE(all.cut_off);
        EXPECT_THAT(all.bytes, HasSubstr(kept));
        EXPECT_THAT(all.bytes, Not(HasSubstr(gone)));
        memory_share uncounted;
        const auto read = gateway::read_thread_lines(all.bytes, uncounted);
        ASSERT_TRUE(read) << read.error().detail;
        EXPECT_EQ(read->attachments.size(), 1U);
    }
}

TEST_F(CopySource, IsCutOffIfTheStoreFails) {
    unreadable_store store;

    const event_source::batch all = copy_of(store, {sha256_text("kept")});

    EXPECT_TRUE(all.cut_off);
    EXPECT_THAT(all.bytes, Not(HasSubstr(R"("type":"end")")));
}

} // namespace
} // namespace agui::test
