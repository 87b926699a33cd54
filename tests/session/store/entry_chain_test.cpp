#include "session/store/entry_chain.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace agui::session {
namespace {

std::string delta(std::string_view text) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_0123456789","delta":")" +
           std::string(text) + R"("})";
}

std::string timed(std::string_view text, int time) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_0123456789","delta":")" +
           std::string(text) + R"(","timestamp":)" + std::to_string(1'795'740'000'000 + time) + "}";
}

// Entries numbered from 1, some of which have variants.
std::vector<log_entry> conversation() {
    return {
        {1, R"({"type":"RUN_STARTED"})", "old"},
        {2, delta("Hel"), ""},
        {3, delta("lo"), ""},
        {4, delta(""), ""},
        {5, "{\"another\":1}", "x"},
        {6, "", ""},
        {7, "no JSON", ""},
        {8, "{}", ""},
        {9, std::string(100'000, 's'), std::string(300, 'v')},
        {10, std::string(100'000, 's'), ""},
        {11, timed("Hel", 1), ""},
        {12, timed("lo", 20), "v"},
        {13, timed("", 20), ""},
        {14, timed(R"("quoted")", 999), ""},
        {15, timed(std::string(600, 's'), 1000), ""},
        {16, timed("!", 1001), ""},
        {17, R"({"type":"RUN_FINISHED"})", ""},
    };
}

std::string encoded(const std::vector<log_entry>& entries, entry_chain chain = entry_chain()) {
    std::string bytes;
    for (const log_entry& entry : entries) {
        chain.encode(entry.json, entry.variants, bytes);
    }
    return bytes;
}

void expect_same(const log_entry& left, const log_entry& right) {
    EXPECT_EQ(left.sequence, right.sequence);
    EXPECT_EQ(left.json, right.json);
    EXPECT_EQ(left.variants, right.variants);
}

TEST(EntryChain, ReturnsTheEncodedEntries) {
    const std::vector<log_entry> given = conversation();
    for (const auto how : {entry_chain::sharing::once, entry_chain::sharing::twice}) {
        const std::string bytes = encoded(given, entry_chain(how));

        entry_chain chain;
        std::string_view rest = bytes;
        for (const log_entry& expected : given) {
            log_entry read;
            ASSERT_TRUE(chain.decode(expected.sequence, rest, read));
            expect_same(read, expected);
        }
        EXPECT_EQ(rest, "");
    }
}

TEST(EntryChain, ATimeAfterTheTextTakesAFewBytes) {
    entry_chain chain(entry_chain::sharing::twice);
    std::string one;
    chain.encode(timed("Hello", 1), "", one);
    std::string two;
    chain.encode(timed("World", 22), "", two);

    EXPECT_LE(two.size(), 16U) << "and the five of the text";
    for (std::size_t size = 0; size < two.size(); ++size) {
        entry_chain reader;
        log_entry read;
        std::string_view rest = one;
        ASSERT_TRUE(reader.decode(1, rest, read));
        rest = std::string_view(two).substr(0, size);
        EXPECT_FALSE(reader.decode(2, rest, read)) << size;
    }
}

TEST(EntryChain, ADeltaTakesItsTextAndAFewBytes) {
    const std::string one = encoded({{1, delta("Hello"), ""}});
    const std::string two = encoded({{1, delta("Hello"), ""}, {2, delta("World"), ""}});

    EXPECT_LE(two.size() - one.size(), 10U);
}

TEST(EntryChain, ADecodedChainCanBeExtended) {
    const std::vector<log_entry> given = conversation();
    entry_chain writer;
    std::string whole;
    for (const log_entry& entry : given) {
        writer.encode(entry.json, entry.variants, whole);
    }

    for (std::size_t cut = 0; cut <= given.size(); ++cut) {
        SCOPED_TRACE(cut);
        const std::vector<log_entry> front(given.begin(), given.begin() + static_cast<long>(cut));
        std::string bytes = encoded(front);
        entry_chain chain;
        std::string_view rest = bytes;
        for (const log_entry& entry : front) {
            log_entry read;
            ASSERT_TRUE(chain.decode(entry.sequence, rest, read));
        }
        for (std::size_t i = cut; i < given.size(); ++i) {
            chain.encode(given[i].json, given[i].variants, bytes);
        }
        EXPECT_EQ(bytes, whole);
    }
}

TEST(EntryChain, AfterARestartAnEntryIsReadWithoutThoseBefore) {
    entry_chain chain;
    std::string before;
    chain.encode(delta("Hello"), "", before);
    std::string dependent;
    chain.encode(delta("World"), "", dependent);
    chain.restart();
    std::string whole;
    chain.encode(delta("!"), "", whole);

    EXPECT_TRUE(entry_chain::begins_with_whole_entry(before));
    EXPECT_FALSE(entry_chain::begins_with_whole_entry(dependent));
    EXPECT_TRUE(entry_chain::begins_with_whole_entry(whole));
    EXPECT_FALSE(entry_chain::begins_with_whole_entry(""));
    log_entry read;
    std::string_view rest = whole;
    EXPECT_TRUE(entry_chain().decode(3, rest, read));
    EXPECT_EQ(read.json, delta("!"));
    rest = dependent;
    EXPECT_FALSE(entry_chain().decode(2, rest, read));
}

TEST(EntryChain, BytesThatAreNotEntriesAreRefused) {
    const std::string bytes = encoded({{1, delta("Hello"), "variants"}});
    log_entry read;

    for (std::size_t size = 0; size < bytes.size(); ++size) {
        std::string_view cut = std::string_view(bytes).substr(0, size);
        EXPECT_FALSE(entry_chain().decode(1, cut, read)) << size;
    }
    for (const std::string& wrong :
         {std::string(20, '\xff'), std::string("\x00\xff\xff\xff\xff\x7f", 6)}) {
        std::string_view rest = wrong;
        EXPECT_FALSE(entry_chain().decode(1, rest, read));
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(0xff);
        std::string_view rest = damaged;
        (void)entry_chain().decode(1, rest, read); // This must not read or write out of bounds.
    }
}

} // namespace
} // namespace agui::session
