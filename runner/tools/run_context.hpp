#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/conversation/state_change.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace agui::runner {

/// What a tool or a plugin may do in the run that called it, besides its result. Used on the run's
/// executor. It may outlive the run: then its functions fail with run_is_over() or do nothing.
class run_context {
public:
    virtual ~run_context() = default;

    /// The AG-UI state document of the run's thread; null if it has none.
    [[nodiscard]] virtual boost::asio::awaitable<result<json_text>> state() = 0;
    /// Changes the document. Completes once the change is stored and clients are told of it.
    /// Changes take effect in the order of the calls, each on what the one before has left; a
    /// cancelled caller undoes nothing. Fails as session::change_document().
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    change_state(session::state_change change) = 0;

    /// change_state() with a JSON Patch (RFC 6902).
    [[nodiscard]] boost::asio::awaitable<result<void>> patch_state(boost::json::value patch) {
        return change_state({.patch = std::move(patch)});
    }
    /// change_state() with a new document. `null` removes the state.
    [[nodiscard]] boost::asio::awaitable<result<void>>
    replace_state(const boost::json::value& document);
};

/// The failure of a call that comes after the end of the run.
[[nodiscard]] inline failure run_is_over() { return {errc::lease_lost, "the run has ended"}; }

} // namespace agui::runner
