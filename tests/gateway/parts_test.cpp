// A thread with more pictures than fit into one event that clients can read: the events, the links
// in them, and the same links in later requests.
#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t client_limit = 10U << 20U;

/// A picture of 2.1 MB, different for each digit. Three of them do not fit into an event.
std::string photo_bytes(char digit) { return std::string(2'800'000, digit); }

json::value photo(char digit, std::string_view type = "image/png") {
    return {
        {"type", "image"},
        {"source", {{"type", "data"}, {"value", photo_bytes(digit)}, {"mimeType", type}}}
    };
}

json::value link_part(std::string_view url) {
    return {{"type", "image"}, {"source", {{"type", "url"}, {"value", url}}}};
}

std::string request(std::string_view run, json::array messages) {
    return json::serialize(json::object{
        {"threadId", "t"},
        {"runId", run},
        {"messages", std::move(messages)},
        {"protocolVersion", "1.1"}
    });
}

json::value user(std::string_view id, json::value content) {
    return {{"id", id}, {"role", "user"}, {"content", std::move(content)}};
}

/// The data lines of an event stream.
std::vector<std::string> data_lines_of(const std::string& body) {
    constexpr std::string_view begin = "data: ";
    std::vector<std::string> events;
    for (std::size_t at = body.find(begin); at != std::string::npos; at = body.find(begin, at)) {
        at += begin.size();
        const std::size_t end = body.find('\n', at);
        events.push_back(body.substr(at, end - at));
    }
    return events;
}

class Parts : public server_test, public ::testing::WithParamInterface<bool> {
protected:
    void SetUp() override {
        if (GetParam()) {
            use_sqlite();
        }
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& asked) {
                last_request_ = asked.body;
                return std::optional(answer);
            };
        };
        start();
    }

    void upload(std::string_view digits) {
        for (const char digit : digits) {
            const std::string id(1, digit);
            const raw_reply reply =
                ask(post("/agui", request("r" + id, {user(id, json::array{photo(digit)})})));
            ASSERT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
        }
    }

    /// The messages of the history stream. Fails if a client could not read one of its events.
    json::array history(std::string_view version = "1.1") {
        const raw_reply reply = ask(post(
            "/agui/history",
            R"({"threadId":"t","runId":"h","messages":[])" +
                (version.empty() ? std::string()
                                 : R"(,"protocolVersion":")" + std::string(version) + '"') +
                "}"
        ));
        json::array messages;
        EXPECT_EQ(reply.status, 200) << reply.body.substr(0, 300);
        for (const std::string& event : data_lines_of(reply.body)) {
            EXPECT_LT(event.size(), 8'000'000U);
            if (event.find("MESSAGES_SNAPSHOT") < 40) {
                messages = json::parse(event).at("messages").as_array();
            }
        }
        return messages;
    }

    static std::string url_in(const json::value& message) {
        return url_of(message.at("content").at(0));
    }

    static std::string url_of(const json::value& part) {
        return std::string(part.at("source").at("value").as_string());
    }

    [[nodiscard]] std::string path_of(std::string_view url) const {
        const std::string origin = "http://127.0.0.1:" + std::to_string(port());
        EXPECT_THAT(std::string(url), StartsWith(origin + "/agui/threads/t/parts/"));
        return std::string(url.substr(std::min(origin.size(), url.size())));
    }

    std::string last_request_;
};

TEST_P(Parts, TheOldestPicturesOfALargeThreadAreLinksInEveryProjection) {
    upload("ABC");

    for (const std::string_view version : {"1.1", "1.0", ""}) {
        SCOPED_TRACE(version);
        const json::array messages = history(version);
        ASSERT_EQ(messages.size(), 6U);
        EXPECT_THAT(url_in(messages.at(0)), StartsWith("http://127.0.0.1:"));
        EXPECT_EQ(url_in(messages.at(4)), photo_bytes('C'));
    }
}

TEST_P(Parts, ALinkServesTheBytes) {
    upload("ABC");
    const std::string path = path_of(url_in(history().at(0)));

    const raw_reply reply = ask(get(path));

    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, session::decode_base64(photo_bytes('A')));
    EXPECT_EQ(reply.header("content-type"), "image/png");
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_THAT(reply.header("content-security-policy"), StartsWith("sandbox"));
    EXPECT_EQ(reply.header("content-disposition"), "inline");
}

TEST_P(Parts, AnythingButPicturesAudioAndVideoIsDownloaded) {
    const std::string digits = "DEF";
    const std::vector<std::string_view> types{"image/svg+xml", "text/html", "x\r\nSet-Cookie: a"};
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::string run(1, digits[i]);
        (void)ask(post("/agui", request(run, {user(run, json::array{photo(digits[i], types[i])})}))
        );
    }
    upload("BC");
    const json::array messages = history();

    for (std::size_t i = 0; i < types.size(); ++i) {
        SCOPED_TRACE(types[i]);
        const raw_reply reply = ask(get(path_of(url_in(messages.at(2 * i)))));
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(reply.body, session::decode_base64(photo_bytes(digits[i])));
        EXPECT_EQ(reply.header("content-type"), "application/octet-stream");
        EXPECT_EQ(reply.header("content-disposition"), "attachment");
        EXPECT_EQ(reply.header("set-cookie"), "");
    }
}

TEST_P(Parts, ATypeIsServedByItsRegisteredName) {
    const std::vector<std::pair<std::string_view, std::string_view>> types{
        {"image/jpg", "image/jpeg"},
        {"IMAGE/PNG", "image/png"},
        {"audio/webm;codecs=opus", "audio/webm"},
    };
    for (const auto& [given, served] : types) {
        SCOPED_TRACE(given);
        json::value file = photo('A', given);
        file.at("source").as_object()["value"] = "QUJD";
        const raw_reply kept = ask(post("/agui/threads/t/parts", json::serialize(file)));
        ASSERT_EQ(kept.status, 200) << kept.body;

        const raw_reply reply = ask(get(path_of(url_of(json::parse(kept.body)))));

        EXPECT_EQ(reply.header("content-type"), served);
        EXPECT_EQ(reply.header("content-disposition"), "inline");
        EXPECT_EQ(reply.body, "ABC");
    }
}

TEST_P(Parts, WithoutTheRightTokenThereIsNothing) {
    upload("ABC");
    const std::string path = path_of(url_in(history().at(0)));
    const std::string bare = path.substr(0, path.find('?'));

    EXPECT_EQ(ask(get(bare)).status, 404);
    EXPECT_EQ(ask(get(bare + "?token=")).status, 404);
    EXPECT_EQ(ask(get(path.substr(0, path.size() - 1))).status, 404);
    std::string other = path;
    other.replace(other.find("/t/"), 3, "/u/");
    EXPECT_EQ(ask(get(other)).status, 404);
    EXPECT_EQ(ask(post(path, "{}")).status, 405);
}

TEST_P(Parts, ALinkThatComesBackIsThePictureItself) {
    upload("ABC");
    json::array messages = history();
    messages.push_back(user("new", "And now?"));

    const raw_reply reply = ask(post("/agui", request("r2", messages)));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(last_request_, HasSubstr("data:image/png;base64,AAAA"));
    EXPECT_THAT(last_request_, Not(HasSubstr("/parts/")));
    EXPECT_THAT(last_request_, HasSubstr("And now?"));
    EXPECT_EQ(history().size(), 8U) << "nothing was edited";
}

TEST_P(Parts, ALinkInAnEditedMessageIsThePictureItself) {
    upload("ABC");
    const std::string url = url_in(history().at(0));
    const json::array edited{{{"type", "text"}, {"text", "Look again."}}, link_part(url)};

    const raw_reply reply = ask(post("/agui", request("r2", {user("A", edited)})));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(last_request_, HasSubstr("Look again."));
    EXPECT_THAT(last_request_, HasSubstr("data:image/png;base64,AAAA"));
}

TEST_P(Parts, ALinkToNothingOfTheThreadIsDropped) {
    upload("A");
    const std::string url = "https://app.example" + session::part_path("t", std::string(64, 'a'));

    const raw_reply reply = ask(post(
        "/agui",
        request(
            "r2", {user("new", json::array{{{"type", "text"}, {"text", "See?"}}, link_part(url)})}
        )
    ));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(last_request_, HasSubstr("See?"));
    EXPECT_THAT(last_request_, Not(HasSubstr("/parts/")));
}

TEST_P(Parts, AnAttachmentIsNamedByItsLinkInAMessage) {
    const raw_reply kept = ask(post("/agui/threads/t/parts", json::serialize(photo('A'))));
    ASSERT_EQ(kept.status, 200) << kept.body;
    const json::value part = json::parse(kept.body);
    EXPECT_EQ(part.at("type"), "image");
    const std::string url(part.at("source").at("value").as_string());
    EXPECT_EQ(ask(get(path_of(url))).body, session::decode_base64(photo_bytes('A')));

    const raw_reply reply = ask(post("/agui", request("r", {user("u", json::array{part})})));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(last_request_, HasSubstr("data:image/png;base64,AAAA"));
    EXPECT_EQ(url_in(history().at(0)), photo_bytes('A')) << "the thread holds it itself";
}

TEST_P(Parts, AnAttachmentIsOfItsThread) {
    const raw_reply kept = ask(post("/agui/threads/other/parts", json::serialize(photo('A'))));
    std::string body = kept.body;
    body.replace(body.find("/other/"), 7, "/t/");

    const json::array content{{{"type", "text"}, {"text", "See?"}}, json::parse(body)};
    const raw_reply reply = ask(post("/agui", request("r", {user("u", content)})));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(last_request_, HasSubstr("See?"));
    EXPECT_THAT(last_request_, Not(HasSubstr("base64,AAAA")));
}

// A link has a hundred bytes, and the photo has two million.
TEST_P(Parts, LinksGrowNoMessageBeyondTheSizeOfAThread) {
    const raw_reply kept = ask(post("/agui/threads/t/parts", json::serialize(photo('A'))));
    ASSERT_EQ(kept.status, 200) << kept.body;
    const json::array content(30, json::parse(kept.body));

    const raw_reply reply = ask(post("/agui", request("r", {user("u", content)})));

    EXPECT_EQ(reply.status, 413) << reply.body.substr(0, 300);
    EXPECT_EQ(last_request_, "");
    EXPECT_LT(server->memory_used(), 1U << 20U);
}

// Each attachment is a read of the store while the run holds its thread.
TEST_P(Parts, OneRequestReadsAHundredAttachments) {
    json::array content{{{"type", "text"}, {"text", "See?"}}};
    for (int i = 0; i < 102; ++i) {
        json::value file = photo('A');
        file.at("source").as_object()["value"] =
            session::encode_base64("photo " + std::to_string(i));
        const raw_reply kept = ask(post("/agui/threads/t/parts", json::serialize(file)));
        ASSERT_EQ(kept.status, 200) << kept.body;
        content.push_back(json::parse(kept.body));
    }

    const raw_reply reply = ask(post("/agui", request("r", {user("u", content)})));

    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    std::size_t photos = 0;
    for (std::size_t at = last_request_.find("base64,"); at != std::string::npos;
         at = last_request_.find("base64,", at + 1)) {
        ++photos;
    }
    EXPECT_EQ(photos, 100U);
    EXPECT_THAT(last_request_, Not(HasSubstr("/parts/")));
}

TEST_P(Parts, OnlyAMediaPartWithBytesIsKept) {
    for (const std::string_view body :
         {R"({"type":"text","text":"a"})", R"([])", R"({"type":"image"})",
          R"({"type":"image","source":{"type":"url","value":"https://a"}})",
          R"({"type":"image","source":{"type":"data","value":"no base64!","mimeType":"a/b"}})",
          R"({"type":"image","source":{"type":"data","value":"","mimeType":"a/b"}})",
          R"({"type":"image","source":{"type":"data","value":"AAAA"}})"}) {
        SCOPED_TRACE(body);
        EXPECT_EQ(ask(post("/agui/threads/t/parts", body)).status, 422);
    }
    EXPECT_EQ(ask(get("/agui/threads/t/parts")).status, 405);
}

TEST_P(Parts, AStateThatIsTooLargeForAnEventIsRefused) {
    const std::string state = R"({"x":")" + std::string(1U << 20U, 'x') + R"("})";
    const raw_reply run =
        ask(post("/agui", R"({"threadId":"t","runId":"r","messages":[],"state":)" + state + "}"));
    EXPECT_EQ(run.status, 422);
    EXPECT_THAT(run.body, HasSubstr(R"("path":"state")"));

    upload("A");
    EXPECT_EQ(ask(post("/agui/threads/t/state", state).replace(0, 4, "PATCH")).status, 422);
    EXPECT_EQ(ask(post("/agui/threads/t/state", R"({"x":1})").replace(0, 4, "PATCH")).status, 200);
}

INSTANTIATE_TEST_SUITE_P(Stores, Parts, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Sqlite" : "Memory";
});

// A gateway that listens on all interfaces needs a URL from its configuration.
TEST_F(server_test, WithoutAPublicUrlTheLargePartsAreNotes) {
    settings.server.listen = "0.0.0.0:0";
    settings.auth.emplace();
    settings.server.allowed_hosts = {"localhost"};
    start();
    for (const char digit : std::string("ABC")) {
        const std::string id(1, digit);
        (void)ask(post("/agui", request("r" + id, {user(id, json::array{photo(digit)})})));
    }

    const raw_reply reply =
        ask(post("/agui/history", R"({"threadId":"t","runId":"h","messages":[]})"));

    EXPECT_LT(reply.body.size(), client_limit);
    EXPECT_THAT(reply.body, HasSubstr("[Left out: image/png, 2100000 bytes, sha256 "));
}

} // namespace
} // namespace agui::test
