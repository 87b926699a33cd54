#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/provider/answer_blocks.hpp"
#include "session/conversation/message.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace agui::runner {

// The blocks of stored answers that go back to the server that sent them.

/// The record of the answer's blocks (anthropic_block_reader); nullopt if it has none.
[[nodiscard]] std::optional<answer_blocks> recorded_blocks(const session::turn_origin& origin);

/// True if the message `at` is a paused answer of the model that is asked, and nothing follows it,
/// or its next answer does, with the results of its server's own calls. The server would refuse
/// such a call without a result, and a continuation that broke off has none that could be sent
/// back.
[[nodiscard]] bool is_continued(
    const std::vector<const session::message*>& all, std::size_t at, const model_request& request
);

/// Drops the blocks that the server refuses or that may not be sent back, and thoughts at the end
/// of an answer that is not `paused`.
void leave_out_refused(std::vector<placed_block>& blocks, bool paused);

} // namespace agui::runner
