// Threads that are opened to other principals.

#include "session/conversation/thread_access.hpp"
#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

const std::string first_id = "shared-" + std::string(32, '1');
const std::string second_id = "shared-" + std::string(32, '2');

class AccessContract : public StoreContract {
protected:
    void SetUp() override {
        StoreContract::SetUp();
        if (!IsSkipped()) {
            begin(thread_1, "run_1", user_turn("m1", "Hello"));
        }
    }
    bool open(std::vector<access_entry> entries, std::string id = first_id) {
        return get(subject().set_access(thread_1, std::move(entries), std::move(id)));
    }
    std::optional<shared_thread> find(std::string principal, std::string id = first_id) {
        return get(subject().find_shared(std::move(id), std::move(principal)));
    }
    std::vector<thread_summary> opened_to(std::string principal, std::size_t limit = 50) {
        thread_query query = query_of(std::move(principal), limit);
        query.opened = true;
        return get(subject().list(query)).threads;
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, AccessContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(AccessContract, AThreadIsClosedAtFirst) {
    EXPECT_EQ(get(subject().access_of(thread_1)).value(), thread_access());
    EXPECT_FALSE(find("eve"));
    EXPECT_TRUE(opened_to("eve").empty());
    EXPECT_FALSE(get(subject().access_of(key_of("unknown"))));
    EXPECT_FALSE(get(subject().set_access(key_of("unknown"), {}, first_id)));
}

TEST_P(AccessContract, OpensAThreadToThoseOfItsList) {
    EXPECT_TRUE(open({{"bob", access_right::approve}, {"eve", access_right::read}}));
    reopen();

    EXPECT_EQ(
        get(subject().access_of(thread_1)).value(),
        (thread_access{first_id, {{"bob", access_right::approve}, {"eve", access_right::read}}})
    );
    EXPECT_EQ(find("bob")->key, thread_1);
    EXPECT_EQ(find("bob")->right, access_right::approve);
    EXPECT_EQ(find("eve")->right, access_right::read);
    EXPECT_FALSE(find("eva"));
    EXPECT_FALSE(find(thread_1.principal)) << "the owner has its own id";
    EXPECT_FALSE(find("eve", second_id));
    EXPECT_FALSE(find("eve", ""));
}

TEST_P(AccessContract, AChangeReplacesTheListAndKeepsTheId) {
    EXPECT_TRUE(open({{"bob", access_right::approve}, {"eve", access_right::read}}));
    EXPECT_TRUE(open({{"eve", access_right::write}}, second_id));

    EXPECT_FALSE(find("bob"));
    EXPECT_EQ(find("eve")->right, access_right::write);
    EXPECT_FALSE(find("eve", second_id));

    EXPECT_TRUE(open({}));
    EXPECT_FALSE(find("eve"));
    EXPECT_EQ(get(subject().access_of(thread_1)).value(), (thread_access{first_id, {}}));
    EXPECT_TRUE(opened_to("eve").empty());
}

TEST_P(AccessContract, ListsTheThreadsThatAreOpenedToAPrincipal) {
    begin({"eve", "own"}, "run_1", user_turn("m1", "mine"));
    begin(key_of("thread_2"), "run_1", user_turn("m1", "other", 0, 3000));
    changes named;
    named.title = "A title";
    done(subject().commit(thread_1, named));
    EXPECT_TRUE(open({{"eve", access_right::write}}));
    EXPECT_TRUE(
        get(subject().set_access(key_of("thread_2"), {{"eve", access_right::read}}, second_id))
    );

    const auto all = opened_to("eve");
    const auto first = opened_to("eve", 1);

    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].shared_id, second_id);
    EXPECT_EQ(all[1].shared_id, first_id);
    EXPECT_EQ(all[1].key, thread_1);
    EXPECT_EQ(all[1].title, "A title");
    EXPECT_EQ(all[1].right, access_right::write);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].shared_id, second_id);
    EXPECT_EQ(get(subject().list(query_of("eve"))).threads.size(), 1U) << "own ones alone";
}

TEST_P(AccessContract, IsRemovedWithItsThread) {
    EXPECT_TRUE(open({{"eve", access_right::write}}));
    EXPECT_TRUE(get(subject().remove(thread_1)));

    EXPECT_FALSE(find("eve"));
    EXPECT_TRUE(opened_to("eve").empty());

    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    EXPECT_EQ(get(subject().access_of(thread_1)).value(), thread_access());
    EXPECT_TRUE(open({{"eve", access_right::read}}, second_id));
    EXPECT_FALSE(find("eve"));
    EXPECT_TRUE(find("eve", second_id));
}

TEST(SharedId, IsRecognizedByItsForm) {
    const std::string id = make_shared_id();
    EXPECT_TRUE(is_shared_id(id));
    EXPECT_NE(id, make_shared_id());
    EXPECT_FALSE(is_shared_id(""));
    EXPECT_FALSE(is_shared_id("shared-"));
    EXPECT_FALSE(is_shared_id(id + "0"));
    EXPECT_FALSE(is_shared_id("shared-" + std::string(32, 'A')));
    EXPECT_FALSE(is_shared_id("sharee-" + std::string(32, 'a')));
}

} // namespace
} // namespace agui::session
