#include "runner/provider/large_chunks.hpp"

#include <utility>

namespace agui::runner {

namespace {

// Two chunks of the largest size: the body is not read for long while chunks wait.
constexpr std::size_t bytes_max = 32U << 20U;

} // namespace

bool large_chunks::hold(std::string_view chunk) {
    bytes_ += chunk.size();
    if (bytes_ > bytes_max) {
        return false;
    }
    waiting_.emplace_back(chunk);
    return true;
}

void large_chunks::parse(memory_budget* budget) {
    for (std::string& text : std::exchange(waiting_, {})) {
        parsed_.push_back(parse_large_json(text, budget));
        std::string().swap(text); // Freed before the next one is parsed.
    }
    bytes_ = 0;
}

std::vector<parsed_large_json> large_chunks::take() { return std::exchange(parsed_, {}); }

} // namespace agui::runner
