#include "gateway/config/config_table.hpp"

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

toml::table member_names(const boost::json::object& object) {
    toml::table table;
    for (const auto& member : object) {
        if (const boost::json::object* inner = member.value().if_object()) {
            table.insert(std::string_view(member.key()), member_names(*inner));
        } else {
            table.insert(std::string_view(member.key()), masked);
        }
    }
    return table;
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

const toml::node* config_table::find(std::string_view key) {
    if (is_printed()) {
        return nullptr;
    }
    known_.emplace(key);
    return from_->get(key);
}

bool config_table::has(std::string_view key) { return find(key) != nullptr; }

bool config_table::has_text(std::string_view key) {
    const toml::node* const node = find(key);
    return node != nullptr && node->is_string();
}

bool config_table::value(std::string_view key, std::string& value) {
    if (is_printed()) {
        to_->insert(key, value);
    }
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

bool config_table::value(std::string_view key, bool& value) {
    if (is_printed()) {
        to_->insert(key, value);
    }
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

bool config_table::value(std::string_view key, double& value, double lowest, double highest) {
    if (is_printed()) {
        to_->insert(key, value);
    }
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

bool config_table::value(std::string_view key, std::vector<std::string>& value) {
    if (is_printed()) {
        toml::array array;
        for (const std::string& text : value) {
            array.push_back(text);
        }
        to_->insert(key, std::move(array));
    }
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

bool config_table::value(std::string_view key, std::map<std::string, std::string>& value) {
    if (!is_printed()) {
        value.clear();
    }
    return table(key, value, [](config_table& inner, auto& texts) {
        for (const std::string& name : inner.keys()) {
            texts[name];
        }
        for (auto& [name, text] : texts) {
            inner.value(name, text);
        }
    });
}

bool config_table::value(std::string_view key, boost::json::object& value) {
    if (is_printed() && !value.empty()) {
        to_->insert(key, member_names(value));
    }
    const toml::table* const found = inner(key);
    if (found != nullptr) {
        value = to_json(*found).as_object();
    }
    return found != nullptr;
}

const toml::table* config_table::inner(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) {
        return nullptr;
    }
    if (!node->is_table()) {
        problem(key, "must be a table");
    }
    return node->as_table();
}

std::vector<const toml::table*> config_table::array_of_tables(std::string_view key) {
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

std::vector<std::string> config_table::keys() const {
    std::vector<std::string> names;
    if (!is_printed()) {
        for (const auto& [key, value] : *from_) {
            names.emplace_back(key.str());
        }
    }
    return names;
}

void config_table::problem(std::string_view key, std::string_view text) {
    if (is_printed()) {
        return;
    }
    const toml::node* node = from_->get(key);
    std::string line = position_of(node != nullptr ? node->source() : from_->source());
    if (!path_.empty()) {
        line.append(path_).append(key.empty() ? "" : ".");
    }
    line.append(key).append(": ").append(text);
    problems_->push_back(std::move(line));
}

void config_table::report_unknown() {
    for (const auto& [key, value] : *from_) {
        if (!known_.contains(key.str())) {
            problem(key.str(), "unknown key");
        }
    }
}

bool config_table::integer(
    std::string_view key, std::int64_t& value, std::int64_t lowest, std::int64_t highest
) {
    if (is_printed()) {
        to_->insert(key, value);
    }
    const toml::node* node = find(key);
    if (node == nullptr) {
        return false;
    }
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < lowest || number->get() > highest) {
        problem(
            key, "must be a whole number from " + std::to_string(lowest) + " to " +
                     std::to_string(highest)
        );
        return false;
    }
    value = number->get();
    return true;
}

} // namespace agui::gateway
