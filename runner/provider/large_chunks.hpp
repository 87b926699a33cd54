#pragma once

#include "runner/base/json_scratch.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/memory_budget.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The JSON chunks of an answer that wait until they are parsed on another thread: a large one and
/// all that came after it. See answer_decoder::large().
class large_chunks {
public:
    /// True if the chunk must wait, because it is large or others wait already.
    [[nodiscard]] bool must_hold(std::string_view chunk) const noexcept {
        return !waiting_.empty() || chunk.size() > small_work_bytes;
    }
    /// Keeps the chunk. Returns false if too much waits.
    [[nodiscard]] bool hold(std::string_view chunk);
    /// Bytes that wait.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Parses all chunks. `budget`, which may be null, counts the values.
    void parse(memory_budget* budget);
    /// The parsed chunks, in order.
    [[nodiscard]] std::vector<parsed_large_json> take();

private:
    std::vector<std::string> waiting_;
    std::size_t bytes_ = 0;
    std::vector<parsed_large_json> parsed_;
};

} // namespace agui::runner
