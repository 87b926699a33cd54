#include "runner/base/model_provider.hpp"

#include <boost/assert/source_location.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace agui::runner {

namespace {

std::string_view name_of(model_failure::kind kind) noexcept {
    switch (kind) {
    case model_failure::kind::unavailable:
        return "unavailable";
    case model_failure::kind::lost:
        return "lost";
    case model_failure::kind::rejected:
        return "rejected";
    case model_failure::kind::timeout:
        return "timeout";
    case model_failure::kind::memory:
        return "memory";
    case model_failure::kind::over_quota:
        return "over_quota";
    case model_failure::kind::uncounted:
        return "uncounted";
    case model_failure::kind::cancelled:
        return "cancelled";
    }
    return "unavailable";
}

void add_count(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
    if (more) {
        sum = sum.value_or(0) + *more;
    }
}

} // namespace

void add_usage(std::vector<token_usage>& all, const token_usage& more) {
    for (token_usage& one : all) {
        if (one.provider == more.provider && one.model == more.model) {
            add_count(one.input_tokens, more.input_tokens);
            add_count(one.output_tokens, more.output_tokens);
            add_count(one.reasoning_tokens, more.reasoning_tokens);
            add_count(one.cached_input_tokens, more.cached_input_tokens);
            add_count(one.cache_write_input_tokens, more.cache_write_input_tokens);
            return;
        }
    }
    all.push_back(more);
}

bool is_own_refusal(model_failure::kind what) noexcept {
    return what == model_failure::kind::over_quota || what == model_failure::kind::uncounted;
}

bool is_valid_stop(const std::vector<std::string>& stop) noexcept {
    return stop.size() <= stop_texts_max && std::ranges::all_of(stop, [](const std::string& text) {
               return !text.empty() && text.size() <= stop_text_bytes_max;
           });
}

void model_sink::on_call_end(std::size_t call) { (void)call; }

void model_sink::on_hosted_tool(std::string_view id, std::string_view name, hosted_tool state) {
    (void)id;
    (void)name;
    (void)state;
}

void model_sink::on_media(const generated_media& made) { (void)made; }

std::string_view model_sink::on_media_bytes(std::size_t bytes) {
    (void)bytes;
    return {};
}

void model_sink::on_turn_data(std::string_view key, const boost::json::value& value) {
    (void)key;
    (void)value;
}

void model_sink::on_call_data(std::size_t call, const boost::json::value& value) {
    (void)call;
    (void)value;
}

boost::asio::awaitable<void> model_sink::room() { co_return; }

tool_choice tool_choice_from_string(std::string_view text) {
    if (text == "auto") {
        return {.kind = tool_choice::mode::automatic, .name = {}};
    }
    if (text == "none") {
        return {.kind = tool_choice::mode::none, .name = {}};
    }
    if (text == "required") {
        return {.kind = tool_choice::mode::required, .name = {}};
    }
    return {.kind = tool_choice::mode::named, .name = std::string(text)};
}

void throw_exception_from_error(const model_failure& error, const boost::source_location& where) {
    (void)where; // The text is for a log, and the caller of value() says nothing about the cause.
    throw std::runtime_error("model " + std::string(name_of(error.what)) + ": " + error.detail);
}

} // namespace agui::runner
