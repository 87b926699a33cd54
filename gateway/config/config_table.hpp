#pragma once

#include <boost/json/object.hpp>
#include <toml++/toml.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// Printed in place of a value that may be a secret.
inline constexpr std::string_view masked = "***";

/// One table of the configuration, read from a TOML document or printed to one. A function that
/// names each key once, with its value, serves for both.
///
/// When it reads, a member sets its value and returns true. If the key is absent or invalid, it
/// leaves the value unchanged and returns false. Invalid keys are problems, recorded with key and
/// position in one list for all tables of a document. A key that no member has read is unknown.
///
/// When it prints, a member writes the value under its key and returns false, has() returns false,
/// and there are no problems. So code that depends on a key having been read is skipped.
class config_table {
public:
    /// Reads. The arguments must outlive it.
    config_table(const toml::table& from, std::string path, std::vector<std::string>& problems)
        : from_(&from), path_(std::move(path)), problems_(&problems) {}
    /// Prints. `to` must outlive it.
    explicit config_table(toml::table& to) : to_(&to) {}

    [[nodiscard]] bool is_printed() const noexcept { return to_ != nullptr; }
    /// True if the key is to be used: always when reading; when printing, only if `says_something`.
    [[nodiscard]] bool uses(bool says_something) const noexcept {
        return !is_printed() || says_something;
    }
    [[nodiscard]] bool has(std::string_view key);
    /// True if the key has a text, for keys whose value may have several types.
    [[nodiscard]] bool has_text(std::string_view key);

    bool value(std::string_view key, std::string& value);
    bool value(std::string_view key, bool& value);
    bool value(std::string_view key, double& value, double lowest, double highest);
    bool value(std::string_view key, std::vector<std::string>& value);
    /// A table of strings.
    bool value(std::string_view key, std::map<std::string, std::string>& value);
    /// A table of any JSON values. When it is printed, all values in it are masked, because they
    /// may be secrets.
    bool value(std::string_view key, boost::json::object& value);

    template <class Integer>
    bool number(std::string_view key, Integer& value, std::int64_t lowest, std::int64_t highest) {
        auto found = static_cast<std::int64_t>(value);
        const bool is_read = integer(key, found, lowest, highest);
        value = is_read ? static_cast<Integer>(found) : value;
        return is_read;
    }

    /// A whole number of `Unit`s.
    template <class Unit = std::chrono::seconds, class Duration>
    bool time(std::string_view key, Duration& value, std::int64_t lowest, std::int64_t highest) {
        std::int64_t found = std::chrono::duration_cast<Unit>(value).count();
        const bool is_read = integer(key, found, lowest, highest);
        value = is_read ? std::chrono::duration_cast<Duration>(Unit(found)) : value;
        return is_read;
    }

    /// The key has one of the names, which stand for values.
    template <class Value>
    bool choice(
        std::string_view key, Value& value,
        std::initializer_list<std::pair<std::string_view, Value>> choices
    ) {
        std::string name;
        std::string names;
        for (const auto& [candidate, meaning] : choices) {
            name = meaning == value ? candidate : name;
            names.append(names.empty() ? "\"" : ", \"").append(candidate).append("\"");
        }
        if (!this->value(key, name)) {
            return false;
        }
        for (const auto& [candidate, meaning] : choices) {
            if (name == candidate) {
                value = meaning;
                return true;
            }
        }
        problem(key, "must be one of " + names);
        return false;
    }

    /// An inner table. `describe(config_table&, T&)` names its keys.
    template <class T, class Describe>
    bool table(std::string_view key, T& value, Describe describe) {
        if (is_printed()) {
            describe_to(*to_->insert(key, toml::table()).first->second.as_table(), value, describe);
            return false;
        }
        const toml::table* const found = inner(key);
        if (found != nullptr) {
            describe_from(*found, key, value, describe);
        }
        return found != nullptr;
    }

    /// An array of tables.
    template <class T, class Describe>
    void tables(std::string_view key, std::vector<T>& values, Describe describe) {
        if (is_printed()) {
            toml::array& array = *to_->insert(key, toml::array()).first->second.as_array();
            for (T& value : values) {
                describe_to(array.emplace_back<toml::table>(), value, describe);
            }
            return;
        }
        for (const toml::table* const found : array_of_tables(key)) {
            describe_from(*found, key, values.emplace_back(), describe);
        }
    }

    /// The keys of a table whose keys are names. Empty when it prints.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Records a problem with a key, at the table's position if the key is absent.
    void problem(std::string_view key, std::string_view text);
    /// Records each unknown key as a problem. To be called last.
    void report_unknown();

private:
    template <class T, class Describe>
    static void describe_to(toml::table& to, T& value, Describe& describe) {
        config_table inner(to);
        describe(inner, value);
    }
    template <class T, class Describe>
    void
    describe_from(const toml::table& from, std::string_view key, T& value, Describe& describe) {
        config_table inner(
            from, path_.empty() ? std::string(key) : path_ + "." + std::string(key), *problems_
        );
        describe(inner, value);
        inner.report_unknown();
    }

    bool
    integer(std::string_view key, std::int64_t& value, std::int64_t lowest, std::int64_t highest);
    /// Returns null if the key is absent or wrong.
    const toml::table* inner(std::string_view key);
    std::vector<const toml::table*> array_of_tables(std::string_view key);
    const toml::node* find(std::string_view key);

    const toml::table* from_ = nullptr;
    toml::table* to_ = nullptr;
    std::string path_;
    std::vector<std::string>* problems_ = nullptr;
    std::set<std::string, std::less<>> known_;
};

/// `file:line:column: `, or `file: ` if there is no useful position.
[[nodiscard]] std::string position_of(const toml::source_region& source);

} // namespace agui::gateway
