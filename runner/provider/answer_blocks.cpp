#include "runner/provider/answer_blocks.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

using kind = answer_blocks::block::kind;

std::string_view name_of(kind what) noexcept {
    switch (what) {
    case kind::text:
        return "text";
    case kind::thinking:
        return "thinking";
    case kind::call:
        return "call";
    case kind::other:
        break;
    }
    return "other";
}

std::optional<kind> kind_named(std::string_view name) noexcept {
    for (const kind each : {kind::text, kind::thinking, kind::call, kind::other}) {
        if (name_of(each) == name) {
            return each;
        }
    }
    return std::nullopt;
}

// As a text, because readers of JSON do not keep all 64 bits of a number.
std::optional<std::uint64_t> hash_in(const json::object& object, std::string_view key) noexcept {
    const std::string_view text = string_in(object, key);
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_hash = !text.empty() && wrong == std::errc() && end == text.data() + text.size();
    return is_hash ? std::optional(value) : std::nullopt;
}

std::optional<answer_blocks::block> block_from_json(const json::value& value) {
    const json::object* const object = value.if_object();
    const auto what = object == nullptr ? std::nullopt : kind_named(string_in(*object, "is"));
    if (!what) {
        return std::nullopt;
    }
    answer_blocks::block block;
    block.what = *what;
    const std::int64_t bytes = integer_of(object->if_contains("bytes")).value_or(0);
    if (bytes < 0) {
        return std::nullopt;
    }
    block.bytes = static_cast<std::size_t>(bytes);
    if (const json::object* const members = object_in(*object, "members")) {
        block.members = json::object(*members, json::storage_ptr());
    }
    return block;
}

std::uint64_t hash_of(std::string_view text) noexcept {
    text_hash hash;
    hash.add(text);
    return hash.value();
}

/// True if the answer has the calls that the model made, in its order. The blocks of the origin
/// have their ids.
bool has_all_calls(const session::message& answer) {
    std::vector<std::string_view> made;
    for (const session::turn_block& each : answer.origin->blocks) {
        if (each.what == session::turn_block::kind::call) {
            made.push_back(each.id);
        }
    }
    return std::ranges::equal(made, answer.tool_calls, {}, {}, &session::tool_call::id);
}

/// Takes the first `bytes` of `rest`; false if it has fewer.
bool take(std::string_view& rest, std::size_t bytes, std::string_view& taken) noexcept {
    if (bytes > rest.size()) {
        return false;
    }
    taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return true;
}

} // namespace

bool answer_blocks::is_plain() const noexcept {
    bool has_begun = false;
    for (const block& each : list) {
        if (each.what == block::kind::other || !each.members.empty() ||
            (each.what == block::kind::text && has_begun)) {
            return false;
        }
        has_begun = has_begun || each.what != block::kind::thinking;
    }
    return true;
}

json::object to_json(const answer_blocks& value) {
    json::array list;
    for (const answer_blocks::block& each : value.list) {
        json::object block{{"is", name_of(each.what)}};
        if (each.bytes > 0) {
            block.emplace("bytes", static_cast<std::int64_t>(each.bytes));
        }
        if (!each.members.empty()) {
            block.emplace("members", each.members);
        }
        list.emplace_back(std::move(block));
    }
    return {
        {"text", std::to_string(value.text)},
        {"thoughts", std::to_string(value.thoughts)},
        {"blocks", std::move(list)}
    };
}

std::optional<answer_blocks> answer_blocks_from_json(const json::value* value) {
    const json::object* const object = object_of(value);
    const json::array* const list = object == nullptr ? nullptr : array_in(*object, "blocks");
    if (list == nullptr) {
        return std::nullopt;
    }
    const auto text = hash_in(*object, "text");
    const auto thoughts = hash_in(*object, "thoughts");
    if (!text || !thoughts) {
        return std::nullopt;
    }
    answer_blocks read;
    read.text = *text;
    read.thoughts = *thoughts;
    for (const json::value& each : *list) {
        std::optional<answer_blocks::block> block = block_from_json(each);
        if (!block) {
            return std::nullopt;
        }
        read.list.push_back(*std::move(block));
    }
    return read;
}

std::vector<placed_block> place_blocks(
    const answer_blocks& record, const session::message& answer, std::string_view text,
    std::string_view thoughts
) {
    if (hash_of(text) != record.text || hash_of(thoughts) != record.thoughts ||
        !has_all_calls(answer)) {
        return {};
    }
    std::vector<placed_block> placed;
    auto call = answer.tool_calls.begin();
    for (const answer_blocks::block& each : record.list) {
        placed_block made{.what = each.what, .text = {}, .members = &each.members};
        bool fits = true;
        if (each.what == kind::text) {
            fits = take(text, each.bytes, made.text);
        } else if (each.what == kind::thinking) {
            fits = take(thoughts, each.bytes, made.text);
        } else if (each.what == kind::call) {
            fits = call != answer.tool_calls.end();
            made.call = fits ? &*call++ : nullptr;
        }
        if (!fits) {
            return {};
        }
        placed.push_back(made);
    }
    const bool all = text.empty() && thoughts.empty() && call == answer.tool_calls.end();
    return all ? placed : std::vector<placed_block>();
}

std::vector<placed_block> plain_blocks(const session::message& answer, std::string_view text) {
    std::vector<placed_block> plain;
    plain.push_back({.what = kind::text, .text = text});
    for (const session::tool_call& each : answer.tool_calls) {
        plain.push_back({.what = kind::call, .text = {}, .call = &each});
    }
    return plain;
}

void append_members(std::string& out, const json::object* members) {
    if (members == nullptr) {
        return;
    }
    for (const auto& [name, value] : *members) {
        out.push_back(',');
        append_json_string(out, std::string_view(name.data(), name.size()));
        out.append(":").append(json::serialize(value));
    }
}

} // namespace agui::runner
