#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/conversation/state_change.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Structured progress that a user interface shows as a widget of its own. It is a message of the
/// conversation that no model is ever sent.
struct activity {
    /// The application's name for it. An agent's activities of one name are one, also in later runs
    /// of the thread. The activity is a new one if it is empty.
    std::string id = {};
    std::string type; ///< Chosen by the application; clients ignore unknown types.
    boost::json::object content;
    /// If false, clients that already have the activity keep it as it is.
    bool replace = true;
    boost::json::object metadata = {}; ///< Merged into the message's metadata, member by member.
};

/// Limits of one run's activities; those beyond are refused.
inline constexpr std::size_t activities_max = 1000;
inline constexpr std::size_t activity_bytes_max = session::state_bytes_max;
inline constexpr std::size_t all_activities_bytes_max = 8U << 20U; ///< Of all, as they are last.

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

    // Events, shown at once in the order of the calls. Texts must be UTF-8.

    /// Creates or replaces an activity; returns the id of its message, which also names it in this
    /// run. It is stored with the run's next commit, so that histories show it where it began.
    /// errc::invalid_input above the limits, if the id is not sound (is_sound_id), and for types
    /// that begin with `agui-gateway.`.
    [[nodiscard]] virtual result<std::string> show_activity(activity shown) = 0;
    /// Changes an activity that this run has shown, named as in show_activity(), by a JSON Patch of
    /// its content. Fails as apply_patch(); errc::not_found for any other activity.
    [[nodiscard]] virtual result<void>
    patch_activity(std::string_view id, const boost::json::value& patch) = 0;
    /// Begins a step, which finish_step() or the end of the run ends. Nothing happens if it has
    /// begun already.
    virtual void start_step(std::string_view name) = 0;
    virtual void finish_step(std::string_view name) = 0;
    /// A CUSTOM event. Names that begin with `agui-gateway.` are the server's own.
    virtual void send_custom(std::string_view name, const boost::json::value& value) = 0;
    /// A RAW event: another system's event, unchanged.
    virtual void send_raw(const boost::json::value& event, std::string_view source) = 0;
};

/// The failure of a call that comes after the end of the run.
[[nodiscard]] inline failure run_is_over() { return {errc::lease_lost, "the run has ended"}; }

} // namespace agui::runner
