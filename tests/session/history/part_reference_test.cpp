#include "session/history/part_reference.hpp"

#include "session/base/work_count.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

namespace json = boost::json;

json::value photo(std::string_view bytes) {
    return {
        {"type", "image"},
        {"source", {{"type", "data"}, {"value", bytes}, {"mimeType", "image/png"}}}
    };
}

json::value link_to(std::string_view url) {
    return {{"type", "image"}, {"source", {{"type", "url"}, {"value", url}}}};
}

json::value text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

message user(content what) {
    message made;
    made.id = "u";
    made.role = role::user;
    made.content = std::move(what);
    return made;
}

class PartReference : public ::testing::Test {
protected:
    PartReference() {
        thread_.key = {"", "my thread"};
        stored_message stored;
        stored.message = user(json::array{text_part("look"), photo("YWJj")});
        changes change;
        change.messages.push_back(stored);
        stored.message = user(std::string(5000, 'x'));
        stored.message.id = "long";
        change.messages.push_back(stored);
        apply(thread_, change);
    }

    content restored(content what, role who = role::user) {
        std::vector<message> messages{user(std::move(what))};
        messages[0].role = who;
        EXPECT_TRUE(restore(messages, 1'000'000));
        return messages[0].content;
    }

    result<void> restore(std::vector<message>& messages, std::uint64_t bytes_max) {
        return restore_parts(messages, thread_, attached_, bytes_max, memory_, warnings_);
    }

    const std::string digest_ = digest_of({.value = "YWJj", .mime_type = ""}).sha256;
    const std::string path_ = part_path("my thread", digest_);
    thread_record thread_;
    parts_by_digest attached_;
    memory_share memory_;
    std::vector<std::string> warnings_;
};

TEST_F(PartReference, APathNamesThreadAndBytes) {
    EXPECT_EQ(path_, "/agui/threads/my%20thread/parts/" + digest_);
}

TEST_F(PartReference, ALinkBecomesThePartWhateverItsHostAndToken) {
    for (const std::string& url :
         {"https://app.example/chat" + path_ + "?token=abc", "http://127.0.0.1:1" + path_, path_,
          "https://other.example/agui/threads/my%20thr%65ad/parts/" + digest_ + "#x"}) {
        SCOPED_TRACE(url);
        EXPECT_EQ(
            restored(json::array{text_part("look"), link_to(url)}),
            content(json::array{text_part("look"), photo("YWJj")})
        );
    }
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(PartReference, ANoteBecomesThePart) {
    const std::string note = left_out_note("image/png", digest_of({.value = "YWJj"}));

    EXPECT_EQ(note, "[Left out: image/png, 3 bytes, sha256 " + digest_ + "]");
    EXPECT_EQ(restored(json::array{text_part(note)}), content(json::array{photo("YWJj")}));
    EXPECT_EQ(
        restored(json::array{text_part(left_out_note("", digest_of({.value = "YWJj"})))}),
        content(json::array{photo("YWJj")})
    );
}

TEST_F(PartReference, TheClientsIdAndMetadataStay) {
    json::value given = link_to(path_);
    given.get_object()["id"] = "p1";
    given.get_object()["metadata"] = {{"filename", "a.png"}};
    json::value expected = photo("YWJj");
    expected.get_object()["id"] = "p1";
    expected.get_object()["metadata"] = {{"filename", "a.png"}};

    EXPECT_EQ(restored(json::array{given}), content(json::array{expected}));
}

TEST_F(PartReference, ALinkToAPartThatTheThreadDoesNotHoldIsDropped) {
    const std::string other = part_path("my thread", std::string(64, 'a'));

    EXPECT_EQ(
        restored(json::array{text_part("look"), link_to("https://a" + other)}),
        content(json::array{text_part("look")})
    );
    EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(PartReference, AnAttachmentReplacesAPartThatTheThreadDoesNotHold) {
    const attachment kept{.sha256 = std::string(64, 'a'), .mime_type = "audio/wav", .bytes = "hi"};
    const std::string url = part_path("my thread", kept.sha256);
    const json::array given{link_to(url), link_to(path_)};
    std::vector<message> messages{user(given)};
    EXPECT_EQ(missing_parts(messages, thread_, 9), std::set<std::string>{kept.sha256});
    attached_.emplace(kept.sha256, part_of(kept));

    const content found = restored(given);

    const json::array& parts = std::get<json::array>(found);
    EXPECT_EQ(parts.at(0).at("type"), "image") << "as the client calls it";
    EXPECT_EQ(parts.at(0).at("source").at("value"), "aGk=");
    EXPECT_EQ(parts.at(0).at("source").at("mimeType"), "audio/wav");
    EXPECT_EQ(parts.at(1), photo("YWJj"));
}

TEST_F(PartReference, DeadLinksAreOneWarning) {
    const json::value dead = link_to(part_path("my thread", std::string(64, 'a')));

    EXPECT_EQ(
        restored(json::array{dead, text_part("look"), dead, link_to(path_), dead}),
        content(json::array{text_part("look"), photo("YWJj")})
    );
    EXPECT_THAT(warnings_, ::testing::ElementsAre(::testing::EndsWith("dropped: 3")));
}

TEST_F(PartReference, IfTooManyPartsAreMissingThoseOfTheLastMessagesAreNamed) {
    std::vector<message> messages;
    for (const char digit : std::string("abcdef")) {
        messages.push_back(user(json::array{link_to(part_path("my thread", std::string(64, digit)))}
        ));
    }

    EXPECT_EQ(
        missing_parts(messages, thread_, 2),
        (std::set<std::string>{std::string(64, 'e'), std::string(64, 'f')})
    );
}

// A name takes a hundred bytes, whatever part it stands for.
TEST_F(PartReference, NamesGrowARequestToALimit) {
    const std::string note = left_out_note("image/png", digest_of({.value = "YWJj"}));
    const std::uint64_t part_size = stored_size(photo("YWJj"));
    const std::string cut = shortened_text(std::string(5000, 'x'), 10);
    const std::vector<std::pair<json::value, std::uint64_t>> names{
        {text_part(note), part_size}, {link_to(path_), part_size}, {text_part(cut), 5000}
    };
    for (const auto& [name, size] : names) {
        SCOPED_TRACE(json::serialize(name));
        std::vector<message> two{user(json::array{name, name})};
        EXPECT_TRUE(restore(two, 2 * size));
        std::vector<message> many(100, user(json::array{name}));
        const auto refused = restore(many, 2 * size);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::body_too_large);
    }
    std::vector<message> texts(100, user(cut));
    const auto refused = restore(texts, 10'000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::body_too_large);
}

TEST_F(PartReference, RestoredPartsCountAsMemory) {
    memory_budget budget(12'000);
    memory_share memory(&budget);
    const std::string cut = shortened_text(std::string(5000, 'x'), 10);
    std::vector<message> two(2, user(cut));
    std::vector<message> one_more(1, user(cut));

    EXPECT_TRUE(restore_parts(two, thread_, {}, 1'000'000, memory, warnings_));
    EXPECT_EQ(budget.used(), 10'000U);
    const auto refused = restore_parts(one_more, thread_, {}, 1'000'000, memory, warnings_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::overloaded);
}

#ifdef AGUI_VERIFY_EVENTS
TEST_F(PartReference, EachPartAndEachTextIsHashedOnceHoweverManyNamesThereAre) {
    json::array names;
    for (int i = 0; i < 1000; ++i) {
        const std::string unknown = digest_of_text(std::to_string(i)).sha256;
        names.push_back(text_part(left_out_note("image/png", {unknown, 3})));
        names.push_back(link_to(part_path("my thread", unknown)));
        names.push_back(
            text_part("\n[Shortened: 5000 bytes, sha256 " + unknown + "]") // The size is right.
        );
    }
    std::vector<message> messages{user(names)};
    const thread_record copy = thread_; // The copy of another request.
    const std::uint64_t before = work_done;

    (void)missing_parts(messages, thread_, 5000);
    EXPECT_EQ(work_done - before, 1U) << "its photo";
    EXPECT_TRUE(restore(messages, 1'000'000));
    EXPECT_EQ(work_done - before, 3U) << "and its two texts";
    EXPECT_EQ(find_part(copy, std::string(64, 'a')), nullptr);
    EXPECT_EQ(work_done - before, 3U);
}

TEST_F(PartReference, NothingIsHashedBehindThePartThatIsFound) {
    changes change;
    for (const std::string bytes : {"ZGVm", "Z2hp"}) {
        stored_message stored;
        stored.message = user(json::array{photo(bytes)});
        change.messages.push_back(std::move(stored));
    }
    apply(thread_, change);
    const std::uint64_t before = work_done;

    EXPECT_NE(find_part(thread_, digest_), nullptr);
    EXPECT_EQ(work_done - before, 1U);
}
#endif

TEST_F(PartReference, OtherUrlsStay) {
    for (const std::string& url :
         {std::string("https://app.example/a.png"),
          "https://app.example" + part_path("another", digest_), path_ + "/more",
          "https://app.example/parts/" + digest_, "https://app.example/?" + path_ + "x"}) {
        SCOPED_TRACE(url);
        EXPECT_EQ(restored(json::array{link_to(url)}), content(json::array{link_to(url)}));
    }
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(PartReference, ATextThatOnlyLooksLikeANoteStays) {
    for (const std::string& text :
         {"[Left out: image/png, 3 bytes, sha256 " + std::string(64, 'a') + "]",
          std::string("[Left out: nothing]"), std::string("\n[Shortened: 12 bytes, sha256 ]"),
          "[Left out: image/png, x bytes, sha256 " + digest_ + "]"}) {
        SCOPED_TRACE(text);
        EXPECT_EQ(restored(text), content(text));
        EXPECT_EQ(restored(json::array{text_part(text)}), content(json::array{text_part(text)}));
    }
}

TEST_F(PartReference, AShortenedTextBecomesTheWholeOne) {
    const std::string cut = shortened_text(std::string(5000, 'x'), 100);

    EXPECT_THAT(cut, ::testing::StartsWith(std::string(100, 'x') + "\n[Shortened: 5000 bytes"));
    EXPECT_EQ(restored(cut), content(std::string(5000, 'x')));
    EXPECT_EQ(
        restored(json::array{text_part(cut)}),
        content(json::array{text_part(std::string(5000, 'x'))})
    );
}

TEST_F(PartReference, ATextIsCutAtACharacter) {
    EXPECT_THAT(shortened_text("aä漢", 2), ::testing::StartsWith("a\n"));
    EXPECT_THAT(shortened_text("aä漢", 3), ::testing::StartsWith("aä\n"));
    EXPECT_THAT(shortened_text("aä漢", 5), ::testing::StartsWith("aä\n"));
    EXPECT_THAT(shortened_text("aä漢", 50), ::testing::StartsWith("aä漢\n"));
}

TEST_F(PartReference, ATextThatIsShortenedAgainStillNamesTheWholeOne) {
    const std::string cut = shortened_text(std::string(5000, 'x'), 100);

    EXPECT_EQ(shortened_text(cut, 10), shortened_text(std::string(5000, 'x'), 10));
    EXPECT_EQ(shortened_text(cut, 5000), cut);
}

TEST_F(PartReference, AToolsAnswerIsRestoredAndAnAssistantsIsNot) {
    const json::array given{link_to(path_)};

    EXPECT_EQ(restored(given, role::tool), content(json::array{photo("YWJj")}));
    EXPECT_EQ(restored(given, role::assistant), content(given));
}

TEST_F(PartReference, APartIsFoundByItsDigest) {
    ASSERT_NE(find_part(thread_, digest_), nullptr);
    EXPECT_EQ(*find_part(thread_, digest_), photo("YWJj"));
    EXPECT_EQ(find_part(thread_, std::string(64, 'a')), nullptr);
}

} // namespace
} // namespace agui::session
