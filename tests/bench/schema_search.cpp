#include "tests/bench/schema_search.hpp"

#include "runner/base/tool_schema.hpp"
#include "runner/tools/argument_schema.hpp"
#include "tests/runner/tools/schema_shapes.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>
#include <time.h>

namespace {

// The program has one thread.
std::size_t bytes_now = 0;
std::size_t bytes_peak = 0;

} // namespace

void* operator new(std::size_t size) {
    void* const block = std::malloc(size == 0 ? 1 : size);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    bytes_now += ::malloc_usable_size(block);
    bytes_peak = std::max(bytes_peak, bytes_now);
    return block;
}

void operator delete(void* block) noexcept {
    bytes_now -= ::malloc_usable_size(block);
    std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { ::operator delete(block); }

namespace agui::test {
namespace {

double cpu_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// CPU and the most memory of one step.
class meter {
public:
    double ms() const { return cpu_ms() - begin_; }
    double megabytes() const { return static_cast<double>(bytes_peak - base_) / 1e6; }

private:
    std::size_t base_ = bytes_peak = bytes_now;
    double begin_ = cpu_ms();
};

struct schema_cost {
    std::string name;
    std::size_t bytes = 0;
    double parse_ms = 0;   ///< Of both texts.
    double offer_ms = 0;   ///< tool_schema(), as for each request to a model.
    double compile_ms = 0; ///< As for each list of tools.
    double check_ms = 0;   ///< As for each call.
    double megabytes = 0;  ///< All of it, values included.
    std::string told;

    double ms() const { return offer_ms + compile_ms + check_ms; }
};

schema_cost measure(const std::string& name, const schema_texts& texts) {
    schema_cost cost;
    cost.name = name;
    cost.bytes = texts.schema.size() + texts.arguments.size();
    boost::json::parse_options deep;
    deep.max_depth = 256;
    const meter all;
    const meter parsing;
    const boost::json::value schema = boost::json::parse(texts.schema, {}, deep);
    boost::json::value arguments = boost::json::parse(texts.arguments, {}, deep);
    cost.parse_ms = parsing.ms();
    const meter offering;
    static_cast<void>(boost::json::serialize(runner::tool_schema(schema)));
    cost.offer_ms = offering.ms();
    const meter compiling;
    const bool is_of_objects = runner::describes_objects(schema);
    const auto compiled = runner::compile_argument_schema(schema);
    cost.compile_ms = compiling.ms();
    if (compiled) {
        const meter checking;
        const auto violation = (*compiled)->fit(arguments.get_object());
        cost.check_ms = checking.ms();
        cost.told = violation ? violation->told : "they fit";
    } else {
        cost.told = compiled.error().detail;
    }
    cost.told += is_of_objects ? "" : " (not of objects)";
    cost.megabytes = all.megabytes();
    return cost;
}

void print(const schema_cost& cost) {
    std::printf(
        "%7.2f ms (check %6.2f, compile %6.2f, offer %6.2f; parse %6.2f) %6.2f MB %7zu bytes  %s  "
        "[%.70s]\n",
        cost.ms(), cost.check_ms, cost.compile_ms, cost.offer_ms, cost.parse_ms, cost.megabytes,
        cost.bytes, cost.name.c_str(), cost.told.c_str()
    );
}

void print_worst(
    std::vector<schema_cost> costs, const char* by, double (*value)(const schema_cost&)
) {
    std::ranges::sort(costs, [value](const schema_cost& left, const schema_cost& right) {
        return value(left) > value(right);
    });
    std::printf("the worst by %s:\n", by);
    for (std::size_t i = 0; i < std::min<std::size_t>(10, costs.size()); ++i) {
        print(costs[i]);
    }
}

schema_cost measure(const schema_shape& shape, std::size_t bytes) {
    return measure(to_string(shape), texts_of(shape, size_within(shape, bytes)));
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

void search_schemas(std::uint32_t shapes, std::size_t bytes) {
    std::vector<schema_cost> costs;
    for (const schema_shape& shape : worst_schema_shapes()) {
        costs.push_back(measure(shape, bytes));
    }
    std::printf("the shapes of the tests:\n");
    for (const schema_cost& each : costs) {
        print(each);
    }
    costs.clear();
    for (std::uint32_t seed = 1; seed <= shapes; ++seed) {
        costs.push_back(measure(random_schema_shape(seed), bytes));
    }
    std::printf("%u random ones:\n", shapes);
    print_worst(costs, "CPU", [](const schema_cost& cost) { return cost.ms(); });
    print_worst(costs, "memory", [](const schema_cost& cost) { return cost.megabytes; });
}

void print_schema_floods() {
    print(measure(
        "6 000 required names of 30 000 empty objects",
        list_texts(R"("required":[)" + numbered("\"name", 6000) + "]", repeated("{}", 30'000))
    ));
    print(measure(
        "enum of 9 000 numbers, 9 000 others",
        list_texts(R"("enum":[)" + numbered("1", 9000) + "]", numbered("2", 9000))
    ));
    print(measure(
        "enum of 9 000 numbers, the last of them 9 000 times",
        list_texts(R"("enum":[)" + numbered("1", 9000) + "]", repeated("18999", 9000))
    ));
    print(measure(
        "8 000 null members where none may be null",
        {R"({"additionalProperties":{"type":"integer"}})", "{" + null_members(8000) + "}"}
    ));
}

} // namespace agui::test
