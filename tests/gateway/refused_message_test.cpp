// A message that a model server refuses does not make later messages of its thread fail.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::Not;

const std::string photo =
    R"({"id":"u1","role":"user","content":[{"type":"text","text":"Look"},)"
    R"({"type":"image","source":{"type":"data","value":"iVBORw0KGgo=","mimeType":"image/png"}}]})";
const std::string user_2 = R"({"id":"u2","role":"user","content":"And?"})";
const std::string user_3 = R"({"id":"u3","role":"user","content":"So?"})";

// A way in which a client sends its messages, and the store that keeps them.
struct way {
    std::string_view name;
    bool whole_history = false;
    bool sqlite = false;
    bool client_mode = false;
};

class RefusedMessage : public server_test, public ::testing::WithParamInterface<way> {
protected:
    RefusedMessage() {
        if (GetParam().sqlite) {
            use_sqlite();
        }
        if (GetParam().client_mode) {
            settings.session.history.mode = session::history_mode::client;
        }
        listen();
    }

    void listen() {
        options.log = &null_logger();
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                asked_.push_back(request.body);
                runner::scripted_answer refused;
                refused.status = status;
                refused.content_type = "application/json";
                refused.body = says;
                const bool poisoned = request.body.find(poison) != std::string::npos;
                return std::optional(poisoned ? refused : say("fine"));
            };
        };
    }

    /// The last of `messages` is new. A client with the whole history sends the others as well.
    raw_reply run(const std::vector<std::string>& messages) {
        std::string sent;
        for (const std::string& each : messages) {
            if (GetParam().whole_history || &each == &messages.back()) {
                sent += (sent.empty() ? "" : ",") + each;
            }
        }
        return ask(post(
            "/agui", R"({"threadId":"t","protocolVersion":"1.1","runId":"r)" +
                         std::to_string(++runs_) + R"(","messages":[)" + sent + "]}"
        ));
    }

    [[nodiscard]] std::string last_asked() const {
        const std::lock_guard lock(mutex_);
        return asked_.back();
    }
    [[nodiscard]] std::string stored() const { return ask(get("/agui/threads/t/messages")).body; }

    int status = 400;
    std::string says = R"({"error":{"message":"Could not process image"}})";
    std::string poison = "image_url";

private:
    mutable std::mutex mutex_;
    std::vector<std::string> asked_;
    int runs_ = 0;
};

TEST_P(RefusedMessage, TheNextOneIsAnswered) {
    start();
    const raw_reply refused = run({photo});
    EXPECT_THAT(refused.body, HasSubstr("model_rejected"));

    const raw_reply next = run({photo, user_2});

    EXPECT_THAT(next.body, HasSubstr("fine"));
    EXPECT_THAT(last_asked(), HasSubstr("Look")) << "only what was likely refused is left out";
    EXPECT_THAT(last_asked(), HasSubstr("left out: the model server refused this image"));
    EXPECT_THAT(stored(), HasSubstr("iVBORw0KGgo=")) << "the thread keeps it";
    EXPECT_THAT(stored(), HasSubstr("agui-gateway.error"));
}

TEST_P(RefusedMessage, ARestartForgetsNothing) {
    if (!GetParam().sqlite) {
        GTEST_SKIP() << "nothing is left in memory";
    }
    start();
    run({photo});
    server.reset();
    options = {};
    listen();
    start();

    EXPECT_THAT(run({photo, user_2}).body, HasSubstr("fine"));
}

TEST_P(RefusedMessage, OneThatIsRefusedWithoutItsMediaTooIsLeftOutAltogether) {
    poison = "Look";
    start();
    run({photo});
    EXPECT_THAT(run({photo, user_2}).body, HasSubstr("model_rejected"));

    EXPECT_THAT(run({photo, user_2, user_3}).body, HasSubstr("fine"));
    EXPECT_THAT(last_asked(), Not(HasSubstr("Look")));
}

TEST_P(RefusedMessage, ARetrySendsItWhole) {
    start();
    run({photo});
    poison = "nothing of it";

    EXPECT_THAT(run({photo}).body, HasSubstr("fine"));
    EXPECT_THAT(last_asked(), HasSubstr("image_url"));
    run({photo, user_2});
    EXPECT_THAT(last_asked(), HasSubstr("image_url")) << "it was answered in the end";
}

TEST_P(RefusedMessage, WithAnyOfTheStatusesThatBlameTheRequest) {
    for (const int refusing : {413, 415, 422}) {
        status = refusing;
        start();
        run({photo});
        EXPECT_THAT(run({photo, user_2}).body, HasSubstr("fine")) << refusing;
        ask("DELETE /agui/threads/t HTTP/1.1\r\nHost: localhost\r\n\r\n");
        server.reset();
        options = {};
        listen();
    }
}

TEST_P(RefusedMessage, OtherStatusesRefuseNothing) {
    for (const int other : {401, 403, 404, 408, 429, 500}) {
        status = other;
        start();
        run({photo});
        run({photo, user_2});
        EXPECT_THAT(last_asked(), HasSubstr("image_url")) << other;
        ask("DELETE /agui/threads/t HTTP/1.1\r\nHost: localhost\r\n\r\n");
        server.reset();
        options = {};
        listen();
    }
}

TEST_P(RefusedMessage, AConversationThatIsTooLongRefusesNothing) {
    says = R"({"error":{"code":"context_length_exceeded","message":"too long"}})";
    start();
    run({photo});
    run({photo, user_2});

    EXPECT_THAT(last_asked(), HasSubstr("image_url"));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, RefusedMessage,
    ::testing::Values(
        way{.name = "Delta"}, way{.name = "WholeHistory", .whole_history = true},
        way{.name = "InSqlite", .whole_history = true, .sqlite = true},
        way{.name = "ClientMode", .whole_history = true, .client_mode = true}
    ),
    [](const auto& info) { return std::string(info.param.name); }
);

} // namespace
} // namespace agui::test
