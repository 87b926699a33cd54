#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/loop/model_turn.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// Longer replies are not read. It is far more than people read in a chat; each run may hold that
/// much.
inline constexpr std::size_t reply_bytes_max = 262'144;

/// Stands between a model that writes its reply as `items` (reply_items) and its turn. It holds the
/// text back until the answer is complete, because an unreadable reply must show nothing.
/// Everything else goes to the turn at once. For one model call, on the run's executor. The turn
/// must outlive it.
class reply_reader final : public model_sink {
public:
    explicit reply_reader(model_turn& turn) noexcept : turn_(turn) {}

    // model_sink
    void on_begin() override { turn_.on_begin(); }
    void on_text(std::string_view delta) override;
    void on_reasoning(std::string_view delta) override { turn_.on_reasoning(delta); }
    void on_call(std::size_t index, std::string_view id, std::string_view name) override {
        turn_.on_call(index, id, name);
    }
    void on_call_arguments(std::size_t index, std::string_view delta) override {
        turn_.on_call_arguments(index, delta);
    }
    void on_call_end(std::size_t index) override { turn_.on_call_end(index); }
    void on_hosted_tool(std::string_view id, std::string_view name, hosted_tool state) override {
        turn_.on_hosted_tool(id, name, state);
    }
    void on_media(const generated_media& made) override { turn_.on_media(made); }
    [[nodiscard]] std::string_view on_media_bytes(std::size_t bytes) override {
        return turn_.on_media_bytes(bytes);
    }
    void on_turn_data(std::string_view key, const boost::json::value& value) override {
        turn_.on_turn_data(key, value);
    }
    void on_call_data(std::size_t index, const boost::json::value& value) override {
        turn_.on_call_data(index, value);
    }
    void begin_batch() override { turn_.begin_batch(); }
    void end_batch() override { turn_.end_batch(); }
    [[nodiscard]] bool has_room() const noexcept override { return turn_.has_room(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return turn_.room(); }

    /// Bytes of text so far.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Call it once, when the answer is complete. Shows the reply and gives the turn the text as
    /// the model wrote it. Returns the reply's mistake, for a warning; empty if there is none.
    [[nodiscard]] std::string_view finish();

private:
    model_turn& turn_;
    std::string held_;
    std::size_t bytes_ = 0;
};

} // namespace agui::runner
