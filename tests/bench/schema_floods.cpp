#include "tests/bench/schema_floods.hpp"

#include "runner/tools/argument_schema.hpp"
#include "runner/tools/check_budget.hpp"
#include "session/base/parse_json.hpp"
#include "tests/bench/cost_meter.hpp"
#include "tests/runner/tools/schema_shapes.hpp"

#include <cstdio>
#include <string>

namespace agui::test {

namespace {

void print_flood(const char* name, const schema_texts& texts) {
    cost_meter meter;
    const auto schema = parse_json(texts.schema);
    auto arguments = parse_json(texts.arguments);
    meter.measure("compile and check", [&] {
        const auto compiled = runner::compile_argument_schema(*schema);
        runner::check_budget budget;
        const auto violation =
            compiled ? (*compiled)->fit(arguments->get_object(), budget) : std::nullopt;
        return violation ? violation->told : std::string("they fit");
    });
    std::printf(
        "%8.2f ms %7.2f MB %7zu bytes  %s\n", meter.slowest().ms, meter.largest().megabytes,
        texts.schema.size() + texts.arguments.size(), name
    );
}

std::string numbered(const char* text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += (i == 0 ? "" : ",") + std::string(text) + std::to_string(i) +
               (text[0] == '"' ? "\"" : "");
    }
    return all;
}

std::string repeated(const std::string& text, int count) {
    std::string all = text;
    for (int i = 1; i < count; ++i) {
        all += "," + text;
    }
    return all;
}

std::string null_members(int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":null";
    }
    return all;
}

schema_texts list_texts(const std::string& items, const std::string& values) {
    return {R"({"properties":{"list":{"items":{)" + items + "}}}}", R"({"list":[)" + values + "]}"};
}

} // namespace

void print_schema_floods() {
    print_flood(
        "6 000 required names of 30 000 empty objects",
        list_texts(R"("required":[)" + numbered("\"name", 6000) + "]", repeated("{}", 30'000))
    );
    print_flood(
        "enum of 9 000 numbers, 9 000 others",
        list_texts(R"("enum":[)" + numbered("1", 9000) + "]", numbered("2", 9000))
    );
    print_flood(
        "enum of 9 000 numbers, the last of them 9 000 times",
        list_texts(R"("enum":[)" + numbered("1", 9000) + "]", repeated("18999", 9000))
    );
    print_flood(
        "8 000 null members where none may be null",
        {R"({"additionalProperties":{"type":"integer"}})", "{" + null_members(8000) + "}"}
    );
}

} // namespace agui::test
