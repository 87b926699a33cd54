// The reply of an export, and attachments that are gone.

#include "gateway/control/copied_thread.hpp"
#include "gateway/control/copy_source.hpp"
#include "session/base/memory_budget.hpp"
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
        memory_share kept(budget);
        if (!kept.grow_to(thread_bytes)) {
            ADD_FAILURE() << "no room for the thread";
        }
        const auto source = make_copy_source(store, nullptr, std::move(kept), std::move(copy));
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

    static constexpr std::size_t thread_bytes = 1'000;
    memory_budget* budget = nullptr;
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
        const auto read = gateway::read_thread_lines(all.bytes, uncounted, 1'000'000);
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

TEST_F(CopySource, CountsItsLines) {
    const std::unique_ptr<session::store> store = session::make_memory_store();
    const std::string bytes(50'000, 'x');
    const std::string digest = sha256_text(bytes);
    ASSERT_TRUE(run(store->keep_attachment(key_, {digest, "image/png", bytes, 1000}, 100'000)));
    memory_budget enough(200'000);
    budget = &enough;

    EXPECT_FALSE(copy_of(*store, {digest}).cut_off);
    EXPECT_EQ(enough.used(), 0U);

    for (const std::size_t room : {thread_bytes, std::size_t{60'000}, std::size_t{110'000}}) {
        SCOPED_TRACE(room);
        memory_budget little(room);
        budget = &little;
        const event_source::batch all = copy_of(*store, {digest});
        EXPECT_TRUE(all.cut_off);
        EXPECT_THAT(all.bytes, Not(HasSubstr(digest)));
        EXPECT_EQ(little.used(), 0U);
    }
}

class CopiedThread : public coroutine_test {
protected:
    /// The bytes that the budget has counted for a copy of the thread; nullopt if it had no room.
    std::optional<std::size_t> count(std::size_t limit) {
        memory_budget budget(limit);
        memory_share kept(&budget);
        const auto copy = run(gateway::read_for_copy(*store, key, kept));
        if (!copy) {
            EXPECT_EQ(copy.error().code, errc::overloaded);
            return std::nullopt;
        }
        EXPECT_TRUE(copy->has_value());
        EXPECT_EQ(kept.held(), budget.used());
        return kept.held();
    }
    void restore(session::whole_thread thread) {
        thread.key = key;
        thread.content.at = 1000;
        EXPECT_TRUE(run(store->restore(std::move(thread))).value());
    }

    const session::thread_key key = key_of("t1");
    const std::unique_ptr<session::store> store = session::make_memory_store();
};

TEST_F(CopiedThread, CountsItsMessages) {
    session::whole_thread thread;
    session::stored_message node;
    node.message = user("u1", std::string(100'000, 'x'));
    thread.content.messages.push_back(node);
    restore(std::move(thread));

    EXPECT_GE(count(1'000'000), 100'000U);
    EXPECT_EQ(count(100'000), std::nullopt);
}

TEST_F(CopiedThread, CountsItsEventsAndRuns) {
    session::whole_thread thread;
    for (int i = 0; i < 1'500; ++i) {
        session::session_event event;
        event.type = "tool.response";
        event.data = {{"toolCallId", std::string(100, 'c')}};
        thread.content.events.push_back(std::move(event));
    }
    for (int i = 0; i < 100; ++i) {
        session::run_record& run = thread.runs.emplace_back();
        run.run_id = "r" + std::to_string(i);
        run.status = session::run_status::finished;
        run.input_digest = std::string(64, 'd');
    }
    restore(std::move(thread));

    const std::size_t all = count(10'000'000).value_or(0);
    EXPECT_GE(all, 150'000U + 100U * (64U + sizeof(session::run_record)));
    EXPECT_EQ(count(150'000), std::nullopt);
    EXPECT_EQ(count(all - 1), std::nullopt);
    EXPECT_EQ(count(all), all);
}

} // namespace
} // namespace agui::test
