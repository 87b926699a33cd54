#include "session/conversation/prompt_record.hpp"
#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

message message_of(role speaker, std::string id) {
    message value;
    value.id = std::move(id);
    value.role = speaker;
    value.content = "text of " + std::string(to_string(speaker));
    return value;
}

// A record with every member. The values are not in the order of their names.
std::shared_ptr<const prompt_record> whole_prompt() {
    prompt_record record;
    record.begins = prompt_beginning{
        .agent_id = "helper",
        .source = "5f1e",
        .instructions = "Be brief. \xc3\xa9 \" \\ \n",
        .holds_context = true,
        .holds_state = true,
    };
    record.values = {{"user", "ann"}, {"time", "12:00"}, {"mood", ""}};
    record.context = "<context note=\"x\">C</context>";
    record.state = "<state note=\"x\">{}</state>";
    record.tools = {"zoom", "paint"};
    record.undeclared = {"scroll"};
    record.withdrawn.push_back({{"name", "look"}, {"parameters", {{"type", "object"}}}});
    return std::make_shared<const prompt_record>(std::move(record));
}

// A beginning whose source alone determines the instructions, without the optional members.
std::shared_ptr<const prompt_record> bare_beginning() {
    prompt_record record;
    record.begins = prompt_beginning{.agent_id = "helper", .source = "5f1e", .instructions = {}};
    return std::make_shared<const prompt_record>(std::move(record));
}

// One message of each role, with every member that the role has.
std::vector<message> messages_of_all_roles() {
    std::vector<message> all;
    all.push_back(message_of(role::system, "m0"));
    all.push_back(message_of(role::developer, "m1"));
    all.back().name = "ops";
    all.push_back(message_of(role::user, "m2"));
    all.back().content = json::array{
        {{"type", "text"}, {"text", "look: \xc3\xa9 \" \\ \n"}},
        {{"type", "image"}, {"source", {{"type", "url"}, {"value", "https://x/y.png"}}}},
    };
    all.back().metadata = json::object{{"a", {1, 2.5, nullptr, true}}};
    all.back().by_plugin = true;
    all.back().prompt = whole_prompt();
    all.push_back(message_of(role::reasoning, "m3"));
    all.back().encrypted_value = "opaque";
    all.back().encrypted_value_type = "anthropic.redacted_thinking";
    all.push_back(message_of(role::assistant, "m4"));
    all.back().content = std::string();
    all.back().tool_calls.push_back({"call_1", "f", "{\"a\":", "e", "t"});
    all.back().tool_calls.push_back({"call_2", "g", "", std::nullopt, std::nullopt});
    all.back().subagent_run_id = "sub_1";
    turn_origin origin;
    origin.provider = "main";
    origin.model = "thinker-1";
    origin.blocks.push_back({turn_block::kind::reasoning, "m3", 0, nullptr});
    origin.blocks.push_back({turn_block::kind::call, "call_1", 0, json::object{{"x", "signed"}}});
    origin.data = {{"reasoning", "reasoning_content"}};
    all.back().origin = std::make_shared<const turn_origin>(origin);
    all.push_back(message_of(role::tool, "m5"));
    all.back().tool_call_id = "call_1";
    all.back().name = "f";
    all.back().error = "it failed";
    all.back().for_model = std::make_shared<const content>("the model's side");
    all.back().prompt = bare_beginning();
    all.push_back(message_of(role::activity, "m6"));
    all.back().content = std::string();
    all.back().activity_type = "PLAN";
    all.back().activity = {{"steps", json::array{"one"}}};
    return all;
}

TEST_P(StoreContract, KeepsEveryMessageRoleAndField) {
    const std::vector<message> given = messages_of_all_roles();
    changes first;
    changes later;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto number = static_cast<node_index>(i);
        (i < 3 ? first : later)
            .messages.push_back({
                .parent = i == 0 ? no_node : number - 1,
                .run_id = "run_" + std::to_string(i),
                .created_at = 1000 + number,
                .message = given[i],
            });
    }
    const auto expect_all = [&](const thread_record& thread) {
        EXPECT_EQ(thread.key, thread_1);
        ASSERT_EQ(thread.nodes.size(), given.size());
        for (std::size_t i = 0; i < given.size(); ++i) {
            SCOPED_TRACE(i);
            EXPECT_EQ(thread.nodes[i].message, given[i]);
            EXPECT_EQ(thread.nodes[i].parent, i == 0 ? no_node : static_cast<node_index>(i - 1));
            EXPECT_EQ(thread.nodes[i].run_id, "run_" + std::to_string(i));
            EXPECT_EQ(thread.nodes[i].created_at, static_cast<unix_ms>(1000 + i));
        }
    };

    begin(thread_1, "run_1", std::move(first));
    done(subject().commit(thread_1, std::move(later)));

    expect_all(load(thread_1));
    expect_all(get(subject().look_up(thread_1, "run_2")).thread.value());
    reopen();
    expect_all(load(thread_1));
    expect_all(get(subject().look_up(thread_1, "run_2")).thread.value());
}

TEST_P(StoreContract, KeepsEveryThreadField) {
    changes change = user_turn("m0", "hi", 0, 5000);
    change.agent_id = "helper";
    change.title = "A title";
    change.archived = true;
    change.metadata = json_text(R"({"k":"v"})");
    change.state = json_text(R"({"color":"red"})");
    change.offered_tools = json::array{{{"name", "f"}}};
    change.last_request_had_history = true;

    get(subject().begin(thread_1, run_of("run_1", 4000), change));
    const thread_record thread = load(thread_1);

    EXPECT_EQ(thread.agent_id, "helper");
    EXPECT_EQ(thread.title, "A title");
    EXPECT_TRUE(thread.archived);
    EXPECT_EQ(thread.metadata.view(), R"({"k":"v"})");
    EXPECT_EQ(thread.state, json_text(R"({"color":"red"})"));
    EXPECT_EQ(thread.offered_tools, (json::array{{{"name", "f"}}}));
    EXPECT_TRUE(thread.last_request_had_history);
    EXPECT_EQ(thread.created_at, 5000);
    EXPECT_EQ(thread.updated_at, 5000);
    EXPECT_EQ(thread.last_run_at, 4000);
}

TEST_P(StoreContract, HasASigningKeyOfItsOwn) {
    EXPECT_EQ(subject().signing_key().size(), signing_key_bytes);
    EXPECT_NE(subject().signing_key(), make_memory_store()->signing_key());
}

TEST_P(StoreContract, KeepsAttachmentsOfAThreadThatNeedNotExist) {
    const thread_key key = key_of("not yet");
    const attachment photo{
        .sha256 = std::string(64, 'a'),
        .mime_type = "image/png",
        .bytes = std::string("\x89PNG\0\xff", 6),
        .kept_at = 1000,
    };

    done(subject().keep_attachment(key, photo, 6));

    EXPECT_EQ(get(subject().find_attachment(key, photo.sha256)), photo);
    EXPECT_FALSE(get(subject().find_attachment(key, std::string(64, 'b'))));
    EXPECT_FALSE(get(subject().find_attachment(key_of("another"), photo.sha256)));
    EXPECT_FALSE(get(subject().find_attachment({"bob", key.thread_id}, photo.sha256)));
}

TEST_P(StoreContract, AttachmentsOfAThreadHaveALimit) {
    const thread_key key = key_of("thread_a");
    attachment one{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1234"};
    attachment other{.sha256 = std::string(64, 'b'), .mime_type = "a/b", .bytes = "567"};

    done(subject().keep_attachment(key, one, 6));
    const auto refused = run(subject().keep_attachment(key, other, 6));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::body_too_large);
    EXPECT_FALSE(get(subject().find_attachment(key, other.sha256)));
    one.kept_at = 7;
    done(subject().keep_attachment(key, one, 6)); // The same once more.
    EXPECT_EQ(get(subject().find_attachment(key, one.sha256))->kept_at, 7);
    done(subject().keep_attachment(key, other, 7));
}

TEST_P(StoreContract, AttachmentsAreDroppedByAgeAndWithTheirThread) {
    const thread_key key = key_of("thread_a");
    attachment early{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1"};
    early.kept_at = 100;
    attachment late = early;
    late.sha256 = std::string(64, 'b');
    late.kept_at = 200;
    done(subject().keep_attachment(key, early, 100));
    done(subject().keep_attachment(key, late, 100));

    done(subject().drop_logs({.ended_since = 0, .attached_since = 200}));
    EXPECT_FALSE(get(subject().find_attachment(key, early.sha256)));
    EXPECT_TRUE(get(subject().find_attachment(key, late.sha256)));

    begin(key, "run_1");
    EXPECT_TRUE(get(subject().remove(key)));
    EXPECT_FALSE(get(subject().find_attachment(key, late.sha256)));
}

TEST_P(StoreContract, AttachmentsOfAThreadThatWasNeverMadeAreRemovedToo) {
    const thread_key key = key_of("never");
    const attachment photo{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1"};
    done(subject().keep_attachment(key, photo, 100));

    EXPECT_FALSE(get(subject().remove(key)));

    EXPECT_FALSE(get(subject().find_attachment(key, photo.sha256)));
}

TEST_P(StoreContract, AbsentMembersChangeNothing) {
    changes first = user_turn("m0", "hi", 0, 5000);
    first.title = "A title";
    first.state = json_text(R"({"color":"red"})");
    first.offered_tools = json::array{{{"name", "f"}}};
    begin(thread_1, "run_1", first);

    changes second;
    second.metadata = json_text(R"({"k":"v"})");
    done(subject().commit(thread_1, second));
    const thread_record thread = load(thread_1);

    EXPECT_EQ(thread.title, "A title");
    EXPECT_EQ(thread.state, json_text(R"({"color":"red"})"));
    EXPECT_EQ(thread.offered_tools, (json::array{{{"name", "f"}}}));
    EXPECT_EQ(thread.nodes.size(), 1U);
    EXPECT_EQ(thread.updated_at, 5000);
    EXPECT_EQ(thread.metadata.view(), R"({"k":"v"})");
}

TEST_P(StoreContract, AStateOfNullReplacesOneThatWasThere) {
    changes first;
    first.state = json_text(R"({"color":"red"})");
    begin(thread_1, "run_1", first);

    changes second;
    second.state = json_text();
    done(subject().commit(thread_1, second));

    EXPECT_TRUE(load(thread_1).state.is_null());
}

TEST_P(StoreContract, ReadsBackTextThatIsNotUtf8AndJsonThatIsDeep) {
    json::value deep = 1;
    for (int i = 0; i < 200; ++i) {
        deep = json::array{std::move(deep)};
    }
    changes change = user_turn("m0", "broken \xff\xfe bytes");
    change.messages.edit_each([&](stored_message& node) {
        node.message.metadata = json::object{{"deep", deep}};
    });

    begin(thread_1, "run_1", change);
    const thread_record thread = load(thread_1);

    EXPECT_EQ(text_of(thread.nodes.at(0).message.content), "broken \xff\xfe bytes");
    EXPECT_EQ(thread.nodes.at(0).message.metadata, (json::object{{"deep", deep}}));
}

TEST_P(StoreContract, KeepsBranchesAndTheHead) {
    changes first = user_turn("m0", "hi");
    first.messages.push_back(user_message("m1", "more", 0));
    first.branches[0].value.tip = 1;
    begin(thread_1, "run_1", first);

    changes edit;
    edit.messages.push_back(user_message("m2", "other", 0));
    edit.branches.push_back({1, {.tip = 2, .updated_at = 2000}});
    edit.head = 1;
    done(subject().commit(thread_1, edit));
    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.branches.size(), 2U);
    EXPECT_EQ(thread.branches[0].tip, 1U);
    EXPECT_EQ(thread.branches[1].tip, 2U);
    EXPECT_EQ(thread.branches[1].updated_at, 2000);
    EXPECT_EQ(thread.head, 1U);
    EXPECT_EQ(thread.path(thread.branches[1].tip), (std::vector<node_index>{0, 2}));
}

TEST_P(StoreContract, KeepsAnApprovalFromItsQuestionToTheResult) {
    changes first = user_turn("m0", "hi");
    first.calls.push_back({"a", "f", "run_1", call_owner::server, call_status::held, 0});
    begin(thread_1, "run_1", first);
    for (const call_status status :
         {call_status::asked, call_status::approved, call_status::executing,
          call_status::indeterminate, call_status::suspended, call_status::cancelled,
          call_status::denied}) {
        const std::uint64_t before = load(thread_1).version;
        changes next;
        next.calls.push_back({"a", "f", "run_2", call_owner::server, status, 0});
        done(subject().commit(thread_1, next));
        const thread_record thread = load(thread_1);
        ASSERT_EQ(thread.calls.size(), 1U);
        EXPECT_EQ(thread.calls[0].status, status);
        EXPECT_EQ(thread.calls[0].run_id, "run_2");
        EXPECT_EQ(thread.calls[0].owner, call_owner::server);
        EXPECT_GT(thread.version, before); // So that an answer to the former status is refused.
    }
    changes last = user_turn("", "", 1);
    last.messages.edit_each([](stored_message& node) {
        node.message.id = "m1";
        node.message.role = role::tool;
        node.message.tool_call_id = "a";
        node.message.approval_answer = "a digest";
    });
    done(subject().commit(thread_1, last));
    reopen();

    EXPECT_EQ(load(thread_1).nodes[1].message.approval_answer, "a digest");
    EXPECT_EQ(load(thread_1).calls[0].status, call_status::denied);
}

TEST_P(StoreContract, LetsOneOfTwoRunsTakeAnApproval) {
    changes first = user_turn("m0", "hi");
    first.calls.push_back({"a", "f", "run_1", call_owner::server, call_status::asked, 0});
    begin(thread_1, "run_1", first);
    const std::uint64_t seen = load(thread_1).version;
    changes approves;
    approves.calls.push_back({"a", "f", "run_2", call_owner::server, call_status::approved, 0});
    get(subject().begin(thread_1, run_of("run_2"), approves, seen));
    approves.calls[0].run_id = "run_3";

    EXPECT_EQ(
        failure_of(subject().begin(thread_1, run_of("run_3"), approves, seen)), errc::conflict
    );
    EXPECT_EQ(load(thread_1).calls[0].run_id, "run_2");
}

TEST_P(StoreContract, ReplacesCallsByIdInTheOrderMade) {
    changes first = user_turn("m0", "hi");
    first.calls.push_back({"b", "f", "run_1", call_owner::external, call_status::open, 0});
    first.calls.push_back({"a", "g", "run_1", call_owner::server, call_status::denied, 0});
    begin(thread_1, "run_1", first);

    changes second;
    second.calls.push_back({"b", "f", "run_1", call_owner::external, call_status::answered, no_node}
    );
    second.calls.push_back({"0", "h", "run_2", call_owner::external, call_status::pending, 0});
    done(subject().commit(thread_1, second));
    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.calls.size(), 3U);
    EXPECT_EQ(thread.calls[0].id, "b");
    EXPECT_EQ(thread.calls[0].status, call_status::answered);
    EXPECT_EQ(thread.calls[0].made_in, no_node);
    EXPECT_EQ(thread.calls[1].id, "a");
    EXPECT_EQ(thread.calls[1].owner, call_owner::server);
    EXPECT_EQ(thread.calls[1].status, call_status::denied);
    EXPECT_EQ(thread.calls[2].name, "h");
    EXPECT_EQ(thread.calls[2].run_id, "run_2");
    EXPECT_EQ(thread.calls[2].made_in, 0U);
}

TEST_P(StoreContract, NumbersTheJournalOfEachThreadFromOne) {
    changes change = user_turn("m0", "hi");
    change.events.push_back({0, "run.started", "run_1", 10, {}});
    change.events.push_back({0, "user.message", "run_1", 11, {{"messageId", "m0"}}});
    begin(thread_1, "run_1", change);
    begin(key_of("thread_2"), "run_1", change);
    changes end;
    end.events.push_back({0, "run.finished", "run_1", 12, {}});
    done(subject().commit(thread_1, end));

    const std::vector<session_event> all = get(subject().events(thread_1, 0, 100));
    const std::vector<session_event> middle = get(subject().events(thread_1, 1, 1));

    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].sequence, 1U);
    EXPECT_EQ(all[1].sequence, 2U);
    EXPECT_EQ(all[1].type, "user.message");
    EXPECT_EQ(all[1].run_id, "run_1");
    EXPECT_EQ(all[1].timestamp, 11);
    EXPECT_EQ(all[1].data, (json::object{{"messageId", "m0"}}));
    EXPECT_EQ(all[2].sequence, 3U);
    ASSERT_EQ(middle.size(), 1U);
    EXPECT_EQ(middle[0].sequence, 2U);
    EXPECT_EQ(get(subject().events(key_of("thread_2"), 0, 100)).size(), 2U);
    EXPECT_TRUE(get(subject().events(thread_1, 3, 100)).empty());
    EXPECT_TRUE(get(subject().events(key_of("unknown"), 0, 100)).empty());
}

TEST_P(StoreContract, KnowsNothingOfAThreadThatWasNeverSeen) {
    EXPECT_FALSE(get(subject().load(thread_1)));
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    EXPECT_FALSE(get(subject().latest_run(thread_1)));
    EXPECT_FALSE(get(subject().remove(thread_1)));
    EXPECT_EQ(failure_of(subject().commit(thread_1, {})), errc::not_found);
}

TEST_P(StoreContract, ALongThreadIsTheSameAfterItWasStored) {
    changes change;
    for (session::node_index i = 0; i < 3000; ++i) {
        change.messages.push_back(
            user_message("m" + std::to_string(i), std::string(400, 'x'), i == 0 ? no_node : i - 1)
        );
    }
    change.branches.push_back({0, {.tip = 2999, .updated_at = 1000}});
    begin(thread_1, "run_1", change);

    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.nodes.size(), 3000U);
    for (session::node_index i = 0; i < 3000; ++i) {
        ASSERT_EQ(thread.nodes[i].message, change.messages[i].message);
        ASSERT_EQ(thread.nodes[i].parent, change.messages[i].parent);
    }
    EXPECT_GE(thread.bytes, 3000U * 400U);
    EXPECT_LE(thread.bytes, 3000U * 500U);
}

TEST_P(StoreContract, ALongThreadThatWasReadBeforeHasWhatCameLater) {
    changes first;
    for (node_index i = 0; i < 600; ++i) {
        first.messages.push_back(
            user_message("m" + std::to_string(i), "text", i == 0 ? no_node : i - 1)
        );
    }
    first.branches.push_back({0, {.tip = 599, .updated_at = 1000}});
    begin(thread_1, "run_1", std::move(first));
    EXPECT_EQ(load(thread_1).nodes.size(), 600U);
    changes more = user_turn("m600", "later", 600);
    more.messages.push_back(user_message("m601", "on another branch", 9));
    more.branches.push_back({1, {.tip = 601, .updated_at = 2000}});
    more.calls.push_back({.id = "call_1", .name = "f", .run_id = "run_2"});
    more.state = json_text(R"({"a":1})");
    begin(thread_1, "run_2", std::move(more));
    for (int again = 0; again < 2; ++again) {
        const thread_record found = load(thread_1);
        ASSERT_EQ(found.nodes.size(), 602U);
        EXPECT_EQ(found.nodes[0].message.id, "m0");
        EXPECT_EQ(found.nodes[599].message.id, "m599");
        EXPECT_EQ(text_of(found.nodes[600].message.content), "later");
        EXPECT_EQ(found.nodes[601].parent, 9U);
        EXPECT_EQ(found.branches.size(), 2U);
        EXPECT_EQ(found.calls.size(), 1U);
        EXPECT_EQ(found.state.view(), R"({"a":1})");
    }
    EXPECT_TRUE(get(subject().remove(thread_1)));
    EXPECT_FALSE(get(subject().load(thread_1)));
    begin(thread_1, "run_1", user_turn("other", "new"));
    ASSERT_EQ(load(thread_1).nodes.size(), 1U);
    EXPECT_EQ(load(thread_1).nodes[0].message.id, "other");
}

TEST_P(StoreContract, KnowsAboutHowManyBytesTheMessagesOfAThreadTake) {
    begin(thread_1, "run_1", user_turn("m1", std::string(10'000, 'x')));
    const std::uint64_t before = load(thread_1).bytes;
    EXPECT_GE(before, 10'000U);
    EXPECT_LE(before, 10'100U);
    done(subject().commit(thread_1, user_turn("m2", std::string(5000, 'y'), 1)));
    EXPECT_GE(load(thread_1).bytes, before + 5000U);
    EXPECT_LE(load(thread_1).bytes, before + 5100U);
}

TEST_P(StoreContract, AThreadOfTheSameNameAsARemovedOneBeginsEmpty) {
    for (int life = 0; life < 3; ++life) {
        SCOPED_TRACE(life);
        begin(thread_1, "run_1", user_turn("m1", "Hello"));
        EXPECT_EQ(load(thread_1).nodes.size(), 1U);
        EXPECT_TRUE(get(subject().remove(thread_1)));
        EXPECT_FALSE(get(subject().load(thread_1)));
        EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    }
}

} // namespace
} // namespace agui::session
