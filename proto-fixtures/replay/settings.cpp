#include "proto-fixtures/replay/settings.hpp"

#include "runner/tools/tool_question.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agui::replay {

namespace json = boost::json;

namespace {

/// The default configuration, over which a fixture's own is laid.
constexpr std::string_view defaults = R"({
    "session": {"store": "memory:"},
    "models": {"main": {"provider": "scripted", "script": "fixture", "model": "fixture-model"}},
    "agents": [{"id": "default", "models": ["main"]}]
})";

/// Lays `over` on `base`, member by member and element by element; anything else replaces.
void merge(json::value& base, const json::value& over) {
    if (base.is_object() && over.is_object()) {
        for (const auto& member : over.get_object()) {
            merge(base.get_object()[member.key()], member.value());
        }
    } else if (base.is_array() && over.is_array() && !base.get_array().empty() &&
               base.get_array()[0].is_object()) {
        json::array& elements = base.get_array();
        for (std::size_t i = 0; i < over.get_array().size(); ++i) {
            if (i == elements.size()) {
                elements.emplace_back(nullptr);
            }
            merge(elements[i], over.get_array()[i]);
        }
    } else {
        base = over;
    }
}

/// JSON strings and numbers are TOML's too; tables become inline tables.
void append_toml(std::string& out, const json::value& value) {
    if (value.is_object()) {
        char separator = '{';
        for (const auto& member : value.get_object()) {
            out.push_back(separator);
            separator = ',';
            out.append(json::serialize(json::value(member.key()))).append(" = ");
            append_toml(out, member.value());
        }
        out.append(separator == '{' ? "{}" : "}");
    } else if (value.is_array()) {
        char separator = '[';
        for (const json::value& element : value.get_array()) {
            out.push_back(separator);
            separator = ',';
            append_toml(out, element);
        }
        out.append(separator == '[' ? "[]" : "]");
    } else if (value.is_null()) {
        throw fixture_error("config: TOML knows no null");
    } else {
        out.append(json::serialize(value));
    }
}

gateway::config read_config(const json::value& given) {
    std::string text;
    for (const auto& member : object_of(given, "config")) {
        text.append(member.key()).append(" = ");
        append_toml(text, member.value());
        text.push_back('\n');
    }
    gateway::config_sources sources;
    sources.text = text;
    auto loaded = gateway::load_config(sources);
    if (!loaded) {
        std::string problems = "config:";
        for (const std::string& line : loaded.error().lines) {
            problems += "\n  " + line;
        }
        throw fixture_error(problems);
    }
    return std::move(*loaded);
}

runner::tool_definition read_definition(json_reader& in) {
    runner::tool_definition read;
    read.name = in.text("name");
    read.description = in.text("description", "");
    if (const json::value* parameters = in.find("parameters")) {
        read.parameters = *parameters;
    }
    return read;
}

canned_tool read_canned_tool(json_reader& in) {
    using kind = runner::tool_outcome::kind;
    canned_tool read;
    read.definition = read_definition(in);
    read.delay = std::chrono::milliseconds(in.number("delayMs", 0));
    read.step = in.text("step", "");
    if (const json::value* const raw = in.find("raw")) {
        read.raw = *raw;
    }
    if (in.flag("external", false)) {
        read.outcome.what = kind::external;
    } else if (in.find("error") != nullptr) {
        read.outcome = {kind::error, in.text("error")};
    } else {
        read.outcome = {kind::result, in.text("result")};
    }
    if (const json::value* const effects = in.find("effects")) {
        read.outcome.effects =
            runner::read_tool_effects({{"_meta", {{runner::effects_member, *effects}}}});
    }
    if (const json::array* const questions = in.array("questions")) {
        for (const json::value& each : *questions) {
            const auto question =
                runner::read_question({{"_meta", {{runner::question_member, each}}}});
            read.questions.push_back(question.value_or(session::input_question()));
        }
    }
    in.done();
    return read;
}

gateway::external_tool_config read_external_tool(json_reader& in) {
    gateway::external_tool_config read;
    read.definition = read_definition(in);
    const std::string when = in.text("when", "always");
    if (when != "always" && when != "advertised") {
        in.fail("when", "must be always or advertised");
    }
    read.always = when == "always";
    in.done();
    return read;
}

} // namespace

fixture_settings read_settings(json_reader& in) {
    fixture_settings out;
    json::value config = json::parse(defaults);
    if (const json::object* given = in.object("config")) {
        merge(config, *given);
    }
    out.config = read_config(config);
    if (const json::array* tools = in.array("externalTools")) {
        for (const json::value& value : *tools) {
            json_reader tool(object_of(value, "externalTools"), "externalTools");
            out.config.tools.external.push_back(read_external_tool(tool));
        }
    }
    if (const json::array* tools = in.array("serverTools")) {
        for (const json::value& value : *tools) {
            json_reader tool(object_of(value, "serverTools"), "serverTools");
            out.server_tools.push_back(read_canned_tool(tool));
        }
    }
    return out;
}

} // namespace agui::replay
