#include "tests/translator/protobuf/proto_file.hpp"

#include "session/base/ascii.hpp"

#include <fstream>
#include <regex>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

unsigned number_of(const std::string& digits) { return static_cast<unsigned>(std::stoul(digits)); }

} // namespace

std::string camel_case(const std::string& name) {
    std::string out;
    bool begins_word = false;
    for (const char c : name) {
        if (c != '_') {
            const char lower = to_lower(c);
            out.push_back(begins_word ? static_cast<char>(lower - 'a' + 'A') : lower);
        }
        begins_word = c == '_';
    }
    return out;
}

proto_file read_proto_file(const std::string& path) {
    static const std::regex block(R"(\s*(message|enum|oneof) (\w+) \{)");
    static const std::regex field(R"(\s*(optional |repeated )?([\w.]+) (\w+) = (\d+);)");
    static const std::regex enumerator(R"(\s*(\w+) = (\d+);)");
    proto_file out;
    std::vector<std::pair<std::string, std::string>> open; // The kind and the name of each block.
    std::ifstream file(path);
    std::smatch found;
    for (std::string line; std::getline(file, line);) {
        if (std::regex_match(line, found, block)) {
            // A oneof has the fields of its message.
            const bool is_oneof = found[1] == "oneof";
            open.emplace_back(found[1], is_oneof ? open.back().second : found[2].str());
        } else if (!open.empty() && line.find('}') != std::string::npos) {
            open.pop_back();
        } else if (!open.empty() && std::regex_match(line, found, field)) {
            out.messages[open.back().second][number_of(found[4])] = {
                camel_case(found[3]), found[2], found[1] == "repeated ",
                found[1] == "optional " || open.back().first == "oneof"
            };
        } else if (!open.empty() && std::regex_match(line, found, enumerator)) {
            out.enumerations[open.back().second][number_of(found[2])] = found[1];
        }
    }
    return out;
}

} // namespace agui::test
