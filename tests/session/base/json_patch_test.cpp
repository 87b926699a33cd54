#include "session/base/json_patch.hpp"
#include "session/base/json_pointer.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui {
namespace {

namespace json = boost::json;

// The document after the patch, or the failure: its code and path.
std::string patched(std::string_view document, std::string_view patch, patch_limits limits = {}) {
    json::value value = json::parse(document);
    const json::value before = value;
    const result<void> done = apply_patch(value, json::parse(patch), limits);
    if (done) {
        return json::serialize(value);
    }
    EXPECT_EQ(value, before) << "a patch that fails changes nothing";
    return std::string(to_string(done.error().code)) + " " + done.error().path;
}

std::string diff(std::string_view from, std::string_view to) {
    const auto made = diff_json(json::parse(from), json::parse(to));
    return made ? json::serialize(*made) : "none";
}

TEST(JsonPointer, IsUnescapedTokenByToken) {
    EXPECT_EQ(parse_pointer(""), json_pointer());
    EXPECT_EQ(parse_pointer("/"), json_pointer{""});
    EXPECT_EQ(parse_pointer("/a~1b//~01"), (json_pointer{"a/b", "", "~1"}));
    EXPECT_EQ(parse_pointer("a"), std::nullopt);
    EXPECT_EQ(parse_pointer("/~"), std::nullopt);
    EXPECT_EQ(parse_pointer("/~2"), std::nullopt);
    std::string written;
    append_token(written, "a/~b");
    EXPECT_EQ(written, "/a~1~0b");
}

TEST(JsonPointer, AnIndexHasNoLeadingZeroAndNoSign) {
    EXPECT_EQ(index_in_array("0"), 0U);
    EXPECT_EQ(index_in_array("10"), 10U);
    for (const std::string_view token :
         {"", "01", "00", "-1", "+1", "1.0", "1e0", "-", "a", " 1"}) {
        EXPECT_EQ(index_in_array(token), std::nullopt) << token;
    }
}

TEST(JsonPatch, AddsMembersAndElements) {
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a","value":1}])"), R"({"a":1})");
    EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])"), R"({"a":2})");
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/","value":1}])"), R"({"":1})");
    EXPECT_EQ(patched("[1,3]", R"([{"op":"add","path":"/1","value":2}])"), "[1,2,3]");
    EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/1","value":2}])"), "[1,2]");
    EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/-","value":[2]}])"), "[1,[2]]");
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"","value":[]}])"), "[]");
    EXPECT_EQ(
        patched(R"({"0":1})", R"([{"op":"add","path":"/01","value":2}])"), R"({"0":1,"01":2})"
    );
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/n","value":null,"x":1}])"), R"({"n":null})");
}

TEST(JsonPatch, RefusesToAddWhereThereIsNoPlace) {
    EXPECT_EQ(
        patched("{}", R"([{"op":"add","path":"/a/b","value":1}])"), "patch_conflict [0].path"
    );
    EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/2","value":1}])"), "patch_conflict [0].path");
    EXPECT_EQ(
        patched("[1]", R"([{"op":"add","path":"/01","value":1}])"), "patch_conflict [0].path"
    );
    EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/a","value":1}])"), "patch_conflict [0].path");
    EXPECT_EQ(
        patched(R"("a")", R"([{"op":"add","path":"/a","value":1}])"), "patch_conflict [0].path"
    );
    EXPECT_EQ(
        patched("[[1]]", R"([{"op":"add","path":"/-/0","value":1}])"), "patch_conflict [0].path"
    );
}

TEST(JsonPatch, RemovesAndKeepsTheOrderOfTheRest) {
    EXPECT_EQ(
        patched(R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])"), R"({"b":2,"c":3})"
    );
    EXPECT_EQ(patched("[1,2,3]", R"([{"op":"remove","path":"/1"}])"), "[1,3]");
    EXPECT_EQ(patched("{}", R"([{"op":"remove","path":"/a"}])"), "patch_conflict [0].path");
    EXPECT_EQ(patched("[1]", R"([{"op":"remove","path":"/-"}])"), "patch_conflict [0].path");
    EXPECT_EQ(patched("{}", R"([{"op":"remove","path":""}])"), "patch_conflict [0].path");
}

TEST(JsonPatch, ReplacesWhatIsThere) {
    EXPECT_EQ(
        patched(R"({"a":[1]})", R"([{"op":"replace","path":"/a/0","value":2}])"), R"({"a":[2]})"
    );
    EXPECT_EQ(patched("{}", R"([{"op":"replace","path":"","value":null}])"), "null");
    EXPECT_EQ(
        patched("{}", R"([{"op":"replace","path":"/a","value":1}])"), "patch_conflict [0].path"
    );
}

TEST(JsonPatch, MovesAndCopies) {
    EXPECT_EQ(
        patched(R"({"a":{"b":1},"c":2})", R"([{"op":"move","from":"/a/b","path":"/d"}])"),
        R"({"a":{},"c":2,"d":1})"
    );
    EXPECT_EQ(patched("[1,2,3]", R"([{"op":"move","from":"/0","path":"/2"}])"), "[2,3,1]");
    EXPECT_EQ(patched("[1]", R"([{"op":"move","from":"/0","path":"/0"}])"), "[1]");
    EXPECT_EQ(
        patched(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"),
        "patch_conflict [0].path"
    );
    EXPECT_EQ(
        patched(R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/a/-"}])"), R"({"a":[1,[1]]})"
    );
    EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"move","from":"/a","path":""}])"), "1");
    EXPECT_EQ(
        patched("{}", R"([{"op":"copy","from":"/a","path":"/b"}])"), "patch_conflict [0].from"
    );
    EXPECT_EQ(
        patched("{}", R"([{"op":"move","from":"/a","path":"/b"}])"), "patch_conflict [0].from"
    );
}

TEST(JsonPatch, TestsByValue) {
    EXPECT_EQ(
        patched(
            R"({"a":{"x":1,"y":[2]}})", R"([{"op":"test","path":"/a","value":{"y":[2.0],"x":1}}])"
        ),
        R"({"a":{"x":1,"y":[2]}})"
    );
    EXPECT_EQ(
        patched(R"({"a":1})", R"([{"op":"test","path":"/a","value":"1"}])"),
        "patch_conflict [0].value"
    );
    EXPECT_EQ(
        patched("{}", R"([{"op":"test","path":"/a","value":null}])"), "patch_conflict [0].path"
    );
    EXPECT_EQ(patched("null", R"([{"op":"test","path":"","value":null}])"), "null");
}

TEST(JsonPatch, IsAppliedWhollyOrNotAtAll) {
    EXPECT_EQ(
        patched(
            R"({"a":1})",
            R"([{"op":"replace","path":"/a","value":2},{"op":"test","path":"/a","value":1}])"
        ),
        "patch_conflict [1].value"
    );
}

TEST(JsonPatch, NamesWhatIsMalformed) {
    EXPECT_EQ(patched("{}", "{}"), "invalid_input ");
    EXPECT_EQ(patched("{}", "[1]"), "invalid_input [0]");
    EXPECT_EQ(patched("{}", R"([{"path":"/a"}])"), "invalid_input [0].op");
    EXPECT_EQ(patched("{}", R"([{"op":"set","path":"/a","value":1}])"), "invalid_input [0].op");
    EXPECT_EQ(patched("{}", R"([{"op":"add","value":1}])"), "invalid_input [0].path");
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"a","value":1}])"), "invalid_input [0].path");
    EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a"}])"), "invalid_input [0].value");
    EXPECT_EQ(patched("{}", R"([{"op":"copy","path":"/a"}])"), "invalid_input [0].from");
}

TEST(JsonPatch, HasLimits) {
    constexpr std::string_view doubling = R"([{"op":"copy","from":"","path":"/a"},
        {"op":"copy","from":"","path":"/b"},{"op":"copy","from":"","path":"/c"}])";
    EXPECT_EQ(
        patched(R"({"x":"0123456789"})", doubling, {.max_added_bytes = 100}),
        "invalid_input [2].from"
    );
    EXPECT_EQ(
        patched("{}", R"([{"op":"add","path":"/a","value":[1]}])", {.max_depth = 2}),
        "invalid_input [0].value"
    );
    EXPECT_EQ(
        patched("{}", R"([{"op":"add","path":"/a/b","value":1}])", {.max_depth = 2}),
        "invalid_input [0].path"
    );
    EXPECT_EQ(
        patched(
            R"({"a":[1],"b":{}})", R"([{"op":"move","from":"/a","path":"/b/c"}])", {.max_depth = 3}
        ),
        "invalid_input [0].path"
    );
    EXPECT_EQ(
        patched("[1,2]", R"([{"op":"add","path":"/0","value":1}])", {.max_moves = 1}),
        "invalid_input [0].path"
    );
    constexpr std::string_view to_and_fro = R"([{"op":"move","from":"/a","path":"/b"},
        {"op":"move","from":"/b","path":"/a"}])";
    EXPECT_EQ(patched(R"({"a":[1,2,3,4]})", to_and_fro, {.max_moves = 22}), R"({"a":[1,2,3,4]})");
    EXPECT_EQ(
        patched(R"({"a":[1,2,3,4]})", to_and_fro, {.max_moves = 15}), "invalid_input [1].path"
    );
    EXPECT_EQ(patched("{}", "[{},{}]", {.max_operations = 1}), "invalid_input ");
}

TEST(JsonDiff, NamesOnlyWhatHasChanged) {
    EXPECT_EQ(diff(R"({"a":1,"b":2})", R"({"b":2.0,"a":1})"), "[]");
    EXPECT_EQ(
        diff(R"({"a":{"b/c":1}})", R"({"a":{"b/c":2}})"),
        R"([{"op":"replace","path":"/a/b~1c","value":2}])"
    );
    EXPECT_EQ(
        diff(R"({"a":1,"b":2})", R"({"b":2,"c":null})"),
        R"([{"op":"remove","path":"/a"},{"op":"add","path":"/c","value":null}])"
    );
    EXPECT_EQ(
        diff("[1,2]", "[1,2,3,4]"),
        R"([{"op":"add","path":"/2","value":3},{"op":"add","path":"/3","value":4}])"
    );
    EXPECT_EQ(diff("[1,2,3]", "[1,3]"), R"([{"op":"remove","path":"/1"}])");
    EXPECT_EQ(diff("[1,2,3]", "[0,1,2,3]"), R"([{"op":"add","path":"/0","value":0}])");
    EXPECT_EQ(
        diff(R"([{"a":1},{"b":1}])", R"([{"a":2},{"b":1}])"),
        R"([{"op":"replace","path":"/0/a","value":2}])"
    );
}

TEST(JsonDiff, LeavesItWhereTheWholeDocumentIsBetter) {
    EXPECT_EQ(diff("null", "{}"), "none");
    EXPECT_EQ(diff("{}", "[]"), "none");
    EXPECT_EQ(diff(R"({})", R"({"__proto__":1})"), "none");
    EXPECT_EQ(diff(R"({"constructor":{}})", R"({"constructor":{"prototype":1}})"), "none");
    json::array many;
    many.resize(2000);
    EXPECT_EQ(diff("[]", json::serialize(many)), "none");
    const std::string long_name(6000, 'n');
    EXPECT_EQ(diff("{\"" + long_name + "\":1}", "{}"), "none");
}

class random_documents {
public:
    explicit random_documents(unsigned seed) : random_(seed) {}

    json::value make(int depth) {
        switch (pick(depth > 0 ? 7 : 5)) {
        case 0:
            return nullptr;
        case 1:
            return pick(2) == 0;
        case 2:
            return pick(3);
        case 3:
            return pick(3) + 0.5;
        case 4:
            return json::value(std::string(static_cast<std::size_t>(pick(3)), 'x'));
        case 5: {
            json::array array;
            for (int i = pick(6); i > 0; --i) {
                array.push_back(make(depth - 1));
            }
            return array;
        }
        default: {
            json::object object;
            for (int i = pick(5); i > 0; --i) {
                object.insert_or_assign(
                    names_.at(static_cast<std::size_t>(pick(6))), make(depth - 1)
                );
            }
            return object;
        }
        }
    }

    /// A document that differs in a few places.
    json::value change(const json::value& from, int depth) {
        if (pick(6) == 0) {
            return make(depth);
        }
        json::value to = from;
        if (json::object* const object = to.if_object()) {
            for (json::key_value_pair& member : *object) {
                member.value() = change(member.value(), depth - 1);
            }
            if (pick(3) == 0) {
                object->insert_or_assign(
                    names_.at(static_cast<std::size_t>(pick(6))), make(depth - 1)
                );
            }
            if (!object->empty() && pick(3) == 0) {
                object->erase(object->begin());
            }
        } else if (json::array* const array = to.if_array()) {
            for (json::value& each : *array) {
                each = pick(3) == 0 ? change(each, depth - 1) : each;
            }
            if (pick(3) == 0) {
                array->insert(
                    array->begin() + pick(static_cast<int>(array->size()) + 1), make(depth - 1)
                );
            }
            if (!array->empty() && pick(3) == 0) {
                array->erase(array->begin() + pick(static_cast<int>(array->size())));
            }
        }
        return to;
    }

private:
    int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

    std::mt19937 random_;
    const std::vector<std::string> names_{"a", "b", "", "~", "/", "0"};
};

TEST(JsonDiff, OfAnyTwoDocumentsMakesOneOfTheOther) {
    random_documents random(20261128);
    int sent = 0;
    for (int i = 0; i < 20'000; ++i) {
        const json::value from = random.make(4);
        const json::value to = i % 2 == 0 ? random.change(from, 4) : random.make(4);
        const auto patch = diff_json(from, to);
        if (!patch) {
            EXPECT_TRUE(from.kind() != to.kind() || from.is_primitive());
            continue;
        }
        ++sent;
        json::value made = from;
        ASSERT_TRUE(apply_patch(made, *patch)) << from << to << *patch;
        ASSERT_TRUE(is_same_json(made, to)) << from << to << *patch;
        ASSERT_EQ(patch->empty(), is_same_json(from, to)) << from << to << *patch;
    }
    EXPECT_GT(sent, 5'000);
}

} // namespace
} // namespace agui
