#include "runner/base/tool_schema.hpp"
#include "runner/tools/argument_schema.hpp"
#include "runner/tools/check_budget.hpp"
#include "session/base/parse_json.hpp"
#include "tests/bench/input_side.hpp"
#include "tests/gateway/input_pipeline.hpp"
#include "tests/gateway/input_shapes.hpp"
#include "tests/runner/tools/schema_shapes.hpp"

#include <boost/json/serialize.hpp>

#include <string>
#include <utility>
#include <vector>

namespace agui::test {

namespace {

std::size_t length(const input_shape& shape, unsigned size) {
    return bodies_of(shape, size, 1).front().size();
}

// The largest size whose body is not longer than `bytes`.
unsigned size_for(const input_shape& shape, std::size_t bytes) {
    unsigned size = 1;
    while (size < 100'000 && length(shape, 2 * size) <= bytes) {
        size *= 2;
    }
    return size;
}

/// The shapes that the tests know come first.
class request_side final : public input_side {
public:
    explicit request_side(std::string store) : store_(std::move(store)) {}

    [[nodiscard]] std::string_view name() const noexcept override { return "request"; }

    std::size_t feed(std::uint32_t seed, std::size_t bytes, cost_meter& meter) override {
        const input_shape shape = shape_of(seed);
        const std::vector<std::string> bodies = bodies_of(shape, size_for(shape, bytes), 3);
        session::history_policy policy;
        policy.accept_client_system = true;
        policy.mode =
            shape.client_history ? session::history_mode::client : session::history_mode::server;
        input_pipeline pipeline(open_store(), policy);
        for (const std::string& body : bodies) {
            meter.measure("post", [&] {
                return std::string(pipeline.post(body) ? "taken" : "refused");
            });
        }
        return bodies.front().size();
    }

    [[nodiscard]] std::string describe(std::uint32_t seed) const override {
        return to_string(shape_of(seed));
    }

private:
    static input_shape shape_of(std::uint32_t seed) {
        const std::vector<input_shape> known = worst_shapes();
        return seed <= known.size() ? known[seed - 1] : random_shape(seed);
    }

    // Opens an empty store each time, because the shapes use the same thread.
    [[nodiscard]] std::unique_ptr<session::store> open_store() {
        if (store_ == "memory") {
            return session::make_memory_store();
        }
        session::sqlite_settings settings;
        settings.path =
            store_.substr(store_.find(':') + 1) + "/" + std::to_string(++opened_) + ".db";
        return session::make_sqlite_store(settings);
    }

    std::string store_;
    int opened_ = 0;
};

/// The shapes that the tests know come first.
class schema_side final : public input_side {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "schema"; }

    std::size_t feed(std::uint32_t seed, std::size_t bytes, cost_meter& meter) override {
        const schema_shape shape = shape_of(seed);
        const schema_texts texts = texts_of(shape, size_within(shape, bytes));
        constexpr json_limits deep{.max_depth = 256};
        boost::json::value schema;
        boost::json::value arguments;
        meter.measure("parse", [&] {
            schema = parse_json(texts.schema, deep).value();
            arguments = parse_json(texts.arguments, deep).value();
            return std::string("parsed");
        });
        meter.measure("offer", [&] {
            const std::string text = boost::json::serialize(runner::tool_schema(schema));
            return std::to_string(text.size()) + " bytes";
        });
        std::shared_ptr<const runner::argument_schema> compiled;
        meter.measure("compile", [&] {
            auto made = runner::compile_argument_schema(schema);
            if (!made) {
                return made.error().detail;
            }
            compiled = *std::move(made);
            return std::string("compiled");
        });
        meter.measure("check", [&] {
            if (compiled == nullptr) {
                return std::string("unchecked");
            }
            runner::check_budget budget;
            const auto violation = compiled->fit(arguments.get_object(), budget);
            return violation ? violation->told.substr(0, 60) : "they fit";
        });
        return texts.schema.size() + texts.arguments.size();
    }

    [[nodiscard]] std::string describe(std::uint32_t seed) const override {
        return to_string(shape_of(seed));
    }

private:
    static schema_shape shape_of(std::uint32_t seed) {
        const std::vector<schema_shape> known = worst_schema_shapes();
        return seed <= known.size() ? known[seed - 1] : random_schema_shape(seed);
    }
};

} // namespace

void add_numbered_sides(input_sides& to, const std::string& store) {
    to.push_back(std::make_unique<request_side>(store));
    to.push_back(std::make_unique<schema_side>());
}

} // namespace agui::test
