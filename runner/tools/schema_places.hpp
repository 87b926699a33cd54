#pragma once

#include "runner/tools/schema_rules.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// The places of a JSON Schema's subschemas, to which a `$ref` leads. Its views must stay valid.
class schema_places {
public:
    /// One step from a subschema to one in it: in `not`, by name in `properties`, or by number in
    /// `allOf`.
    struct place {
        enum class kind : std::uint8_t { one, named, numbered };

        rule_index parent = 0;
        std::string_view keyword;
        kind what = kind::one;
        std::string_view name = {};
        std::uint32_t number = 0;

        auto operator<=>(const place&) const = default;
    };

    void add(const place& where, rule_index rule) { places_.emplace_back(where, rule); }

    /// Must follow the last add(), and precede find().
    void sort();

    /// The subschema to which a JSON pointer leads from the root; nullopt if there is none. An
    /// empty pointer leads to the root. Time grows with the pointer's length.
    [[nodiscard]] std::optional<rule_index> find(std::string_view pointer) const;

private:
    using located_rule = std::pair<place, rule_index>;

    [[nodiscard]] std::optional<rule_index> find(const place& wanted) const;

    std::vector<located_rule> places_;
};

} // namespace agui::runner
