// Whole conversations with each kind of client, and in client mode.
#include "session/history/history_plan.hpp"

#include "session/history/model_history.hpp"
#include "tests/support/history_request.hpp"

#include <algorithm>
#include <optional>
#include <random>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::bytes;
using test::call;
using test::other;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::user;

using lines = std::vector<std::string>;

// A thread, and a client that holds a copy of it in its own shape.
class conversation {
public:
    enum class client { full, delta, reshaping, reloading };

    explicit conversation(client kind, client_history sends = client_history::automatic)
        : kind_(kind), sends_(sends) {}

    // Makes one request. Returns the messages for the model.
    std::string ask(const std::vector<message>& added) {
        copy_.insert(copy_.end(), added.begin(), added.end());
        history_policy policy;
        policy.client_history = sends_;
        const planned made = plan(thread_, request(kind_ == client::delta ? added : copy_), policy);
        EXPECT_FALSE(made.refused);
        EXPECT_EQ(made.plan.next, next_step::call_model);
        thread_ = made.thread;
        return model();
    }

    // Asks the user message of that number (counted in the copy) again, or replaces it first.
    std::string ask_again(std::size_t number, const std::optional<message>& instead) {
        auto at = copy_.begin();
        for (std::size_t seen = 0; at != copy_.end(); ++at) {
            if (at->role == role::user && seen++ == number) {
                break;
            }
        }
        copy_.erase(instead ? at : at + 1, copy_.end());
        return ask(instead ? std::vector<message>{*instead} : std::vector<message>{});
    }
    [[nodiscard]] std::size_t user_messages() const {
        return static_cast<std::size_t>(std::ranges::count(copy_, role::user, &message::role));
    }

    // Stores the server's turn: a message, its calls, and the results of the server's calls.
    void reply(const message& turn) {
        stored_message node;
        changes change;
        node.parent = thread_.branches.at(thread_.head).tip;
        node.message = turn;
        change.messages.push_back(node);
        auto tip = static_cast<node_index>(thread_.nodes.size());
        for (const tool_call& made : turn.tool_calls) {
            const bool server = test::is_server_tool(made.name);
            change.calls.push_back(
                {made.id, made.name, "run", server ? call_owner::server : call_owner::external,
                 server ? call_status::answered : call_status::pending, tip}
            );
        }
        copy_turn(turn);
        const node_index made_in = tip;
        for (const tool_call& made : turn.tool_calls) {
            if (test::is_server_tool(made.name)) {
                node.parent = tip;
                node.message = answer(made.id, "sunny");
                change.messages.push_back(node);
                copy_.push_back(node.message);
                tip = made_in + static_cast<node_index>(change.messages.size()) - 1;
            }
        }
        change.branches.push_back({thread_.head, {tip, 0}});
        apply(thread_, change);
    }

    // Loads the page again. It loses everything that it showed, and a plain client does not get it
    // back.
    void reload() { copy_.clear(); }

    [[nodiscard]] std::string model() const {
        return bytes(model_history(thread_, thread_.branches.at(thread_.head).tip));
    }
    [[nodiscard]] std::size_t branches() const { return thread_.branches.size(); }

private:
    // assistant-ui begins a new message only with text. The calls of a turn without text join the
    // message before it, under a new id.
    void copy_turn(const message& turn) {
        if (kind_ != client::reshaping) {
            copy_.push_back(turn);
            return;
        }
        if (is_empty(turn.content)) {
            for (auto last = copy_.rbegin(); last != copy_.rend(); ++last) {
                if (last->role == role::user) {
                    break;
                }
                if (last->role == role::assistant) {
                    last->tool_calls.insert(
                        last->tool_calls.end(), turn.tool_calls.begin(), turn.tool_calls.end()
                    );
                    return;
                }
            }
        }
        copy_.push_back(turn);
        copy_.back().id = "own-" + turn.id;
    }

    client kind_;
    client_history sends_;
    thread_record thread_;
    std::vector<message> copy_;
};

class HistoryClientsOfAllKinds : public ::testing::TestWithParam<std::mt19937::result_type> {};

TEST_P(HistoryClientsOfAllKinds, GetTheSameAnswers) {
    for (std::mt19937::result_type seed = GetParam(); seed < GetParam() + 50; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        conversation full(conversation::client::full);
        conversation delta(conversation::client::delta);
        conversation reshaping(conversation::client::reshaping);
        conversation reloading(conversation::client::reloading);
        const auto ask = [&](const std::vector<message>& added) {
            const std::string asked = full.ask(added);
            ASSERT_EQ(delta.ask(added), asked);
            ASSERT_EQ(reshaping.ask(added), asked);
            ASSERT_EQ(reloading.ask(added), asked);
        };
        int number = 0;
        for (int turn = 0; turn < 12; ++turn) {
            std::vector<message> added{user("u" + std::to_string(turn), "question")};
            for (bool going_on = true; going_on;) {
                ASSERT_NO_FATAL_FAILURE(ask(added));
                added.clear();
                const std::string n = std::to_string(++number);
                std::vector<tool_call> calls;
                for (unsigned i = 0; i < random() % 4; ++i) {
                    calls.push_back(call(
                        "c" + n + "." + std::to_string(i),
                        random() % 2 == 0 ? "paint" : "get_weather", random() % 3 == 0 ? "" : "{}"
                    ));
                }
                const message made = assistant(
                    "a" + n, calls.empty() || random() % 2 == 0 ? "text " + n : "", calls
                );
                for (conversation* client : {&full, &delta, &reshaping, &reloading}) {
                    client->reply(made);
                }
                // Reloads at any moment, even in the middle of a hand-off.
                if (random() % 3 == 0) {
                    reloading.reload();
                }
                for (const tool_call& open : calls) {
                    if (!test::is_server_tool(open.name)) {
                        added.push_back(answer(open.id, "result of " + open.id));
                    }
                }
                std::shuffle(added.begin(), added.end(), random);
                going_on = !added.empty();
                // In form 3, the answers come with the next message.
                if (going_on && random() % 4 == 0) {
                    ++turn;
                    added.push_back(user("u" + std::to_string(turn), "and?"));
                }
            }
        }
        EXPECT_EQ(full.branches(), 1U);
        EXPECT_EQ(delta.branches(), 1U);
        EXPECT_EQ(reshaping.branches(), 1U);
        EXPECT_EQ(reloading.branches(), 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, HistoryClientsOfAllKinds, ::testing::Values(1U, 51U, 101U, 151U, 201U, 251U)
);

TEST(HistoryClients, WithTheWholeHistoryGetTheSameAnswersAfterEditsAndRegenerations) {
    for (std::mt19937::result_type seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        conversation full(conversation::client::full, client_history::full);
        conversation reshaping(conversation::client::reshaping, client_history::full);
        int number = 0;
        const auto reply = [&] {
            const std::string n = std::to_string(++number);
            std::vector<tool_call> calls;
            for (unsigned i = 0; i < random() % 3; ++i) {
                calls.push_back(call(
                    "c" + n + "." + std::to_string(i), random() % 2 == 0 ? "paint" : "get_weather"
                ));
            }
            const bool is_silent = !calls.empty() && random() % 2 == 0;
            const message made = assistant("a" + n, is_silent ? "" : "text " + n, calls);
            full.reply(made);
            reshaping.reply(made);
            std::vector<message> answers;
            for (const tool_call& open : calls) {
                if (!test::is_server_tool(open.name)) {
                    answers.push_back(answer(open.id, "result of " + open.id));
                }
            }
            return answers;
        };
        // Continues until the model answers with text only.
        const auto finish_turn = [&] {
            for (std::vector<message> answers = reply(); !answers.empty(); answers = reply()) {
                const std::string asked = full.ask(answers);
                ASSERT_EQ(reshaping.ask(answers), asked);
            }
        };
        for (int turn = 0; turn < 12; ++turn) {
            const std::string n = std::to_string(turn);
            const std::size_t known = full.user_messages();
            ASSERT_EQ(reshaping.user_messages(), known);
            const auto what = known < 2 ? 0U : random() % 4;
            std::string asked;
            std::string asked_reshaped;
            if (what < 2) {
                asked = full.ask({user("u" + n, "question " + n)});
                asked_reshaped = reshaping.ask({user("u" + n, "question " + n)});
            } else {
                const std::size_t chosen = random() % known;
                std::optional<message> instead;
                if (what == 3) {
                    instead = user("e" + n, "edited " + n);
                }
                asked = full.ask_again(chosen, instead);
                asked_reshaped = reshaping.ask_again(chosen, instead);
            }
            ASSERT_EQ(asked_reshaped, asked) << "turn " << turn;
            ASSERT_NO_FATAL_FAILURE(finish_turn());
        }
        EXPECT_EQ(full.branches(), reshaping.branches());
    }
}

TEST(HistoryClients, WithTenThousandMessagesArePlannedAtOnce) {
    thread_builder thread;
    std::vector<message> given;
    for (int i = 0; i < 2500; ++i) {
        const std::string n = std::to_string(i);
        thread.user("u" + n, "question").add(assistant("a" + n, "", {call("c" + n, "paint")}));
        thread.add(answer("c" + n, "done")).add(assistant("t" + n, "text"));
    }
    thread_record stored = thread.build();
    for (node_index node = 0; node < stored.nodes.size(); ++node) {
        given.push_back(stored.nodes[node].message);
        for (const tool_call& made : given.back().tool_calls) {
            stored.calls.push_back(
                {made.id, made.name, "run", call_owner::external, call_status::answered, node}
            );
        }
    }
    given.push_back(user("new", "question"));
    history_policy client_mode;
    client_mode.mode = history_mode::client;

    const planned server = plan(stored, request(given));
    const planned client = plan(stored, request(given), client_mode);
    const planned edited = plan(stored, request({user("u0", "other")}));

    EXPECT_EQ(server.plan.change.messages.size(), 1U);
    EXPECT_EQ(client.plan.change.messages.size(), 1U);
    EXPECT_EQ(edited.branch().size(), 1U);
}

planned in_client_mode(
    const thread_record& thread, std::vector<message> messages, history_policy policy = {}
) {
    policy.mode = history_mode::client;
    return plan(thread, request(std::move(messages)), policy);
}

thread_builder greeted() {
    thread_builder thread;
    thread.user("u1", "One").add(other(role::reasoning, "r1", "thinking")).assistant("a1", "First");
    return thread;
}

TEST(ClientHistory, AddsOnlyTheNewMessagesOfAGrowingHistory) {
    const planned made = in_client_mode(
        greeted().build(), {user("u1", "One"), assistant("a1", "First"), user("u2", "Two")}
    );

    EXPECT_EQ(made.plan.change.messages.size(), 1U);
    EXPECT_EQ(made.thread.branches.size(), 1U);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.plan.new_user_messages, lines{"u2"});
}

// Such an answer is a pause of the model, of which nothing was shown.
TEST(ClientHistory, NeedNotHoldAnAnswerWithoutText) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "").assistant("a2", "First");

    const planned made = in_client_mode(
        thread.build(), {user("u1", "One"), assistant("a2", "First"), user("u2", "Two")}
    );

    EXPECT_EQ(made.plan.change.messages.size(), 1U);
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

TEST(ClientHistory, CountsInsteadOfTheStoredOne) {
    const planned made = in_client_mode(
        greeted().build(), {user("u1", "One"), assistant("a1", "Changed"), user("u2", "Two")}
    );

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: Changed", "user u2: Two"}));
    EXPECT_EQ(made.thread.branches.size(), 2U);
    EXPECT_EQ(made.thread.head, 1U);
}

TEST(ClientHistory, MayBeginWithAnEditedMessage) {
    const planned made = in_client_mode(greeted().build(), {user("u1", "One!")});

    EXPECT_EQ(made.branch(), lines{"user u1: One!"});
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(ClientHistory, ContinuesOnAnOlderBranch) {
    thread_builder thread = greeted();
    thread.fork("u1").assistant("a2", "Second");

    const planned made = in_client_mode(
        thread.build(), {user("u1", "One"), assistant("a1", "First"), user("u2", "Two")}
    );

    EXPECT_EQ(made.thread.head, 0U);
    EXPECT_EQ(made.plan.change.messages.size(), 1U);
}

TEST(ClientHistory, PrefersTheHeadAmongEqualBranches) {
    thread_builder equal_messages;
    equal_messages.user("u1", "One").fork("").user("u1", "One").head(0);
    thread_builder equal_ends;
    equal_ends.user("u1", "One").fork("u1").fork("u1").head(1);
    const std::vector<message> given{user("u1", "One"), user("u2", "Two")};

    EXPECT_EQ(in_client_mode(equal_messages.build(), given).thread.head, 0U);
    EXPECT_EQ(in_client_mode(equal_ends.build(), given).thread.head, 1U);
}

TEST(ClientHistory, CutAfterAUserMessageAsksAgain) {
    const planned made = in_client_mode(greeted().build(), {user("u1", "One")});

    EXPECT_TRUE(made.plan.change.messages.empty());
    EXPECT_EQ(made.branch(), lines{"user u1: One"});
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(ClientHistory, AnswersPendingCalls) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, call_status::pending);

    const planned made = in_client_mode(
        thread.build(),
        {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), answer("c1", "done")}
    );

    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.plan.change.messages.size(), 1U);
    EXPECT_EQ(made.plan.answers.size(), 1U);
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(ClientHistory, WaitsForTheOtherAnswersAndThenContinues) {
    thread_builder thread;
    const std::vector<tool_call> calls{call("c1", "paint"), call("c2", "move")};
    thread.user("u1", "One").assistant("a1", "", calls, call_status::pending);
    std::vector<message> given{user("u1", "One"), assistant("a1", "", calls), answer("c1", "done")};

    const planned first = in_client_mode(thread.build(), given);
    given.push_back(answer("c2", "moved"));
    const planned second = in_client_mode(first.thread, given);

    EXPECT_EQ(first.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(first.status("c2"), call_status::pending);
    EXPECT_EQ(second.plan.next, next_step::call_model);
    EXPECT_EQ(second.thread.branches.size(), 1U);
    EXPECT_EQ(second.branch().size(), 4U);
}

TEST(ClientHistory, AbandonsPendingCallsWhenTheUserContinues) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, call_status::pending);
    const std::vector<message> given{
        user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), user("u2", "Two")
    };
    history_policy strict;
    strict.on_abandoned = on_abandoned::reject;

    EXPECT_EQ(in_client_mode(thread.build(), given).status("c1"), call_status::abandoned);
    EXPECT_EQ(in_client_mode(thread.build(), given, strict).error, errc::pending_tool_calls);
}

TEST(ClientHistory, MovesThePendingCallsOfAChangedMessage) {
    thread_builder thread;
    const std::vector<tool_call> calls{call("c1", "paint"), call("c2", "move")};
    thread.user("u1", "One").assistant("a1", "", calls, call_status::pending);

    const planned made = in_client_mode(
        thread.build(), {user("u1", "One"), assistant("own", "", calls), answer("c1", "done")}
    );

    EXPECT_EQ(made.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.status("c2"), call_status::pending);
    EXPECT_EQ(made.thread.find_call("c1")->made_in, 2U);
    EXPECT_EQ(made.thread.find_call("c2")->made_in, 2U);
    EXPECT_EQ(made.thread.calls.size(), 2U);
}

TEST(ClientHistory, IsRepairedForTheModel) {
    const planned made = in_client_mode(
        {}, {user("u1", "One"), assistant("a1", "", {call("c1", "get_weather")}), user("u2", "Two"),
             answer("c1", "late"), user("u3", "Three")}
    );

    EXPECT_EQ(
        test::outline(model_history(made.thread, made.thread.branches.at(0).tip)),
        (lines{
            "user u1: One", "assistant a1:  [c1 get_weather({})]", "tool c1: late", "user u2: Two",
            "user u3: Three"
        })
    );
}

TEST(ClientHistory, GivesNoSystemTextUnlessAccepted) {
    history_policy accepting;
    accepting.accept_client_system = true;
    const std::vector<message> given{other(role::system, "s", "Be brief"), user("u1", "One")};

    EXPECT_EQ(in_client_mode({}, given).branch(), lines{"user u1: One"});
    EXPECT_EQ(in_client_mode({}, given, accepting).branch().size(), 2U);
}

} // namespace
} // namespace agui::session
