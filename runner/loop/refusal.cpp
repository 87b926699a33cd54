#include "runner/loop/refusal.hpp"

#include "runner/base/refusing_status.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace agui::runner {

namespace {

// Parts of the sentences and codes with which model servers report an overflow, in lower case.
constexpr std::array<std::string_view, 18> overflow_words = {
    "context length",    "context_length",     "context window",  "context_window",
    "context size",      "context_size",       "context limit",   "context overflow",
    "maximum context",   "prompt is too long", "prompt too long", "prompt exceeds",
    "input is too long", "input too long",     "input exceeds",   "input length",
    "prompt length",     "reduce the length",
};
// Words in a sentence about tokens which say that there are too many.
constexpr std::array<std::string_view, 7> excess_words = {
    "exceed", "too many", "too large", "too long", "limit", "maximum", "must be <=",
};

bool has_one_of(std::string_view text, std::span<const std::string_view> words) {
    return std::ranges::any_of(words, [text](std::string_view each) {
        return text.find(each) != std::string_view::npos;
    });
}

bool is_overflow(std::string_view upstream) {
    const std::string text = to_lower(upstream);
    return has_one_of(text, overflow_words) ||
           (text.find("token") != std::string::npos && has_one_of(text, excess_words));
}

} // namespace

bool is_refusal(const model_failure& failed) {
    return failed.what == model_failure::kind::rejected && is_refusing_status(failed.status) &&
           !is_overflow(failed.upstream);
}

} // namespace agui::runner
