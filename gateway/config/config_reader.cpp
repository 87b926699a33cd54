#include "gateway/config/config_reader.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <sstream>

namespace agui::gateway {
namespace {

boost::json::value to_json(const toml::node& node) {
    if (const auto* table = node.as_table()) {
        boost::json::object object;
        for (const auto& [key, value] : *table) {
            object[std::string_view(key.str())] = to_json(value);
        }
        return object;
    }
    if (const auto* array = node.as_array()) {
        boost::json::array values;
        for (const toml::node& value : *array) {
            values.push_back(to_json(value));
        }
        return values;
    }
    if (const auto text = node.value_exact<std::string_view>()) {
        return boost::json::value(*text);
    }
    if (const auto flag = node.value_exact<bool>()) {
        return boost::json::value(*flag);
    }
    if (const auto number = node.value_exact<std::int64_t>()) {
        return boost::json::value(*number);
    }
    if (const auto number = node.value_exact<double>()) {
        return boost::json::value(*number);
    }
    // JSON has dates and times as text only.
    std::ostringstream text;
    node.visit([&text](const auto& value) {
        if constexpr (toml::is_chronological<decltype(value)>) {
            text << value.get();
        }
    });
    return boost::json::value(text.str());
}

} // namespace

std::string position_of(const toml::source_region& source) {
    const std::string file = source.path ? *source.path : std::string("config");
    // An override is one line, in which a position does not help.
    if (source.begin.line == 0 || file.starts_with("--")) {
        return file + ": ";
    }
    return file + ":" + std::to_string(source.begin.line) + ":" +
           std::to_string(source.begin.column) + ": ";
}

const toml::node* config_reader::find(std::string_view key) {
    known_.emplace(key);
    return table_.get(key);
}

bool config_reader::has(std::string_view key) { return find(key) != nullptr; }

bool config_reader::read(std::string_view key, std::string& value) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_string()) {
        problem(key, "must be a string");
        return false;
    }
    value = node->as_string()->get();
    return true;
}

bool config_reader::read(std::string_view key, bool& value) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_boolean()) {
        problem(key, "must be true or false");
        return false;
    }
    value = node->as_boolean()->get();
    return true;
}

bool config_reader::read(std::string_view key, double& value, double lowest, double highest) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return false;
    }
    const auto number = node->is_number() ? node->value<double>() : std::nullopt;
    if (!number || *number < lowest || *number > highest) {
        std::ostringstream text;
        text << "must be a number from " << lowest << " to " << highest;
        problem(key, text.str());
        return false;
    }
    value = *number;
    return true;
}

bool config_reader::read(std::string_view key, std::vector<std::string>& value) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return false;
    }
    const toml::array* array = node->as_array();
    std::vector<std::string> texts;
    if (array != nullptr) {
        for (const toml::node& element : *array) {
            if (const auto* text = element.as_string()) {
                texts.push_back(text->get());
            }
        }
    }
    if (array == nullptr || texts.size() != array->size()) {
        problem(key, "must be an array of strings");
        return false;
    }
    value = std::move(texts);
    return true;
}

bool config_reader::read(std::string_view key, std::map<std::string, std::string>& value) {
    const toml::table* found = table(key);
    if (found == nullptr) {
        return false;
    }
    config_reader inner = sub(*found, key);
    for (const std::string& name : inner.keys()) {
        std::string text;
        if (inner.read(name, text)) {
            value[name] = std::move(text);
        }
    }
    return true;
}

std::optional<boost::json::value> config_reader::json(std::string_view key) {
    const toml::table* found = table(key);
    return found == nullptr ? std::nullopt : std::optional(to_json(*found));
}

const toml::table* config_reader::table(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return nullptr;
    }
    if (!node->is_table()) {
        problem(key, "must be a table");
    }
    return node->as_table();
}

std::vector<const toml::table*> config_reader::tables(std::string_view key) {
    const toml::node* node = find(key);
    std::vector<const toml::table*> found;
    if (node == nullptr) {
        return found;
    }
    const toml::array* array = node->as_array();
    if (array != nullptr) {
        for (const toml::node& element : *array) {
            if (const toml::table* entry = element.as_table()) {
                found.push_back(entry);
            }
        }
    }
    if (array == nullptr || found.size() != array->size()) {
        problem(key, "must be an array of tables: [[" + std::string(key) + "]]");
        found.clear();
    }
    return found;
}

std::vector<std::string> config_reader::keys() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : table_) {
        names.emplace_back(key.str());
    }
    return names;
}

config_reader config_reader::sub(const toml::table& table, std::string_view name) const {
    std::string path = path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    return {table, std::move(path), problems_};
}

void config_reader::problem(std::string_view key, std::string_view text) {
    const toml::node* node = table_.get(key);
    std::string line = position_of(node != nullptr ? node->source() : table_.source());
    if (!path_.empty()) {
        line.append(path_).append(key.empty() ? "" : ".");
    }
    line.append(key).append(": ").append(text);
    problems_.push_back(std::move(line));
}

void config_reader::unsupported(std::string_view key) {
    if (has(key)) {
        problem(key, "not supported by this version");
    }
}

void config_reader::report_unknown() {
    for (const auto& [key, value] : table_) {
        if (!known_.contains(key.str())) {
            problem(key.str(), "unknown key");
        }
    }
}

std::optional<std::int64_t>
config_reader::integer(std::string_view key, std::int64_t lowest, std::int64_t highest) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < lowest || number->get() > highest) {
        problem(
            key, "must be a whole number from " + std::to_string(lowest) + " to " +
                     std::to_string(highest)
        );
        return std::nullopt;
    }
    return number->get();
}

} // namespace agui::gateway
