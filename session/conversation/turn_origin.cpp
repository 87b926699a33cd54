#include "session/conversation/turn_origin.hpp"

#include "session/base/json_member.hpp"

#include <boost/json/array.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace agui::session {

namespace {

namespace json = boost::json;

struct named_kind {
    turn_block::kind kind;
    std::string_view name;
};

constexpr std::array kinds = {
    named_kind{turn_block::kind::reasoning, "reasoning"},
    named_kind{turn_block::kind::text, "text"},
    named_kind{turn_block::kind::call, "call"},
};

const std::string_view* name_of(turn_block::kind kind) noexcept {
    for (const named_kind& each : kinds) {
        if (each.kind == kind) {
            return &each.name;
        }
    }
    return nullptr;
}

struct named_end {
    turn_end end;
    std::string_view name;
};

constexpr std::array ends = {
    named_end{turn_end::paused, "paused"},
    named_end{turn_end::refused, "refused"},
    named_end{turn_end::media, "media"},
};

std::optional<turn_block> block_from_json(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return std::nullopt;
    }
    const std::string_view type = string_in(*object, "type");
    for (const named_kind& each : kinds) {
        if (each.name != type) {
            continue;
        }
        turn_block block;
        block.what = each.kind;
        block.id = string_in(*object, "id");
        const json::value* const bytes = object->if_contains("bytes");
        if (bytes != nullptr && bytes->is_int64() && bytes->get_int64() > 0) {
            block.bytes = static_cast<std::size_t>(bytes->get_int64());
        }
        if (const json::value* const data = object->if_contains("data")) {
            block.data = json::value(*data, json::storage_ptr());
        }
        return block;
    }
    return std::nullopt;
}

// Everything but the blocks, and of the data only texts.
turn_origin without_blocks(const turn_origin& value) {
    turn_origin made;
    made.provider = value.provider;
    made.model = value.model;
    for (const auto& [name, held] : value.data) {
        if (held.is_string()) {
            made.data.emplace(name, held);
        }
    }
    made.account = value.account;
    made.prefix = value.prefix;
    made.tokens = value.tokens;
    made.end = value.end;
    return made;
}

} // namespace

turn_origin without_thoughts(const turn_origin& value) {
    turn_origin made = without_blocks(value);
    made.blocks = value.blocks;
    return made;
}

turn_origin without_bound_data(const turn_origin& value) {
    turn_origin made = without_blocks(value);
    made.blocks.reserve(value.blocks.size());
    for (const turn_block& each : value.blocks) {
        turn_block& block = made.blocks.emplace_back();
        block.what = each.what;
        block.id = each.id;
        block.bytes = each.bytes;
    }
    return made;
}

json::object to_json(const turn_origin& value) {
    json::array blocks;
    for (const turn_block& each : value.blocks) {
        json::object block;
        block.emplace("type", *name_of(each.what));
        if (each.what == turn_block::kind::text) {
            block.emplace("bytes", static_cast<std::int64_t>(each.bytes));
        } else {
            block.emplace("id", each.id);
        }
        if (!each.data.is_null()) {
            block.emplace("data", each.data);
        }
        blocks.emplace_back(std::move(block));
    }
    json::object object{
        {"provider", value.provider}, {"model", value.model}, {"blocks", std::move(blocks)}
    };
    if (!value.data.empty()) {
        object.emplace("data", value.data);
    }
    if (!value.account.empty()) {
        object.emplace("account", value.account);
    }
    if (!value.prefix.empty()) {
        object.emplace("prefix", value.prefix);
    }
    if (value.tokens > 0) {
        object.emplace("tokens", value.tokens);
    }
    for (const named_end& each : ends) {
        if (each.end == value.end) {
            object.emplace("end", each.name);
        }
    }
    return object;
}

std::optional<turn_origin> turn_origin_from_json(const json::value& value) {
    const json::object* const object = value.if_object();
    const json::value* const blocks = object == nullptr ? nullptr : object->if_contains("blocks");
    if (blocks == nullptr || !blocks->is_array()) {
        return std::nullopt;
    }
    turn_origin origin;
    origin.provider = string_in(*object, "provider");
    origin.model = string_in(*object, "model");
    origin.account = string_in(*object, "account");
    origin.prefix = string_in(*object, "prefix");
    for (const json::value& each : blocks->get_array()) {
        std::optional<turn_block> block = block_from_json(each);
        if (!block) {
            return std::nullopt;
        }
        origin.blocks.push_back(*std::move(block));
    }
    const json::value* const data = object->if_contains("data");
    if (data != nullptr && data->is_object()) {
        origin.data = json::object(data->get_object(), json::storage_ptr());
    }
    const json::value* const tokens = object->if_contains("tokens");
    if (tokens != nullptr && tokens->is_number()) {
        boost::system::error_code not_a_count;
        origin.tokens = tokens->to_number<std::uint64_t>(not_a_count);
    }
    const std::string_view end = string_in(*object, "end");
    for (const named_end& each : ends) {
        if (each.name == end) {
            origin.end = each.end;
        }
    }
    return origin;
}

} // namespace agui::session
