#include "gateway/run/ephemeral_store.hpp"

#include "tests/session/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace agui::test {
namespace {

using gateway::ephemeral_store;

class EphemeralStore : public coroutine_test {
protected:
    void add(const session::thread_key& key, std::size_t bytes) {
        session::store& store = threads_->store();
        const auto held = run(store.acquire(key, "r"));
        ASSERT_TRUE(held.has_value());
        EXPECT_TRUE(run(store.begin(key, run_of("r"), user_turn("u", "hi"))).has_value());
        store.release(*held);
        grow(key, bytes);
    }

    void grow(const session::thread_key& key, std::size_t bytes) {
        threads_->grown(key, bytes, context().get_executor());
        context().restart();
        context().poll();
    }

    bool has(const session::thread_key& key) {
        return run(threads_->store().load(key))->has_value();
    }

    const session::thread_key first_ = key_of("t1");
    const session::thread_key second_ = key_of("t2");
    const session::thread_key third_ = key_of("t3");
    memory_budget budget_{8'000}; ///< An eighth of it is for ephemeral threads.
    const std::shared_ptr<ephemeral_store> threads_ = std::make_shared<ephemeral_store>(&budget_);
};

TEST_F(EphemeralStore, RemovesTheOldestThatAreTooMuch) {
    add(first_, 600);
    EXPECT_TRUE(has(first_));

    add(second_, 600);

    EXPECT_FALSE(has(first_));
    EXPECT_TRUE(has(second_));
    EXPECT_FALSE(run(threads_->store().holder(first_))->has_value());
}

TEST_F(EphemeralStore, RemovesOneThatARunHoldsLater) {
    add(first_, 600);
    const auto held = run(threads_->store().acquire(first_, "r2"));
    ASSERT_TRUE(held.has_value());

    add(second_, 600);
    EXPECT_TRUE(has(first_));

    threads_->store().release(*held);
    add(third_, 1);
    EXPECT_FALSE(has(second_)) << "the one that was held counts as newer";
    grow(third_, 600);
    EXPECT_FALSE(has(first_));
    EXPECT_TRUE(has(third_));
}

TEST_F(EphemeralStore, RemovesAThreadThatItDoesNotCount) {
    session::store& store = threads_->store();
    const auto held = run(store.acquire(first_, "r"));
    ASSERT_TRUE(held.has_value());
    EXPECT_TRUE(run(store.begin(first_, run_of("r"), user_turn("u", "hi"))).has_value());
    const auto remove = [this] {
        threads_->remove(first_, context().get_executor());
        context().restart();
        context().poll();
    };

    remove();
    EXPECT_TRUE(has(first_)) << "a run holds it";
    store.release(*held);
    remove();
    EXPECT_FALSE(has(first_));
}

TEST_F(EphemeralStore, RemovesAThreadAtOnceUnlessARunHoldsIt) {
    add(first_, 600);
    const auto held = run(threads_->store().acquire(first_, "r2"));
    ASSERT_TRUE(held.has_value());
    EXPECT_FALSE(run(threads_->remove_now(first_)));
    EXPECT_TRUE(has(first_));
    threads_->store().release(*held);

    EXPECT_TRUE(run(threads_->remove_now(first_)));

    EXPECT_FALSE(has(first_));
    EXPECT_EQ(budget_.used(), 0U);
    EXPECT_FALSE(run(threads_->store().holder(first_))->has_value());
}

} // namespace
} // namespace agui::test
