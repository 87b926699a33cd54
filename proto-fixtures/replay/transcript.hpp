#pragma once

#include "proto-fixtures/replay/fixture.hpp"
#include "runner/http/http_client.hpp"
#include "runner/http/scripted_transport.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agui::replay {

/// The model answers of a fixture, for requests that come in any order and any number of times.
///
/// An answer is chosen by the request alone, not by earlier requests, so that a page can be
/// reloaded and threads do not affect each other:
/// 1. the answers that expect exactly these messages (in the Responses dialect: input items);
/// 2. otherwise those whose last expected message is the last one here;
/// 3. otherwise the n-th answer, n being the number of the model's answers in the request,
/// beginning
///    again after the last one. Several answers to the same conversation (a failure and its retry)
///    are given in turn, over all threads. Safe to use from any thread.
class transcript {
public:
    explicit transcript(const fixture& what);

    /// Returns nullopt if the fixture holds no answer at all, or the request has no conversation.
    [[nodiscard]] std::optional<runner::scripted_answer>
    answer(const runner::transport_request& request);

private:
    [[nodiscard]] std::vector<std::size_t> candidates(const boost::json::array& conversation) const;

    std::vector<model_turn> turns_;
    mutex mutex_;
    /// How often each choice was made.
    std::map<std::vector<std::size_t>, std::size_t> given_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::replay
