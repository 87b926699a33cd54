#pragma once

#include "proto-fixtures/replay/fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace agui::replay {

/// Reads the members of one JSON object of a fixture. Every failure is a fixture_error that names
/// the place. done() refuses members that were never read, so that a misspelled one is noticed.
class json_reader {
public:
    /// `object` must outlive the reader.
    json_reader(const boost::json::object& object, std::string place);

    [[nodiscard]] const boost::json::value* find(std::string_view key);
    [[nodiscard]] const boost::json::value& need(std::string_view key);
    [[nodiscard]] std::string text(std::string_view key);
    [[nodiscard]] std::string text(std::string_view key, std::string fallback);
    [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t fallback);
    [[nodiscard]] bool flag(std::string_view key, bool fallback);
    [[nodiscard]] const boost::json::array* array(std::string_view key);
    [[nodiscard]] const boost::json::object* object(std::string_view key);

    /// The place of a member, such as "steps[1].upstream".
    [[nodiscard]] std::string at(std::string_view key) const;
    [[noreturn]] void fail(std::string_view key, std::string_view what) const;
    void done() const;

private:
    const boost::json::object& object_;
    std::string place_;
    std::set<std::string, std::less<>> asked_;
};

[[nodiscard]] const boost::json::object&
object_of(const boost::json::value& value, const std::string& place);
[[nodiscard]] std::string text_of(const boost::json::value& value, const std::string& place);

/// The whole file. Throws fixture_error.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
[[nodiscard]] boost::json::value parse_json(std::string_view text, const std::string& place);

} // namespace agui::replay
