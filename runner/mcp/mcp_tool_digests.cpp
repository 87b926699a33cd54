#include "runner/mcp/mcp_tool_digests.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

std::string sha256(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
    std::string text;
    text.reserve(2 * digest.size());
    for (const unsigned char byte : digest) {
        text.push_back(digits[byte >> 4U]);
        text.push_back(digits[byte & 15U]);
    }
    return text;
}

void append_quoted(std::string& to, std::string_view text) {
    to.append(json::serialize(json::string_view(text.data(), text.size())));
}

void append_sorted(std::string& to, const json::object& object);

// Recursive, but only as deep as a message may be nested.
void append_sorted(std::string& to, const json::value& value) {
    if (const json::object* const object = value.if_object()) {
        append_sorted(to, *object);
        return;
    }
    const json::array* const list = value.if_array();
    if (list == nullptr) {
        to.append(json::serialize(value));
        return;
    }
    to.push_back('[');
    for (const json::value& each : *list) {
        append_sorted(to, each);
        to.push_back(',');
    }
    to.push_back(']');
}

/// The members sorted by name.
void append_sorted(std::string& to, const json::object& object) {
    std::vector<std::pair<std::string_view, const json::value*>> members;
    members.reserve(object.size());
    for (const auto& member : object) {
        members.emplace_back(member.key(), &member.value());
    }
    std::ranges::sort(members, {}, &std::pair<std::string_view, const json::value*>::first);
    to.push_back('{');
    for (const auto& [name, member] : members) {
        append_quoted(to, name);
        to.push_back(':');
        append_sorted(to, *member);
        to.push_back(',');
    }
    to.push_back('}');
}

} // namespace

std::string mcp_tool_digest(const mcp_tool& tool) {
    std::string text;
    append_quoted(text, tool.name);
    append_quoted(text, tool.description);
    append_sorted(text, tool.schema);
    return sha256(text);
}

mcp_tool_digests::changes mcp_tool_digests::update(const std::vector<mcp_tool>& tools) {
    std::map<std::string, std::string> listed;
    for (const mcp_tool& tool : tools) {
        listed.emplace(tool.name, mcp_tool_digest(tool));
    }
    changes found;
    if (known_) {
        for (const auto& [name, digest] : listed) {
            const auto before = known_->find(name);
            if (before == known_->end()) {
                found.added.push_back(name);
            } else if (before->second != digest) {
                found.changed.push_back(name);
            }
        }
        for (const auto& [name, digest] : *known_) {
            if (!listed.contains(name)) {
                found.removed.push_back(name);
            }
        }
    }
    known_ = std::move(listed);
    return found;
}

std::string mcp_tool_digests::digest() const {
    std::string all;
    if (known_) {
        for (const auto& [name, digest] : *known_) {
            all.append(digest);
        }
    }
    return sha256(all);
}

} // namespace agui::runner
