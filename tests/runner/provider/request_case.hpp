#pragma once

/// Shared by the tests of the requests of every dialect.

#include "runner/base/model_provider.hpp"
#include "runner/provider/answer_blocks.hpp"
#include "tests/runner/provider/decoder_cases.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {

inline session::message text_message(session::role who, std::string text) {
    session::message made;
    made.role = who;
    made.content = std::move(text);
    return made;
}

inline session::message with_parts(session::role who, std::string_view parts) {
    session::message made;
    made.role = who;
    made.content = boost::json::parse(parts).as_array();
    return made;
}

inline session::message user_parts(std::string_view parts) {
    return with_parts(session::role::user, parts);
}

inline session::message tool_message(std::string call_id, std::string text) {
    session::message made = text_message(session::role::tool, std::move(text));
    made.tool_call_id = std::move(call_id);
    return made;
}

inline session::message calling(std::string text, std::vector<session::tool_call> calls) {
    session::message made = text_message(session::role::assistant, std::move(text));
    made.tool_calls = std::move(calls);
    return made;
}

/// Builds a request that owns what model_request refers to.
template <class Settings>
class request_case : public ::testing::Test {
protected:
    using writer = std::string (*)(const runner::model_request&, const Settings&);

    /// `provider` must outlive this object.
    request_case(std::string_view provider, std::string model, writer how) : writer_(how) {
        request.provider = provider;
        request.parameters.model = std::move(model);
    }

    std::string write() {
        request.messages = &messages;
        request.tools = &tools;
        return writer_(request, settings);
    }

    /// A member of the body as text; empty if it is absent.
    std::string member(std::string_view name) {
        const boost::json::value body = boost::json::parse(write());
        const boost::json::value* const found = body.as_object().if_contains(name);
        return found == nullptr ? "" : boost::json::serialize(*found);
    }

    /// An answer of the model that is asked, with these recorded blocks under `name`.
    session::message recorded_answer(
        std::string_view name, std::string text, std::string_view thoughts, std::string_view blocks,
        std::vector<session::tool_call> calls
    ) const {
        auto origin = std::make_shared<session::turn_origin>();
        origin->provider = request.provider;
        origin->model = request.parameters.model;
        for (const session::tool_call& each : calls) {
            session::turn_block& block = origin->blocks.emplace_back();
            block.what = session::turn_block::kind::call;
            block.id = each.id;
        }
        origin->data[name] = {
            {"text", hash_of(text)},
            {"thoughts", hash_of(thoughts)},
            {"blocks", boost::json::parse(blocks)}
        };
        session::message made = calling(std::move(text), std::move(calls));
        made.origin = std::move(origin);
        return made;
    }

    /// The body of a conversation that grows begins with the former body, up to `end`, where its
    /// list of messages ends: prompt caches, and the signatures of thoughts, hold only for the same
    /// beginning. `own_answer` makes messages of the model that is asked, with a call of this id.
    /// `moves_system`: system text after an unanswered message of the user may move.
    template <class Answer>
    void expect_growth(std::string_view end, Answer own_answer, bool moves_system = false) {
        using session::role;
        constexpr std::uint64_t conversations = 40;
        request.instructions = "i";
        tools = {{"f", "d", {}}};
        std::size_t grown = 0;
        for (std::uint64_t seed = 1; seed <= conversations && !HasFatalFailure(); ++seed) {
            SCOPED_TRACE(seed);
            numbers random(seed);
            messages.clear();
            std::string former;
            bool is_answered = false;
            const auto check = [&] {
                const std::string body = write();
                ASSERT_EQ(body, write());
                const std::size_t at = body.rfind(end);
                ASSERT_NE(at, std::string::npos);
                ASSERT_TRUE(body.starts_with(former)) << body << "\n\n" << former;
                former = body.substr(0, at);
                ++grown;
            };
            for (int turn = 0; turn < 10; ++turn) {
                const std::size_t system = former.rfind(R"("role":"system")");
                if (moves_system && !is_answered && system != std::string::npos &&
                    system > former.rfind(R"("role":"user")")) {
                    former.clear();
                }
                if (random.below(4) == 0) {
                    messages.push_back(text_message(role::system, random.below(3) == 0 ? "" : "s"));
                }
                messages.push_back(text_message(role::user, random.below(5) == 0 ? " " : "u"));
                if (random.below(3) == 0) {
                    messages.push_back(text_message(role::user, "more"));
                }
                if (random.below(5) == 0) {
                    messages.push_back(text_message(role::system, "t"));
                }
                check();
                for (std::size_t rounds = random.below(3); rounds > 0; --rounds) {
                    const std::string id = "id." + std::to_string(messages.size());
                    if (random.below(2) == 0) {
                        for (session::message& each : own_answer(id)) {
                            messages.push_back(std::move(each));
                        }
                    } else {
                        messages.push_back(
                            calling(random.below(2) == 0 ? "" : "t", {{id, "f", "{}", {}, {}}})
                        );
                    }
                    messages.push_back(tool_message(id, random.below(3) == 0 ? "" : "r"));
                    check();
                }
                is_answered = false;
                if (random.below(6) > 0) {
                    is_answered = random.below(6) > 0;
                    messages.push_back(text_message(role::assistant, is_answered ? "a" : "\n"));
                }
            }
        }
        EXPECT_GT(grown, conversations * 10);
    }

    runner::model_request request;
    Settings settings;
    std::vector<session::message> messages;
    std::vector<runner::tool_definition> tools;

private:
    static std::string hash_of(std::string_view text) {
        runner::text_hash hash;
        hash.add(text);
        return std::to_string(hash.value());
    }

    writer writer_;
};

} // namespace agui::test
