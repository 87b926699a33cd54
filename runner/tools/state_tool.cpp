#include "runner/tools/state_tool.hpp"

#include "runner/tools/argument_schema.hpp"
#include "runner/tools/check_budget.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

using document_schema = std::shared_ptr<const argument_schema>;

json::object patch_schema() {
    const json::object operation{
        {"type", "object"},
        {"properties",
         {{"op", {{"enum", {"add", "remove", "replace", "move", "copy", "test"}}}},
          {"path", {{"type", "string"}, {"description", "A JSON Pointer, such as /items/0/title."}}
          },
          {"from", {{"type", "string"}, {"description", "Of move and copy: a JSON Pointer."}}},
          {"value", {{"description", "Of add, replace and test: any JSON value."}}}}},
        {"required", {"op", "path"}}
    };
    return {
        {"type", "object"},
        {"properties",
         {{"patch",
           {{"type", "array"},
            {"items", operation},
            {"description", "Operations of a JSON Patch, applied in order: all or none."}}}}},
        {"required", json::array{"patch"}}
    };
}

tool_outcome refused(const failure& why) {
    return {
        .what = tool_outcome::kind::error,
        .content = "The state was not changed: " + why.detail,
        .log_detail = std::string(to_string(why.code)) + " " + why.path
    };
}

/// Unlike an argument, a member of the document that is null must be allowed to be null.
result<void> check_document(const argument_schema& schema, const json::value& document) {
    const json::object* const members = document.if_object();
    if (members == nullptr) {
        return failure{errc::invalid_input, "the state must be an object", {}};
    }
    json::object fitted = *members;
    check_budget budget;
    if (const auto violation = schema.fit(fitted, budget)) {
        // The text begins with the sentence for the log, which is about arguments.
        std::string_view places = violation->told;
        if (places.starts_with(violation->detail)) {
            places.remove_prefix(violation->detail.size());
        }
        std::string why = "it would not fit its schema.";
        why.append(places.starts_with(' ') ? "" : " ").append(places);
        return failure{errc::invalid_input, std::move(why), {}};
    }
    if (fitted != *members) {
        return failure{errc::invalid_input, "a member is null where null is not allowed", {}};
    }
    return {};
}

boost::asio::awaitable<tool_outcome> update_state(document_schema schema, tool_invocation call) {
    if (call.run == nullptr) {
        co_return refused(run_is_over());
    }
    session::state_change change;
    change.patch = std::move(call.arguments["patch"]);
    if (schema) {
        change.check = [schema](const json::value& document) {
            return check_document(*schema, document);
        };
    }
    const result<void> done = co_await call.run->change_state(std::move(change));
    co_return done ? tool_outcome{.content = std::string("The state was changed.")}
                   : refused(done.error());
}

} // namespace

result<server_tool> make_state_tool(std::string_view schema) {
    document_schema compiled;
    server_tool made;
    made.definition.name = state_tool_name;
    made.definition.description =
        "Changes the application's state, a JSON document that the user sees.";
    if (!schema.empty()) {
        const auto parsed = parse_json(schema);
        if (!parsed) {
            return parsed.error();
        }
        auto rules = compile_argument_schema(*parsed);
        if (!rules) {
            return rules.error();
        }
        compiled = std::move(*rules);
        made.definition.description.append(" It must always fit this JSON Schema: ").append(schema);
    }
    made.definition.parameters = patch_schema();
    made.function = [compiled](tool_invocation call) {
        return update_state(compiled, std::move(call));
    };
    return made;
}

} // namespace agui::runner
