#include "runner/tools/argument_schema.hpp"

#include "runner/base/utf8.hpp"
#include "runner/tools/schema_subset.hpp"

#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/constraint_builder.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Of a schema's subschemas, each counted where it is used.
constexpr std::size_t max_compile_steps = 20'000;
/// Subschemas that meet a value, for one call. Below half a second on a slow machine.
constexpr std::size_t max_check_steps = 250'000;
/// The same, while the violations are collected, which takes memory for each.
constexpr std::size_t max_report_steps = 10'000;
/// The recursion of valijson; a thread of glibc has 8 MB.
constexpr std::uintptr_t max_stack_bytes = 1U << 20U;
constexpr std::size_t max_reported = 3;
constexpr std::size_t max_path_bytes = 150;
constexpr std::size_t max_rule_bytes = 150;

struct too_much : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "too many steps"; }
};

// Bounds what valijson does: it has no limits of its own, neither for recursion nor for time.
class step_budget {
public:
    explicit step_budget(std::size_t steps) noexcept : left_(steps), outer_(current) {
        current = this;
    }
    ~step_budget() { current = outer_; }
    step_budget(const step_budget&) = delete;
    step_budget& operator=(const step_budget&) = delete;

    /// Throws too_much. Called for each subschema, as deep as the recursion is.
    static void take() {
        step_budget& budget = *current;
        const std::uintptr_t here = position();
        const std::uintptr_t used = here < budget.begin_ ? budget.begin_ - here : 0;
        if (budget.left_ == 0 || used > max_stack_bytes) {
            throw too_much();
        }
        --budget.left_;
    }

private:
    static std::uintptr_t position() noexcept {
        return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    }

    static thread_local step_budget* current;
    std::size_t left_;
    std::uintptr_t begin_ = position();
    step_budget* outer_;
};

thread_local step_budget* step_budget::current = nullptr;

// What schema_step_key becomes.
struct step_constraint final : valijson::constraints::Constraint {
    bool accept(valijson::constraints::ConstraintVisitor&) const override {
        step_budget::take();
        return true;
    }
    OwningPointer clone(CustomAlloc allocate, CustomFree release) const override {
        void* const memory = allocate(sizeof(step_constraint));
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return {new (memory) step_constraint(), release};
    }
};

struct step_builder final : valijson::ConstraintBuilder {
    valijson::constraints::Constraint* make(const valijson::adapters::Adapter&) const override {
        step_budget::take();
        return new step_constraint();
    }
};

// valijson's path: `<root>`, `[city]`, `[0]`.
std::string path_of(const valijson::ValidationResults::Error& error) {
    std::string path;
    for (std::size_t i = 1; i < error.context.size(); ++i) {
        const std::string_view token = error.context[i];
        path += '/';
        path += token.substr(1, token.size() - 2);
    }
    return path.empty() ? "/" : std::string(utf8_head(path, max_path_bytes));
}

class valijson_schema final : public argument_schema {
public:
    void compile(const json::value& subset) {
        valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
        parser.addConstraintBuilder(std::string(schema_step_key), new step_builder());
        const step_budget budget(max_compile_steps);
        parser.populateSchema(valijson::adapters::BoostJsonAdapter(subset), schema_);
    }

    [[nodiscard]] std::optional<std::string> violation(const json::object& arguments
    ) const override {
        const json::value compared = comparable_numbers(arguments);
        const valijson::adapters::BoostJsonAdapter target(compared);
        valijson::Validator validator(valijson::Validator::kStrongTypes);
        try {
            const step_budget budget(max_check_steps);
            if (validator.validate(schema_, target, nullptr)) {
                return std::nullopt;
            }
        } catch (const std::exception&) {
            return "The arguments are nested too deeply, or too many, to be checked.";
        }
        valijson::ValidationResults found;
        try {
            const step_budget budget(max_report_steps);
            static_cast<void>(validator.validate(schema_, target, &found));
        } catch (const std::exception&) {
            // Those that were found until then are reported.
        }
        return describe(found);
    }

private:
    static std::string describe(valijson::ValidationResults& found) {
        std::string text = "The arguments do not fit the tool's schema.";
        valijson::ValidationResults::Error error;
        for (std::size_t i = 0; i < max_reported && found.popError(error); ++i) {
            text += " At " + path_of(error) + ": ";
            text += utf8_head(error.description, max_rule_bytes);
        }
        return to_utf8(text);
    }

    valijson::Schema schema_;
};

} // namespace

result<std::shared_ptr<const argument_schema>> compile_argument_schema(const json::value& schema) {
    if (schema.is_null()) {
        return std::shared_ptr<const argument_schema>();
    }
    const result<json::value> subset = checked_subset(schema);
    if (!subset) {
        return subset.error();
    }
    auto compiled = std::make_shared<valijson_schema>();
    try {
        compiled->compile(*subset);
    } catch (const std::exception&) { // Its text may hold parts of the schema.
        return failure{errc::invalid_input, "the schema cannot be compiled"};
    }
    return std::shared_ptr<const argument_schema>(std::move(compiled));
}

} // namespace agui::runner
