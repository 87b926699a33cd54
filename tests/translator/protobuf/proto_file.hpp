#pragma once

#include <map>
#include <string>

namespace agui::test {

/// A field of a message in a .proto file.
struct proto_field {
    std::string name; ///< In camelCase.
    std::string type; ///< As in the file; of a nested message, its own name.
    bool repeated = false;
    bool shown = false; ///< Has explicit presence: `optional`, or an arm of a oneof.
};

/// The messages and enumerations of a .proto file.
struct proto_file {
    using fields = std::map<unsigned, proto_field>;

    std::map<std::string, fields> messages;
    std::map<std::string, std::map<unsigned, std::string>> enumerations;
};

/// Reads a file with one field or enumerator a line.
[[nodiscard]] proto_file read_proto_file(const std::string& path);

/// `text_message_start` → `textMessageStart`; also for names in upper case.
[[nodiscard]] std::string camel_case(const std::string& name);

} // namespace agui::test
