#include "translator/agui/usage_json.hpp"

#include "runner/base/json_text.hpp"
#include "translator/agui/event_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agui::translator {
namespace {

using count = std::optional<std::int64_t>;

constexpr std::int64_t largest_count = (std::int64_t{1} << 53) - 1;

bool is_sound(const count& value) { return value && *value >= 0 && *value <= largest_count; }

/// An invalid count adds nothing. Both operands are within the bound, so the sum cannot overflow.
count sum(const count& left, const count& right) {
    if (!is_sound(right)) {
        return left;
    }
    const std::int64_t total = left.value_or(0) + *right;
    return std::min(total, largest_count);
}

struct entry {
    std::string_view provider;
    std::string_view model;
    count input;
    count output;
    count reasoning;
    count cached;
    count cache_write;

    void add(const runner::token_usage& call) {
        input = sum(input, call.input_tokens);
        output = sum(output, call.output_tokens);
        reasoning = sum(reasoning, call.reasoning_tokens);
        cached = sum(cached, call.cached_input_tokens);
        cache_write = sum(cache_write, call.cache_write_input_tokens);
    }

    [[nodiscard]] bool is_empty() const {
        return !input && !output && !reasoning && !cached && !cache_write;
    }

    [[nodiscard]] count total() const {
        return input && output ? sum(input, output) : std::nullopt;
    }
};

void append_entry(std::string& out, const entry& value) {
    char separator = '{';
    const auto key = [&](std::string_view name) {
        out.push_back(separator);
        separator = ',';
        runner::append_json_string(out, name);
        out.push_back(':');
    };
    if (!value.provider.empty()) {
        key("provider");
        runner::append_json_string(out, value.provider);
    }
    if (!value.model.empty()) {
        key("model");
        runner::append_json_string(out, value.model);
    }
    const std::array<std::pair<std::string_view, count>, 6> counts{{
        {"inputTokens", value.input},
        {"outputTokens", value.output},
        {"totalTokens", value.total()},
        {"reasoningTokens", value.reasoning},
        {"cachedInputTokens", value.cached},
        {"cacheWriteInputTokens", value.cache_write},
    }};
    for (const auto& [name, number] : counts) {
        if (number) {
            key(name);
            out.append(std::to_string(*number));
        }
    }
    out.push_back('}');
}

} // namespace

std::string usage_json(
    const std::vector<runner::token_usage>& calls, translator_settings::usage_detail detail
) {
    if (detail == translator_settings::usage_detail::off) {
        return {};
    }
    const bool named = detail == translator_settings::usage_detail::full;
    std::vector<entry> entries;
    for (const runner::token_usage& call : calls) {
        const std::string_view provider = named ? std::string_view(call.provider) : "";
        const std::string_view model = named ? std::string_view(call.model) : "";
        auto found = std::find_if(entries.begin(), entries.end(), [&](const entry& known) {
            return known.provider == provider && known.model == model;
        });
        if (found == entries.end()) {
            entry fresh;
            fresh.provider = provider;
            fresh.model = model;
            found = entries.insert(entries.end(), fresh);
        }
        found->add(call);
    }
    std::erase_if(entries, [](const entry& value) { return value.is_empty(); });
    if (entries.empty()) {
        return {};
    }
    std::string out;
    char separator = '[';
    for (const entry& value : entries) {
        out.push_back(separator);
        separator = ',';
        append_entry(out, value);
    }
    out.push_back(']');
    return out;
}

} // namespace agui::translator
