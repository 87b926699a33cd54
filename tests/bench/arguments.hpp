#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace agui::bench {

// Thrown if the command line is not understood; what() is one line for the user.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The inclusive range of a number on the command line.
struct number_range {
    std::int64_t lowest;
    std::int64_t highest;
};

// Command line of the form "--name value ...". Every option takes exactly one value. An option that
// is not in the list of known names throws usage_error, and so does a value that is not a number
// where one is required.
class arguments {
public:
    arguments(int argc, char** argv, std::initializer_list<std::string_view> known);

    [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
    [[nodiscard]] std::int64_t
    number(std::string_view name, std::int64_t fallback, number_range allowed) const;

private:
    std::map<std::string, std::string, std::less<>> values_;
};

} // namespace agui::bench
