#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "translator/agui/agui_translator.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// Ends the stream of a run that another run has answered (run_record::answered_by). `writer` must
/// have written, or resumed after, RUN_STARTED. If that run succeeded, writes MESSAGES_SNAPSHOT of
/// the conversation up to its last message and RUN_FINISHED; otherwise the end of that run. The
/// snapshot stops before a message with a call that may still be answered, so that no page executes
/// it. Errors: errc::store_unavailable, errc::overloaded, errc::run_expired (the run is gone); then
/// nothing is written. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<void>> write_answered_end(
    run_core& core, const conversation_key& conversation, const std::string& answered_by,
    translator::agui_translator& writer
);

/// The same for a request whose messages an active run has taken (taken_while_active): writes
/// CUSTOM `agui-gateway.message.taken` and RUN_FINISHED. Fails only if the store does.
[[nodiscard]] boost::asio::awaitable<result<void>> write_taken_end(
    run_core& core, const conversation_key& conversation, const session::run_record& request,
    translator::agui_translator& writer
);

/// Ends, after RUN_STARTED, the log of a run that the store does not know (yet). The end has no
/// numbers, because no reader could continue after it. `write` writes its events, which are
/// returned.
std::vector<std::string> end_unstored(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    event_log& log, const std::function<void(translator::agui_translator&)>& write
);

/// The log of a run that another run has answered, made from its record. It ends once the other run
/// has ended; at once if an active run has taken its messages.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
answered_log(run_core& core, const conversation_key& conversation, const session::run_record& run);

} // namespace agui::gateway
