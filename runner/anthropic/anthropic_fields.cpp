#include "runner/anthropic/anthropic_fields.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace agui::runner {

namespace json = boost::json;

namespace {

struct named_reason {
    std::string_view name;
    finish_reason what;
};

constexpr std::array reasons = {
    named_reason{"end_turn", finish_reason::stop},
    named_reason{"stop_sequence", finish_reason::stop},
    named_reason{"tool_use", finish_reason::tool_calls},
    named_reason{"max_tokens", finish_reason::length},
    named_reason{"model_context_window_exceeded", finish_reason::length},
    named_reason{"pause_turn", finish_reason::pause},
    named_reason{"refusal", finish_reason::refusal},
};

struct named_error {
    std::string_view type;
    int status;
};

constexpr std::array errors = {
    named_error{"invalid_request_error", 400}, named_error{"authentication_error", 401},
    named_error{"billing_error", 402},         named_error{"permission_error", 403},
    named_error{"not_found_error", 404},       named_error{"request_too_large", 413},
    named_error{"rate_limit_error", 429},      named_error{"api_error", 500},
    named_error{"timeout_error", 504},         named_error{"overloaded_error", 529},
};

/// A later total replaces an earlier one. Imitating servers put a zero where they do not count, so
/// a total never becomes smaller.
void raise(std::optional<std::int64_t>& count, const json::object& from, std::string_view name) {
    const std::optional<std::int64_t> found = integer_of(from.if_contains(name));
    if (found && *found >= 0) {
        count = std::max(count.value_or(0), *found);
    }
}

} // namespace

std::optional<finish_reason> read_stop_reason(std::string_view name) noexcept {
    const auto found = std::ranges::find(reasons, name, &named_reason::name);
    return found == reasons.end() ? std::nullopt : std::optional(found->what);
}

int status_of_error(std::string_view type) noexcept {
    const auto found = std::ranges::find(errors, type, &named_error::type);
    return found == errors.end() ? 0 : found->status;
}

std::string stream_error_text(const json::object& event) {
    const json::value* const error = event.if_contains("error");
    const json::object* const object = object_of(error);
    std::string text;
    if (object != nullptr && !string_in(*object, "message").empty()) {
        const std::string_view type = string_in(*object, "type");
        text.append(type).append(type.empty() ? "" : ": ").append(string_in(*object, "message"));
    } else if (error != nullptr && error->is_string()) {
        text = text_of(error);
    } else {
        text = json::serialize(error == nullptr ? json::value(event) : *error);
    }
    return to_utf8(std::string_view(text).substr(0, error_text_max));
}

void anthropic_usage::add(const json::object* usage) {
    if (usage == nullptr) {
        return;
    }
    raise(uncached_, *usage, "input_tokens");
    raise(counts_.output_tokens, *usage, "output_tokens");
    raise(counts_.cached_input_tokens, *usage, "cache_read_input_tokens");
    raise(counts_.cache_write_input_tokens, *usage, "cache_creation_input_tokens");
    if (const json::object* const details = object_in(*usage, "output_tokens_details")) {
        raise(counts_.reasoning_tokens, *details, "thinking_tokens");
    }
}

std::optional<token_usage>
anthropic_usage::counts(std::string_view provider, std::string_view model) const {
    if (!uncached_ && !counts_.output_tokens) {
        return std::nullopt;
    }
    token_usage all = counts_;
    all.provider = provider;
    all.model = model;
    if (uncached_) {
        all.input_tokens = *uncached_ + counts_.cached_input_tokens.value_or(0) +
                           counts_.cache_write_input_tokens.value_or(0);
    }
    return all;
}

} // namespace agui::runner
