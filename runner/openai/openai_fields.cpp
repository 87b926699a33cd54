#include "runner/openai/openai_fields.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"
#include "session/base/ascii.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Limit of all opaque data of one answer. Models sign some kilobytes of reasoning, which is stored
// and sent again.
constexpr std::size_t details_bytes_max = 1U << 20U;

struct named_reason {
    std::string_view name;
    finish_class what;
};

// OpenAI's own names are the first line of each group. The others, with the servers that send them:
// Mistral (model_length), Together and TGI (eos, eos_token, stop_sequence), proxies in front of
// Anthropic and Bedrock (end_turn, tool_use, max_tokens, refusal, guardrail_intervened,
// model_context_window_exceeded) and of Gemini (safety, recitation, …, malformed_function_call),
// Cohere (complete, error_toxic), Zhipu (sensitive, network_error), DeepSeek
// (insufficient_system_resource), vLLM (abort, repetition).
constexpr std::array reasons = {
    named_reason{"stop", finish_class::stop},
    named_reason{"eos", finish_class::stop},
    named_reason{"eos_token", finish_class::stop},
    named_reason{"stop_sequence", finish_class::stop},
    named_reason{"end_turn", finish_class::stop},
    named_reason{"end", finish_class::stop},
    named_reason{"complete", finish_class::stop},
    named_reason{"completed", finish_class::stop},

    named_reason{"tool_calls", finish_class::tool_calls},
    named_reason{"function_call", finish_class::tool_calls},
    named_reason{"tool_call", finish_class::tool_calls},
    named_reason{"tool_use", finish_class::tool_calls},

    named_reason{"length", finish_class::length},
    named_reason{"max_tokens", finish_class::length},
    named_reason{"max_output_tokens", finish_class::length},
    named_reason{"model_length", finish_class::length},
    named_reason{"model_context_window_exceeded", finish_class::length},
    named_reason{"incomplete", finish_class::length},
    named_reason{"repetition", finish_class::length},

    named_reason{"content_filter", finish_class::content_filter},
    named_reason{"content_filtered", finish_class::content_filter},
    named_reason{"safety", finish_class::content_filter},
    named_reason{"image_safety", finish_class::content_filter},
    named_reason{"recitation", finish_class::content_filter},
    named_reason{"blocklist", finish_class::content_filter},
    named_reason{"prohibited_content", finish_class::content_filter},
    named_reason{"spii", finish_class::content_filter},
    named_reason{"sensitive", finish_class::content_filter},
    named_reason{"refusal", finish_class::content_filter},
    named_reason{"guardrail_intervened", finish_class::content_filter},
    named_reason{"error_toxic", finish_class::content_filter},

    named_reason{"error", finish_class::failed},
    named_reason{"abort", finish_class::failed},
    named_reason{"aborted", finish_class::failed},
    named_reason{"cancelled", finish_class::failed},
    named_reason{"timeout", finish_class::failed},
    named_reason{"network_error", finish_class::failed},
    named_reason{"insufficient_system_resource", finish_class::failed},
    named_reason{"malformed_function_call", finish_class::failed},
};

using names = std::initializer_list<std::string_view>;

// OpenAI's own names come first. The others, with the servers that use them: Anthropic and OpenAI's
// other API (input_tokens, output_tokens, cache_read_input_tokens, …), Bedrock and servers written
// in JavaScript (the same in camelCase), Gemini (promptTokenCount, candidatesTokenCount, …), Ollama
// (prompt_eval_count, eval_count), DeepSeek (prompt_cache_hit_tokens), Moonshot (cached_tokens).
// Names are compared without underscores and without regard to case.
constexpr names input_names = {
    "prompttokens", "inputtokens", "prompttokencount", "inputtokencount", "promptevalcount",
};
constexpr names output_names = {
    "completiontokens", "outputtokens", "candidatestokencount", "outputtokencount", "evalcount",
};
constexpr names input_details = {"prompttokensdetails", "inputtokensdetails"};
constexpr names output_details = {"completiontokensdetails", "outputtokensdetails"};
constexpr names cached_names = {
    "cachedtokens",         "cachereadinputtokens", "cachedinputtokens", "cachedcontenttokencount",
    "promptcachehittokens",
};
constexpr names cache_write_names = {"cachecreationinputtokens", "cachewritetokens"};
constexpr names reasoning_names = {"reasoningtokens", "thoughtstokencount"};

bool is_name(std::string_view key, std::string_view plain) noexcept {
    std::size_t at = 0;
    for (const char c : key) {
        if (c == '_') {
            continue;
        }
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (at == plain.size() || plain[at] != lower) {
            return false;
        }
        ++at;
    }
    return at == plain.size();
}

/// The first of the names whose member has a value.
const json::value* member_named(const json::object& object, names wanted) noexcept {
    for (const std::string_view name : wanted) {
        for (const auto& member : object) {
            if (is_name(member.key(), name) && !member.value().is_null()) {
                return &member.value();
            }
        }
    }
    return nullptr;
}

// A count that no answer can have is taken as missing.
std::optional<std::int64_t> count_named(const json::object& object, names wanted) noexcept {
    constexpr std::int64_t tokens_max = 1'000'000'000'000;
    const std::optional<std::int64_t> count = integer_of(member_named(object, wanted));
    return count && *count >= 0 && *count <= tokens_max ? count : std::nullopt;
}

std::string bounded(std::string_view text) { return to_utf8(text.substr(0, error_text_max)); }

void append_member(json::object& block, const json::object& piece, std::string_view key) {
    const json::value* const more = piece.if_contains(key);
    if (more == nullptr || !more->is_string()) {
        return;
    }
    json::value& text = block[key];
    if (!text.is_string()) {
        text.emplace_string();
    }
    text.get_string().append(more->get_string());
}

} // namespace

finish_class classify_finish_reason(std::string_view name) {
    std::string lower = to_lower(name);
    std::ranges::replace_if(lower, [](char c) { return c == '-' || c == ' '; }, '_');
    for (const named_reason& each : reasons) {
        if (each.name == lower) {
            return each.what;
        }
    }
    return finish_class::unknown;
}

bool says_nothing(const json::value& error) noexcept {
    return error.is_null() || (error.is_bool() && !error.get_bool()) ||
           (error.is_string() && error.get_string().empty()) ||
           (error.is_object() && error.get_object().empty());
}

std::string error_text(const json::value& error) {
    const json::object* const object = error.if_object();
    if (object != nullptr && !string_in(*object, "message").empty()) {
        return bounded(string_in(*object, "message"));
    }
    if (error.is_string()) {
        return bounded(text_of(&error));
    }
    return bounded(json::serialize(error));
}

std::optional<token_usage>
read_usage(const json::object& source, std::string_view provider, std::string_view model) {
    token_usage usage;
    usage.input_tokens = count_named(source, input_names);
    usage.output_tokens = count_named(source, output_names);
    usage.cached_input_tokens = count_named(source, cached_names);
    usage.cache_write_input_tokens = count_named(source, cache_write_names);
    usage.reasoning_tokens = count_named(source, reasoning_names);
    if (const json::object* const details = object_of(member_named(source, input_details))) {
        usage.cached_input_tokens = count_named(*details, cached_names);
    } else if (usage.input_tokens && member_named(source, {"inputtokens"}) != nullptr) {
        // Anthropic and Bedrock do not include cached tokens in the input tokens.
        *usage.input_tokens +=
            usage.cached_input_tokens.value_or(0) + usage.cache_write_input_tokens.value_or(0);
    }
    if (const json::object* const details = object_of(member_named(source, output_details))) {
        usage.reasoning_tokens = count_named(*details, reasoning_names);
    }
    if (!usage.input_tokens && !usage.output_tokens) {
        return std::nullopt;
    }
    usage.provider = provider;
    usage.model = model;
    return usage;
}

void keep_counts(token_usage& usage, const token_usage& earlier) {
    for (const auto count :
         {&token_usage::input_tokens, &token_usage::output_tokens, &token_usage::reasoning_tokens,
          &token_usage::cached_input_tokens, &token_usage::cache_write_input_tokens}) {
        if (!(usage.*count)) {
            usage.*count = earlier.*count;
        }
    }
}

void reasoning_details::add(const json::array& pieces) {
    for (const json::value& each : pieces) {
        if (dropped_) {
            return;
        }
        bytes_ += json::serialize(each).size();
        if (bytes_ > details_bytes_max || !session::is_finite(each)) {
            dropped_ = true;
            json::array().swap(blocks_);
            return;
        }
        if (each.is_object()) {
            add(each.get_object());
        }
    }
}

/// Text and summaries arrive in pieces with the block's number. The last piece has the signature.
void reasoning_details::add(const json::object& piece) {
    const std::string_view type = string_in(piece, "type");
    const bool in_pieces = type == "reasoning.text" || type == "reasoning.summary";
    json::object* const last = blocks_.empty() ? nullptr : blocks_.back().if_object();
    const auto number = [](const json::object& of) {
        return integer_of(of.if_contains("index"));
    };
    if (!in_pieces || last == nullptr || string_in(*last, "type") != type ||
        number(*last) != number(piece)) {
        blocks_.emplace_back(json::object(piece, json::storage_ptr()));
        return;
    }
    append_member(*last, piece, "text");
    append_member(*last, piece, "summary");
    for (const auto& [key, value] : piece) {
        if (key != "text" && key != "summary" && !value.is_null()) {
            (*last)[key] = json::value(value, json::storage_ptr());
        }
    }
}

} // namespace agui::runner
