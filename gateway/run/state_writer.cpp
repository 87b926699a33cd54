#include "gateway/run/state_writer.hpp"

#include "session/base/stored_json.hpp"
#include "session/store/store_failures.hpp"
#include "translator/input/run_input.hpp"

#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

// Tools may have given numbers or texts that JSON cannot express.
result<session::changed_state>
change_soundly(const json_text& before, const session::state_change& change) {
    auto changed = session::change_document(before, change);
    if (!changed || !changed->is_changed) {
        return changed;
    }
    auto text = translator::read_body_text(changed->state.view(), session::stored_limits.max_depth);
    if (!text) {
        return failure{
            errc::invalid_input, "state: must be JSON that can be written: " + text.error().detail,
            "state"
        };
    }
    changed->state = std::move(*text);
    return changed;
}

} // namespace

boost::asio::awaitable<result<session::changed_state>>
write_state(state_writing where, session::state_change change, unix_ms now) {
    const auto known = co_await where.store.summary(where.held->key());
    if (!known) {
        co_return known.error();
    }
    const auto before = co_await where.store.state(where.held->key());
    if (!before) {
        co_return before.error();
    }
    if (!known->has_value() || !before->has_value()) {
        co_return session::no_such_thread();
    }
    auto changing = [&] {
        return change_soundly(**before, change);
    };
    const std::size_t bytes = (*before)->view().size() + change.whole.view().size();
    auto changed = co_await run_heavy(where.heavy, bytes, changing);
    if (!changed || !changed->is_changed) {
        co_return changed;
    }
    const std::uint64_t old_size = (*before)->view().size();
    const std::uint64_t new_size = changed->state.view().size();
    if (new_size > old_size && (*known)->bytes - old_size + new_size > where.max_thread_bytes) {
        co_return failure{
            errc::body_too_large,
            "the thread would have more than " + std::to_string(where.max_thread_bytes) +
                " bytes of messages, state, tools and context",
            {},
            {}
        };
    }
    session::changes stored;
    stored.at = now;
    stored.state = changed->state;
    session::session_event event;
    event.type = "state.changed";
    event.run_id = where.held->run_id();
    event.timestamp = now;
    stored.events.push_back(std::move(event));
    const auto done = co_await where.store.commit(
        where.held->key(), std::move(stored), std::nullopt, {.held = where.held}
    );
    if (!done) {
        co_return done.error();
    }
    co_return changed;
}

} // namespace agui::gateway
