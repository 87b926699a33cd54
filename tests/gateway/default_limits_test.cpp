#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

namespace json = boost::json;

/// Tests each limit of a request at its default, through a server, with the last value that is
/// served and the first that is not.
class DefaultLimits : public server_test {
protected:
    void SetUp() override { start(); }

    [[nodiscard]] std::string outcome(const raw_reply& reply) const {
        if (reply.status == 200) {
            return "200";
        }
        boost::system::error_code ec;
        const json::value body = json::parse(reply.body, ec);
        const bool named = !ec && body.is_object() && body.get_object().contains("error");
        return std::to_string(reply.status) + " " +
               (named ? std::string(body.at("error").at("code").as_string()) : reply.body);
    }
    /// A run on a new thread.
    [[nodiscard]] std::string run(const json::object& members) {
        return outcome(ask(post("/agui", json::serialize(input(members)))));
    }
    [[nodiscard]] json::object input(const json::object& members) {
        const std::string number = std::to_string(++runs_);
        json::object body{
            {"threadId", "t" + number},
            {"runId", "r" + number},
            {"messages", {{{"id", "m" + number}, {"role", "user"}, {"content", "hello"}}}},
        };
        for (const auto& member : members) {
            body[member.key()] = member.value();
        }
        return body;
    }

private:
    int runs_ = 0;
};

/// A body of exactly that many bytes.
std::string body_of(std::size_t bytes, std::string_view run) {
    std::string text = run_body("thread-of-" + std::string(run), run, "");
    const std::size_t at = text.find(R"("content":")") + std::string_view(R"("content":")").size();
    return text.insert(at, bytes - text.size(), 'x');
}

std::string chunked(std::string_view body) {
    std::string request =
        "POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    constexpr std::size_t chunk = 0x10'0000;
    while (!body.empty()) {
        const std::string_view part = body.substr(0, chunk);
        char size[20];
        std::snprintf(size, sizeof(size), "%zx\r\n", part.size());
        request.append(size).append(part).append("\r\n");
        body.remove_prefix(part.size());
    }
    return request + "0\r\n\r\n";
}

constexpr std::size_t mib = 1U << 20U;

TEST_F(DefaultLimits, BodiesAboveOneMegabyte) {
    for (const std::size_t bytes : {mib, mib + 1, 2 * mib}) {
        EXPECT_EQ(outcome(ask(post("/agui", body_of(bytes, "r" + std::to_string(bytes))))), "200")
            << bytes;
    }
}

TEST_F(DefaultLimits, BodiesOfThirtyTwoMegabytes) {
    EXPECT_EQ(outcome(ask(post("/agui", body_of(32 * mib, "sized")))), "200");
    EXPECT_EQ(
        outcome(ask(post("/agui", body_of(32 * mib + 1, "sized-more")))), "413 body_too_large"
    );
    EXPECT_EQ(outcome(ask(chunked(body_of(32 * mib, "chunked")))), "200");
    EXPECT_EQ(outcome(ask(chunked(body_of(32 * mib + 1, "chunked-more")))), "413 body_too_large");
}

TEST_F(DefaultLimits, Heads) {
    const auto head_of = [](std::size_t bytes) {
        const std::string bare = get("/healthz", "X-Filler: \r\n");
        return get("/healthz", "X-Filler: " + std::string(bytes - bare.size(), 'a') + "\r\n");
    };
    ASSERT_EQ(head_of(32'768).size(), 32'768U);

    EXPECT_EQ(outcome(ask(head_of(32'768))), "200");
    EXPECT_EQ(outcome(ask(head_of(32'769))), "431 headers_too_large");
    // Many short lines, and one long target, are bounded by the same number.
    std::string lines;
    for (int i = 0; i < 3'000; ++i) {
        lines += "X: y\r\n";
    }
    EXPECT_EQ(outcome(ask(get("/healthz", lines))), "200");
    EXPECT_EQ(outcome(ask(get("/healthz?" + std::string(32'000, 'q')))), "200");
}

TEST_F(DefaultLimits, JsonDepth) {
    // The request is the first level; the text of `state` has the others.
    const auto nested = [this](std::size_t levels) {
        std::string body = json::serialize(input({}));
        body.pop_back();
        return body + R"(,"state":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') +
               "}";
    };
    EXPECT_EQ(outcome(ask(post("/agui", nested(64)))), "200");
    EXPECT_EQ(outcome(ask(post("/agui", nested(65)))), "400 invalid_json");
}

TEST_F(DefaultLimits, Messages) {
    const auto messages = [](int count) {
        json::array list;
        for (int i = 0; i < count; ++i) {
            list.push_back(json::object{
                {"id", "m" + std::to_string(i)}, {"role", "user"}, {"content", "hello"}
            });
        }
        return json::object{{"messages", std::move(list)}};
    };
    EXPECT_EQ(run(messages(10'000)), "200");
    EXPECT_EQ(run(messages(10'001)), "422 invalid_input");
}

json::object tools(std::size_t count, const json::object& parameters, std::size_t name_bytes) {
    json::array list;
    for (std::size_t i = 0; i < count; ++i) {
        std::string name = "t" + std::to_string(i);
        name.resize(std::max(name.size(), name_bytes), 'x');
        list.push_back(
            json::object{{"name", name}, {"description", "a tool"}, {"parameters", parameters}}
        );
    }
    return {{"tools", std::move(list)}};
}

TEST_F(DefaultLimits, ClientTools) {
    EXPECT_EQ(run(tools(128, {{"type", "object"}}, 0)), "200");
    EXPECT_EQ(run(tools(129, {{"type", "object"}}, 0)), "422 invalid_input");
    EXPECT_EQ(run(tools(1, {{"type", "object"}}, 512)), "200");
    EXPECT_EQ(run(tools(1, {{"type", "object"}}, 513)), "422 invalid_input");
}

TEST_F(DefaultLimits, ToolSchemas) {
    const auto schema = [](std::size_t bytes) {
        json::object object{{"type", "object"}, {"description", ""}};
        const std::size_t bare = json::serialize(object).size();
        object["description"] = std::string(bytes - bare, 'd');
        return object;
    };
    ASSERT_EQ(json::serialize(schema(65'536)).size(), 65'536U);
    EXPECT_EQ(run(tools(1, schema(65'536), 0)), "200");
    EXPECT_EQ(run(tools(1, schema(65'537), 0)), "422 invalid_input");
    EXPECT_EQ(run(tools(128, schema(65'536), 0)), "200") << "8 MB of tools";
}

TEST_F(DefaultLimits, Ids) {
    for (const char* member : {"threadId", "runId", "parentRunId"}) {
        EXPECT_EQ(run({{member, std::string(512, 'i')}}), "200") << member;
        EXPECT_EQ(run({{member, std::string(513, 'i')}}), "422 invalid_input") << member;
    }
    const auto message = [](std::size_t id_bytes) {
        return json::object{
            {"messages", {{{"id", std::string(id_bytes, 'i')}, {"role", "user"}, {"content", "x"}}}}
        };
    };
    EXPECT_EQ(run(message(512)), "200");
    EXPECT_EQ(run(message(513)), "422 invalid_input");
}

} // namespace
} // namespace agui::test
