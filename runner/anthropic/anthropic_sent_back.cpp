#include "runner/anthropic/anthropic_sent_back.hpp"

#include "runner/anthropic/anthropic_block_reader.hpp"
#include "runner/base/json_members.hpp"
#include "runner/provider/own_origin.hpp"
#include "session/base/white_space.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace agui::runner {

namespace {

using session::message;
using session::role;
using block_kind = answer_blocks::block::kind;

/// False for a block that the server refuses or that may not be sent back.
bool is_sent(const placed_block& value) {
    switch (value.what) {
    case block_kind::text:
        return !is_blank(value.text);
    case block_kind::thinking:
        return value.members->contains("signature");
    case block_kind::call:
    case block_kind::other:
        break;
    }
    return true;
}

bool is_thought(const placed_block& value) {
    return value.what == block_kind::thinking ||
           (value.what == block_kind::other &&
            string_in(*value.members, "type") == "redacted_thinking");
}

/// True if the record has a result for each of the server's own calls.
bool has_results(const answer_blocks& record, const std::vector<std::string>& calls) {
    return std::ranges::all_of(calls, [&record](const std::string& id) {
        return std::ranges::any_of(record.list, [&id](const answer_blocks::block& each) {
            return each.what == block_kind::other && string_in(each.members, "tool_use_id") == id;
        });
    });
}

/// Ids of the calls of the server's own tools that have no result in the record.
std::vector<std::string> open_server_calls(const std::optional<answer_blocks>& record) {
    std::vector<std::string> open;
    if (!record) {
        return open;
    }
    for (const answer_blocks::block& each : record->list) {
        const std::string_view id = string_in(each.members, "id");
        if (each.what != block_kind::other || id.empty() ||
            !string_in(each.members, "type").ends_with("tool_use")) {
            continue;
        }
        if (!has_results(*record, {std::string(id)})) {
            open.emplace_back(id);
        }
    }
    return open;
}

} // namespace

std::optional<answer_blocks> recorded_blocks(const session::turn_origin& origin) {
    return answer_blocks_from_json(origin.data.if_contains(anthropic_block_reader::record_name));
}

bool is_continued(
    const std::vector<const message*>& all, std::size_t at, const model_request& request
) {
    const session::turn_origin* const origin = own_origin(*all[at], request);
    if (origin == nullptr || origin->end != session::turn_end::paused) {
        return false;
    }
    std::string thoughts;
    std::size_t next = at + 1;
    for (; next < all.size() && all[next]->role == role::reasoning; ++next) {
        thoughts += session::text_of(all[next]->content);
    }
    if (next == all.size()) {
        return true;
    }
    const message& answer = *all[next];
    const session::turn_origin* const its = own_origin(answer, request);
    if (answer.role != role::assistant || its == nullptr) {
        return false;
    }
    const std::vector<std::string> open = open_server_calls(recorded_blocks(*origin));
    if (open.empty()) {
        return true;
    }
    const std::optional<answer_blocks> record = recorded_blocks(*its);
    const std::string text = session::text_of(answer.content);
    return record && !place_blocks(*record, answer, text, thoughts).empty() &&
           has_results(*record, open) &&
           (its->end != session::turn_end::paused || is_continued(all, next, request));
}

void leave_out_refused(std::vector<placed_block>& blocks, bool paused) {
    std::erase_if(blocks, [](const placed_block& each) { return !is_sent(each); });
    while (!blocks.empty() && is_thought(blocks.back()) && !paused) {
        blocks.pop_back(); // The server refuses a message that ends with a thought.
    }
}

} // namespace agui::runner
