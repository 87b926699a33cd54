#include "runner/responses/responses_fields.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace agui::runner {

namespace json = boost::json;

namespace {

struct named_status {
    std::string_view code;
    int status;
};

constexpr std::array errors = {
    named_status{"server_error", 500},
    named_status{"internal_error", 500},
    named_status{"rate_limit_exceeded", 429},
    named_status{"insufficient_quota", 429},
    named_status{"vector_store_timeout", 504},
    named_status{"context_length_exceeded", 400},
    named_status{"failed_to_download_image", 400},
    named_status{"image_file_not_found", 400},
    named_status{"empty_image_file", 400},
    named_status{"unsupported_image_media_type", 400},
};

/// Codes that blame the request are many, and named alike.
bool blames_the_request(std::string_view code) noexcept {
    return code.starts_with("invalid_") || code.starts_with("image_") ||
           code.ends_with("_policy") || code.ends_with("_policy_violation");
}

int status_of(const json::value* code) noexcept {
    if (const auto number = integer_of(code)) {
        return *number >= 400 && *number < 600 ? static_cast<int>(*number) : 0;
    }
    const std::string_view name = text_of(code);
    const auto found = std::ranges::find(errors, name, &named_status::code);
    if (found != errors.end()) {
        return found->status;
    }
    return blames_the_request(name) ? 400 : 0;
}

std::optional<std::int64_t> count_in(const json::object* object, std::string_view name) noexcept {
    const auto found = object == nullptr ? std::nullopt : integer_of(object->if_contains(name));
    return found && *found >= 0 ? found : std::nullopt;
}

} // namespace

std::optional<finish_reason> read_incomplete_reason(std::string_view name) noexcept {
    if (name == "max_output_tokens" || name == "max_messages") {
        return finish_reason::length;
    }
    return name == "content_filter" ? std::optional(finish_reason::content_filter) : std::nullopt;
}

responses_error read_responses_error(const json::value& error) {
    responses_error read;
    const json::object* const object = error.if_object();
    if (object != nullptr && !string_in(*object, "message").empty()) {
        const json::value* const code = object->if_contains("code");
        read.status = status_of(code);
        if (read.status == 0) {
            read.status = status_of(object->if_contains("type")); // Where others put it.
        }
        read.text.append(text_of(code)).append(text_of(code).empty() ? "" : ": ");
        read.text.append(string_in(*object, "message"));
    } else {
        read.text = error.is_string() ? std::string(text_of(&error)) : json::serialize(error);
    }
    read.text = to_utf8(std::string_view(read.text).substr(0, error_text_max));
    return read;
}

std::optional<token_usage>
read_responses_usage(const json::object* usage, std::string_view provider, std::string_view model) {
    token_usage read;
    read.input_tokens = count_in(usage, "input_tokens");
    read.output_tokens = count_in(usage, "output_tokens");
    if (!read.input_tokens && !read.output_tokens) {
        return std::nullopt;
    }
    const json::object* const input = object_in(*usage, "input_tokens_details");
    read.cached_input_tokens = count_in(input, "cached_tokens");
    read.cache_write_input_tokens = count_in(input, "cache_write_tokens");
    read.reasoning_tokens =
        count_in(object_in(*usage, "output_tokens_details"), "reasoning_tokens");
    read.provider = provider;
    read.model = model;
    return read;
}

} // namespace agui::runner
