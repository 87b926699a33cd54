// Properties of encoded events, tested with random runs and random events.

#include "tests/translator/agui/random_run.hpp"
#include "tests/translator/protobuf/decoded_event.hpp"
#include "translator/protobuf/event_encoder.hpp"
#include "translator/schema/event_tables.hpp"
#include "translator/verifier/verifier_schema.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace agui::translator {
namespace {

namespace json = boost::json;

json::value decoded(std::string event) {
    static const test::proto_file proto = test::read_proto_file(AGUI_PROTO_FILE);
    encode_event(event, 0);
    return test::decode_event(proto, event);
}

TEST(EncodedRuns, EachEventOfAnyRunDecodesToItsJson) {
    std::set<std::string> types;
    for (unsigned seed = 0; seed < 1000; ++seed) {
        const random_run run(seed);
        for (const std::string& event : run.events()) {
            const json::value expected = json::parse(event);
            ASSERT_EQ(decoded(event), test::as_decoded(expected)) << event;
            types.emplace(expected.at("type").as_string());
        }
    }
    EXPECT_GT(types.size(), 15U);
}

/// Any event of the protocol with any members, made from its tables.
class random_event {
public:
    explicit random_event(unsigned seed) : random_(seed) {}

    json::object make(const tables::event_type& type) {
        json::object event{{"type", type.name}};
        add(event, tables::member_rules(tables::base_members).subspan(1));
        add(event, type.members);
        if (type.subagent_number != 0 && pick(2) == 0) {
            event["subagentRunId"] = text(true);
        }
        return event;
    }

private:
    std::size_t pick(std::size_t below) { return random_() % below; }

    std::string text(bool filled) {
        static constexpr std::string_view pieces[] = {
            "a", "\"", "\\", "\n", "你", "😀", "\x01", " and so on, for more than 127 bytes "
        };
        std::string out = filled ? "x" : "";
        for (std::size_t count = pick(6); count > 0; --count) {
            out += pieces[pick(std::size(pieces))];
        }
        return out;
    }

    json::value document(std::size_t depth) {
        switch (pick(depth == 0 ? 5 : 7)) {
        case 0:
            return nullptr;
        case 1:
            return pick(2) == 0;
        case 2:
            return static_cast<std::int64_t>(pick(1'000'000)) - 500'000;
        case 3:
            return static_cast<double>(pick(1000)) / 8;
        case 4:
            return json::string(text(false));
        case 5: {
            json::array out;
            for (std::size_t count = pick(4); count > 0; --count) {
                out.push_back(document(depth - 1));
            }
            return out;
        }
        default:
            return struct_of(depth - 1);
        }
    }

    json::object struct_of(std::size_t depth) {
        json::object out;
        for (std::size_t count = pick(4); count > 0; --count) {
            out["k" + text(false)] = document(depth);
        }
        return out;
    }

    json::value literal(std::string_view allowed) {
        const std::size_t bar = allowed.find('|');
        return bar == std::string_view::npos || pick(2) == 0 ? json::value(allowed.substr(0, bar))
                                                             : literal(allowed.substr(bar + 1));
    }

    json::object object_of(const tables::object_type& type) {
        json::object out;
        add(out, type.members);
        if (!type.key.empty()) {
            const tables::shape& shape = type.shapes[pick(type.shapes.size())];
            add(out, shape.members);
            out[type.key] = shape.name;
        }
        return out;
    }

    json::array list_of(const tables::object_type& type, std::size_t least) {
        json::array out;
        for (std::size_t count = least + pick(3); count > 0; --count) {
            out.push_back(object_of(type));
        }
        return out;
    }

    json::value value_of(const tables::member_rule& rule) {
        json::value made;
        switch (rule.kind) {
        case tables::id:
        case tables::delta:
            return json::string(text(true));
        case tables::literal:
            return literal(rule.allowed);
        case tables::pointer:
            return pick(2) == 0 ? "" : "/a~1b/0";
        case tables::integer:
            return (static_cast<std::int64_t>(pick(3)) - 1) * ((std::int64_t{1} << 53) - 1);
        case tables::count:
            return static_cast<std::int64_t>(pick(1'000'000));
        case tables::boolean:
            return pick(2) == 0;
        case tables::object:
        case tables::document:
            return struct_of(3);
        case tables::any:
            return document(3);
        case tables::value:
            made = document(3);
            return made.is_null() ? json::value(0) : made;
        case tables::texts:
            return json::array{json::string(text(false)), json::string(text(false))};
        case tables::nested:
        case tables::merged:
            return object_of(*rule.type);
        case tables::list:
            return list_of(*rule.type, 0);
        case tables::filled_list:
            return list_of(*rule.type, 1);
        case tables::text_or_list:
            return pick(2) == 0 ? json::value(json::string(text(false)))
                                : json::value(list_of(*rule.type, 0));
        default:
            return json::string(text(false));
        }
    }

    void add(json::object& to, tables::member_rules rules) {
        for (const tables::member_rule& rule : rules) {
            if (rule.is_required() || pick(2) == 0) {
                to[rule.name] = value_of(rule);
            }
        }
    }

    std::mt19937 random_;
};

TEST(EncodedEvents, AnyEventOfTheProtocolDecodesToItsJson) {
    static_assert(std::size(tables::events) == 31);
    for (unsigned seed = 0; seed < 300; ++seed) {
        random_event random(seed);
        for (const tables::event_type& type : tables::events) {
            const json::object event = random.make(type);
            ASSERT_EQ(check_schema(event), std::nullopt);
            const std::string text = json::serialize(event);
            ASSERT_EQ(decoded(text), test::as_decoded(event)) << text;
        }
    }
}

} // namespace
} // namespace agui::translator
