// The answers of the fixtures, broken off after each of their bytes: whatever came, the run has one
// end, everything that it began is closed, nothing is executed or handed off whose arguments are
// not whole, and the next turn works.
#include "gateway/config/config.hpp"
#include "proto-fixtures/replay/fixture.hpp"
#include "proto-fixtures/replay/stage.hpp"
#include "proto-fixtures/replay/stream_reader.hpp"
#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/responses/responses_dialect.hpp"
#include "tests/runner/provider/decoder_cases.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::replay {
namespace {

namespace json = boost::json;
using dialect_kind = gateway::model_config::provider_kind;

std::unique_ptr<runner::model_dialect> make_dialect(const gateway::model_config& model) {
    if (gateway::dialect_of(model) == dialect_kind::anthropic) {
        return runner::make_anthropic_dialect(gateway::anthropic_settings_of(model));
    }
    if (gateway::dialect_of(model) == dialect_kind::responses) {
        return runner::make_responses_dialect({});
    }
    runner::openai_settings settings;
    settings.reasoning_tags = model.reasoning_tags;
    return runner::make_openai_dialect(std::move(settings));
}

/// An answer with a text that is whole.
std::string text_answer(const gateway::model_config& model) {
    switch (gateway::dialect_of(model)) {
    case dialect_kind::anthropic:
        return "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
               "\"text_delta\",\"text\":\"Yes.\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    case dialect_kind::responses:
        return "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":"
               "\"Yes.\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    default:
        return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},"
               "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    }
}

/// The parts of an answer that the gateway reads from its bytes.
struct learned {
    std::string all;                    ///< Equal if the gateway cannot tell two answers apart.
    std::vector<std::string> arguments; ///< Of each call.
};

learned decode(const gateway::model_config& model, std::string_view body) {
    test::turn_data_sink sink;
    const auto decoder = make_dialect(model)->make_decoder(model.parameters, sink);
    (void)decoder->feed(body);
    decoder->end();
    learned result;
    result.all = test::describe_answer(decoder->finish()) + "\n" + sink.data;
    for (const std::string& line : sink.lines) {
        result.all += "\n" + line;
        if (line.starts_with("call ")) {
            result.arguments.emplace_back();
        } else if (line.starts_with("arguments ")) {
            const std::size_t end = line.find(' ', 10);
            result.arguments.at(std::stoul(line.substr(10, end - 10))) += line.substr(end + 1);
        }
    }
    return result;
}

/// The ids of the calls and those of the results in a request, in their order.
void collect_ids(const json::value& part, json::array& calls, json::array& results) {
    if (const json::array* const list = part.if_array()) {
        for (const json::value& each : *list) {
            collect_ids(each, calls, results);
        }
        return;
    }
    const json::object* const object = part.if_object();
    if (object == nullptr) {
        return;
    }
    const json::value* const type = object->if_contains("type");
    const json::value* const role = object->if_contains("role");
    const auto id = [object](std::string_view name) {
        return object->at(name);
    };
    if (role != nullptr && *role == "tool") {
        results.push_back(id("tool_call_id"));
    } else if (type != nullptr && *type == "tool_result") {
        results.push_back(id("tool_use_id"));
    } else if (type != nullptr && *type == "function_call_output") {
        results.push_back(id("call_id"));
    } else if (type != nullptr && *type == "function_call") {
        EXPECT_TRUE(json::parse(id("arguments").as_string()).is_object());
        calls.push_back(id("call_id"));
    } else if (type != nullptr && *type == "tool_use") {
        EXPECT_TRUE(id("input").is_object());
        calls.push_back(id("id"));
    } else if (type != nullptr && *type == "function") {
        EXPECT_TRUE(json::parse(id("function").at("arguments").as_string()).is_object());
        calls.push_back(id("id"));
    } else if (role != nullptr) {
        for (const std::string_view name : {"content", "tool_calls"}) {
            if (const json::value* const inner = object->if_contains(name)) {
                collect_ids(*inner, calls, results);
            }
        }
    }
}

/// An answer of a fixture, and what a client offers when it comes.
struct known_answer {
    std::string fixture;
    fixture_settings settings; ///< With the one model that gives the answer.
    json::array tools;
    runner::scripted_answer answer;
};

/// The model that is asked, by the id in the expected request; the first one if none is expected.
std::string model_of(const fixture& from, const model_turn& turn) {
    const json::value* const id = turn.expect ? turn.expect->if_contains("model") : nullptr;
    for (const gateway::model_config& each : from.settings.config.models) {
        if (id != nullptr && *id == json::string(each.parameters.model)) {
            return each.name;
        }
    }
    return "main";
}

/// Each different answer of the fixtures whose dialect this is. Refusals are only a status.
std::vector<known_answer> answers_in(dialect_kind dialect) {
    std::vector<known_answer> all;
    std::set<std::string> seen;
    for (const auto& folder : find_fixtures(PROTO_FIXTURES_DIR)) {
        const fixture loaded = load_fixture(folder);
        json::array tools;
        for (const step& next : loaded.steps) {
            const auto* const request = std::get_if<request_step>(&next.what);
            if (request == nullptr) {
                continue;
            }
            const json::value* const offered = request->input.if_contains("tools");
            if (offered != nullptr && offered->is_array()) {
                tools = offered->get_array();
            }
            for (const model_turn& turn : request->upstream) {
                known_answer made{loaded.name, loaded.settings, tools, turn.answer};
                auto& models = made.settings.config.models;
                std::erase_if(models, [name = model_of(loaded, turn)](const auto& each) {
                    return each.name != name;
                });
                if (turn.answer.status == 200 && !turn.answer.body.empty() &&
                    gateway::dialect_of(models.at(0)) == dialect &&
                    seen.insert(turn.answer.body).second) {
                    all.push_back(std::move(made));
                }
            }
        }
    }
    return all;
}

json::value user(const std::string& id) {
    return {{"id", id}, {"role", "user"}, {"content", "Go on."}};
}

class CutAnswers : public test::coroutine_test, public ::testing::WithParamInterface<dialect_kind> {
protected:
    /// Breaks the answer off after each of its bytes.
    void cut(known_answer known) {
        SCOPED_TRACE(known.fixture);
        gateway::config& config = known.settings.config;
        model_ = config.models.at(0);
        config.agents.resize(1);
        config.agents[0].models = {model_.name};
        config.agents[0].agents.clear(); // Their answers are played like its own.
        config.session.store = gateway::session_config::store_kind::memory;
        config.session.history.mode = session::history_mode::server;
        config.session.history.on_abandoned = session::on_abandoned::answer;
        for (canned_tool& tool : known.settings.server_tools) {
            tool.delay = {};
        }
        whole_ = decode(model_, known.answer.body).arguments;
        stage played(known.settings);
        run(played.open());
        std::set<std::string> learned_before;
        for (std::size_t at = 0; at < known.answer.body.size() && !HasFailure(); ++at) {
            ++cuts_;
            runner::scripted_answer broken = known.answer;
            broken.body.resize(at);
            // The gateway cannot tell the others apart.
            if (learned_before.insert(decode(model_, broken.body).all).second) {
                SCOPED_TRACE("after " + std::to_string(at) + " bytes");
                broken.drop_after_frames.reset();
                broken.stall_after_frames.reset();
                broken.repeat_frame.reset();
                play(played, known.tools, std::move(broken));
            }
        }
        run(played.close());
    }

    std::size_t cuts_ = 0;
    std::size_t played_ = 0;

private:
    void play(stage& on, const json::array& tools, runner::scripted_answer broken) {
        const std::string thread = "thread-" + std::to_string(++played_);
        std::vector<model_turn> turns(1);
        turns[0].answer = std::move(broken);
        model_turn text;
        text.answer.body = text_answer(model_);
        turns.resize(12, text); // More than a model is asked after pauses and calls.
        on.model().expect(turns);
        const auto events = run(post(on, thread, "run-1", {user("u1")}, tools));
        json::array resume;
        json::array messages = check_calls(events, resume);
        messages.push_back(user("u2"));
        on.model().expect({text});
        const auto next = run(post(on, thread, "run-2", std::move(messages), tools, resume));
        EXPECT_EQ(next.empty() ? json::value() : next.back().at("type"), "RUN_FINISHED");
        check_request(on.model().asked());
    }

    boost::asio::awaitable<std::vector<json::object>> post(
        stage& on, std::string thread, std::string id, json::array messages, json::array tools,
        json::array resume = {}
    ) {
        const json::value input{{"threadId", std::move(thread)}, {"runId", std::move(id)},
                                {"protocolVersion", "1.1"},      {"messages", std::move(messages)},
                                {"tools", std::move(tools)},     {"resume", std::move(resume)}};
        gateway::requested_run request;
        request.input = translator::read_run_input(
                            json::serialize(input), gateway::make_input_limits(on.config())
        )
                            .value();
        auto accepted = co_await on.service().accept(std::move(request));
        const std::shared_ptr<gateway::event_log> log = accepted.value().log;
        const auto begun = co_await on.service().begin(std::move(*accepted));
        EXPECT_TRUE(begun.has_value());
        // The verifier in it demands one end, and that everything is closed.
        const read_stream read = co_await read_log(log, translator::projection::v1_1);
        EXPECT_TRUE(read.ended);
        for (const std::string& problem : read.problems) {
            ADD_FAILURE() << problem;
        }
        co_return read.events;
    }

    /// The calls that were executed, handed off or shown to a person have all of their arguments.
    /// Returns answers to those that wait for the client, and adds denials of the others to
    /// `resume`.
    [[nodiscard]] json::array
    check_calls(const std::vector<json::object>& events, json::array& resume) const {
        std::map<std::string, std::string> arguments;
        json::array acted_upon;
        json::array answers;
        for (const json::object& event : events) {
            const json::value& type = event.at("type");
            if (type == "TOOL_CALL_ARGS") {
                arguments[std::string(event.at("toolCallId").as_string())] +=
                    event.at("delta").as_string();
            } else if (type == "CUSTOM" && event.at("name") == "agui-gateway.tool.started") {
                acted_upon.push_back(event.at("value").at("toolCallId"));
            } else if (type == "RUN_FINISHED" &&
                       event.at("outcome").as_object().contains("pendingToolCallIds")) {
                for (const json::value& id :
                     event.at("outcome").at("pendingToolCallIds").as_array()) {
                    acted_upon.push_back(id);
                    answers.push_back({{"role", "tool"}, {"toolCallId", id}, {"content", "done"}});
                }
            } else if (type == "RUN_FINISHED" && event.at("outcome").at("type") == "interrupt") {
                for (const json::value& asked : event.at("outcome").at("interrupts").as_array()) {
                    acted_upon.push_back(asked.at("toolCallId"));
                    resume.push_back(
                        {{"interruptId", asked.at("id")},
                         {"status", "resolved"},
                         {"payload", {{"approved", false}}}}
                    );
                }
            }
        }
        for (const json::value& id : acted_upon) {
            const std::string& made = arguments[std::string(id.as_string())];
            const auto is_same = [&made](const std::string& all) {
                return all.empty() ? made == "{}" : all == made;
            };
            EXPECT_TRUE(std::ranges::any_of(whole_, is_same)) << id << " " << made;
        }
        return answers;
    }

    /// Each call has one result.
    void check_request(const std::vector<std::string>& asked) {
        ASSERT_EQ(asked.size(), 1U);
        const json::value body = json::parse(asked[0]);
        const bool has_items = gateway::dialect_of(model_) == dialect_kind::responses;
        json::array calls;
        json::array results;
        collect_ids(body.at(has_items ? "input" : "messages"), calls, results);
        EXPECT_EQ(calls, results) << asked[0];
    }

    gateway::model_config model_;
    std::vector<std::string> whole_; ///< The arguments of the answer's calls.
};

TEST_P(CutAnswers, EndOnceExecuteNothingCutAndLetTheNextTurnWork) {
    const std::vector<known_answer> all = answers_in(GetParam());
    for (const known_answer& each : all) {
        if (HasFailure()) {
            break;
        }
        cut(each);
    }
    EXPECT_GT(all.size(), 30U);
    EXPECT_GT(cuts_, 50'000U);
    RecordProperty("cuts", std::to_string(cuts_));
    std::cout << cuts_ << " cuts of " << all.size() << " answers, of which the gateway can tell "
              << played_ << " apart\n";
}

INSTANTIATE_TEST_SUITE_P(
    Dialects, CutAnswers,
    ::testing::Values(dialect_kind::openai, dialect_kind::anthropic, dialect_kind::responses),
    [](const auto& param) {
        return std::string(
            param.param == dialect_kind::openai      ? "ChatCompletions"
            : param.param == dialect_kind::anthropic ? "Messages"
                                                     : "Responses"
        );
    }
);

} // namespace
} // namespace agui::replay
