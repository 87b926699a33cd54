#include "session/conversation/node_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace agui::session {
namespace {

stored_message saying(const std::string& text) {
    stored_message node;
    node.message.id = text;
    node.message.content = text;
    return node;
}

std::string said(const node_list& list, std::size_t number) {
    return std::get<std::string>(list.at(number).message.content);
}

TEST(NodeList, SharesTheMessagesThatItAppends) {
    const node_list more{saying("two"), saying("three")};
    node_list list{saying("one")};
    list.append(more);

    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(&list[1], &more[0]);
    EXPECT_EQ(&list.back(), &more[1]);
}

TEST(NodeList, AnEditLeavesOtherListsAsTheyWere) {
    node_list list{saying("one"), saying("two")};
    const node_list copy = list;
    list.push_back(saying("three"));
    list.edit_each([](stored_message& node) { node.message.content = node.message.id + "!"; });

    EXPECT_EQ(said(list, 0), "one!");
    EXPECT_EQ(said(list, 2), "three!");
    EXPECT_EQ(said(copy, 0), "one");
    EXPECT_EQ(said(copy, 1), "two");
}

TEST(NodeList, UnsharedNodesAreNotCopied) {
    node_list list{saying(std::string(100, 'x'))};
    const auto text = [&] {
        return std::get<std::string>(list[0].message.content).data();
    };
    const char* const before = text();
    list.edit_each([](stored_message& node) { node.run_id = "run_1"; });

    EXPECT_EQ(text(), before);
    EXPECT_EQ(list[0].run_id, "run_1");
}

TEST(NodeList, DigestsAreThoseOfTheEditedMessage) {
    node_list list{saying("one")};
    const std::string before = list.text_digests(0).at(0).digest.sha256;
    list.edit_each([](stored_message& node) { node.message.content = "two"; });

    EXPECT_NE(list.text_digests(0).at(0).digest.sha256, before);
}

} // namespace
} // namespace agui::session
