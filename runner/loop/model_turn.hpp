#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/loop/hosted_tools.hpp"
#include "session/base/id.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// One model answer as it arrives: shown at once and kept for the thread. Each stretch of reasoning
/// is its own message; all text is one message, whatever comes in between. Lives on the run's
/// executor, for one model call. The constructor's arguments must outlive it.
class model_turn final : public model_sink {
public:
    struct call {
        std::string id;
        std::string name;
        std::string arguments;
        session::call_owner owner = session::call_owner::server;
    };

    /// Gives a call its owner and an id that is new in the thread (models repeat ids across turns).
    using call_naming = std::function<call(std::string_view id, std::string_view name)>;

    /// `provider` and `model` name the model that is asked. Without a provider, an origin holds
    /// only tokens and how the answer ended.
    model_turn(
        run_sink& out, id_source& ids, call_naming name_call, std::string_view provider = {},
        std::string_view model = {}
    );

    // model_sink
    void on_begin() override {
        if (on_begin_) {
            on_begin_();
        }
    }
    void on_text(std::string_view delta) override;
    void on_reasoning(std::string_view delta) override;
    void on_call(std::size_t index, std::string_view id, std::string_view name) override;
    void on_call_arguments(std::size_t index, std::string_view delta) override;
    void on_call_end(std::size_t index) override;
    void on_hosted_tool(std::string_view id, std::string_view name, hosted_tool state) override {
        if (hosted_tools_ != nullptr) {
            hosted_tools_->on(id, name, state);
        }
    }
    void on_media(const generated_media& made) override {
        last_is_call_ = false;
        has_media_ = true;
        if (on_media_) {
            on_media_(made);
        }
    }
    [[nodiscard]] std::string_view on_media_bytes(std::size_t bytes) override {
        return on_media_bytes_ ? on_media_bytes_(bytes) : std::string_view();
    }
    void on_turn_data(std::string_view key, const boost::json::value& value) override;
    void on_call_data(std::size_t index, const boost::json::value& value) override;
    void begin_batch() override { out_.begin_batch(); }
    void end_batch() override { out_.end_batch(); }
    [[nodiscard]] bool has_room() const noexcept override { return out_.has_room(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return out_.room(); }

    // Called by a reply_reader for the text that it holds back.

    /// Text has come but is not shown yet.
    void on_held_text() noexcept { last_is_call_ = false; }
    /// Shows reasoning that the model wrote into its text. It is not sent back as reasoning.
    void show_thoughts(std::string_view text);
    void show_segment(const boost::json::object& segment);
    /// Sets the text as the model wrote it. Later requests hold it instead of the shown text.
    void set_written(std::string text) {
        written_ = std::make_shared<const session::content>(std::move(text));
    }

    /// Is called when the server has begun to answer.
    void set_on_begin(std::function<void()> call) { on_begin_ = std::move(call); }
    /// Where hosted tools are shown, if anywhere. It must outlive this.
    void set_hosted_tools(hosted_tools& shown) noexcept { hosted_tools_ = &shown; }
    /// Keeps and shows the media of the answer, and counts one that arrives.
    void set_on_media(
        std::function<void(const generated_media&)> call,
        std::function<std::string_view(std::size_t)> count
    ) {
        on_media_ = std::move(call);
        on_media_bytes_ = std::move(count);
    }
    /// The account that is asked, and the beginning of the request (turn_origin).
    void set_binding(std::string_view account, std::string prefix) {
        origin_.account = account;
        origin_.prefix = std::move(prefix);
    }

    /// Stored with the turn, for limits over several runs. 0 is not stored.
    void set_tokens(std::uint64_t count) noexcept { origin_.tokens = count; }
    /// Stores the provider's name with the turn even if it wants nothing sent back.
    void keep_provider() noexcept { keeps_provider_ = true; }
    void set_end(session::turn_end end) noexcept { origin_.end = end; }
    /// True until something of the answer was shown.
    [[nodiscard]] bool empty() const noexcept {
        return text_.empty() && reasoning_.empty() && calls_.empty() && !has_media_;
    }
    /// Bytes of text, reasoning and arguments so far.
    [[nodiscard]] std::size_t bytes() const noexcept;

    /// Completes the answer: calls without arguments get `{}`, which clients can parse.
    void complete_calls();

    [[nodiscard]] const std::string& message_id() const noexcept { return message_id_; }
    [[nodiscard]] const std::vector<call>& calls() const noexcept { return calls_; }
    /// True if cutting the answer here would cut a call.
    [[nodiscard]] bool last_is_call() const noexcept { return last_is_call_; }

    /// Takes the turn as it is stored: its messages in order, the one with the calls last. Empty if
    /// the model said nothing, made no media and did not pause. The turn is empty afterwards.
    [[nodiscard]] std::vector<session::message> take_messages();

private:
    struct reasoning {
        std::string id;
        std::string text;
    };

    session::turn_block& block(session::turn_block::kind what, bool anew);
    void fill_in_arguments(std::size_t index);
    [[nodiscard]] bool has_origin() const;

    // What each token uses comes first, in few cache lines.
    run_sink& out_;
    bool last_is_call_ = false;
    bool has_media_ = false;
    bool keeps_provider_ = false;
    std::string message_id_;
    std::string text_;
    session::turn_origin origin_;
    id_source& ids_;
    call_naming name_call_;
    std::function<void()> on_begin_;
    std::function<void(const generated_media&)> on_media_;
    std::function<std::string_view(std::size_t)> on_media_bytes_;
    /// Set by set_written(); null if the model wrote text_.
    std::shared_ptr<const session::content> written_;
    std::vector<reasoning> reasoning_;
    std::vector<call> calls_;
    hosted_tools* hosted_tools_ = nullptr;
};

} // namespace agui::runner
