#include "runner/loop/refusal.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace agui::runner {

namespace {

// Of the sentences and codes in which model servers say so, in lower case.
constexpr std::array<std::string_view, 16> overflow_words = {
    "context length",     "context_length",   "context window",
    "context_window",     "context size",     "context_size",
    "context limit",      "context overflow", "maximum context",
    "prompt is too long", "prompt too long",  "input is too long",
    "input too long",     "too many tokens",  "maximum number of tokens",
    "reduce the length",
};

bool is_overflow(std::string_view upstream) {
    const std::string text = to_lower(upstream);
    return std::ranges::any_of(overflow_words, [&](std::string_view words) {
        return text.find(words) != std::string::npos;
    });
}

} // namespace

bool is_refusal(const model_failure& failed) {
    if (failed.what != model_failure::kind::rejected) {
        return false;
    }
    switch (failed.status) {
    case 400:
    case 413:
    case 415:
    case 422:
        return !is_overflow(failed.upstream);
    default:
        return false;
    }
}

} // namespace agui::runner
