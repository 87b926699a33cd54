#include "session/conversation/turn_origin.hpp"

#include <boost/json/array.hpp>
#include <boost/json/memory_resource.hpp>
#include <boost/json/storage_ptr.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>

namespace agui::session {
namespace {

namespace json = boost::json;

/// Counts what is taken from it. A copy of a value takes its memory where the value has it.
class counting_memory final : public json::memory_resource {
public:
    std::size_t taken = 0;

private:
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        ++taken;
        return ::operator new(size, std::align_val_t(alignment));
    }
    void do_deallocate(void* place, std::size_t size, std::size_t alignment) override {
        ::operator delete(place, size, std::align_val_t(alignment));
    }
    [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

class TurnOrigin : public ::testing::Test {
protected:
    TurnOrigin() {
        origin.provider = "main";
        origin.model = "m";
        origin.blocks = {
            {turn_block::kind::reasoning, "r1", 0, nullptr},
            {turn_block::kind::text, "", 5, nullptr},
            {turn_block::kind::call, "c1", 0, json::value(signature, &memory)}
        };
        origin.data = json::object(&memory);
        origin.data.emplace("blocks", json::array{signature, signature});
        origin.data.emplace("reasoning", "content");
        origin.account = "a";
        origin.prefix = "p";
        origin.tokens = 7;
        origin.end = turn_end::paused;
    }

    const std::string signature = std::string(1000, 's');
    counting_memory memory;
    turn_origin origin;
};

TEST_F(TurnOrigin, WithoutThoughtsKeepsNamesAndTheDataOfCalls) {
    turn_origin expected = origin;
    expected.data.erase("blocks");

    EXPECT_EQ(without_thoughts(origin), expected);
}

TEST_F(TurnOrigin, WithoutBoundDataCopiesNothingOfIt) {
    turn_origin expected = origin;
    expected.data.erase("blocks");
    expected.blocks[2].data = nullptr;
    const std::size_t before = memory.taken;

    const turn_origin made = without_bound_data(origin);

    EXPECT_EQ(memory.taken, before);
    EXPECT_EQ(made, expected);
}

} // namespace
} // namespace agui::session
