#include "tests/runner/tools/schema_shapes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string_view>
#include <utility>

namespace agui::test {

namespace {

class writer {
public:
    writer(const schema_shape& shape, unsigned size) : shape_(shape), size_(size) {
        begin_ = std::string(std::min(shape.name_bytes * size, 20'000U), 'n');
    }

    std::string schema() {
        open('{');
        member("type", R"("object")");
        if (shape_.at_root) {
            rules();
        }
        key("definitions");
        definitions();
        if (!shape_.at_root || shape_.properties == 0) {
            key("properties");
            for (unsigned i = 0; i < depth(); ++i) {
                out_ += R"({"d":{"properties":)";
            }
            out_ += shape_.contains ? R"({"list":{"contains":)" : R"({"list":{"items":)";
            open('{');
            rules();
            close('}');
            out_ += "}}";
            for (unsigned i = 0; i < depth(); ++i) {
                out_ += "}}";
            }
        }
        close('}');
        return std::move(out_);
    }

    std::string arguments() {
        for (unsigned i = 0; i < depth(); ++i) {
            out_ += R"({"d":)";
        }
        open('{');
        if (shape_.at_root) {
            members(shape_.first_members * size_, false);
        }
        key("list");
        open('[');
        for (unsigned i = 0; i < std::max(shape_.values * size_, 1U); ++i) {
            comma();
            value(i);
        }
        close(']');
        close('}');
        out_.append(depth(), '}');
        return std::move(out_);
    }

private:
    unsigned depth() const { return std::min(shape_.depth, 20U); }

    void comma() {
        const char last = out_.empty() ? '[' : out_.back();
        if (last != '[' && last != '{' && last != ':') {
            out_ += ',';
        }
    }
    void open(char bracket) { out_ += bracket; }
    void close(char bracket) { out_ += bracket; }
    void key(std::string_view name) {
        comma();
        out_ += "\"" + std::string(name) + "\":";
    }
    void member(std::string_view name, std::string_view value) {
        key(name);
        out_ += value;
    }
    std::string name(unsigned number) const { return begin_ + std::to_string(number); }
    std::string quoted(unsigned number) const { return "\"" + name(number) + "\""; }

    template <class Body>
    void list(std::string_view keyword, unsigned count, Body body) {
        if (count == 0) {
            return;
        }
        key(keyword);
        open('[');
        for (unsigned i = 0; i < count; ++i) {
            comma();
            body(i);
        }
        close(']');
    }

    template <class Body>
    void map(std::string_view keyword, unsigned count, Body body) {
        if (count == 0) {
            return;
        }
        key(keyword);
        open('{');
        for (unsigned i = 0; i < count; ++i) {
            key(name(count - i)); // In reverse order.
            body(i);
        }
        close('}');
    }

    void definitions() {
        open('{');
        for (unsigned level = 0; level < shape_.levels; ++level) {
            key("l" + std::to_string(level));
            const std::string next = level + 1 == shape_.levels
                                         ? R"({"type":["object","string","number","array"]})"
                                         : reference(level + 1);
            open('{');
            list(level % 2 == 0 ? "allOf" : "anyOf", std::max(shape_.fan, 1U), [&](unsigned) {
                out_ += next;
            });
            close('}');
        }
        close('}');
    }

    static std::string reference(unsigned level) {
        return R"({"$ref":"#/definitions/l)" + std::to_string(level) + "\"}";
    }

    void rules() {
        list("required", shape_.required * size_, [this](unsigned i) { out_ += quoted(i); });
        map("properties", shape_.properties * size_,
            [this](unsigned) { out_ += R"({"type":"integer"})"; });
        map("dependencies", shape_.dependencies * size_, [this](unsigned i) {
            out_ += "[" + quoted(i) + "," + quoted(i + 1) + "," + quoted(i + 2) + "]";
        });
        if (shape_.numbers > 0) {
            list("enum", shape_.numbers * size_, [this](unsigned i) {
                out_ += std::to_string(10 + i * 7919 % 99'991);
            });
        } else {
            list("enum", shape_.texts * size_, [this](unsigned i) { out_ += quoted(i); });
        }
        map("const", shape_.constant * size_, [this](unsigned) { out_ += "0"; });
        list("anyOf", shape_.alternatives * size_, [this](unsigned i) {
            out_ += i + 1 == shape_.alternatives * size_ ? "{}" : R"({"type":"null"})";
        });
        list("oneOf", shape_.exclusive * size_, [this](unsigned) { out_ += R"({"minItems":9})"; });
        list("allOf", shape_.all * size_ + (shape_.levels > 0 ? 1 : 0), [this](unsigned i) {
            out_ += i == 0 && shape_.levels > 0 ? reference(0) : R"({"minLength":1})";
        });
        list("items", shape_.first_items * size_, [this](unsigned) { out_ += R"({"maximum":1})"; });
        for (unsigned i = 0; i < shape_.unknown * size_; ++i) {
            member("x" + std::to_string(i), "0");
        }
        if (shape_.others) {
            member("additionalProperties", R"({"$ref":"#"})");
        }
        if (shape_.nested > 0) {
            key("not");
            const unsigned levels = std::min(shape_.nested, 15U);
            for (unsigned i = 0; i < levels; ++i) {
                out_ += R"({"not":{"anyOf":[{"type":"null"},)";
            }
            out_ += R"({"type":"boolean"})";
            for (unsigned i = 0; i < levels; ++i) {
                out_ += "]}}";
            }
        }
    }

    void members(unsigned count, bool of_nulls) {
        for (unsigned i = 0; i < count; ++i) {
            key(name(count - i));
            out_ += of_nulls ? "null" : "0";
        }
    }

    void value(unsigned number) {
        const unsigned count = number == 0 ? shape_.first_members * size_ : shape_.members;
        switch (shape_.kind) {
        case 1:
            out_ += std::to_string(number * 7919 % 99'991);
            break;
        case 2:
            out_ += "\"" +
                    (number == 0 ? std::string(shape_.text_bytes * size_, 'n') : name(number)) +
                    "\"";
            break;
        case 3:
        case 4:
            open('{');
            members(count, shape_.kind == 4);
            close('}');
            break;
        case 5:
            open('[');
            for (unsigned i = 0; i < count; ++i) {
                comma();
                out_ += '0';
            }
            close(']');
            break;
        case 6:
            for (unsigned i = 0; i < 100; ++i) {
                out_ += R"({"o":)";
            }
            out_ += "{}";
            out_.append(100, '}');
            break;
        default:
            out_ += "{}";
        }
    }

    const schema_shape& shape_;
    unsigned size_;
    std::string begin_;
    std::string out_;
};

using number_member = std::pair<std::string_view, unsigned schema_shape::*>;
constexpr std::array<number_member, 21> number_members{{
    {"required", &schema_shape::required},
    {"properties", &schema_shape::properties},
    {"numbers", &schema_shape::numbers},
    {"texts", &schema_shape::texts},
    {"constant", &schema_shape::constant},
    {"dependencies", &schema_shape::dependencies},
    {"alternatives", &schema_shape::alternatives},
    {"exclusive", &schema_shape::exclusive},
    {"all", &schema_shape::all},
    {"first_items", &schema_shape::first_items},
    {"fan", &schema_shape::fan},
    {"levels", &schema_shape::levels},
    {"nested", &schema_shape::nested},
    {"unknown", &schema_shape::unknown},
    {"values", &schema_shape::values},
    {"kind", &schema_shape::kind},
    {"members", &schema_shape::members},
    {"first_members", &schema_shape::first_members},
    {"name_bytes", &schema_shape::name_bytes},
    {"text_bytes", &schema_shape::text_bytes},
    {"depth", &schema_shape::depth},
}};

using flag_member = std::pair<std::string_view, bool schema_shape::*>;
constexpr std::array<flag_member, 3> flags{{
    {"contains", &schema_shape::contains},
    {"others", &schema_shape::others},
    {"at_root", &schema_shape::at_root},
}};

std::size_t length(const schema_shape& shape, unsigned size) {
    const schema_texts texts = texts_of(shape, size);
    return texts.schema.size() + texts.arguments.size();
}

} // namespace

schema_texts texts_of(const schema_shape& shape, unsigned size) {
    return {writer(shape, size).schema(), writer(shape, size).arguments()};
}

unsigned size_within(const schema_shape& shape, std::size_t bytes) {
    unsigned size = 1;
    while (size < 100'000 && length(shape, 2 * size) <= bytes) {
        size *= 2;
    }
    for (unsigned step = size / 2; step > 0; step /= 2) {
        size += length(shape, size + step) <= bytes ? step : 0;
    }
    return size;
}

std::vector<schema_shape> worst_schema_shapes() {
    return {
        {.name = "required names of empty objects", .required = 2, .values = 10},
        {.name = "numbers that are none of many", .numbers = 10, .values = 10, .kind = 1},
        {.name = "texts that are none of many", .texts = 1, .values = 1, .kind = 2, .text_bytes = 5
        },
        {.name = "members of a constant",
         .constant = 1,
         .values = 10,
         .kind = 3,
         .members = 1,
         .first_members = 1},
        {.name = "dependencies of empty objects", .dependencies = 1, .values = 10},
        {.name = "alternatives", .alternatives = 1, .values = 5, .kind = 1},
        {.name = "alternatives, none of which fits", .exclusive = 1, .values = 5, .kind = 1},
        {.name = "parts of allOf for a long text",
         .all = 1,
         .values = 1,
         .kind = 2,
         .text_bytes = 20},
        {.name = "references that fan out", .fan = 3, .levels = 12, .values = 10},
        {.name = "long names",
         .required = 1,
         .properties = 1,
         .kind = 3,
         .first_members = 1,
         .name_bytes = 1},
        {.name = "null members", .properties = 1, .kind = 4, .first_members = 2},
        {.name = "deep objects", .values = 1, .kind = 6, .others = true, .at_root = true},
        {.name = "contains", .numbers = 3, .values = 10, .kind = 1, .contains = true},
        // The most expensive of two thousand shapes that shape-search found.
        {.name = "found by seed 1784",
         .required = 60,
         .properties = 2,
         .dependencies = 1,
         .alternatives = 1,
         .exclusive = 1,
         .first_items = 2,
         .fan = 5,
         .nested = 20,
         .kind = 2,
         .members = 20,
         .first_members = 1,
         .text_bytes = 5,
         .depth = 2,
         .at_root = true},
        {.name = "found by seed 558",
         .required = 1,
         .first_items = 5,
         .fan = 2,
         .levels = 20,
         .nested = 2,
         .kind = 2,
         .members = 1,
         .others = true},
        {.name = "found by seed 205",
         .properties = 2,
         .constant = 1,
         .dependencies = 20,
         .first_items = 5,
         .fan = 5,
         .levels = 20,
         .nested = 2,
         .unknown = 5,
         .kind = 4,
         .depth = 20,
         .at_root = true},
        {.name = "found by seed 1048",
         .required = 60,
         .numbers = 1,
         .constant = 2,
         .dependencies = 5,
         .alternatives = 1,
         .exclusive = 60,
         .first_items = 5,
         .fan = 5,
         .levels = 20,
         .values = 2,
         .kind = 2,
         .members = 2,
         .first_members = 1,
         .text_bytes = 1,
         .depth = 20},
        {.name = "found by seed 672",
         .required = 1,
         .numbers = 20,
         .dependencies = 2,
         .exclusive = 60,
         .first_items = 5,
         .fan = 5,
         .levels = 20,
         .nested = 2,
         .unknown = 20,
         .values = 2,
         .kind = 2,
         .members = 1,
         .first_members = 20,
         .depth = 20,
         .others = true},
        {.name = "found by seed 1111",
         .properties = 60,
         .numbers = 1,
         .texts = 1,
         .dependencies = 2,
         .alternatives = 20,
         .exclusive = 20,
         .fan = 5,
         .levels = 20,
         .nested = 2,
         .members = 2,
         .first_members = 2,
         .text_bytes = 60,
         .depth = 20,
         .at_root = true},
        {.name = "found by seed 463",
         .required = 20,
         .numbers = 60,
         .texts = 60,
         .constant = 60,
         .dependencies = 1,
         .alternatives = 60,
         .exclusive = 2,
         .fan = 5,
         .levels = 20,
         .nested = 20,
         .unknown = 2,
         .kind = 1,
         .members = 60,
         .depth = 5},
        {.name = "found by seed 461",
         .numbers = 20,
         .texts = 5,
         .alternatives = 1,
         .exclusive = 2,
         .all = 1,
         .first_items = 5,
         .fan = 5,
         .levels = 20,
         .unknown = 5,
         .kind = 2,
         .first_members = 20,
         .text_bytes = 5,
         .others = true},
        {.name = "found by seed 1349",
         .numbers = 5,
         .texts = 20,
         .constant = 2,
         .exclusive = 5,
         .first_items = 60,
         .fan = 5,
         .levels = 20,
         .unknown = 2,
         .kind = 4,
         .text_bytes = 5,
         .depth = 2,
         .others = true,
         .at_root = true},
        {.name = "found by seed 369",
         .required = 1,
         .constant = 2,
         .alternatives = 20,
         .fan = 5,
         .levels = 20,
         .nested = 20,
         .values = 20,
         .kind = 1,
         .members = 2,
         .first_members = 2,
         .text_bytes = 5,
         .depth = 1},
    };
}

schema_shape random_schema_shape(std::uint32_t seed) {
    std::mt19937 random(seed);
    schema_shape shape;
    shape.name = "seed " + std::to_string(seed);
    constexpr std::array<unsigned, 10> amounts{0, 0, 0, 0, 0, 1, 2, 5, 20, 60};
    for (const auto& [name, member] : number_members) {
        shape.*member = amounts[random() % amounts.size()];
    }
    shape.values = std::max(shape.values, 1U);
    shape.kind = static_cast<unsigned>(random()) % value_kinds;
    shape.fan = std::min(shape.fan, 5U);
    shape.levels = std::min(shape.levels, 20U);
    for (const auto& [name, member] : flags) {
        shape.*member = random() % 4 == 0;
    }
    return shape;
}

std::string to_string(const schema_shape& shape) {
    std::string text = "{.name = \"" + shape.name + "\"";
    for (const auto& [name, member] : number_members) {
        if (shape.*member != schema_shape().*member) {
            text += ", ." + std::string(name) + " = " + std::to_string(shape.*member);
        }
    }
    for (const auto& [name, member] : flags) {
        if (shape.*member) {
            text += ", ." + std::string(name) + " = true";
        }
    }
    return text + "},";
}

} // namespace agui::test
