#pragma once

#include <boost/json/value.hpp>
#include <toml++/toml.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// One table of a TOML document while it is read: typed access by key. Problems are recorded with
/// their key and position, in one list for all readers of a document. A key that nothing has asked
/// for is unknown. The arguments must outlive it.
class config_reader {
public:
    config_reader(const toml::table& table, std::string path, std::vector<std::string>& problems)
        : table_(table), path_(std::move(path)), problems_(problems) {}

    [[nodiscard]] bool has(std::string_view key);

    // These set `value` and return true. If the key is absent, or wrong, which is a problem, they
    // leave it unchanged and return false.

    bool read(std::string_view key, std::string& value);
    bool read(std::string_view key, bool& value);
    bool read(std::string_view key, double& value, double lowest, double highest);
    bool read(std::string_view key, std::vector<std::string>& value);

    template <class Integer>
    bool
    read_number(std::string_view key, Integer& value, std::int64_t lowest, std::int64_t highest) {
        const auto number = integer(key, lowest, highest);
        if (number) {
            value = static_cast<Integer>(*number);
        }
        return number.has_value();
    }

    template <class Duration>
    bool
    read_seconds(std::string_view key, Duration& value, std::int64_t lowest, std::int64_t highest) {
        const auto number = integer(key, lowest, highest);
        if (number) {
            value = std::chrono::duration_cast<Duration>(std::chrono::seconds(*number));
        }
        return number.has_value();
    }

    /// The key must have one of the names; `value` becomes what it stands for.
    template <class Value>
    bool read_choice(
        std::string_view key, Value& value,
        std::initializer_list<std::pair<std::string_view, Value>> choices
    ) {
        std::string name;
        if (!read(key, name)) {
            return false;
        }
        std::string names;
        for (const auto& [candidate, meaning] : choices) {
            if (name == candidate) {
                value = meaning;
                return true;
            }
            names.append(names.empty() ? "\"" : ", \"").append(candidate).append("\"");
        }
        problem(key, "must be one of " + names);
        return false;
    }

    /// A table of strings, which are added to `value`.
    bool read(std::string_view key, std::map<std::string, std::string>& value);
    /// A table as JSON; nullopt: it is absent or wrong.
    [[nodiscard]] std::optional<boost::json::value> json(std::string_view key);

    /// An inner table; null: it is absent or wrong.
    [[nodiscard]] const toml::table* table(std::string_view key);
    /// The tables of an array of tables; empty: it is absent or wrong.
    [[nodiscard]] std::vector<const toml::table*> tables(std::string_view key);
    [[nodiscard]] std::vector<std::string> keys() const;
    /// A reader of an inner table, which has that name in problems.
    [[nodiscard]] config_reader sub(const toml::table& table, std::string_view name) const;

    /// Records a problem with a key, at the table's position if the key is absent.
    void problem(std::string_view key, std::string_view text);
    /// For a key of a later version: it is a problem if it is set, because it would have no effect.
    void unsupported(std::string_view key);
    /// Records each unknown key as a problem. To be called last.
    void report_unknown();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    const toml::node* find(std::string_view key);
    std::optional<std::int64_t>
    integer(std::string_view key, std::int64_t lowest, std::int64_t highest);

    const toml::table& table_;
    std::string path_;
    std::vector<std::string>& problems_;
    std::set<std::string, std::less<>> known_;
};

/// `file:line:column: `, or `file: ` if there is no useful position.
[[nodiscard]] std::string position_of(const toml::source_region& source);

} // namespace agui::gateway
