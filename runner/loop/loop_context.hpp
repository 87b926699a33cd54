#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/loop/additions.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/tools/run_context.hpp"
#include "session/base/id.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// The context that a run gives to its tools and plugins, which may outlive it.
class loop_context final : public run_context {
public:
    /// All must live until close(). `budget` counts the media that are not stored yet; may be null.
    loop_context(run_sink& sink, id_source& ids, memory_budget* budget) noexcept
        : sink_(&sink), ids_(&ids), memory_(budget) {}

    /// Ends the use of the sink: later calls fail or do nothing.
    void close() noexcept;

    /// The activities that were shown or changed since the last call, in the order in which they
    /// began, to be appended to the thread.
    [[nodiscard]] additions take_unstored();
    [[nodiscard]] bool has_unstored() const noexcept { return has_unstored_; }

    /// Keeps a medium with an activity of the type `generated-media`:
    /// `{kind, mimeType, bytes, sha256, transcript?}`; a client also gets the link. An activity
    /// `{kind, note}` says why it is not kept, which is returned, too; empty if it is kept.
    std::string_view show_media(const generated_media& made);

    /// An empty share for a medium that arrives in pieces.
    [[nodiscard]] memory_share share_for_arriving() const noexcept {
        return memory_share(memory_.budget());
    }
    /// Counts `bytes` of a medium that is not whole yet. Returns why no more of it may be held, as
    /// generated_media::problem, and then `held` is empty; an empty text if it may.
    [[nodiscard]] std::string_view
    count_arriving(memory_share& held, std::size_t bytes) const noexcept;

    [[nodiscard]] boost::asio::awaitable<result<json_text>> state() override {
        return sink_ != nullptr ? sink_->load_state() : failed<json_text>();
    }
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override {
        return sink_ != nullptr ? sink_->change_state(std::move(change)) : failed<void>();
    }
    [[nodiscard]] result<std::string> show_activity(activity shown) override;
    [[nodiscard]] result<void>
    patch_activity(std::string_view id, const boost::json::value& patch) override;
    void start_step(std::string_view name) override { emit(step_started{name}); }
    void finish_step(std::string_view name) override { emit(step_finished{name}); }
    void send_custom(std::string_view name, const boost::json::value& value) override;
    void send_raw(const boost::json::value& event, std::string_view source) override;

private:
    struct kept {
        session::message message;
        std::size_t bytes = 0; ///< Of its content, about.
        bool is_stored = false;
    };

    template <class T>
    [[nodiscard]] static boost::asio::awaitable<result<T>> failed() {
        co_return run_is_over();
    }
    void emit(const runner_event& event) {
        if (sink_ != nullptr) {
            sink_->emit(event);
        }
    }
    /// The id of the message of an activity that the application names. Nothing else in the thread
    /// has it: not another agent's activity of that name, nor a message with that name as its id.
    [[nodiscard]] std::string message_id(std::string_view name) const;
    /// By the id of its message, or its name.
    [[nodiscard]] kept* find(std::string_view id);
    /// True if an activity may have these; `known` is null for a new one.
    [[nodiscard]] bool has_room(
        const kept* known, const boost::json::object& content, const boost::json::object& metadata
    ) const noexcept;
    [[nodiscard]] std::string_view
    why_not(const generated_media& made, std::string_view type) const noexcept;
    [[nodiscard]] bool take_memory(std::size_t media_bytes) noexcept;
    void set_content(kept& shown, boost::json::object content);
    void show(kept& shown, bool replace);

    run_sink* sink_;
    id_source* ids_;
    std::list<kept> activities_; ///< A list, because an empty deque takes 0.6 KB.
    std::size_t bytes_ = 0;      ///< Of all activities.
    std::size_t media_bytes_ = 0;
    memory_share memory_; ///< Of the media in activities_.
    bool has_unstored_ = false;
};

} // namespace agui::runner
